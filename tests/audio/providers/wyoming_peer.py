"""Wyoming services on virtual time: handlers of the ``wyoming`` package at the other end of streams in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, cast

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info, TtsProgram, TtsVoice, WakeModel, WakeProgram
from wyoming.server import AsyncEventHandler
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped
from wyoming.wake import Detect, Detection

from audio.providers.socket import ConnectionRefused
from audio.providers.wyoming.link import Address, Link

SOMEWHERE = Address("127.0.0.1", 10300)
COMMON: dict[str, Any] = {
    "attribution": Attribution("a", "u"),
    "installed": True,
    "description": "d",
    "version": "1",
}


class PipeWriter:
    """Writes into the reader of the other end."""

    def __init__(self, other: asyncio.StreamReader) -> None:
        self.other = other
        self.mine: asyncio.StreamReader | None = None
        self.closed = self.far_closed = False
        self.far: PipeWriter | None = None
        self.transport = self

    def write(self, data: bytes) -> None:
        if not self.closed and not self.far_closed:
            self.other.feed_data(data)

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.write(b"".join(parts))

    async def drain(self) -> None:
        await asyncio.sleep(0)
        if self.closed or self.far_closed:
            raise ConnectionResetError("closed")

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            assert self.mine is not None and self.far is not None
            self.far.far_closed = True
            self.other.feed_eof()
            self.mine.feed_eof()

    abort = close

    async def wait_closed(self) -> None:
        await asyncio.sleep(0)


def pair() -> tuple[tuple[asyncio.StreamReader, Any], tuple[asyncio.StreamReader, Any]]:
    """Two ends of one connection."""
    near, far = asyncio.StreamReader(limit=2**22), asyncio.StreamReader(limit=2**22)
    to_far, to_near = PipeWriter(far), PipeWriter(near)
    to_far.mine, to_near.mine = near, far
    to_far.far, to_near.far = to_near, to_far
    return (near, to_far), (far, to_near)


class Peer(AsyncEventHandler):
    """The service's end of one connection. What it was sent is in ``got``; a ``mute`` service says nothing any more."""

    service: Service

    async def handle_event(self, event: Event) -> bool:
        self.service.got.append(event)
        if self.service.mute:
            return True
        if Describe.is_type(event.type):
            await self.write_event(self.service.info.event())
            return True
        return await self.service.answer(self, event)

    def drop(self) -> None:
        """Hang up at once."""
        self.writer.close()


class Service:
    """A service at ``SOMEWHERE``; subclasses answer. ``down`` refuses connections."""

    def __init__(self, info: Info) -> None:
        self.info = info
        self.got: list[Event] = []
        self.peers: list[Peer] = []
        self.mute = self.down = False
        self._tasks: list[asyncio.Task[None]] = []

    async def dial(self, address: Address) -> Link:
        await asyncio.sleep(0.01)
        if self.down:
            raise ConnectionRefused(None, "ConnectionRefusedError")
        near, far = pair()
        peer = Peer(*far)
        peer.service = self
        self.peers.append(peer)
        self._tasks.append(asyncio.create_task(self._serve(peer)))
        return Link(*near)

    async def _serve(self, peer: Peer) -> None:
        with contextlib.suppress(ConnectionError):
            await peer.run()

    async def answer(self, peer: Peer, event: Event) -> bool:
        """What is said about ``event``; False hangs up."""
        return True

    def events(self, kind: str) -> list[Event]:
        """What it was sent of one kind."""
        return [event for event in self.got if event.type == kind]


class Recogniser(Service):
    """Hears ``texts``, one per utterance, whatever the sound; no text where nothing is left.

    Attributes:
        streaming: whether it says what it hears while it hears it.
        before: called before each transcript; what it returns decides whether that is sent.
    """

    def __init__(self, texts: Sequence[str], *, streaming: bool = False, language: str | None = None) -> None:
        model = AsrModel("m", languages=["en"], **COMMON)
        program = AsrProgram("asr", models=[model], supports_transcript_streaming=streaming, **COMMON)
        super().__init__(Info(asr=[program]))
        self.texts = list(texts)
        self.streaming = streaming
        self.language = language
        self.before: Callable[[Peer], bool] = lambda _: True

    async def answer(self, peer: Peer, event: Event) -> bool:
        if not AudioStop.is_type(event.type):
            return True
        if not self.before(peer):
            return True
        text = self.texts.pop(0) if self.texts else ""
        if self.streaming:
            await peer.write_event(TranscriptStart(language=self.language).event())
            for word in text.split():
                await peer.write_event(TranscriptChunk(f"{word} ").event())
        await peer.write_event(Transcript(text, language=self.language).event())
        if self.streaming:
            await peer.write_event(TranscriptStop().event())
        return False  # one utterance per connection, as most services have it

    def sound(self) -> bytes:
        """All sound that it was sent."""
        return b"".join(event.payload or b"" for event in self.got if AudioChunk.is_type(event.type))

    @property
    def requests(self) -> list[Transcribe]:
        return [Transcribe.from_event(event) for event in self.events("transcribe")]


class Speaker(Service):
    """Says so many bytes of ``chunk`` per character."""

    def __init__(self, *, streaming: bool = False, rate: int = 16_000, width: int = 2, channels: int = 1) -> None:
        voice = TtsVoice("v", languages=["en"], **COMMON)
        program = TtsProgram("tts", voices=[voice], supports_synthesize_streaming=streaming, **COMMON)
        super().__init__(Info(tts=[program]))
        self.streaming = streaming
        self.format = (rate, width, channels)
        self.said: list[str] = []
        self.before: Callable[[Peer, str], bool] = lambda *_: True
        self._stream: list[str] | None = None

    async def answer(self, peer: Peer, event: Event) -> bool:
        if SynthesizeStart.is_type(event.type):
            self._stream = []
        elif SynthesizeChunk.is_type(event.type):
            assert self._stream is not None
            self._stream.append(SynthesizeChunk.from_event(event).text)
        elif SynthesizeStop.is_type(event.type):
            for part in cast("list[str]", self._stream):
                await self.say(peer, part)
            self._stream = None
            await peer.write_event(SynthesizeStopped().event())
        elif Synthesize.is_type(event.type) and self._stream is None:
            await self.say(peer, Synthesize.from_event(event).text)
        return True

    async def say(self, peer: Peer, text: str) -> None:
        rate, width, channels = self.format
        self.said.append(text)
        if not self.before(peer, text):
            return
        await peer.write_event(AudioStart(rate, width, channels).event())
        frame = b"\x10" * (width * channels)
        for _ in range(max(1, len(text) // 4)):
            await peer.write_event(AudioChunk(rate, width, channels, frame * (rate // 4)).event())
        await peer.write_event(AudioStop().event())


class Spotter(Service):
    """Hears its wake word in every chunk that is loud."""

    def __init__(self, name: str = "hey_jarvis_v0.1") -> None:
        model = WakeModel(name, languages=[], phrase=None, **COMMON)
        super().__init__(Info(wake=[WakeProgram("wake", models=[model], **COMMON)]))
        self.name = name
        self.detected = False

    async def answer(self, peer: Peer, event: Event) -> bool:
        if AudioStart.is_type(event.type):
            self.detected = False
        elif AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            if max(chunk.audio[1::2], default=0) > 16 and not self.detected:
                self.detected = True  # once per stream, as openWakeWord has it
                await peer.write_event(Detection(name=self.name, timestamp=chunk.timestamp).event())
        return True

    @property
    def requests(self) -> list[Detect]:
        return [Detect.from_event(event) for event in self.events("detect")]
