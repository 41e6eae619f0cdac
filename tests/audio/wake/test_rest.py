"""In a quiet room the wake word network rests, and misses nothing by that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from audio.io.player import Player
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm
from audio.resample import resample
from audio.tts.hibari import HibariVoice
from audio.turns.engine import Phase
from audio.wake.attention import Hearing
from audio.wake.base import WakeHeard
from audio.wake.ear import Ear
from audio.wake.micro import MicroWakeDetector
from tests.support.echo import PLAY_RATE_HZ, synthesise


class Engine:
    """A turn engine that has nothing to do."""

    phase, settled = Phase.QUIET, True

    def process(self, frame: Pcm, sample: int, events: Any) -> None:
        raise AssertionError("nobody is awake")

    def forget(self) -> None:
        pass


class Host:
    """Sleeps, and counts who calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def hearing(self) -> Hearing:
        return Hearing.NOTHING

    def woken(self, heard: WakeHeard) -> bool:
        self.calls.append(heard.phrase)
        return False

    def agent_sounds(self) -> bool:
        return False


class Counting(MicroWakeDetector):
    """Counts what it searches."""

    searched = 0

    def process(self, pcm: Pcm) -> list[WakeHeard]:
        self.searched += pcm.size
        return super().process(pcm)


def hum(seconds: float, level: float) -> Pcm:
    return np.random.default_rng(2).normal(0, level, round(seconds * CAPTURE_RATE_HZ)).astype(np.int16)


def hear(sound: Pcm) -> tuple[list[str], float]:
    """What an ear hears in ``sound``, and for how many seconds the network ran."""
    host, detector, player = Host(), Counting(), Player()
    engine: Any = Engine()
    ear = Ear(engine, host, detector, player, full_duplex=lambda: True, latency_s=lambda: 0.0, constant_vad=False)
    for end in range(FRAME_SAMPLES, sound.size + 1, FRAME_SAMPLES):
        ear.hear(sound[end - FRAME_SAMPLES : end], end)
    ear.close()
    detector.close()
    return host.calls, detector.searched / CAPTURE_RATE_HZ


def test_in_a_quiet_room_no_network_runs() -> None:
    calls, searched_s = hear(hum(30.0, 30.0))
    assert not calls and searched_s < 1.5


@pytest.mark.parametrize(("gain", "level"), [(0.6, 30.0), (0.05, 30.0), (0.6, 600.0)])
async def test_the_phrase_is_heard_out_of_the_rest_loud_or_soft_and_over_noise(gain: float, level: float) -> None:
    sound = await synthesise(lambda _: HibariVoice(), "Hey Jarvis, what time is it?")
    for pitch in (0.9, 1.0):
        phrase = resample(sound, round(PLAY_RATE_HZ * pitch), CAPTURE_RATE_HZ) * gain
        spoken = (phrase + hum(phrase.size / CAPTURE_RATE_HZ, level)[: phrase.size]).astype(np.int16)
        calls, searched_s = hear(np.concatenate((hum(8.0, level), spoken, hum(8.0, level))))
        assert calls == ["Hey Jarvis"]
        assert searched_s < 7.5, "it rests again afterwards"
