"""What is measured of a turn, on virtual time, against what was really said and played."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from audio.stt.scripted import ScriptedStreamingStt
from audio.tts.scripted import ScriptedVoice
from audio.turn_record import WAITING, TurnMeasured, TurnRecord
from audio.voice import VoiceSettings
from tests.support.session import Session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."

FRAME_S = 0.011
DETECTOR_S = 0.033
"""One window of the voice detector."""


def records(session: Session) -> list[TurnRecord]:
    """The record of each turn, in order."""
    return [event.record for event in session.events if isinstance(event, TurnMeasured) and event.record is not None]


def metrics(session: Session, name: str) -> list[Any]:
    return [event for event in session.of("metric") if event.name == name]


def names(session: Session) -> list[str]:
    return [event.name for event in session.of("metric")]


def first_sound_s(session: Session) -> float:
    """When the first sample that anybody could hear was played."""
    return int(np.flatnonzero(np.abs(session.living.right) > 300)[0]) / session.room.player.rate_hz


def last_sound_s(session: Session) -> float:
    return int(np.flatnonzero(np.abs(session.living.right) > 300)[-1]) / session.room.player.rate_hz


async def test_a_turn_is_measured_from_the_onset_to_the_last_sample() -> None:
    async with Session(ScriptedModel(["It is noon."], first_token_s=0.3)) as session:
        began = session.room.time_s
        await session.say("What time is it?")
        await session.settle()
        (turn,) = records(session)
        assert (turn.number, turn.source, turn.outcome) == (1, "speech", "complete")
        assert turn.heard.onset_s == pytest.approx(began, abs=DETECTOR_S)
        assert turn.speech_end_s == pytest.approx(began + 1.0, abs=DETECTOR_S)
        assert turn.audible_s == pytest.approx(first_sound_s(session), abs=FRAME_S)
        # The scripted voice ends each word with a short silence, which is played too.
        assert turn.ended_s == pytest.approx(last_sound_s(session), abs=0.15)
        assert turn.heard_words == 3


async def test_what_happens_in_a_turn_is_measured_in_its_order() -> None:
    async with Session(ScriptedModel(["It is noon."], first_token_s=0.3)) as session:
        await session.say("What time is it?")
        await session.settle()
        (turn,) = records(session)
        marks = turn.to_data()["marks"]
        assert list(marks) == [
            "onset",
            "confirmed",
            "partial",
            "dispatch",
            "vad_end",
            "final",
            "committed",
            "asked",
            "first_token",
            "first_sentence",
            "first_sound",
            "audible",
            "ended",
        ]
        assert list(marks.values()) == sorted(marks.values())
        assert marks["onset"] < 0 < marks["dispatch"] < marks["vad_end"]
        assert marks["first_token"] - marks["asked"] == pytest.approx(300, abs=2)
        assert marks["first_sound"] - marks["first_sentence"] == pytest.approx(120, abs=2)


async def test_the_stages_join_and_add_up_to_the_latency() -> None:
    async with Session(ScriptedModel(["It is noon."], first_token_s=0.3)) as session:
        await session.say("What time is it?")
        await session.settle()
        (turn,) = records(session)
        stages = turn.stages()
        assert [stage.name for stage in stages] == ["speech", *WAITING, "answer"]
        assert all(one.end_s == other.start_s for one, other in pairwise(stages))
        waited = sum(stage.ms for stage in stages if stage.name in WAITING)
        (latency,) = metrics(session, "voice_to_voice")
        assert waited == pytest.approx(latency.ms, abs=0.2)
        assert turn.voice_to_voice_ms == pytest.approx(latency.ms, abs=0.2)


async def test_each_step_is_told_when_it_is_over() -> None:
    async with Session(ScriptedModel(["It is noon."], first_token_s=0.3)) as session:
        await session.say("What time is it?")
        await session.settle()
        assert names(session) == [
            "vad_confirmed",
            "vad_end",
            "stt_dispatch_ms",
            "stt_final_ms",
            "endpoint_hold",
            "front_ttft_ms",
            "tts_first_audio_ms",
            "time_to_first_audio_ms",
            "voice_to_voice",
            "tts_playback_ms",
            "turn",
        ]
        times = [event.t for event in session.of("metric")]
        assert times == sorted(times)
        assert metrics(session, "front_ttft_ms")[0].ms == pytest.approx(300, abs=2)
        assert metrics(session, "vad_end")[0].ms == pytest.approx(450, abs=70)
        hold = metrics(session, "endpoint_hold")[0]
        parts = [metrics(session, "vad_end")[0].ms, metrics(session, "stt_final_ms")[0].ms, hold.data["remaining"]]
        assert sum(parts) == pytest.approx(hold.data["waited"], abs=0.2)
        assert metrics(session, "tts_playback_ms")[0].ms == pytest.approx(750, abs=15)


async def test_no_word_of_anybody_is_in_the_metrics() -> None:
    async with Session(ScriptedModel(["Xylophone music."])) as session:
        await session.say("Play the marimba.")
        await session.settle()
        told = str([event.to_json() for event in session.of("metric")]).lower()
        assert "xylophone" not in told and "marimba" not in told


async def test_an_interruption_is_measured_from_the_pause_to_the_decision() -> None:
    async with Session(ScriptedModel([LONG, "Stopped."])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.0)
        await session.say("Stop it right now.")
        await session.settle()
        first, second = records(session)
        assert (first.outcome, second.outcome) == ("cut", "complete")
        (pause,) = first.pauses
        assert pause.cut and pause.decided_s is not None
        assert pause.paused_s == session.of("playback_paused")[0].t
        assert pause.decided_s == session.of("interrupted")[0].t == first.ended_s
        assert second.heard.onset_s == pytest.approx(pause.paused_s, abs=DETECTOR_S)
        assert first.heard_words == len(session.of("interrupted")[0].heard.split()) > 0
        (cut,) = metrics(session, "barge_in")
        assert cut.data["by"] == "speech" and cut.data["played_ms"] == session.of("interrupted")[0].played_ms
        assert cut.ms == pytest.approx(1000 * (pause.decided_s - pause.paused_s), abs=0.1)


async def test_a_cough_is_a_pause_that_was_taken_back() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.0)
        await session.say("", 0.15)
        await session.settle()
        (turn,) = records(session)
        assert (turn.outcome, turn.heard_words) == ("complete", 16)
        (pause,) = turn.pauses
        assert not pause.cut
        (taken_back,) = metrics(session, "barge_in_retracted")
        paused, resumed = session.of("playback_paused")[0].t, session.of("playback_resumed")[0].t
        assert taken_back.ms == pytest.approx(1000 * (resumed - paused), abs=0.1)
        # The time that the answer stood still is no playback: sixteen words of 250 ms.
        assert metrics(session, "tts_playback_ms")[0].ms == pytest.approx(4000, abs=30)


async def test_a_tool_is_measured_within_its_turn() -> None:
    async def look(_args: NoArgs, _ctx: Any) -> str:
        await asyncio.sleep(0.7)
        return "noon"

    tool = Tool(name="clock", description="Tells the time.", run=look, args=NoArgs)
    model = ScriptedModel([Call("clock"), "It is noon."])
    async with Session(model, tools=(tool,)) as session:
        await session.say("What time is it?")
        await session.settle()
        (turn,) = records(session)
        (run,) = turn.tools
        assert (run.name, run.status) == ("clock", "success")
        assert run.ended_s is not None and turn.asked_s is not None and turn.first_token_s is not None
        assert run.ended_s - run.started_s == pytest.approx(0.7, abs=0.01)
        assert turn.asked_s <= run.started_s and run.ended_s <= turn.first_token_s
        assert metrics(session, "tool_ms")[0].ms == pytest.approx(700, abs=10)


async def test_a_turn_that_is_cut_before_its_first_sample_is_unheard_and_continued() -> None:
    model = ScriptedModel([Hang(), "Rain."])
    async with Session(model, settings=VoiceSettings(cue_s=30.0)) as session:
        await session.say("What will the weather")
        await session.until(lambda: session.of("user_turn"))
        await asyncio.sleep(0.3)
        await session.say("be like tomorrow?")
        await session.settle()
        first, second = records(session)
        assert (first.outcome, first.audible_s, first.heard_words) == ("unheard", None, 0)
        assert first.voice_to_voice_ms is None
        assert [stage.name for stage in first.stages()] == ["speech", "silence", "recognition", "hold"]
        assert (second.outcome, second.continued, first.continued) == ("complete", True, False)


async def test_a_corrected_turn_is_one_turn_whose_answer_counts_from_what_was_said() -> None:
    stt = ScriptedStreamingStt()
    model = ScriptedModel(["It is on.", "It is off."])
    async with Session(model, stt=stt, tts=ScriptedVoice(first_audio_s=1.0)) as session:
        session.living.speak("ignored", 1.0)
        await asyncio.sleep(0.8)
        stt.partial("Turn on the light.")
        await session.until(lambda: session.of("user_turn"))
        await asyncio.sleep(0.3)
        stt.final("Turn off the light.")
        await session.settle()
        (turn,) = records(session)
        assert (turn.corrections, turn.outcome, turn.heard_words) == (1, "complete", 3)
        corrected = session.of("user_turn_corrected")[0].t
        assert turn.asked_s is not None and turn.asked_s >= corrected > turn.committed_s
        assert turn.audible_s == pytest.approx(first_sound_s(session), abs=FRAME_S)
        assert len(metrics(session, "stt_correction")) == 1


async def test_a_turn_of_the_talk_key_begins_with_the_press_and_ends_with_the_release() -> None:
    async with Session(ScriptedModel(["It is noon."])) as session:
        await asyncio.sleep(0.5)
        pressed = session.room.time_s
        session.voice.ptt_down()
        await session.say("What time is it?")
        await asyncio.sleep(0.5)
        released = session.room.time_s
        session.voice.ptt_up()
        await session.settle()
        (turn,) = records(session)
        assert turn.source == "push_to_talk"
        assert turn.heard.onset_s == pytest.approx(pressed, abs=0.02)
        assert turn.speech_end_s == pytest.approx(released, abs=0.02)
        stages = {stage.name: stage.ms for stage in turn.stages()}
        assert stages["silence"] < 20, "nobody waits for silence when the key says that it is over"


async def test_a_typed_turn_has_nothing_that_was_heard() -> None:
    async with Session(ScriptedModel(["It is noon."])) as session:
        session.voice.say_to_agent("What time is it?")
        await session.settle()
        (turn,) = records(session)
        assert (turn.source, turn.heard.onset_s) == ("typed", None)
        assert [stage.ms for stage in turn.stages()[:3]] == [0, 0, 0]
        assert "vad_end" not in names(session) and "endpoint_hold" not in names(session)


async def test_what_is_no_turn_is_counted_and_leaves_no_trace_in_the_next() -> None:
    async with Session(ScriptedModel(["It is noon."])) as session:
        await session.say("[coughs]", 0.8)
        await session.until(lambda: session.of("discarded"))
        await asyncio.sleep(2.0)
        began = session.room.time_s
        await session.say("What time is it?")
        await session.settle()
        assert metrics(session, "utterance_discarded")[0].data == {"reason": "no_words"}
        (turn,) = records(session)
        assert turn.heard.onset_s == pytest.approx(began, abs=DETECTOR_S)


async def test_a_fault_is_named_by_its_code() -> None:
    async with Session(ScriptedModel([Fail(GloveError("ERR_MODEL_TIMEOUT", "It took too long."))])) as session:
        await session.say("What time is it?")
        await session.settle()
        (turn,) = records(session)
        code = session.of("error")[0].code
        assert (turn.fault, metrics(session, "speech_failure")[0].data) == (code, {"code": code})
        assert turn.outcome == "complete", "the failure line was heard"


async def test_an_announcement_is_no_turn() -> None:
    async with Session(ScriptedModel([Say("It is noon.")])) as session:
        await session.voice.announce("The tea is ready.")
        await session.settle()
        assert records(session) == []


async def test_a_session_that_stops_ends_its_turn() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.6)
    (turn,) = records(session)
    assert turn.outcome == "cut"
    assert turn.heard_words == len(session.of("agent_speech_stopped")[0].heard.split())
