"""The talk key, on virtual time. Test names follow what the key does."""

from __future__ import annotations

import asyncio

import pytest

from agents.models.scripted import Say, ScriptedModel
from audio.events import Discarded
from audio.turns.ptt import TalkTimes
from audio.voice import VoiceSettings
from audio.wake.attention import AttentionMode, AttentionSettings
from tests.support.session import Session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
PTT = AttentionSettings(mode="ptt")


def turns(session: Session) -> list[str]:
    return [turn.text for turn in session.of("user_turn")]


def reasons(session: Session) -> list[str]:
    return [event.reason for event in session.of("discarded")]


@pytest.mark.parametrize("mode", ["wake", "open", "ptt", None])
async def test_what_is_said_while_the_key_is_held_is_one_turn_at_once(mode: AttentionMode | None) -> None:
    attention = None if mode is None else AttentionSettings(mode=mode)
    async with Session(ScriptedModel(["Yes."]), attention=attention) as session:
        assert session.voice.ptt_down() and session.voice.ptt_held
        await session.say("First part", 0.6)
        await asyncio.sleep(3.0)
        await session.say("second part.", 0.6)
        released = session.room.time_s
        session.voice.ptt_up()
        await session.settle()
        assert turns(session) == ["First part second part."]
        assert session.of("user_turn")[0].t - released < 0.2, "only the recogniser is waited for"


async def test_in_manual_mode_the_key_speaks_through_the_mute_of_the_start() -> None:
    async with Session(ScriptedModel(["Yes."]), settings=VoiceSettings(turn_mode="manual")) as session:
        assert session.voice.is_muted
        session.voice.ptt_down()
        await session.say("Send this.", 0.6)
        session.voice.ptt_up()
        await session.settle()
        assert turns(session) == ["Send this."]
        assert session.voice.is_muted


async def test_without_the_key_nothing_is_heard_in_ptt_mode() -> None:
    async with Session(ScriptedModel(["Yes."]), attention=PTT) as session:
        session.call()
        await session.say("Nobody hears this.")
        await asyncio.sleep(2.0)
        session.voice.ptt_down()
        await session.say("Heard.", 0.5)
        session.voice.ptt_up()
        await session.settle()
        await session.say("Nor this.")
        await asyncio.sleep(2.0)
        assert turns(session) == ["Heard."]
        assert session.states() == ["engaged", "asleep"]


async def test_a_mute_of_the_user_wins_over_the_key() -> None:
    async with Session(ScriptedModel([])) as session:
        session.voice.mute()
        assert not session.voice.ptt_down() and not session.voice.ptt_held
        await session.say("Secret.", 0.5)
        session.voice.ptt_up()
        await asyncio.sleep(1.0)
        assert not turns(session) and reasons(session) == ["muted"]


async def test_muting_ends_a_recording() -> None:
    async with Session(ScriptedModel([])) as session:
        session.voice.ptt_down()
        await session.say("Secret.", 0.5)
        session.voice.mute()
        session.voice.ptt_up()
        session.voice.unmute()
        await asyncio.sleep(2.0)
        assert not turns(session) and not session.voice.ptt_held and session.voice.settled


