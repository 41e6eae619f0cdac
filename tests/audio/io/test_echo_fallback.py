"""A device whose echo cannot be cancelled, from microphone and speaker to what people are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from audio.io.device import DeviceSettings
from audio.pcm import Pcm
from tests.audio.io.device_scene import Desk, PerfectCanceller


class Useless(PerfectCanceller):
    """Takes 3 dB away, until it ``works``."""

    works = False

    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        super().process(frame, reference)
        return (frame * (0.05 if self.works else 0.7)).astype(np.int16)


class Hall(Desk):
    """A desk whose microphone hears the speaker."""

    def __init__(self) -> None:
        super().__init__(settings=DeviceSettings(echo="auto"))
        self.useless = Useless()
        self.room._canceller = self.useless

    def speak_out(self, seconds: float) -> None:
        rng = np.random.default_rng(3)
        pcm = rng.integers(-9000, 9000, round(seconds * 48_000)).astype(np.int16)
        self.room.player.enqueue(pcm, 48_000, self.room.player.generation)

    async def listen_to_itself(self, seconds: float) -> None:
        """Each 10 ms the microphone hears what the speaker played 80 ms before."""
        for _ in range(round(seconds * 100)):
            if len(self.speaker.played) > 8:
                self.microphone.said.append((self.speaker.played[-8][::3] // 2).astype(np.int16))
            await asyncio.sleep(0.01)


def loudness(frames: Sequence[Pcm]) -> float:
    return float(np.sqrt(np.mean(np.concatenate(frames).astype(float) ** 2)))


async def test_it_speaks_softly_then_rests_its_microphone_says_so_and_comes_back() -> None:
    hall = Hall()
    async with hall:
        await asyncio.sleep(1.0)
        hall.speak_out(40.0)
        await hall.listen_to_itself(2.0)
        loud = loudness(hall.speaker.played[-50:])
        await hall.listen_to_itself(2.0)
        assert loudness(hall.speaker.played[-50:]) < 0.3 * loud
        assert "more softly" in hall.room.health.reason and hall.room.health.state == "degraded"
        await hall.listen_to_itself(4.0)
        assert "microphone rests" in hall.room.health.reason
        assert loudness(hall.speaker.played[-50:]) > 0.8 * loud
        assert not hall.hears() and hall.heard == [], "it has never taken itself for somebody"
        hall.useless.works = True
        await hall.listen_to_itself(6.0)
        assert hall.room.health.state == "ok" and hall.room.health.values["erle_db"] > 15
        told = [health.reason for _, health in hall.healths]
        assert ["softly" in reason or "rests" in reason for reason in told][-3:] == [True, True, False]
