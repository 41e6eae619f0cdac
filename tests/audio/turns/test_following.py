"""Turns from a recogniser that hears everything: the voice detector is one witness, growing words are another."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm
from audio.stt.scripted import ScriptedStreamingStt
from audio.turns.contract import Committed, Phase, TurnSettings
from audio.turns.engine import TurnEngine
from audio.turns.streaming import StreamingTranscriber
from audio.vad.base import VadAdapter, VadEvent
from audio.vad.segment import SegmentMachine


class TalkingVad(VadAdapter):
    """Says the probability it is told to; the state machine is the real one. ``stuck`` keeps it in speech."""

    supports_real_start = True

    def __init__(self) -> None:
        self.machine = SegmentMachine()
        self.probability = 0.01
        self.samples = self.pending = self.resets = 0

    @property
    def is_speaking(self) -> bool:
        return self.machine.is_speaking

    def process(self, pcm: Pcm) -> list[VadEvent]:
        events: list[VadEvent] = []
        self.pending += pcm.size
        while self.pending >= 512:
            self.pending -= 512
            self.samples += 512
            events += self.machine.feed(self.probability, self.samples)
        return events

    def reset(self) -> None:
        self.resets += 1
        self.machine.reset()


class Call:
    """A caller, a room and a host that keeps what it is told; ``agent`` has the floor while it is True."""

    def __init__(self, **settings: Any) -> None:
        self.vad, self.stt = TalkingVad(), ScriptedStreamingStt(keeps_partial=True)
        self.transcriber = StreamingTranscriber(self.stt, hears_all=True)
        self.agent = False
        self.turns: list[Committed] = []
        self.told: list[tuple[str, Any]] = []
        self.engine = TurnEngine(self, self.vad, self.transcriber, settings=TurnSettings(**settings))  # type: ignore[arg-type]
        self.sample = 0
        self.level = 0.0

    async def __aenter__(self) -> Call:
        await self.transcriber.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()
        await self.transcriber.close()

    def agent_busy(self) -> bool:
        return self.agent

    def turn(self, committed: Committed) -> None:
        self.turns.append(committed)

    def cut_agent(self) -> None:
        self.agent = False
        self.told.append(("cut_agent", None))

    def __getattr__(self, name: str) -> Any:
        return lambda *values: self.told.append((name, *values))

    def of(self, name: str) -> list[Any]:
        return [values for told, *values in self.told if told == name]

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.turns]

    async def listen(self, seconds: float, probability: float | None = None, level: float | None = None) -> None:
        """Let time pass; the room sounds with ``level`` (RMS) and the detector says ``probability``."""
        if probability is not None:
            self.vad.probability = probability
        self.level = self.level if level is None else level
        for _ in range(round(seconds * 100)):
            self.sample += FRAME_SAMPLES
            self.engine.process(np.full(FRAME_SAMPLES, round(self.level * 32768), np.int16), self.sample)
            await asyncio.sleep(0.01)

    async def say(self, text: str, seconds: float = 1.0, level: float = 0.08) -> None:
        """Words that everybody hears; they are understood when half of them is said."""
        await self.listen(seconds / 2, 0.9, level)
        self.stt.partial(text)
        await self.listen(seconds / 2)
        await self.listen(0.0, 0.01, 0.0)


async def test_a_turn_is_taken_from_the_partial_and_confirmed_by_the_final() -> None:
    async with Call() as call:
        await call.say("What time is it?")
        await call.listen(1.0)
        assert [(turn.text, turn.reason) for turn in call.turns] == [("What time is it?", "question")]
        assert call.stt.flushes == 1
        call.stt.final("What time is it?")
        await call.listen(3.0)
        assert len(call.turns) == 1 and not call.of("corrected")


async def test_a_quiet_talker_is_heard_because_the_words_grow() -> None:
    async with Call() as call:
        for probability, text in ((0.2, "Turn on"), (0.08, "Turn on the light."), (0.02, "")):
            await call.listen(0.8, probability)
            if text:
                call.stt.partial(text)
        await call.listen(1.0)
        assert [(turn.text, turn.reason) for turn in call.turns] == [("Turn on the light.", "sweep")]


async def test_words_written_into_silence_are_dropped_visibly() -> None:
    async with Call() as call:
        await call.listen(5.0, 0.01)
        call.stt.partial("Yes.")
        await call.listen(3.0)
        assert call.turns == [] and call.of("discarded") == [["phantom"]]
        call.stt.partial("Yes.")
        call.stt.final("Yes.")
        await call.listen(3.0)
        assert call.turns == []


async def test_speech_that_the_detector_misses_is_swept_up_once() -> None:
    async with Call() as call:
        await call.listen(1.0, 0.1, 0.005)
        call.stt.partial("Is anybody there")
        await call.listen(10.0)
        assert call.texts == ["Is anybody there"] and not call.of("discarded")


async def test_text_that_is_only_punctuated_anew_stands_still() -> None:
    async with Call() as call:
        await call.listen(0.5, 0.2)
        began = call.sample
        for text in ("Okay. Okay, thanks.", "Okay, okay. Thanks", "okay okay thanks!", "Okay. Okay. Thanks."):
            call.stt.partial(text)
            if call.turns:
                break
            await call.listen(0.9)
        assert len(call.turns) == 1
        assert (call.sample - began) / CAPTURE_RATE_HZ < 2.5


async def test_a_detector_that_has_gone_deaf_is_reset_once_and_its_words_wait_for_a_witness() -> None:
    async with Call() as call:
        await call.say("Hello there.")
        await call.listen(2.0)
        resets = call.vad.resets
        await call.listen(10.6, 0.01)
        for text in ("Are", "Are you", "Are you still"):
            call.stt.partial(text)
            await call.listen(0.5)
        assert call.vad.resets - resets == 1 and len(call.of("detector_stalled")) == 1
        await call.listen(3.0)
        assert call.texts == ["Hello there."]


async def test_a_detector_that_hears_speech_for_ever_does_not_keep_a_finished_turn() -> None:
    async with Call() as call:
        await call.listen(0.5, 0.9, 0.08)
        call.stt.partial("What time is it?")
        await call.listen(1.6)
        assert [(turn.text, turn.reason) for turn in call.turns] == [("What time is it?", "stable")]


async def test_an_unfinished_text_in_noise_is_waited_for_but_not_for_ever() -> None:
    async with Call() as call:
        await call.listen(0.5, 0.9, 0.08)
        call.stt.partial("Tell me about the")
        await call.listen(2.5)
        assert call.turns == []
        await call.listen(0.4)
        assert [turn.reason for turn in call.turns] == ["stable"]


@pytest.mark.parametrize(
    ("first", "echo", "more", "expected"),
    [
        ("Okay thanks", "Okay, thanks.", "Okay, thanks. Bye now.", "Bye now."),
        ("今日は晴れ", "今日は、晴れ。", "今日は、晴れ。明日は？", "明日は？"),
        ("Ja genau", "Ja, genau!", "Ja, genau! Und morgen?", "Und morgen?"),
    ],
)
async def test_what_was_taken_is_not_taken_again_however_it_is_punctuated(
    first: str, echo: str, more: str, expected: str
) -> None:
    async with Call() as call:
        await call.say(first)
        await call.listen(2.0)
        call.stt.partial(echo)
        await call.listen(0.5, 0.2)
        assert call.texts == [first]
        await call.say(more)
        await call.listen(2.0)
        assert call.texts == [first, expected]


async def test_who_repeats_themselves_is_heard_twice() -> None:
    async with Call() as call:
        await call.say("Hello?")
        await call.listen(1.0)
        call.stt.final("Hello?")
        await call.say("Hello?")
        await call.listen(1.0)
        assert call.texts == ["Hello?", "Hello?"]


async def test_who_repeats_themselves_is_heard_though_the_final_never_came() -> None:
    async with Call() as call:
        await call.say("Hello?")
        await call.listen(4.0)
        await call.say("Hello?")
        await call.listen(1.0)
        assert call.texts == ["Hello?", "Hello?"]


@pytest.mark.parametrize(
    ("sent", "actual", "corrected"),
    [
        ("Turn on the light", "Turn on the light.", False),
        ("Turn on the light", "Turn on the light, please.", False),
        ("Turn on the light", "Turn off the light.", True),
        ("Turn on the light", "Turn on the light in the kitchen and the hall.", True),
        ("電気をつけて", "電気をつけてね。", False),
        ("電気をつけて", "電気を消して。", True),
    ],
)
async def test_only_other_words_are_a_correction(sent: str, actual: str, corrected: bool) -> None:
    async with Call() as call:
        await call.say(sent)
        await call.listen(2.0)
        call.stt.final(actual)
        assert call.texts == [sent]
        assert call.of("corrected") == ([[sent, actual]] if corrected else [])


async def test_words_that_come_late_are_part_of_the_turn_and_cost_no_further_wait() -> None:
    async with Call() as call:
        await call.say("I would like")
        ended = call.sample
        await call.listen(0.7)
        call.stt.partial("I would like to know the time.")
        while not call.turns and call.sample - ended < 5 * CAPTURE_RATE_HZ:
            await call.listen(0.01)
        assert call.texts == ["I would like to know the time."]
        assert (call.sample - ended) / CAPTURE_RATE_HZ == pytest.approx(0.45 + 0.6, abs=0.06)


async def test_where_nothing_was_understood_yet_the_recogniser_is_asked() -> None:
    async with Call() as call:
        await call.listen(1.0, 0.9, 0.08)
        await call.listen(0.6, 0.01, 0.0)
        assert call.stt.flushes == 1
        call.stt.final("What time is it?")
        await call.listen(0.6)
        assert call.texts == ["What time is it?"]


async def test_what_the_recogniser_ends_by_itself_is_a_turn_if_somebody_spoke() -> None:
    async with Call() as call:
        await call.listen(0.5, 0.2)
        call.stt.final("Good morning.")
        await call.listen(0.1)
        assert [(turn.text, turn.reason) for turn in call.turns] == [("Good morning.", "final")]
        await call.listen(8.0, 0.01)
        call.stt.final("Thank you.")
        await call.listen(2.0)
        assert len(call.turns) == 1 and call.of("discarded") == [["phantom"]]


async def test_what_is_understood_while_the_agent_speaks_is_nobodys_turn() -> None:
    async with Call() as call:
        call.agent = True
        await call.listen(0.5, 0.2)
        call.stt.partial("There are several walks")
        await call.listen(1.0)
        call.agent = False
        await call.listen(3.0)
        assert call.turns == [] and call.of("discarded") == [["unowned"]]
        await call.say("There are several walks. Which one is short?")
        await call.listen(2.0)
        assert call.texts == ["Which one is short?"]


async def test_an_interruption_owns_its_words() -> None:
    async with Call() as call:
        call.agent = True
        await call.say("Wait, what about Tuesday?", 1.5)
        await call.listen(1.5)
        assert call.of("cut_agent") and call.texts == ["Wait, what about Tuesday?"]


async def test_the_next_table_is_turned_away_and_stop_is_not() -> None:
    async with Call() as call:
        await call.say("What time is it?", level=0.08)
        await call.listen(2.0)
        await call.say("Did you see the match?", level=0.012)
        await call.listen(2.0)
        assert call.texts == ["What time is it?"] and call.of("discarded") == [["far_field"]]
        await call.say("Stop.", level=0.012)
        await call.listen(2.0)
        assert call.texts == ["What time is it?", "Stop."]


async def test_sound_that_was_missing_ends_what_the_detector_was_hearing() -> None:
    async with Call() as call:
        await call.listen(1.0, 0.9, 0.08)
        call.stt.partial("What time is it?")
        call.sample += 2 * CAPTURE_RATE_HZ
        await call.listen(1.0, 0.01, 0.0)
        assert call.texts == ["What time is it?"] and call.engine.phase is Phase.QUIET


async def test_hours_of_silence_do_not_make_the_first_sentence_too_long() -> None:
    async with Call(max_turn_s=5.0) as call:
        await call.listen(20.0)
        await call.say("Is it late?", 1.0)
        await call.listen(0.3)
        assert call.turns == []
        await call.listen(1.0)
        assert [(turn.text, turn.reason) for turn in call.turns] == [("Is it late?", "question")]