async def test_the_key_interrupts_the_agent() -> None:
    async with Session(ScriptedModel([LONG, "Yes."]), attention=PTT) as session:
        session.voice.say_to_agent("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        session.voice.ptt_down()
        words = session.heard_words()
        await session.say("Stop it.", 0.5)
        assert session.heard_words() == words
        session.voice.ptt_up()
        await session.settle()
        assert turns(session) == ["Count.", "Stop it."] and len(session.of("interrupted")) == 1


async def test_the_key_continues_a_turn_whose_answer_was_not_heard() -> None:
    async with Session(ScriptedModel([Say("Never said.", 2.0), "Both."]), attention=PTT) as session:
        for text in ("Call my mother.", "And my father."):
            session.voice.ptt_down()
            await session.say(text, 0.5)
            session.voice.ptt_up()
            await asyncio.sleep(0.3)
        await session.settle()
        assert turns(session)[-1] == "Call my mother. And my father."


@pytest.mark.parametrize("held_ms", [0, 100, 299, 340])
async def test_a_short_press_records_on_to_the_least(held_ms: int) -> None:
    async with Session(ScriptedModel(["Yes."]), partials=False) as session:
        await asyncio.sleep(1.0)
        pressed = session.room.time_s
        session.voice.ptt_down()
        session.living.speak("Yes", 0.5)
        await asyncio.sleep(held_ms / 1000)
        session.voice.ptt_up()
        assert session.voice.ptt_held
        await session.until(lambda: not session.voice.ptt_held)
        assert session.room.time_s - pressed == pytest.approx(0.35, abs=0.02)
        await session.settle()
        assert turns(session) == ["Yes"]


async def test_sound_from_just_before_the_press_is_kept_and_no_more() -> None:
    async with Session(ScriptedModel(["Yes."]), partials=False, attention=PTT) as session:
        await asyncio.sleep(2.0)
        session.voice.ptt_down()
        await session.say("Yes", 0.5)
        session.voice.ptt_up()
        await session.settle()
        padding = 8000
        assert session.stt.calls[-1] - padding == pytest.approx((0.3 + 0.52) * 16_000, abs=480)


async def test_a_new_press_takes_a_pending_commit_back() -> None:
    async with Session(ScriptedModel(["Yes."])) as session:
        session.voice.ptt_down()
        session.living.speak("Both", 0.1)
        await asyncio.sleep(0.1)
        session.voice.ptt_up()
        await asyncio.sleep(0.1)
        session.voice.ptt_down()
        await session.say("of it.", 1.0)
        assert not turns(session) and session.voice.ptt_held
        session.voice.ptt_up()
        await session.settle()
        assert turns(session) == ["Both of it."]


async def test_a_press_while_the_text_is_awaited_goes_on_with_the_utterance() -> None:
    async with Session(ScriptedModel(["Yes."])) as session:
        session.voice.ptt_down()
        await session.say("Both", 0.5)
        session.voice.ptt_up()
        await asyncio.sleep(0.05)
        session.voice.ptt_down()
        await session.say("of it.", 0.5)
        session.voice.ptt_up()
        await session.settle()
        assert turns(session) == ["Both of it."]


async def test_an_empty_recording_returns_to_listening_at_once() -> None:
    async with Session(ScriptedModel([]), attention=PTT) as session:
        session.voice.ptt_down()
        await asyncio.sleep(0.5)
        session.voice.ptt_up()
        await session.settle(1.0)
        assert reasons(session) == ["no_words"]
        assert session.voice.current_mode == "listening" and session.voice.attention == "asleep"
        assert not session.of("agent_speech_started")


async def test_a_dead_microphone_does_not_leave_the_key_stuck() -> None:
    async with Session(ScriptedModel([]), attention=PTT) as session:
        session.room.input_open = False
        listening = session.voice._listening
        assert listening is not None
        listening.frame = lambda frame, sample: None  # type: ignore[method-assign]
        session.voice.ptt_down()
        await asyncio.sleep(1.0)
        session.voice.ptt_up()
        await asyncio.sleep(0.1)
        assert reasons(session) == ["empty"] and session.voice.settled


async def test_cancelling_drops_what_was_said() -> None:
    async with Session(ScriptedModel([]), attention=PTT) as session:
        session.voice.ptt_down()
        await session.say("By mistake.", 0.6)
        session.voice.ptt_cancel()
        await asyncio.sleep(2.0)
        assert not turns(session) and reasons(session) == ["cancelled"]
        assert session.voice.settled and session.voice.attention == "asleep"


async def test_stray_and_repeated_calls_change_nothing() -> None:
    async with Session(ScriptedModel(["Yes."]), attention=PTT) as session:
        session.voice.ptt_up()
        session.voice.ptt_cancel()
        for _ in range(3):
            session.voice.ptt_down()
            session.living.speak("word", 0.2)
            await asyncio.sleep(0.2)
        session.voice.ptt_up()
        session.voice.ptt_up()
        session.voice.ptt_cancel()
        await session.settle()
        assert turns(session) == ["word word word"]
    assert not session.voice.ptt_down(), "a stopped session records nothing"
    session.voice.ptt_up()
    session.voice.ptt_cancel()


async def test_a_lost_release_ends_at_the_longest_recording() -> None:
    settings = VoiceSettings(talk=TalkTimes(most_s=5.0))
    async with Session(ScriptedModel(["Yes."]), attention=PTT, settings=settings) as session:
        session.voice.ptt_down()
        await session.say("Hello there.", 1.0)
        await session.until(lambda: not session.voice.ptt_held, 10)
        session.living.speak("Nobody hears this.", 1.0)
        await session.settle()
        session.voice.ptt_up()
        await asyncio.sleep(2.0)
        assert turns(session) == ["Hello there."]
        assert not session.voice.ptt_held


async def test_what_follows_the_release_does_not_belong_to_the_turn() -> None:
    async with Session(ScriptedModel(["Yes."])) as session:
        session.voice.ptt_down()
        await session.say("Mine.", 0.5)
        session.living.speak("Others.", 0.09)
        session.voice.ptt_up()
        await session.settle()
        assert turns(session) == ["Mine."]


async def test_stopping_while_the_key_is_held_leaves_nothing_behind() -> None:
    async with Session(ScriptedModel([]), attention=PTT) as session:
        session.voice.ptt_down()
        await session.say("Half a", 0.4)
    await asyncio.sleep(2.0)
    assert not turns(session) and not [event for event in session.events if isinstance(event, Discarded)]
    assert session.voice.current_mode == "idle"
