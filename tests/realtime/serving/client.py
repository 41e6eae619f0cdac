"""A client of a realtime session, in memory on virtual time; every event is checked with the SDK's types."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agents.core.messages import TokenUsage
from audio.pcm import Pcm, silence, wire_bytes
from audio.stt.base import SegmentStt, Transcript
from audio.tts.scripted import ScriptedVoice
from audio.turns.hold import Hold, TurnDetector, Utterance
from audio.vad.energy import EnergySettings, EnergyVad
from realtime.serving.contract import ClientCall, Ears, Engine, Question, TextPiece, Thought
from realtime.serving.limits import DEFAULT, Limits
from realtime.serving.session import Session
from realtime.testing.sdk_types import check_openai_server

Told = dict[str, Any]


class Line:
    """Both ends of a connection. ``reads`` is set while the client reads."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[str | None] = asyncio.Queue()
        self.events: list[Told] = []
        self.changed = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.closed: tuple[int, str] | None = None

    async def receive(self) -> str | None:
        return await self.incoming.get()

    async def send(self, text: str) -> None:
        await self.reads.wait()
        if self.closed is not None:
            raise ConnectionResetError("gone")
        event = json.loads(text)
        check_openai_server(event)
        self.events.append(event)
        self.changed.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed = self.closed or (code, reason)
        self.changed.set()


class Words(SegmentStt):
    """Recognises what it is told to, and remembers what it was given."""

    cost_s = 0.2

    def __init__(self, *texts: str | Exception, language: str = "en") -> None:
        self.texts = list(texts)
        self.language = language
        self.heard: list[tuple[int, str | None]] = []

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        self.heard.append((pcm.size, language))
        text = self.texts.pop(0) if self.texts else "hello"
        if isinstance(text, Exception):
            raise text
        return Transcript(text, language or self.language)


@dataclass
class Mind:
    """Answers as it is told to; ``asked`` are the questions."""

    answers: list[Sequence[Thought | Exception]] = field(default_factory=list[Any])
    delay_s: float = 0.1
    asked: list[Question] = field(default_factory=list[Question])
    cancelled: int = 0

    async def answer(self, question: Question, tell: Callable[[Thought], None]) -> TokenUsage:
        self.asked.append(question)
        said = self.answers.pop(0) if self.answers else (TextPiece("All right. That is it."),)
        try:
            for thought in said:
                await asyncio.sleep(self.delay_s)
                if isinstance(thought, Exception):
                    raise thought
                tell(thought)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return TokenUsage(tokens_in=7, tokens_out=3)


class Judge:
    """Says how long to hold."""

    def __init__(self, *holds_ms: int) -> None:
        self.holds_ms = list(holds_ms)
        self.judged: list[Utterance] = []

    async def judge(self, utterance: Utterance) -> Hold:
        self.judged.append(utterance)
        return Hold(self.holds_ms.pop(0) if self.holds_ms else 0, "test")


def says(text: str) -> Sequence[Thought]:
    """An answer in words."""
    return [TextPiece(word) for word in text.replace(" ", " \0").split("\0")]


def calls(name: str, arguments: str = "{}") -> ClientCall:
    return ClientCall(name, arguments)


def vad(ears: Ears) -> EnergyVad:
    return EnergyVad(EnergySettings(silence_ms=ears.silence_ms))


@dataclass
class Bench:
    """What serves the client."""

    stt: Words = field(default_factory=Words)
    mind: Mind = field(default_factory=Mind)
    voice: ScriptedVoice = field(default_factory=ScriptedVoice)
    judge: TurnDetector = field(default_factory=Judge)
    limits: Limits = DEFAULT

    def engine(self) -> Engine:
        return Engine(stt=self.stt, voices=self.voice, vad=vad, detector=lambda: self.judge, mind=self.mind)


class Client:
    """Asks and waits."""

    def __init__(self, line: Line) -> None:
        self.line = line

    @property
    def events(self) -> list[Told]:
        return self.line.events

    def send(self, kind: str, **fields: Any) -> None:
        self.line.incoming.put_nowait(json.dumps({"type": kind, **fields}))

    def send_raw(self, text: str) -> None:
        self.line.incoming.put_nowait(text)

    def configure(self, **session: Any) -> None:
        self.send("session.update", session={"type": "realtime", **session})

    def detection(self, detection: Told | None, **more: Any) -> None:
        self.configure(audio={"input": {"turn_detection": detection, **more}})

    def speak(self, pcm: Pcm) -> None:
        """Append ``pcm``, 24 kHz, in pieces of a tenth of a second."""
        for at in range(0, pcm.size, 2400):
            self.send("input_audio_buffer.append", audio=b64(pcm[at : at + 2400]))

    def say(self, text: str, **more: Any) -> None:
        content = [{"type": "input_text", "text": text}]
        self.send("conversation.item.create", item={"type": "message", "role": "user", "content": content, **more})

    def of(self, kind: str) -> list[Told]:
        return [event for event in self.events if event["type"] == kind]

    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]

    async def seen(self, kind: str, count: int = 1) -> Told:
        """The event number ``count`` of ``kind``, told or to come."""
        async with asyncio.timeout(600):
            while len(self.of(kind)) < count:
                if self.line.closed is not None:
                    raise AssertionError(f"closed before {kind}: {self.line.closed}, {self.kinds()[-5:]}")
                self.line.changed.clear()
                await self.line.changed.wait()
        return self.of(kind)[count - 1]

    async def refused(self) -> Told:
        """The next complaint, which has not been looked at yet."""
        seen = getattr(self, "_refusals", 0)
        self._refusals = seen + 1
        return (await self.seen("error", seen + 1))["error"]

    def hang_up(self) -> None:
        self.line.incoming.put_nowait(None)

    def sound(self, response: int = 0) -> Pcm:
        """All sound that came."""
        data = [base64.b64decode(event["delta"]) for event in self.of("response.output_audio.delta")]
        return np.frombuffer(b"".join(data), "<i2")


@asynccontextmanager
async def session(bench: Bench | None = None) -> AsyncIterator[Client]:
    bench = bench or Bench()
    line = Line()
    serving = asyncio.create_task(Session(line, bench.engine(), limits=bench.limits).serve())
    client = Client(line)
    await client.seen("session.created")
    try:
        yield client
    finally:
        line.reads.set()
        client.hang_up()
        async with asyncio.timeout(60):
            await serving


def b64(pcm: Pcm) -> str:
    return base64.b64encode(wire_bytes(pcm)).decode()


def noise(seconds: float, rate_hz: int = 24_000) -> Pcm:
    """What the energy detector takes for speech."""
    samples = round(seconds * rate_hz)
    return (9000 * np.sin(np.arange(samples) * 2 * np.pi * 300 / rate_hz)).astype(np.int16)


def quiet(seconds: float, rate_hz: int = 24_000) -> Pcm:
    return silence(round(seconds * rate_hz))
