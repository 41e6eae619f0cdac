"""Replies that are cut at every moment, through every kind of sink: what was heard is measured at the ear.

The ear knows nothing of players and generations: it has the sound that came, with a burst of 220 ms per word.
"""

from __future__ import annotations

import asyncio
import wave
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.base.clock import now
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.core.store import StoreAdapter
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, Reply, Say, ScriptedModel
from audio.io.base import AudioIO
from audio.io.device import DeviceRoom, DeviceSettings
from audio.io.files import StereoSink
from audio.io.pump import PumpRoom, SilentSource
from audio.io.scripted import ScriptedBackend, ScriptedDevice
from audio.pcm import Pcm, silence
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.scripted import ScriptedVoice
from audio.voice import GloveVoice
from realtime.browser.protocol import RATE_HZ as PAGE_RATE_HZ
from tests.realtime.peer import House, MemorySocket
from tests.support.session import LevelVad

TEXT = "One two three. Four five six."
FIRST, SECOND = "One two three. ", "Four five six."
BURST_MS = 220
TOLERANCE_MS = 20
QUIET_S = 0.4
TOOL_S = 0.25


@dataclass
class Stage:
    """A session, and the ear at the end of its sink.

    ``position`` counts the samples that have come to the ear, silence included; ``sound`` is all of them, once the
    session is over.
    """

    voice: GloveVoice
    store: StoreAdapter
    rate_hz: int
    position: Callable[[], int]
    sound: Callable[[], Pcm]


Sink = Callable[[AsyncExitStack, ScriptedVoice, Path, bool], Awaitable[Stage]]


async def sweep(
    sink: Sink, voice: ScriptedVoice, folder: Path, offsets_ms: range, *, with_tool: bool = False
) -> list[str]:
    """Cut a reply at each of the offsets from its first token. Returns what was wrong.

    ``with_tool``: a tool runs between the two sentences of the reply.
    """
    cuts: list[tuple[int, int, int]] = []
    async with AsyncExitStack() as stack:
        stage = await sink(stack, voice, folder, with_tool)
        for offset in offsets_ms:
            began = stage.position()
            stage.voice.say_to_agent(f"Turn {offset}.")
            await asyncio.sleep(offset / 1000)
            stage.voice.interrupt()
            cut = stage.position()
            await asyncio.sleep(QUIET_S)
            cuts.append((began, cut, stage.position()))
        history = await stage.store.get_messages()
    replies = _replies(history)
    wrong: list[str] = []
    sound = stage.sound()
    for offset, (began, cut, end) in zip(offsets_ms, cuts, strict=True):
        wrong += _judge(sound, stage.rate_hz, offset, replies.get(f"Turn {offset}.", ""), (began, cut, end))
    return wrong


def _replies(history: list[Message]) -> dict[str, str]:
    """By the text of each turn, what the agent is said to have answered."""
    replies: dict[str, str] = {}
    turn = ""
    for message in history:
        if message.sender == "user" and message.text.startswith("Turn "):
            turn = message.text
            replies[turn] = ""
        elif message.sender == "agent":
            replies[turn] = f"{replies[turn]} {message.text.strip()}".strip()
    return replies


