"""A whole voice session on virtual time, with a user who speaks in levels instead of words.

Each utterance of the user is noise at a level of its own; the recogniser knows which level means which text, so resumed
speech is recognised as the joined texts, and the voice detector is a threshold on the level.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np

from agents.core.glove import Glove
from agents.core.model import ModelAdapter
from agents.core.store import StoreAdapter
from agents.core.tool import Tool
from audio.events import AttentionChanged, VoiceEvent
from audio.io.pump import PumpRoom
from audio.pcm import FRAME_SAMPLES, Pcm, silence
from audio.stt.base import SegmentStt
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.base import TtsFactory
from audio.tts.scripted import ScriptedVoice
from audio.vad.base import VadAdapter, VadEvent
from audio.vad.segment import SegmentMachine
from audio.voice import GloveVoice, VoiceSettings
from audio.wake.attention import Attending, AttentionSettings
from audio.wake.scripted import ScriptedWakeDetector

WAKE_LEVEL = 1000
FIRST_LEVEL = 2000
STEP = 500


class LevelVad(VadAdapter):
    """Probability 0.95 for sound louder than -40 dB, 0.02 for silence; framing and state machine are the real ones."""

    supports_real_start = True

    def __init__(self) -> None:
        self.machine = SegmentMachine()
        self.rest: Pcm = silence(0)
        self.samples = 0
        self.resets = 0
        self.ducked = False

    @property
    def is_speaking(self) -> bool:
        return self.machine.is_speaking

    def process(self, pcm: Pcm) -> list[VadEvent]:
        events: list[VadEvent] = []
        self.rest = np.concatenate((self.rest, pcm))
        while self.rest.size >= 512:
            frame, self.rest = self.rest[:512], self.rest[512:]
            self.samples += 512
            events += self.machine.feed(0.95 if np.abs(frame).max() > 300 else 0.02, self.samples)
        return events

    def reset(self) -> None:
        self.resets += 1
        self.machine.reset()
        self.rest = silence(0)

    def set_ducked(self, ducked: bool) -> None:
        self.ducked = ducked


class LivingRoom:
    """Source and sink of a room: the user speaks when told to, everything played is kept."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.waiting: list[Pcm] = []
        self.played: list[Pcm] = []
        self.said: list[Pcm] = []
        self.closed = False

    def frame(self) -> Pcm | None:
        return self.waiting.pop(0) if self.waiting else silence(FRAME_SAMPLES)

    def write(self, played: Pcm, user: Pcm | None) -> None:
        self.played.append(played)
        if user is not None:
            self.said.append(user)

    def close(self) -> None:
        self.closed = True

    def speak(self, text: str, seconds: float) -> None:
        level = FIRST_LEVEL + STEP * len(self.texts)
        self.texts.append(text)
        self.waiting += [np.full(FRAME_SAMPLES, level, np.int16)] * round(seconds * 100)

    def text_of(self, audio: Pcm) -> str:
        levels = sorted({int(level) for level in np.unique(audio) if level >= FIRST_LEVEL})
        phrase = ["Hey, Jarvis,"] if WAKE_LEVEL in audio else []
        return " ".join(phrase + [self.texts[(level - FIRST_LEVEL) // STEP] for level in levels])

    @property
    def right(self) -> Pcm:
        return np.concatenate(self.played) if self.played else silence(0)


class Session:
    """A started session; ``events`` holds everything it emitted, ``wire`` the events' JSON form."""

    def __init__(
        self,
        model: ModelAdapter,
        *,
        tools: tuple[Tool[Any], ...] = (),
        store: StoreAdapter | None = None,
        tts: TtsFactory | None = None,
        stt: SegmentStt | Any = None,
        partials: bool = True,
        settings: VoiceSettings | None = None,
        vad: VadAdapter | None = None,
        attention: AttentionSettings | None = None,
    ) -> None:
        self.living = LivingRoom()
        self.room = PumpRoom(self.living, self.living)
        self.glove = Glove(model=model, system_prompt="Be brief.")
        for tool in tools:
            self.glove.fold(tool)
        self.glove.build(store)
        self.vad = vad or LevelVad()
        self.tts = tts or ScriptedVoice()
        self.stt = stt if stt is not None else ScriptedSegmentStt(self.living.text_of, latency_s=0.1)
        self.voice = GloveVoice(
            self.glove,
            self.room,
            stt=self.stt,
            tts=self.tts,
            vad=self.vad,
            partials=ScriptedSegmentStt(self.living.text_of, latency_s=0.05) if partials else None,
            settings=settings,
            attention=None if attention is None else Attending(attention, self.wake_detector()),
        )
        self.events: list[VoiceEvent] = []
        self.voice.events.on(VoiceEvent, self.events.append)

    def wake_detector(self) -> ScriptedWakeDetector:
        """Hears the end of "Hey Jarvis", said with ``call``, and of nothing else."""
        return ScriptedWakeDetector(lambda frame: int(frame.max()) == WAKE_LEVEL)

    def call(self, seconds: float = 0.7) -> None:
        """Say the wake phrase; what ``living.speak`` adds follows in the same breath."""
        self.living.waiting += [np.full(FRAME_SAMPLES, WAKE_LEVEL, np.int16)] * round(seconds * 100)

    def states(self) -> list[str]:
        """The states of attention in order."""
        return [event.state for event in self.events if isinstance(event, AttentionChanged)]

    async def __aenter__(self) -> Session:
        await self.voice.start()
        return self

    async def __aexit__(self, fault: object, *_: object) -> None:
        await self.voice.stop()
        if fault is None and isinstance(self.stt, ScriptedSegmentStt):
            assert self.stt.unused == 0

    async def say(self, text: str, seconds: float = 1.0) -> None:
        """Speak, and return when the last sample was captured."""
        self.living.speak(text, seconds)
        await asyncio.sleep(seconds + 0.02)

    async def settle(self, limit_s: float = 60.0) -> None:
        """Wait until nothing is heard, thought or said."""
        await self.until(lambda: self.voice.settled, limit_s)
        await asyncio.sleep(0.05)

    async def until(self, condition: Callable[[], Any], limit_s: float = 60.0) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():
                await asyncio.sleep(0.005)

    def types(self, *wanted: str) -> list[str]:
        """Types of the events in order, without what is only for display unless asked for."""
        skipped = {"mode", "user_partial", "metric"} - set(wanted)
        return [
            event.type for event in self.events if event.type not in skipped and (not wanted or event.type in wanted)
        ]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    async def history(self) -> list[tuple[str, str]]:
        return [(message.sender, message.text) for message in await self.glove.store.get_messages()]

    def heard_words(self, word_ms: int = 250) -> int:
        """How many bursts of the scripted voice can be heard in the recording, each at least half."""
        right = np.abs(self.living.right.astype(np.int32))
        rate = self.room.player.rate_hz
        loud = right > 1000
        window = rate // 100
        frames = loud[: loud.size // window * window].reshape(-1, window).any(axis=1)
        bursts, run = 0, 0
        for frame in [*frames.tolist(), False]:
            if frame:
                run += 1
            else:
                bursts += run >= 11
                run = 0
        return bursts
