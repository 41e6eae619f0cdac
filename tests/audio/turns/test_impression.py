"""The voice is listened to while its words are still being recognised."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from agents.base.clock import now
from audio.pcm import FRAME_SAMPLES, Pcm
from audio.stt.scripted import ScriptedSegmentStt
from audio.turns.combined import CombinedDetector
from audio.turns.contract import Committed
from audio.turns.engine import TurnEngine
from audio.turns.rules import RuleDetector
from audio.turns.transcriber import SegmentTranscriber
from tests.support.session import LevelVad

EAR_S = 0.2


class Ear:
    """Takes its time, and notes when it was asked; the voice has always finished."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def probability(self, pcm: Pcm) -> float:
        self.asked.append(now())
        await asyncio.sleep(EAR_S)
        return 0.99


class Listener:
    """Nobody answers."""

    def __init__(self) -> None:
        self.turns: list[tuple[float, Committed]] = []

    def agent_busy(self) -> bool:
        return False

    def turn(self, committed: Committed) -> None:
        self.turns.append((now(), committed))

    def __getattr__(self, name: str) -> object:
        return lambda *_: None


async def talk(ear: Ear, latency_s: float, *pattern: tuple[float, bool]) -> Listener:
    """Say what ``pattern`` says: seconds, and whether there is a voice."""
    host, transcriber = Listener(), SegmentTranscriber(ScriptedSegmentStt(["It is late."] * 9, latency_s=latency_s))
    engine = TurnEngine(host, LevelVad(), transcriber, CombinedDetector(RuleDetector(), ear))  # type: ignore[arg-type]
    sample = 0
    for seconds, voice in pattern:
        for _ in range(round(seconds * 100)):
            sample += FRAME_SAMPLES
            engine.process(np.full(FRAME_SAMPLES, 3000 if voice else 0, np.int16), sample)
            await asyncio.sleep(0.01)
    await engine.close()
    await transcriber.close()
    return host


async def test_ear_and_recogniser_work_at_the_same_time() -> None:
    ear = Ear()
    host = await talk(ear, 0.2, (1.0, True), (2.0, False))
    (at, turn), *others = host.turns
    assert turn.reason == "statement/0.99" and not others
    # Silence is established after 450 ms; one after the other they would answer after 200 + 200 + 200 ms.
    assert at - 1.0 == pytest.approx(0.45 + 0.05, abs=0.04)
    assert len(ear.asked) == 1


async def test_a_voice_that_goes_on_is_listened_to_again() -> None:
    ear = Ear()
    host = await talk(ear, 0.1, (1.0, True), (0.3, False), (1.0, True), (2.0, False))
    assert [turn.reason for _, turn in host.turns] == ["statement/0.99"]
    assert ear.asked == pytest.approx([1.2, 2.5], abs=0.05)
