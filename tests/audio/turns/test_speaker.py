"""The turn engine and who speaks: pace and distance, with a recogniser of whole utterances."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agents.base.clock import now
from audio.pcm import FRAME_SAMPLES
from audio.stt.scripted import ScriptedSegmentStt
from audio.turns.contract import Committed, TurnSettings
from audio.turns.engine import TurnEngine
from audio.turns.hold import Hold, Utterance
from audio.turns.transcriber import SegmentTranscriber
from tests.support.session import LevelVad


class Judge:
    """Holds everything for 1000 ms and keeps what it was shown. ``delay_s``: how long it takes to say so."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.shown: list[Utterance] = []
        self.delay_s = delay_s
        self.answer = Hold(1000, "statement")

    async def judge(self, utterance: Utterance) -> Hold:
        self.shown.append(utterance)
        await asyncio.sleep(self.delay_s)
        return self.answer


class Room:
    """A user whose level is given, and a host that keeps turns and why others were dropped."""

    def __init__(self, texts: list[str], judge: Judge | None = None, **settings: Any) -> None:
        self.turns: list[tuple[float, Committed]] = []
        self.dropped: list[str] = []
        self.busy = False
        self.judge = judge or Judge()
        self.transcriber = SegmentTranscriber(ScriptedSegmentStt(texts, latency_s=0.1))
        self.engine = TurnEngine(self, LevelVad(), self.transcriber, self.judge, TurnSettings(**settings))  # type: ignore[arg-type]
        self.sample = 0

    def agent_busy(self) -> bool:
        return self.busy

    def turn(self, committed: Committed) -> None:
        self.turns.append((now(), committed))

    def discarded(self, reason: str) -> None:
        self.dropped.append(reason)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None

    async def sound(self, seconds: float, level: float = 0.0) -> None:
        for _ in range(round(seconds * 100)):
            self.sample += FRAME_SAMPLES
            self.engine.process(np.full(FRAME_SAMPLES, round(level * 32768), np.int16), self.sample)
            await asyncio.sleep(0.01)

    async def __aenter__(self) -> Room:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()
        await self.transcriber.close()


@pytest.mark.parametrize("delay_s", [0.0, 0.3])
async def test_the_hold_counts_from_the_end_of_speech_however_long_it_takes_to_judge(delay_s: float) -> None:
    async with Room(["It is late."], Judge(delay_s)) as room:
        await room.sound(1.0, 0.08)
        ended = now()
        await room.sound(3.0)
        assert room.turns[0][0] - ended == pytest.approx(0.45 + 1.0, abs=0.04)


async def test_speech_that_goes_on_during_the_hold_is_one_turn_and_makes_the_next_hold_longer() -> None:
    async with Room(["It is late, I think."]) as room:
        await room.sound(1.0, 0.08)
        await room.sound(1.3)
        await room.sound(1.0, 0.08)
        ended = now()
        await room.sound(3.0)
        (at, turn), *others = room.turns
        assert turn.text == "It is late, I think." and not others
        assert turn.hold_ms == pytest.approx(1000 * (0.7 * 700 + 0.3 * 1300) / 700, abs=30)
        assert at - ended == pytest.approx(0.45 + turn.hold_ms / 1000, abs=0.04)


async def test_silence_in_which_the_agent_answered_is_no_pause_of_the_user() -> None:
    async with Room(["It is late.", "Very late."]) as room:
        await room.sound(1.0, 0.08)
        await room.sound(2.0)
        room.busy = True
        await room.sound(2.5)
        await room.sound(1.0, 0.08)
        room.busy = False
        await room.sound(3.0)
        assert [turn.hold_ms for _, turn in room.turns] == [1000, 1000]


async def test_the_detector_is_shown_the_sound_with_little_of_the_silence_behind_it() -> None:
    async with Room(["It is late."]) as room:
        room.engine.context = lambda: (("assistant", "Hello."),)
        await room.sound(1.0)
        await room.sound(1.0, 0.08)
        await room.sound(3.0)
        (shown,) = room.judge.shown
        voiced = np.flatnonzero(shown.sound)
        assert shown.context == (("assistant", "Hello."),)
        assert voiced.size == 16_000, "all that was said"
        assert shown.sound.size - voiced[-1] <= 16 * 90, "50 ms of silence, and the detector's frame"
        assert voiced[0] >= 16 * 700, "and the sound before it"


async def test_the_next_table_is_turned_away_until_it_insists() -> None:
    texts = ["It is late."] + ["They play well."] * 4
    async with Room(texts) as room:
        await room.sound(1.0, 0.2)
        await room.sound(2.0)
        for _ in range(4):
            await room.sound(1.0, 0.012)
            await room.sound(2.0)
        assert [turn.text for _, turn in room.turns] == ["It is late.", "They play well."]
        assert room.dropped == ["far_field"] * 3


@pytest.mark.parametrize(("text", "reason"), [("Stop.", "statement"), ("Turn on the light.", "command")])
async def test_stop_and_what_the_appliance_understands_are_never_too_far_away(text: str, reason: str) -> None:
    async with Room(["It is late.", text]) as room:
        await room.sound(1.0, 0.2)
        await room.sound(2.0)
        room.judge.answer = Hold(250, reason)
        await room.sound(1.0, 0.012)
        await room.sound(2.0)
        assert [turn.text for _, turn in room.turns] == ["It is late.", text] and room.dropped == []


async def test_the_distance_does_not_matter_where_everybody_shall_be_heard() -> None:
    async with Room(["It is late.", "They play well."], far_field_ratio=0.0) as room:
        for level in (0.2, 0.012):
            await room.sound(1.0, level)
            await room.sound(2.0)
        assert len(room.turns) == 2


async def test_the_talk_key_is_heard_at_any_distance() -> None:
    async with Room(["It is late.", "They play well."]) as room:
        await room.sound(1.0, 0.2)
        await room.sound(2.0)
        room.engine.hold([])
        await room.sound(1.0, 0.012)
        room.engine.commit()
        await room.sound(1.0)
        assert len(room.turns) == 2
