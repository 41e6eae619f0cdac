"""What goes wrong when people interrupt, by the numbers of the list of field cases.

The sweep of cases 20 and 22 through every sink is in ``tests/audio/test_cuts.py``, the random interleavings of case 24
are in ``tests/audio/test_voice_races.py``, and the streams of part D in ``tests/audio/providers``.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Hang, Say, ScriptedModel
from audio.events import VoiceEvent
from audio.tts.scripted import ScriptedVoice
from audio.turns.contract import TurnSettings
from audio.voice import VoiceSettings
from tests.support.session import Session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
EAGER = VoiceSettings(turns=TurnSettings(preemptive=True))


async def counting(session: Session, seconds: float = 1.0) -> None:
    """Let the agent begin to count."""
    await session.say("Count.")
    await session.until(lambda: session.of("agent_speech_started"))
    await asyncio.sleep(seconds)


def pauses(session: Session) -> list[str]:
    return session.types("playback_paused", "playback_resumed", "interrupted")


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("", 0.1), ("", 0.6), ("[coughs]", 0.4), ("Mhm.", 0.5), ("Yeah, okay.", 0.7), ("Ha ha ha.", 1.0), ("No.", 0.1)],
)
async def test_case_c18_noises_nods_and_laughs_let_the_reply_go_on_at_the_same_sample(
    said: str, seconds: float
) -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await counting(session)
        await session.say(said, seconds)
        await session.settle()
        assert pauses(session) == ["playback_paused", "playback_resumed"]
        assert session.room.player.played == 16 * 6000, "not a sample is lost or said twice"
        assert session.of("agent_speech_stopped")[-1].heard == LONG


async def test_case_c18_a_pause_that_is_followed_by_nothing_has_a_deadline() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await counting(session)
        engine = session.voice._engine
        assert engine is not None
        engine.barge_in.started()
        assert session.room.player.paused
        await session.until(lambda: not session.room.player.paused, 3)
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == LONG


@pytest.mark.parametrize(
    ("said", "seconds"), [("What about Tuesday then?", 1.2), ("Wait.", 0.4), ("Stop.", 0.4), ("Stop.", 0.16)]
)
async def test_case_c18_words_take_the_floor_and_are_answered(said: str, seconds: float) -> None:
    async with Session(ScriptedModel([LONG, "Yes?"])) as session:
        await counting(session)
        began = session.room.time_s
        await session.say(said, seconds)
        await session.settle()
        assert pauses(session) == ["playback_paused", "interrupted"]
        assert session.of("playback_paused")[0].t - began < 0.15
        assert session.of("interrupted")[0].t - began < max(1.0, seconds + 0.45)
        assert [turn.text for turn in session.of("user_turn")] == ["Count.", said]
        assert session.of("agent_speech_stopped")[-1].heard == "Yes?"


async def test_case_c18_a_second_pause_is_decided_like_the_first() -> None:
    async with Session(ScriptedModel([LONG, "Yes?"])) as session:
        await counting(session, 0.5)
        await session.say("Mhm.", 0.4)
        await session.until(lambda: session.of("playback_resumed"))
        await asyncio.sleep(0.2)
        await session.say("Wait a moment.", 0.8)
        await session.settle()
        assert pauses(session) == ["playback_paused", "playback_resumed", "playback_paused", "interrupted"]
        assert session.of("agent_speech_stopped")[-1].heard == "Yes?"


async def test_case_c18_the_reply_s_own_words_in_the_microphone_do_not_cut_it() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await counting(session, 1.5)
        await session.say("three four five six", 1.0)
        await session.settle()
        assert pauses(session) == ["playback_paused", "playback_resumed"]
        assert len(session.of("user_turn")) == 1


async def test_case_c18_somebody_who_laughs_for_long_and_then_speaks_is_heard() -> None:
    async with Session(ScriptedModel([LONG + " " + LONG, "Yes?"])) as session:
        await counting(session)
        session.living.speak("Ha ha ha", 3.5)
        session.living.speak("wait what was that", 1.5)
        await session.until(lambda: session.of("interrupted"), 15)
        await session.settle()
        assert pauses(session) == ["playback_paused", "playback_resumed", "interrupted"]
        assert session.of("user_turn")[-1].text == "Ha ha ha wait what was that"


async def test_case_c19_without_a_frame_of_sound_nobody_speaks_and_the_user_is_told() -> None:
    voice = ScriptedVoice(fault="silent")
    async with Session(ScriptedModel(["Hello to you."]), tts=voice) as session:
        await session.say("Hello there.")
        await session.until(lambda: session.of("user_turn"))
        modes = list[str]()
        session.voice.events.on(VoiceEvent, lambda event: modes.append(session.voice.current_mode))
        await asyncio.sleep(2.0)
        assert session.voice.current_mode == "thinking" and not session.of("agent_speech_started")
        await session.settle()
        assert "ERR_TTS_CONNECTION" in [event.code for event in session.of("error")]
        started = session.of("agent_speech_started")[0].t
        first = int(np.flatnonzero(np.abs(session.living.right) > 300)[0]) / session.room.player.rate_hz
        assert started == pytest.approx(first, abs=0.011), "a sound that says so is the first that is heard"


async def test_case_c20_a_voice_that_was_cut_before_its_first_sound_is_silent_for_ever() -> None:
    voice = ScriptedVoice(first_audio_s=1.0)
    async with Session(ScriptedModel([LONG, "Fine."]), tts=voice) as session:
        await session.say("Count.")
        await session.until(lambda: voice.made and voice.made[0].texts)
        session.voice.interrupt()
        assert not session.of("interrupted"), "nobody had spoken"
        session.voice.say_to_agent("And now?")
        await session.settle()
        assert session.heard_words() == 1
        assert session.of("agent_speech_stopped")[0].heard == "Fine."
        assert voice.made[0].destroyed


async def test_case_c21_two_seconds_of_waiting_sound_are_silent_at_once() -> None:
    voice = ScriptedVoice(speed=1000.0)
    async with Session(ScriptedModel([LONG, "Fine."]), tts=voice) as session:
        await counting(session, 0.5)
        assert session.room.player.queued_s > 2.0
        session.voice.interrupt()
        cut = session.living.right.size
        await asyncio.sleep(1.0)
        after = np.abs(session.living.right[cut:]) > 300
        assert not after[session.room.player.rate_hz // 10 :].any()


async def test_case_c22_history_never_holds_what_was_not_said_before_a_cut() -> None:
    model = ScriptedModel([LONG, [Say("Never heard. ", 0.0), Hang()], "Fine."])
    async with Session(model) as session:
        await counting(session, 1.0)
        session.voice.interrupt()
        heard = session.of("interrupted")[0].heard
        session.voice.say_to_agent("Next.")
        await asyncio.sleep(0.05)
        session.voice.interrupt()
        session.voice.say_to_agent("And now?")
        await session.settle()
        assert [text for who, text in await session.history() if who == "agent" and text] == [heard, "Fine."]
        assert len(session.of("interrupted")) == 1


@pytest.mark.parametrize("settings", [None, EAGER])
async def test_case_c23_two_bursts_are_one_turn_and_the_answer_to_the_first_is_never_heard(
    settings: VoiceSettings | None,
) -> None:
    model = ScriptedModel(
        lambda request: "Both." if "father" in request.messages[-1].text else "First.", first_token_s=0.6
    )
    async with Session(model, settings=settings, tts=ScriptedVoice(first_audio_s=0.5)) as session:
        await session.say("Call my mother.", 0.8)
        await asyncio.sleep(1.2)
        await session.say("And my father.", 0.8)
        await session.settle()
        assert session.of("user_turn")[-1].text == "Call my mother. And my father."
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["Both."]
        shown = model.requests[-1].messages
        assert [message.text for message in shown] == ["Call my mother. And my father."]


async def test_case_c24_a_barge_in_before_the_first_sound_with_a_tool_under_way_comes_to_rest() -> None:
    async def run(_args: NoArgs, _ctx: Any) -> str:
        await asyncio.sleep(1.0)
        return "fine"

    look = Tool(name="look", description="look", run=run, args=NoArgs)
    model = ScriptedModel([[Say("Let me see. "), Call("look")], "Fine."])
    async with Session(model, tools=(look,), tts=ScriptedVoice(first_audio_s=2.0)) as session:
        await session.say("Where is it?")
        await session.until(lambda: session.of("tool_use"))
        await session.say("Never mind that now.", 1.0)
        await session.settle()
        messages = await session.glove.store.get_messages()
    results = [result.result.status for message in messages for result in message.tool_results or ()]
    assert results in (["aborted"], ["success"])
    assert session.of("agent_speech_stopped")[-1].heard == "Fine."