def _judge(sound: Pcm, rate_hz: int, offset: int, stored: str, places: tuple[int, int, int]) -> list[str]:
    began, cut, end = places
    late = bursts(sound[cut + TOLERANCE_MS * rate_hz // 1000 : end], rate_hz)
    wrong = [f"{offset} ms: {late} ms of sound after the cut"] if late else []
    heard = bursts(sound[began:end], rate_hz)
    surely = sum(ms >= BURST_MS - 1 for ms in heard)
    perhaps = sum(ms >= BURST_MS - TOLERANCE_MS for ms in heard)
    if not surely <= len(stored.split()) <= perhaps or not TEXT.startswith(stored):
        wrong.append(f"{offset} ms: heard {heard} ms, stored {stored!r}")
    return wrong


def bursts(sound: Pcm, rate_hz: int) -> list[int]:
    """Lengths of the bursts in ``sound``, in milliseconds."""
    size = rate_hz // 1000
    loud = (np.abs(sound[: sound.size // size * size].astype(np.int32)) > 500).reshape(-1, size).any(axis=1)
    lengths: list[int] = []
    run = gap = 0
    for here in np.append(loud, np.zeros(5, np.bool_)):
        if here:
            run, gap = run + gap + 1, 0
        elif run:
            gap += 1
            if gap >= 4:
                lengths.append(run)
                run = gap = 0
    return lengths


def _voice(room: AudioIO, glove: Glove, tts: ScriptedVoice) -> GloveVoice:
    return GloveVoice(glove, room, stt=ScriptedSegmentStt([]), tts=tts, vad=LevelVad())


def _model(with_tool: bool) -> ScriptedModel:
    def respond(request: PromptRequest) -> Reply:
        if not with_tool:
            return TEXT
        return SECOND if request.messages[-1].tool_results else [Say(FIRST), Call("look")]

    return ScriptedModel(respond, tokens_per_s=40.0)


def _tool() -> Tool[NoArgs]:
    async def look(_args: NoArgs, _ctx: ToolContext) -> str:
        await asyncio.sleep(TOOL_S)
        return "seen"

    return Tool(name="look", description="Looks.", run=look, args=NoArgs)


def _agent(with_tool: bool) -> Glove:
    return Glove(model=_model(with_tool), system_prompt="Be brief.").fold(_tool()).build()


class _Tape:
    """Counts what goes into a file."""

    def __init__(self, path: Path) -> None:
        self.samples = 0
        self._file = StereoSink(path, None)

    def write(self, played: Pcm, user: Pcm | None) -> None:
        self.samples += played.size
        self._file.write(played, user)

    def close(self) -> None:
        self._file.close()


async def wav_file(stack: AsyncExitStack, tts: ScriptedVoice, folder: Path, with_tool: bool) -> Stage:
    """A recording of both sides."""
    path = folder / "both.wav"
    tape = _Tape(path)
    glove = _agent(with_tool)
    voice = _voice(PumpRoom(SilentSource(), tape), glove, tts)
    await voice.start()
    stack.push_async_callback(voice.stop)
    return Stage(voice, glove.store, 24_000, lambda: tape.samples, lambda: _right(path))


def _right(path: Path) -> Pcm:
    """The agent's side of a stereo file."""
    with wave.open(str(path)) as file:
        both = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    return both[1::2].astype(np.int16)


async def device(stack: AsyncExitStack, tts: ScriptedVoice, _: Path, with_tool: bool) -> Stage:
    """The loudspeaker of a device."""
    speaker = ScriptedDevice("speaker", "output")
    backend = ScriptedBackend(ScriptedDevice("mic", "input"), speaker)
    room = DeviceRoom(DeviceSettings(echo="off"), vad=LevelVad(), backend=backend)
    glove = _agent(with_tool)
    voice = _voice(room, glove, tts)
    await voice.start()
    stack.push_async_callback(voice.stop)
    rate_hz = room.player.rate_hz
    return Stage(
        voice,
        glove.store,
        rate_hz,
        lambda: sum(block.size for block in speaker.played),
        lambda: np.concatenate(speaker.played),
    )


class _Page:
    """A browser: plays what comes after 40 ms, stands still and forgets when told, and says where it is."""

    def __init__(self, socket: MemorySocket) -> None:
        self.played: list[Pcm] = []
        self._socket = socket
        self._read = 0
        self._waiting = silence(0)
        self._starts = 0.0
        self._paused = False
        self._epoch = 0
        self._position = 0

    async def play(self) -> None:
        tick = PAGE_RATE_HZ // 100
        due = now()
        while True:
            self.take()
            block = silence(tick)
            if not self._paused and now() >= self._starts:
                count = min(tick, self._waiting.size)
                block[:count], self._waiting = self._waiting[:count], self._waiting[count:]
                self._position += count
            self.played.append(block)
            if len(self.played) % 5 == 0:
                self._socket.say({"t": "playback", "epoch": self._epoch, "position": self._position})
            due += 0.01
            await asyncio.sleep(due - now())

    def take(self) -> None:
        for message in self._socket.sent[self._read :]:
            if isinstance(message, bytes):
                if not self._waiting.size:
                    self._starts = now() + 0.04
                self._waiting = np.concatenate((self._waiting, np.frombuffer(message, "<i2").astype(np.int16)))
            elif message["t"] == "clear":
                self._waiting, self._paused, self._position = silence(0), False, 0
                self._epoch = message["epoch"]
            elif message["t"] in ("pause", "resume"):
                self._paused = message["t"] == "pause"
            elif message["t"] == "ready":
                self._epoch = message["epoch"]
        self._read = len(self._socket.sent)


async def page(stack: AsyncExitStack, tts: ScriptedVoice, _: Path, with_tool: bool) -> Stage:
    """A browser at the other end of a connection."""
    house = await stack.enter_async_context(House([], model=_model(with_tool), tools=(_tool(),)))
    browser = _Page(await house.call())
    playing = asyncio.create_task(browser.play())
    stack.callback(playing.cancel)
    return Stage(
        house.session.voice,
        house.agent.store,
        PAGE_RATE_HZ,
        lambda: sum(block.size for block in browser.played),
        lambda: np.concatenate(browser.played),
    )
