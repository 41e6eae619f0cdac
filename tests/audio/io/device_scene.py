"""A device room on virtual time: a scripted sound system, a detector of levels, a listener that keeps everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agents.base import clock
from audio.dsp.echo import EchoCanceller
from audio.io.backend import SoundBackend
from audio.io.base import RoomHealth
from audio.io.device import DeviceRoom, DeviceSettings
from audio.io.scripted import ScriptedBackend, ScriptedDevice
from audio.io.supervisor import SupervisorTimes
from audio.pcm import FRAME_SAMPLES, Pcm
from audio.vad.base import SpeechProb, VadEvent
from tests.support.session import LevelVad

LOUD = 4000


class PerfectCanceller(EchoCanceller):
    """For scenes without echo: nothing to take away."""

    def __init__(self) -> None:
        self.resets = 0
        self.references = 0

    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        self.references += len(reference)
        return frame

    def reset(self) -> None:
        self.resets += 1


class Desk:
    """An open room with a microphone and a speaker, and a session that listens (or not)."""

    def __init__(
        self,
        *,
        settings: DeviceSettings | None = None,
        times: SupervisorTimes | None = None,
        backend: SoundBackend | None = None,
    ) -> None:
        self.microphone = ScriptedDevice("mic", "input")
        self.speaker = ScriptedDevice("speaker", "output")
        self.backend = ScriptedBackend(self.microphone, self.speaker)
        self.vad = LevelVad()
        self.canceller = PerfectCanceller()
        # No warm-up of the canceller, which would gate the first second of sound.
        settings = settings or DeviceSettings(echo="aec")
        self.room = DeviceRoom(
            settings, vad=self.vad, backend=backend or self.backend, canceller=self.canceller, times=times
        )
        self.frames: list[tuple[Pcm, int]] = []
        self.heard: list[VadEvent] = []
        self.healths: list[tuple[float, RoomHealth]] = []
        self.muted = False
        self.room.on_health = lambda health: self.healths.append((clock.now(), health))

    async def __aenter__(self) -> Desk:
        await self.room.open(self.on_frame)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.room.close()

    def on_frame(self, frame: Pcm, sample: int) -> None:
        self.frames.append((frame, sample))
        if not self.muted and self.room.vad is not None:
            events = self.room.vad.process(frame)
            self.heard += [event for event in events if not isinstance(event, SpeechProb)]

    def speak(self, seconds: float, level: int = LOUD) -> None:
        self.microphone.said.extend([np.full(FRAME_SAMPLES, level, np.int16)] * round(seconds * 100))

    def play(self, seconds: float) -> Pcm:
        """Queue a ramp whose every sample differs from its neighbours, and return it."""
        pcm = (np.arange(round(seconds * 48_000)) % 20_000 + 1).astype(np.int16)
        self.room.player.enqueue(pcm, 48_000, self.room.player.generation)
        return pcm

    @property
    def played(self) -> Pcm:
        return np.concatenate(self.speaker.played)

    @property
    def sounded(self) -> list[int]:
        """What was played, without the silence."""
        played = self.played
        return played[played != 0].tolist()

    @property
    def kinds(self) -> list[str]:
        return [event.type for event in self.heard]

    def hears(self) -> bool:
        """Whether frames of the microphone, not silence in their place, arrive now."""
        return bool(self.frames) and bool(self.frames[-1][0].any())

    async def until(self, condition: Callable[[], Any], limit_s: float = 60.0) -> float:
        """Wait; returns how long it took."""
        begun = clock.now()
        async with asyncio.timeout(limit_s):
            while not condition():
                await asyncio.sleep(0.01)
        return clock.now() - begun
