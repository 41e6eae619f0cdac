"""What is said in a room without a voice: JSON over the data channel, typed lines, and words shown while they sound."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import structlog

from agents.base.errors import InputError
from agents.base.scope import Scope

if TYPE_CHECKING:
    from livekit import rtc

log = structlog.get_logger(__name__)

CHAT = "lk.chat"
TRANSCRIPTION = "lk.transcription"

MOST_DATA_BYTES = 15_000
"""Of one message: larger ones are not carried reliably."""

MOST_CHARACTERS = 4_000
"""Of a typed line; the rest of a longer one is not read."""

READ_S = 10.0
"""How long somebody may take to type a line to its end."""

MOST_READERS = 8
MOST_WAITING = 200
"""Messages that wait to be sent; beyond it the oldest are dropped and counted."""


class Outbox:
    """Sends one message after the other, without anybody waiting for it.

    Attributes:
        dropped: messages that were never sent because too many waited.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._waiting: asyncio.Queue[Callable[[rtc.LocalParticipant], Any]] = asyncio.Queue(MOST_WAITING)

    def post(self, send: Callable[[rtc.LocalParticipant], Any]) -> None:
        """Have ``send``, a coroutine function, called with the agent's participant."""
        if self._waiting.full():
            self._waiting.get_nowait()
            self.dropped += 1
        self._waiting.put_nowait(send)

    async def run(self, speaker: Callable[[], rtc.LocalParticipant | None], ready: asyncio.Event) -> None:
        """Send, until cancelled.

        Args:
            speaker: the agent's participant.
            ready: set while messages can be sent.
        """
        from livekit.rtc.data_stream import StreamError
        from livekit.rtc.participant import PublishDataError

        while True:
            send = await self._waiting.get()
            await ready.wait()
            participant = speaker()
            if participant is None:
                continue
            try:
                async with asyncio.timeout(READ_S):
                    await send(participant)
            except (PublishDataError, StreamError, RuntimeError, TimeoutError) as fault:
                log.info("a message could not be sent", error=repr(fault))


def data_sender(message: Mapping[str, Any], topic: str, to: Sequence[str]) -> Callable[[rtc.LocalParticipant], Any]:
    """Sends a JSON object reliably. Raises ``InputError`` (``ERR_LIVEKIT_DATA``): it is too long, or no JSON."""
    try:
        payload = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    except (TypeError, ValueError) as fault:
        raise InputError("ERR_LIVEKIT_DATA", f"The message is no JSON: {fault}", cause=fault) from fault
    if len(payload) > MOST_DATA_BYTES:
        raise InputError("ERR_LIVEKIT_DATA", f"A message has at most {MOST_DATA_BYTES} bytes, this one {len(payload)}.")

    async def send(participant: rtc.LocalParticipant) -> None:
        await participant.publish_data(payload, reliable=True, topic=topic, destination_identities=list(to))

    return send


def text_sender(text: str, topic: str, attributes: Mapping[str, str], identity: str | None = None) -> Any:
    """Sends a text stream, in the name of ``identity`` if it is given."""

    async def send(participant: rtc.LocalParticipant) -> None:
        writer = await participant.stream_text(topic=topic, attributes=dict(attributes), sender_identity=identity)
        await writer.write(text)
        await writer.aclose()

    return send


def json_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object in ``data``, or None if it is anything else: rooms carry messages of others, too."""
    if len(data) > MOST_DATA_BYTES:
        return None
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None


class ChatReader:
    """Reads typed lines.

    Args:
        scope: owns the readers.
        on_line: called with text and identity of each line that is not empty.
    """

    def __init__(self, scope: Scope, on_line: Callable[[str, str], None]) -> None:
        self._scope = scope
        self._on_line = on_line
        self._reading = 0

    def take(self, reader: rtc.TextStreamReader, identity: str) -> None:
        """Somebody types a line."""
        if self._reading >= MOST_READERS or self._scope.closed:
            reader.close()
            return
        self._reading += 1
        self._scope.spawn(self._read(reader, identity), "chat")

    async def _read(self, reader: rtc.TextStreamReader, identity: str) -> None:
        from livekit.rtc.data_stream import StreamError

        text = ""
        try:
            async with asyncio.timeout(READ_S):
                async for piece in reader:
                    text += piece
                    if len(text) >= MOST_CHARACTERS:
                        break
        except (TimeoutError, StreamError) as fault:
            log.info("a typed line did not end", identity=identity, error=repr(fault))
            return
        finally:
            self._reading -= 1
            reader.close()
        if text.strip():
            self._on_line(text[:MOST_CHARACTERS].strip(), identity)
