"""Voice events as JSON lines: of one conversation, or of every room of a daemon."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO

from agents.base.clock import wall
from agents.base.errors import ConfigError
from audio.events import VoiceEvent


class EventLog:
    """Writes voice events as JSON lines, each as it happens."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.broken = False

    def write(self, event: VoiceEvent) -> None:
        """Append one event. A full disk ends the log, not the conversation; ``broken`` tells."""
        self._append(event.to_json())

    def write_of(self, room: str, event: VoiceEvent) -> None:
        """Append one event of the room named ``room``, with its name and the time of day (``at``, UTC)."""
        self._append({"at": wall().isoformat(timespec="milliseconds"), "room": room, **event.to_json()})

    def close(self) -> None:
        """Close the stream; what comes later is dropped. Idempotent."""
        self.broken = True
        self._stream.close()

    def _append(self, fields: dict[str, object]) -> None:
        if self.broken:
            return
        try:
            self._stream.write(json.dumps(fields, ensure_ascii=False, default=str) + "\n")
            self._stream.flush()
        except OSError:
            self.broken = True


def append_to(path: Path) -> EventLog:
    """A log that goes on with the file ``path``. A new one only its owner may read: it holds what people said.

    Raises:
        ConfigError: ``ERR_EVENT_LOG``: the file cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as fault:
        raise ConfigError(
            "ERR_EVENT_LOG", f"{path} cannot be written: {fault.strerror}.", "Change log.events.", fault
        ) from fault
    return EventLog(os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace"))
