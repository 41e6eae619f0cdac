"""A spoken conversation as a user would notice it, on virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveError, GloveVoiceError
from agents.core.messages import ToolResultData
from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from audio.events import Metric
from audio.stt.scripted import ScriptedSegmentStt, ScriptedStreamingStt
from audio.tts.scripted import ScriptedVoice
from audio.voice import VoiceSettings
from tests.support.session import LevelVad, Session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."


def tool(name: str, result: Any = "fine", seconds: float = 0.0, **options: Any) -> Tool[NoArgs]:
    async def run(_args: NoArgs, _ctx: Any) -> Any:
        await asyncio.sleep(seconds)
        return result

    return Tool(name=name, description=name, run=run, args=NoArgs, **options)


def latency_of(session: Session) -> Any:
    """The first latency that was measured."""
    return next(event for event in session.of("metric") if event.name == "voice_to_voice")


async def test_a_question_is_heard_answered_and_remembered() -> None:
    async with Session(ScriptedModel(["It is noon."])) as session:
        await session.say("What time is it?")
        await session.settle()
        assert session.types() == [
            "user_speech_started",
            "user_speech_stopped",
            "user_turn",
            "agent_text",
            "agent_speech_started",
            "agent_speech_stopped",
        ]
        assert session.of("user_turn")[0].text == "What time is it?"
        assert session.of("agent_speech_stopped")[0].heard == "It is noon."
        assert await session.history() == [("user", "What time is it?"), ("agent", "It is noon.")]
        assert session.heard_words() == 3


async def test_modes_follow_the_turn() -> None:
    async with Session(ScriptedModel(["It is noon."])) as session:
        await session.say("What time is it?")
        await session.settle()
    assert [event.mode for event in session.of("mode")] == ["listening", "thinking", "speaking", "listening", "idle"]


async def test_speaking_begins_with_the_first_played_sample() -> None:
    async with Session(ScriptedModel(["It is noon."])) as session:
        await session.say("What time is it?")
        await session.settle()
        first = int(np.flatnonzero(np.abs(session.living.right) > 300)[0]) / 24_000
        assert session.of("agent_speech_started")[0].t == pytest.approx(first, abs=0.011)


async def test_the_stages_of_the_latency_add_up() -> None:
    async with Session(ScriptedModel(["It is noon."], first_token_s=0.3)) as session:
        await session.say("What time is it?")
        await session.settle()
    metric: Metric = latency_of(session)
    assert metric.data is not None and metric.ms is not None
    stages = [metric.data[f"{name}_ms"] for name in ("wait", "agent", "sentence", "voice", "playout")]
    assert sum(stages) == pytest.approx(metric.ms, abs=0.5)
    assert metric.data["agent_ms"] == pytest.approx(300, abs=2)
    assert metric.data["wait_ms"] == pytest.approx(450 + 400, abs=70)
    assert metric.data["voice_ms"] == pytest.approx(120, abs=2)


async def test_a_cough_pauses_the_reply_which_goes_on_at_the_same_sample() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.0)
        await session.say("", 0.15)
        await session.settle()
        assert session.types("playback_paused", "playback_resumed", "interrupted") == [
            "playback_paused",
            "playback_resumed",
        ]
        assert session.of("agent_speech_stopped")[-1].heard == LONG
        assert session.room.player.played == 16 * 6000


@pytest.mark.parametrize("said", ["Mhm.", "Yeah, okay.", "[coughs]"])
async def test_a_backchannel_does_not_take_the_floor(said: str) -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.0)
        await session.say(said, 0.5)
        await session.settle()
        assert not session.of("interrupted")
        assert len(session.of("user_turn")) == 1
        assert (await session.history())[-1] == ("agent", LONG)


async def test_an_interruption_stores_just_what_was_heard_and_is_answered() -> None:
    async with Session(ScriptedModel([LONG, "Stopped."])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(2.0)
        await session.say("Stop it now.", 1.0)
        await session.settle()
        assert session.types("interrupted", "agent_speech_stopped", "user_turn") == [
            "user_turn",
            "interrupted",
            "agent_speech_stopped",
            "user_turn",
            "agent_speech_stopped",
        ]
        heard = session.of("interrupted")[0].heard
        assert heard and LONG.startswith(heard)
        history = await session.history()
        assert history[1] == ("agent", heard)
        assert history[2:] == [("user", "Stop it now."), ("agent", "Stopped.")]
        assert session.heard_words() == len(heard.split()) + 1


async def test_the_reply_falls_silent_at_once_when_the_user_begins() -> None:
    async with Session(ScriptedModel([LONG, "Yes."])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(2.0)
        began = session.room.time_s
        await session.say("Stop it now.", 1.0)
        await session.settle()
        right = np.abs(session.living.right.astype(np.int32)) > 300
        cut = session.of("user_turn")[1].t
        last = int(np.flatnonzero(right[: round(cut * 24_000)])[-1]) / 24_000
        assert last - began < 0.1


@pytest.mark.parametrize("after_ms", range(0, 3000, 50))
async def test_wherever_the_user_interrupts_history_is_what_was_heard(after_ms: int) -> None:
    """The sweep runs from the moment of the commit over thinking, synthesis and playback to beyond the end."""
    async with Session(ScriptedModel([Say("One two three four five six.", 0.3), "Fine."]), partials=True) as session:
        await session.say("Count.", 0.6)
        await session.until(lambda: session.of("user_turn"))
        await asyncio.sleep(after_ms / 1000)
        session.voice.interrupt()
        words = session.heard_words()
        await asyncio.sleep(0.5)
        assert session.heard_words() == words, "sound of the cut reply was played after the cut"
        await session.settle()
        agent = [text for sender, text in await session.history() if sender == "agent"]
        heard = agent[0].split() if agent else []
        assert abs(len(heard) - words) <= 1
        assert "One two three four five six.".startswith(" ".join(heard))
        interrupted = session.of("interrupted")
        assert not interrupted or interrupted[0].played_ms > 0
        assert session.voice.current_mode == "listening"


async def test_nothing_is_spoken_after_the_session_stopped() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
    assert session.voice.current_mode == "idle"
    assert session.of("agent_speech_stopped")
    assert session.living.closed
    heard = (await session.history())[1][1]
    assert heard and heard != LONG and LONG.startswith(heard)


async def test_speech_resumed_within_the_hold_is_one_turn() -> None:
    async with Session(ScriptedModel(["Sure."])) as session:
        await session.say("Tell me about the", 0.8)
        await asyncio.sleep(0.9)
        await session.say("weather.", 0.6)
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["Tell me about the weather."]


async def test_speech_resumed_before_the_answer_is_heard_continues_the_turn() -> None:
    model = ScriptedModel([Say("Never said.", 2.0), "Both."])
    async with Session(model) as session:
        await session.say("Call my mother.", 0.8)
        await session.until(lambda: session.of("user_turn"))
        await asyncio.sleep(0.2)
        await session.say("And my father.", 0.8)
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == [
            "Call my mother.",
            "Call my mother. And my father.",
        ]
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["Both."]
        assert not session.of("interrupted"), "nothing had been said, so nothing was interrupted"
        assert [message.text for message in model.requests[-1].messages] == ["Call my mother. And my father."]


async def test_text_before_and_after_a_tool_is_spoken_in_order() -> None:
    model = ScriptedModel([[Say("Let me look. "), Call("look")], "It is there."])
    async with Session(model, tools=(tool("look", seconds=1.0),)) as session:
        await session.say("Where is it?")
        await session.settle()
        order = session.types("tool_use", "tool_use_result", "agent_text")
        assert sorted(order[:2]) == ["agent_text", "tool_use"]
        assert order[2:] == ["tool_use_result", "agent_text"]
        assert session.of("agent_speech_stopped")[0].heard == "Let me look. It is there."
        assert len(session.of("agent_speech_started")) == 1


async def test_the_agent_can_be_interrupted_while_a_tool_runs_after_a_preamble() -> None:
    model = ScriptedModel([[Say("Let me look. "), Call("look")], "Fine."])
    async with Session(model, tools=(tool("look", seconds=30.0),)) as session:
        await session.say("Where is it?")
        await asyncio.sleep(4.0)
        await session.say("Forget about it.", 0.8)
        await session.settle()
        assert session.of("tool_use_result")[0].status == "aborted"
        assert session.of("agent_speech_stopped")[-1].heard == "Fine."
        assert len(session.of("user_turn")) == 2


async def test_a_tool_that_must_not_be_aborted_finishes_and_its_result_is_kept() -> None:
    model = ScriptedModel([[Call("pay")], "Paid.", "Yes."])
    done: list[str] = []

    async def pay(_args: NoArgs, _ctx: Any) -> ToolResultData:
        await asyncio.sleep(3.0)
        done.append("paid")
        return ToolResultData(data="paid")

    payment = Tool(name="pay", description="pay", run=pay, args=NoArgs, un_abortable=True)
    async with Session(model, tools=(payment,)) as session:
        await session.say("Pay the bill.")
        await session.until(lambda: session.of("tool_use"))
        await session.say("Did you pay it?", 1.0)
        await session.settle()
        messages = await session.glove.store.get_messages()
    assert done == ["paid"]
    results = [result for message in messages for result in message.tool_results or []]
    assert [result.result.data for result in results] == ["paid"]


async def test_a_slow_answer_is_announced_by_a_sound_and_given_up_with_a_sentence() -> None:
    async with Session(ScriptedModel([Hang()])) as session:
        await session.say("Think.")
        await session.until(lambda: session.of("user_turn"))
        committed = session.room.time_s
        await session.settle()
        started = session.of("agent_speech_started")[0].t
        assert started - committed == pytest.approx(2.5, abs=0.1)
        assert [error.code for error in session.of("error")] == ["ERR_TURN_TIMEOUT"]
        assert "taking too long" in session.of("agent_speech_stopped")[-1].heard
        assert session.voice.current_mode == "listening"


@pytest.mark.parametrize(
    ("fault", "spoken"),
    [
        (GloveError("ERR_MODEL_UNREACHABLE", "No route."), "cannot reach my language model"),
        (RuntimeError("bug"), "something went wrong"),
    ],
)
async def test_a_failing_model_is_admitted_aloud(fault: Exception, spoken: str) -> None:
    async with Session(ScriptedModel([Fail(fault), "Better."])) as session:
        await session.say("Hello there.")
        await session.settle()
        assert spoken in session.of("agent_speech_stopped")[0].heard
        assert len(session.of("error")) == 1
        await session.say("And now?")
        await session.settle()
        assert session.of("agent_speech_stopped")[1].heard == "Better."


async def test_a_model_that_stops_in_mid_answer_is_given_up() -> None:
    async with Session(ScriptedModel([[Say("One two three. "), Hang()]])) as session:
        await session.say("Count.")
        await session.settle()
        assert [error.code for error in session.of("error")] == ["ERR_TURN_TIMEOUT"]
        assert session.of("agent_speech_stopped")[-1].heard.startswith("One two three. Sorry")


async def test_a_long_running_tool_is_explained_and_waited_for() -> None:
    model = ScriptedModel([[Say("Let me look. "), Call("look")], "Found it."])
    async with Session(model, tools=(tool("look", seconds=25.0),)) as session:
        await session.say("Where is it?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Let me look. I am still working on it. Found it."
        assert not session.of("error")


async def test_a_tool_that_never_ends_is_given_up() -> None:
    model = ScriptedModel([[Call("look")]])
    async with Session(model, tools=(tool("look", seconds=1e6),)) as session:
        await session.say("Where is it?")
        await session.settle(120)
        assert [error.code for error in session.of("error")] == ["ERR_TURN_TIMEOUT"]
        assert "taking too long" in session.of("agent_speech_stopped")[-1].heard


async def test_an_empty_answer_still_makes_a_sound() -> None:
    async with Session(ScriptedModel([""])) as session:
        await session.say("Hello there.")
        await session.settle()
        assert np.abs(session.living.right).max() > 300
        assert session.voice.current_mode == "listening"


@pytest.mark.parametrize("fault", ["open", "before_audio", "after_first_audio"])
async def test_a_failing_voice_is_reported_and_the_session_goes_on(fault: Any) -> None:
    voice = ScriptedVoice(fault=fault)
    async with Session(ScriptedModel(["Hello to you.", "Better."]), tts=voice) as session:
        await session.say("Hello there.")
        await session.settle()
        assert [event.code[:7] for event in session.of("error")] == ["ERR_TTS"]
        assert np.abs(session.living.right).max() > 300, "an earcon says that something went wrong"
        voice.fault = None
        await session.say("And now?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Better."


async def test_a_voice_that_never_answers_is_given_up() -> None:
    voice = ScriptedVoice(fault="silent")
    async with Session(ScriptedModel(["Hello to you."]), tts=voice) as session:
        await session.say("Hello there.")
        await session.settle()
        assert "ERR_TTS_CONNECTION" in [event.code for event in session.of("error")]
        assert (await session.history())[1] == ("agent", "")
        assert session.voice.current_mode == "listening"


@pytest.mark.parametrize(
    ("code", "spoken"),
    [
        ("ERR_STT_CONNECTION", "did not catch"),
        ("ERR_STT_DISCONNECTED", "did not catch"),
        ("ERR_STT_AUTH", "cannot use my speech recognition"),
        ("ERR_STT_LIMIT", "cannot use my speech recognition"),
    ],
)
async def test_speech_that_cannot_be_recognised_is_answered(code: str, spoken: str) -> None:
    stt = ScriptedSegmentStt([GloveVoiceError(code, "broken")], repeat_last=True)
    async with Session(ScriptedModel([]), stt=stt, partials=False) as session:
        await session.say("Hello there.")
        await session.settle()
        assert [event.code for event in session.of("error")] == [code]
        assert spoken in session.of("agent_speech_stopped")[0].heard


async def test_a_recogniser_that_hangs_does_not_make_the_session_deaf() -> None:
    stt = ScriptedSegmentStt(["Late."], latency_s=60.0, repeat_last=True)
    async with Session(ScriptedModel([]), stt=stt, partials=False) as session:
        await session.say("Hello there.")
        await session.settle()
        assert [event.code for event in session.of("error")] == ["ERR_STT_TIMEOUT"]
        assert session.voice.current_mode == "listening"


async def test_noise_without_words_is_discarded_in_silence() -> None:
    async with Session(ScriptedModel([])) as session:
        await session.say("", 1.0)
        await session.settle()
        assert session.types("discarded", "user_turn", "agent_speech_started") == ["discarded"]
        assert session.of("discarded")[0].reason == "no_words"


async def test_a_click_is_neither_recognised_nor_answered() -> None:
    stt = ScriptedSegmentStt([])
    async with Session(ScriptedModel([]), stt=stt, partials=False) as session:
        await session.say("click", 0.1)
        await asyncio.sleep(2.0)
        assert stt.calls == []
        assert session.voice.settled


async def test_the_recogniser_hears_what_preceded_the_detection_and_trailing_silence() -> None:
    async with Session(ScriptedModel(["Yes."]), partials=False) as session:
        await asyncio.sleep(2.0)
        await session.say("Yes?", 0.4)
        await session.settle()
        assert session.stt.calls[-1] >= (0.4 + 0.5 + 0.19) * 16_000


async def test_the_final_is_recognised_while_the_silence_is_awaited() -> None:
    async with Session(ScriptedModel(["Yes."]), partials=False) as session:
        await session.say("What time is it?")
        await session.settle()
        assert len(session.stt.calls) == 1
        assert latency_of(session).data["late_ms"] == 0


async def test_a_monologue_is_recognised_in_pieces_and_ends_at_the_cap() -> None:
    async with Session(ScriptedModel(["I see."]), partials=False) as session:
        await session.say("blah", 70.0)
        await session.settle(120)
        assert max(session.stt.calls) <= 25 * 16_000
        assert session.of("user_turn")[0].t == pytest.approx(60.5, abs=1.0)


async def test_muted_means_unheard_and_unmuting_heals() -> None:
    async with Session(ScriptedModel(["Yes."])) as session:
        session.voice.mute()
        await session.say("Secret.")
        await asyncio.sleep(1.0)
        assert not session.of("user_turn") and not session.stt.calls
        session.voice.unmute()
        await session.say("Hello there.")
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["Hello there."]


async def test_muting_in_mid_sentence_drops_the_sentence() -> None:
    async with Session(ScriptedModel([])) as session:
        await session.say("Secret", 0.6)
        session.voice.mute()
        await asyncio.sleep(3.0)
        assert not session.of("user_turn")
        assert session.voice.settled


async def test_muting_while_the_reply_stands_still_lets_it_go_on() -> None:
    async with Session(ScriptedModel([LONG])) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.0)
        session.living.speak("Secret", 0.6)
        await session.until(lambda: session.of("playback_paused"))
        session.voice.mute()
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == LONG
        assert not session.of("interrupted")


async def test_manual_mode_waits_for_the_commit() -> None:
    settings = VoiceSettings(turn_mode="manual")
    async with Session(ScriptedModel(["Yes."]), settings=settings, partials=False) as session:
        assert session.voice.is_muted
        session.voice.unmute()
        await session.say("First.", 0.5)
        await asyncio.sleep(3.0)
        await session.say("Second.", 0.5)
        assert not session.of("user_turn")
        session.voice.mute()
        session.voice.commit_turn()
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["First. Second."]


async def test_commit_turn_sends_at_once_in_vad_mode() -> None:
    async with Session(ScriptedModel(["Yes."])) as session:
        await session.say("Send this.", 0.8)
        session.voice.commit_turn()
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["Send this."]
        assert latency_of(session).data["wait_ms"] < 300


async def test_a_typed_line_is_a_turn() -> None:
    async with Session(ScriptedModel(["Typed back."])) as session:
        session.voice.say_to_agent("  Hello.  ")
        session.voice.say_to_agent("   ")
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["Hello."]
        assert session.of("agent_speech_stopped")[0].heard == "Typed back."


async def test_narration_is_spoken_with_the_microphone_muted_and_leaves_the_mode() -> None:
    async with Session(ScriptedModel([])) as session:
        narration = asyncio.create_task(session.voice.narrate("Three little words."))
        await asyncio.sleep(0.3)
        assert session.voice.is_muted
        await narration
        assert not session.voice.is_muted
        assert session.voice.current_mode == "listening"
        assert session.heard_words() == 3
        assert await session.history() == []


async def test_interrupting_a_narration_ends_it_and_lifts_the_mute() -> None:
    async with Session(ScriptedModel([]), tts=ScriptedVoice(open_s=2.0)) as session:
        narration = asyncio.create_task(session.voice.narrate(LONG))
        await asyncio.sleep(0.5)
        session.voice.interrupt()
        await asyncio.wait_for(narration, 1.0)
        assert not session.voice.is_muted


async def test_a_narration_that_cannot_be_spoken_raises_and_lifts_the_mute() -> None:
    async with Session(ScriptedModel([]), tts=ScriptedVoice(fault="before_audio")) as session:
        with pytest.raises(GloveVoiceError):
            await session.voice.narrate("Hello.")
        assert not session.voice.is_muted


async def test_an_announcement_waits_until_the_user_has_been_answered() -> None:
    async with Session(ScriptedModel(["Answer."])) as session:
        session.living.speak("Question?", 1.0)
        await asyncio.sleep(0.5)
        await session.voice.announce("Your timer is done.")
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["Answer.", "Your timer is done."]


async def test_compaction_is_never_spoken() -> None:
    from agents.core.events import CompactionEnd, CompactionStart, TextDelta

    async with Session(ScriptedModel([])) as session:
        answering = session.voice._answering
        assert answering is not None
        reply = answering._speaking.begin("en")
        for event in (
            CompactionStart(1),
            TextDelta("Summary of it all.", "r"),
            CompactionEnd(1, ""),
            TextDelta("Hi.", "r"),
        ):
            await reply.record(event)
        await answering._speaking.speak_out(reply)
        assert session.of("agent_speech_stopped")[0].heard == "Hi."


async def test_models_that_do_not_stream_are_spoken_too() -> None:
    async with Session(ScriptedModel(["All at once. Really."], stream=False)) as session:
        await session.say("Hello there.")
        await session.settle()
        assert session.of("agent_speech_stopped")[0].heard == "All at once. Really."


async def test_an_open_question_of_a_tool_survives_an_interruption() -> None:
    async with Session(ScriptedModel([])) as session:
        waiting = asyncio.create_task(session.glove.display.push_and_wait("confirm", {"text": "Sure?"}))
        await asyncio.sleep(0.1)
        answering = session.voice._answering
        assert answering is not None
        answering._speaking.begin("en")
        session.voice.interrupt()
        await asyncio.sleep(0.1)
        assert session.glove.display.pending
        session.glove.display.resolve(session.glove.display.pending[0].id, True)
        assert await waiting is True


async def test_starting_twice_is_refused_and_a_failed_start_can_be_repeated() -> None:
    stt = ScriptedStreamingStt(["Hello."])
    stt.refuse = GloveVoiceError("ERR_STT_CONNECTION", "refused")
    session = Session(ScriptedModel([]), stt=stt)
    with pytest.raises(GloveVoiceError):
        await session.voice.start()
    assert session.voice.current_mode == "idle"
    stt.refuse = None
    listeners = session.voice.events.listener_count
    await session.voice.start()
    with pytest.raises(RuntimeError, match="already started"):
        await session.voice.start()
    assert session.voice.events.listener_count == listeners
    await session.voice.stop()
    await session.voice.stop()


async def test_a_streaming_recogniser_is_flushed_at_the_end_of_speech() -> None:
    stt = ScriptedStreamingStt(["What time is it?"], latency_s=0.15)
    async with Session(ScriptedModel(["Noon."]), stt=stt) as session:
        await session.say("ignored", 1.0)
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["What time is it?"]
        assert stt.flushes == 1


async def test_a_streaming_recogniser_without_a_final_is_taken_at_its_partial() -> None:
    stt = ScriptedStreamingStt()
    async with Session(ScriptedModel(["Noon."]), stt=stt) as session:
        session.living.speak("ignored", 1.0)
        await asyncio.sleep(0.8)
        stt.partial("What time is it?")
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["What time is it?"]


async def test_the_detector_is_ducked_while_the_agent_has_the_floor() -> None:
    vad = LevelVad()
    async with Session(ScriptedModel(["It is noon."]), vad=vad) as session:
        await session.say("What time is it?")
        await session.until(lambda: session.of("agent_speech_started"))
        assert vad.ducked
        await session.settle()
        assert not vad.ducked


async def test_a_store_without_amendments_gets_a_notice_of_the_interruption() -> None:
    class Plain(MemoryStore):
        supports = MemoryStore.supports - {"amend"}

    model = ScriptedModel([LONG, "Stopped."])
    async with Session(model, store=Plain()) as session:
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(2.0)
        await session.say("Stop it now.", 1.0)
        await session.settle()
    seen = "\n".join(message.text for message in model.requests[-1].messages if message.sender == "user")
    heard = session.of("interrupted")[0].heard
    assert heard in seen


async def test_a_very_long_answer_needs_bounded_memory() -> None:
    text = " ".join(["Here is one more sentence about it."] * 2000)
    voice = ScriptedVoice(first_audio_s=0.0, speed=1000.0, word_ms=50, tone_ms=40)
    async with Session(ScriptedModel([Say(text, whole=True)]), tts=voice) as session:
        await session.say("Tell me everything.")
        longest = 0.0
        for _ in range(400):
            await asyncio.sleep(0.1)
            longest = max(longest, session.room.player.queued_s)
        assert 5 < longest < 20
        session.voice.interrupt()
        assert session.room.player.queued_s == 0
