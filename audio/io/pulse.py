"""Where the sound server really takes this process's recording from (PulseAudio, and PipeWire in its place).

When a microphone is unplugged, the server moves its listeners to another source without telling the sound library: to
another microphone, or to the monitor of the speaker, so that the appliance would listen to itself. The server's own
events are what tells.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

log = structlog.get_logger(__name__)

ANY = ("default", "pulse", "pipewire")
"""Devices that stand for whatever the server thinks best."""

RECONNECT_S = 2.0
"""Between two attempts to reach a server that has gone."""


@dataclass(frozen=True)
class Source:
    """What is recorded.

    Attributes:
        name: as the server calls it.
        is_monitor: whether it is what a speaker plays, and no microphone.
    """

    name: str
    is_monitor: bool


class Origin:
    """What a recording may come from.

    Whoever asked for a microphone by name gets that one or none. Whoever takes the default gets another microphone when
    the server changes it, but never what a speaker plays.

    Args:
        device: name of the device that was opened.
    """

    def __init__(self, device: str) -> None:
        self._any = device in ANY
        self._first: str | None = None

    def allows(self, source: Source) -> bool:
        """Whether ``source`` is what was asked for; the first one of a device that was asked for by name always is."""
        if self._any:
            return not source.is_monitor
        self._first = self._first or source.name
        return source.name == self._first


class SourceWatch:
    """Tells what this process records from, in a thread of its own that sleeps until the server says something.

    Args:
        on_source: called in that thread with the source of the recording that was opened last, when it is first known
            and at every event that may concern it.
    """

    def __init__(self, on_source: Callable[[Source], None]) -> None:
        self._on_source = on_source
        self._stopped = threading.Event()
        self._pulse: Any = None
        self._thread = threading.Thread(target=self._run, name="source-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop; idempotent. The thread ends by itself."""
        self._stopped.set()
        pulse = self._pulse
        if pulse is not None:
            pulse.event_listen_stop()

    def _run(self) -> None:
        try:
            import pulsectl
        except OSError as fault:  # its library is not installed
            log.info("nobody tells when the sound server moves the microphone", error=str(fault))
            return
        while not self._stopped.is_set():
            try:
                with pulsectl.Pulse("glove-source-watch") as pulse:
                    self._follow(pulse, pulsectl.PulseLoopStop)
            except (pulsectl.PulseError, pulsectl.PulseDisconnected) as fault:
                log.debug("the sound server is not reached", error=str(fault))
            finally:
                self._pulse = None
            self._stopped.wait(RECONNECT_S)

    def _follow(self, pulse: Any, stop: type[Exception]) -> None:
        def changed(_event: Any) -> None:
            raise stop  # nothing may be asked from within; ``event_listen`` returns

        pulse.event_mask_set("source_output")
        pulse.event_callback_set(changed)
        self._pulse = pulse
        while not self._stopped.is_set():
            source = _recorded(pulse)
            if source is not None and not self._stopped.is_set():
                self._on_source(source)
            pulse.event_listen()


def _recorded(pulse: Any) -> Source | None:
    """The source of this process's latest recording, or None while there is none."""
    me = str(os.getpid())
    outputs = [each for each in pulse.source_output_list() if each.proplist.get("application.process.id") == me]
    if not outputs:
        return None
    index = max(outputs, key=lambda output: int(output.index)).source
    found = [source for source in pulse.source_list() if source.index == index]
    return Source(str(found[0].name), found[0].monitor_of_sink_name is not None) if found else None
