"""OpenAI Realtime against a scripted server, whose messages and the client's are checked with the SDK's types."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from realtime.s2s import events
from realtime.s2s.contract import HistoryItem, S2SError, SessionConfig, SessionPatch, ToolSpec
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.s2s.openai.messages import OpenAISettings
from realtime.s2s.turn_detection import SemanticVad, ServerVad
from realtime.testing import (
    Deaf,
    Expect,
    Garbage,
    Hear,
    OpenAIDialect,
    Pause,
    Say,
    ScriptedPeer,
    Step,
    UntilGone,
    openai,
)
from tests.realtime.s2s.bench import Bench, tone

SECOND = tone(1.0, 24_000)


def bench(*scripts: Sequence[Step], ignoring: Sequence[str] = (), **settings: Any) -> Bench:
    peer = ScriptedPeer(OpenAIDialect("sk-key"), *scripts, ignoring=ignoring)
    return Bench(peer, lambda dialler: OpenAIRealtime("sk-key", OpenAISettings(**settings), dialler=dialler))


async def test_the_first_message_has_formats_voice_instructions_and_tools() -> None:
    tool = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
    config = SessionConfig("Be brief.", "marin", (tool,))
    async with bench([*openai.accept(), UntilGone()], voice="cedar", truncation=0.8) as b:
        await b.adapter.connect(config)
    session = b.peer.sessions[0].received[0]["session"]
    assert session["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}
    assert session["audio"]["input"]["turn_detection"]["type"] == "semantic_vad"
    assert session["audio"]["input"]["transcription"] == {"model": "gpt-4o-mini-transcribe"}
    assert session["audio"]["output"]["voice"] == "marin"
    assert session["instructions"] == "Be brief."
    assert session["tools"][0]["name"] == "look" and session["tools"][0]["parameters"] == tool.parameters
    assert session["truncation"] == {"type": "retention_ratio", "retention_ratio": 0.8}


@pytest.mark.parametrize(
    ("detection", "wire"),
    [
        (None, None),
        (ServerVad(silence_duration_ms=450), "server_vad"),
        (SemanticVad(eagerness="low"), "semantic_vad"),
    ],
)
async def test_turn_detection_goes_out_as_it_is_and_none_as_null(
    detection: ServerVad | SemanticVad | None, wire: str | None
) -> None:
    async with bench([*openai.accept(), UntilGone()], turn_detection=detection) as b:
        await b.connect()
    told = b.peer.sessions[0].received[0]["session"]["audio"]["input"]
    assert "turn_detection" in told
    assert (told["turn_detection"] and told["turn_detection"]["type"]) == wire


async def test_speech_words_and_the_end_of_an_answer_come_in_order() -> None:
    async with bench([*openai.accept(), Say(openai.answer("Hello.", SECOND)), UntilGone()]) as b:
        await b.connect()
        await b.seen(events.ResponseDone)
    assert b.kinds() == [
        "connected",
        "response_started",
        "agent_transcript_delta",
        "agent_speech_started",
        *["audio"] * 10,
        "agent_speech_stopped",
        "agent_transcript_done",
        "response_done",
        "disconnected",
    ]
    assert np.array_equal(np.concatenate([one.pcm for one in b.of(events.AgentAudio)]), SECOND)
    assert b.of(events.ResponseDone)[0].output_tokens == 4


async def test_the_users_sound_and_words_arrive() -> None:
    script = [*openai.accept(), Hear(24_000), Say(openai.user_turn("What time is it?")), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        b.adapter.send_audio(SECOND)
        final = await b.seen(events.UserTranscript, lambda told: told.final)
    assert final.text == "What time is it?"
    assert b.kinds()[1:3] == ["user_speech_started", "interrupted"]


async def test_sound_of_the_time_of_connecting_is_kept() -> None:
    script = [*openai.accept(), Hear(24_000), UntilGone()]
    async with bench(script) as b:
        connecting = b.start_connecting()
        await b.until_dialling()
        b.adapter.send_audio(SECOND)
        await connecting
        await b.idle()


async def test_a_barge_in_cuts_the_answer_to_what_was_heard() -> None:
    pieces = [openai.response_created("r"), *openai.speech(SECOND, "r", "i")]
    late = openai.speech(SECOND[:2400], "r", "i")
    script = [
        *openai.accept(),
        Say(pieces),
        Pause(0.4),
        Say(openai.speech_started()),
        Expect("conversation.item.truncate", {"item_id": "i", "audio_end_ms": 400}),
        Say(late, openai.words("late", "r", "i"), openai.response_done("r", "cancelled")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.ResponseDone)
    assert len(b.of(events.AgentAudio)) == 10, "what comes late of a cancelled answer is dropped"
    assert not b.of(events.AgentTranscriptDelta)
    after = b.kinds()[b.kinds().index("user_speech_started") :]
    assert after[:3] == ["user_speech_started", "interrupted", "agent_speech_stopped"]
    assert b.of(events.ResponseDone)[0].status == "cancelled"


async def test_the_player_knows_better_what_was_heard() -> None:
    script = [
        *openai.accept(),
        Say(openai.response_created("r"), openai.speech(SECOND, "r", "i")),
        Pause(0.6),
        Say(openai.speech_started()),
        Expect("conversation.item.truncate", {"audio_end_ms": 137}),
        UntilGone(),
    ]
    async with bench(script) as b:
        b.adapter.heard_ms = {"i": 137.9}.get
        await b.connect()
        told = await b.seen(events.Interrupted)
        await b.idle()
    assert told.unheard == (events.HeardSpeech("i", 137.9, 1000.0),)


async def test_every_answer_that_still_waits_to_be_played_is_cut() -> None:
    script = [
        *openai.accept(),
        Say(openai.answer("One.", SECOND, "r1", "i1"), openai.answer("Two.", SECOND, "r2", "i2")),
        Pause(0.5),
        Say(openai.speech_started()),
        Expect("conversation.item.truncate", {"item_id": "i1", "audio_end_ms": 500}),
        Expect("conversation.item.truncate", {"item_id": "i2", "audio_end_ms": 0}),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.Interrupted)
        await b.idle()


async def test_what_was_heard_to_its_end_is_left_alone() -> None:
    script = [
        *openai.accept(),
        Say(openai.answer("One.", SECOND)),
        Pause(1.5),
        Say(openai.speech_started()),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        told = await b.seen(events.Interrupted)
        await b.idle()
    assert told.unheard == ()


async def test_with_interrupt_response_off_the_user_may_speak_over_the_agent() -> None:
    script = [
        *openai.accept(),
        Say(openai.response_created("r"), openai.speech(SECOND, "r", "i"), openai.speech_started()),
        Say(openai.speech_stopped(), openai.speech(SECOND, "r", "i"), openai.response_done("r")),
        UntilGone(),
    ]
    async with bench(script, turn_detection=ServerVad(interrupt_response=False)) as b:
        await b.connect()
        await b.seen(events.ResponseDone)
    assert not b.of(events.Interrupted)
    assert len(b.of(events.AgentAudio)) == 20


async def test_interrupting_cancels_this_answer_and_the_queued_one() -> None:
    script = [
        *openai.accept(),
        Say(openai.response_created("r"), openai.speech(SECOND, "r", "i")),
        Expect("response.cancel", {"response_id": "r"}),
        Expect("conversation.item.truncate"),
        Say(openai.response_done("r", "cancelled")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentAudio)
        b.adapter.respond()
        b.adapter.interrupt()
        await b.seen(events.ResponseDone)
        await b.idle()


async def test_an_answer_cancelled_before_it_has_begun_is_not_heard() -> None:
    script = [
        *openai.accept(),
        Expect("response.create"),
        Expect("response.cancel"),
        Say(openai.answer("Too late.", SECOND, "r1")),
        Expect("response.create"),
        Say(openai.answer("Now.", SECOND, "r2", "i2")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        b.adapter.respond()
        b.adapter.interrupt()
        b.adapter.respond()
        await b.seen(events.AgentTranscriptDone)
    assert [told.text for told in b.of(events.AgentTranscriptDone)] == ["Now."]


async def test_a_cancel_that_comes_too_late_is_no_fault() -> None:
    script = [
        *openai.accept(),
        Say(openai.response_created("r")),
        Expect("response.cancel"),
        Say(openai.error("no active response", "response_cancel_not_active")),
        Expect("response.create"),
        Say(openai.answer("Again.", SECOND, "r2")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.ResponseStarted)
        b.adapter.interrupt()
        b.adapter.respond()
        await b.seen(events.AgentTranscriptDone)
    assert not b.of(events.S2SFault)


async def test_two_calls_of_one_answer_are_followed_by_one_answer_when_both_are_done() -> None:
    """Case E31: after a tool result the model speaks only if it is asked to."""
    script = [
        *openai.accept(),
        Say(openai.tool_calls([("c1", "look", '{"at": "a"}'), ("c2", "listen", "{}")])),
        Expect("conversation.item.create", {"item.call_id": "c2", "item.output": "two"}),
        Expect("conversation.item.create", {"item.call_id": "c1", "item.output": '{"one": 1}'}),
        Expect("response.create"),
        Say(openai.answer("Both.", SECOND, "r2")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.ResponseDone)
        assert [(call.call_id, call.name, call.arguments) for call in b.of(events.ToolCall)] == [
            ("c1", "look", '{"at": "a"}'),
            ("c2", "listen", "{}"),
        ]
        b.adapter.send_tool_result("c2", "two")
        b.adapter.send_tool_result("c1", {"one": 1})
        b.adapter.send_tool_result("c1", "twice")
        b.adapter.send_tool_result("unknown", "dropped")
        await b.seen(events.AgentTranscriptDone)


async def test_a_result_that_is_not_to_be_spoken_about_asks_for_nothing() -> None:
    script = [
        *openai.accept(),
        Say(openai.tool_calls([("c", "look", "{}")])),
        Expect("conversation.item.create"),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.ResponseDone)
        b.adapter.send_tool_result("c", "quiet", respond=False)
        await b.idle()


async def test_a_result_that_comes_while_the_user_speaks_waits_for_the_users_turn() -> None:
    script = [
        *openai.accept(),
        Say(openai.tool_calls([("c", "look", "{}")])),
        Say(openai.speech_started()),
        Expect("conversation.item.create"),
        Pause(1.0),
        Say(openai.speech_stopped(), openai.answer("Both at once.", SECOND, "r2")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.UserSpeechStarted)
        b.adapter.send_tool_result("c", "found")
        await b.seen(events.AgentTranscriptDone)
        await b.idle()


async def test_one_answer_is_under_way_at_a_time_and_the_next_follows() -> None:
    script = [
        *openai.accept(),
        Expect("conversation.item.create", {"item.role": "user", "item.content.0.text": "One"}),
        Expect("response.create"),
        Say(openai.response_created("r1")),
        Expect("conversation.item.create", {"item.role": "system"}),
        Say(openai.response_done("r1")),
        Expect("response.create"),
        Say(openai.answer("Two.", SECOND, "r2")),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        b.adapter.inject_text("One", respond=True)
        await b.seen(events.ResponseStarted)
        b.adapter.inject_text("Two", respond=True, role="system")
        b.adapter.respond()
        await b.seen(events.AgentTranscriptDone)
        await b.idle()


async def test_an_answer_that_the_server_began_by_itself_is_waited_for() -> None:
    script = [
        *openai.accept(),
        Expect("response.create"),
        Say(openai.error("busy", "conversation_already_has_active_response"), openai.response_done("other")),
        Expect("response.create"),
        Say(openai.answer("Now.", SECOND)),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        b.adapter.respond()
        await b.seen(events.AgentTranscriptDone)
    assert not b.of(events.S2SFault)


async def test_turns_marked_by_the_host() -> None:
    script = [
        *openai.accept(),
        Expect("input_audio_buffer.clear"),
        Hear(24_000),
        Expect("input_audio_buffer.commit"),
        Expect("response.create"),
        Say(openai.answer("Yes?", SECOND)),
        UntilGone(),
    ]
    async with bench(script, turn_detection=None) as b:
        await b.connect()
        assert b.adapter.manual_turns
        b.adapter.send_audio(SECOND)
        b.adapter.begin_turn()
        b.adapter.send_audio(SECOND)
        b.adapter.end_turn()
        b.adapter.end_turn()
        await b.seen(events.AgentTranscriptDone)
    assert b.peer.sessions[0].heard_samples == 24_000, "sound outside of turns stays here"


async def test_a_turn_without_sound_asks_for_nothing() -> None:
    script = [*openai.accept(), Expect("input_audio_buffer.clear"), UntilGone()]
    async with bench(script, turn_detection=None) as b:
        await b.connect()
        b.adapter.begin_turn()
        b.adapter.end_turn()
        await b.idle()


async def test_history_is_replayed_before_the_session_stands_and_asks_for_no_answer() -> None:
    history = (HistoryItem("user", "My name is Ada."), HistoryItem("assistant", "Hello Ada."))
    async with bench([*openai.accept(history=2), UntilGone()]) as b:
        await b.adapter.connect(SessionConfig(history=history))
        first, second = (told["item"] for told in b.peer.sessions[0].received[1:])
        assert (first["role"], first["content"]) == ("user", [{"type": "input_text", "text": "My name is Ada."}])
        assert (second["role"], second["content"]) == ("assistant", [{"type": "output_text", "text": "Hello Ada."}])
        await b.idle()


async def test_a_session_says_when_it_expires() -> None:
    from agents.base import clock

    async with bench([*openai.accept(expires_at=clock.wall().timestamp() + 1800), UntilGone()]) as b:
        await b.connect()
    assert b.of(events.Connected)[0].expires_in_s == pytest.approx(1800, abs=2)


async def test_a_patch_has_what_changes_and_no_voice() -> None:
    patch = SessionPatch(tools=(ToolSpec("new", "New."),))
    script = [*openai.accept(), Expect("session.update"), UntilGone()]
    async with bench(script, voice="marin") as b:
        await b.connect()
        b.adapter.update_session(patch)
        await b.idle()
    session = b.peer.sessions[0].received[-1]["session"]
    assert set(session) == {"type", "tools"}
    assert session["tools"][0]["parameters"] == {"type": "object", "properties": {}}


async def test_settings_that_are_refused_fail_the_connection() -> None:
    script = [
        Say(openai.session_created()),
        Expect("session.update"),
        Say(openai.error("Unknown voice 'x'. Key sk-key.", "invalid_value")),
        UntilGone(),
    ]
    async with bench(script) as b:
        with pytest.raises(S2SError) as caught:
            await b.connect()
    assert caught.value.code == "ERR_S2S_REQUEST" and "Unknown voice" in str(caught.value)
    assert "sk-key" not in str(caught.value)
    assert b.kinds() == []


async def test_a_failed_answer_is_told() -> None:
    failed = openai.response_done("r", "failed", error={"type": "server_error", "code": "server_error"})
    async with bench([*openai.accept(), Say(openai.response_created("r"), failed), UntilGone()]) as b:
        await b.connect()
        fault = await b.seen(events.S2SFault)
    assert fault.error.code == "ERR_S2S_RESPONSE"
    assert b.of(events.ResponseDone)[0].status == "failed"


async def test_garbage_is_counted_and_the_session_goes_on() -> None:
    script: list[Step] = [*openai.accept()]
    script += [Garbage(data) for data in ("{", "[]", b"\xff\xfe", '{"type": 7}', '{"type": "response.created"}')]
    script += [Say(openai.answer("Still here.", SECOND)), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentTranscriptDone)
    assert b.adapter.ignored == 5


async def test_broken_sound_is_no_noise() -> None:
    half = base64.b64encode(b"\x01\x00\x02").decode()
    delta = {**openai.speech(SECOND[:2400], "r", "i")[0], "delta": half}
    none = {**delta, "delta": "a"}
    async with bench([*openai.accept(), Say(openai.response_created("r"), delta, none), UntilGone()]) as b:
        await b.connect()
        told = await b.seen(events.AgentAudio)
        await b.idle()
    assert told.pcm.tolist() == [1] and len(b.of(events.AgentAudio)) == 1


async def test_an_answer_that_stalls_ends_the_session() -> None:
    script = [*openai.accept(), Expect("response.create"), Say(openai.response_created("r")), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        b.adapter.respond()
        over = await b.seen(events.Disconnected)
    assert over.fault is not None and over.fault.code == "ERR_S2S_DISCONNECTED" and "an answer" in over.fault.message


async def test_pongs_that_are_late_are_no_end() -> None:
    """Case E29: busy providers answer pings after half a minute."""
    script = [*openai.accept(), Deaf(40), Say(openai.answer("Here.", SECOND)), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentTranscriptDone)
    assert b.of(events.Disconnected)[0].fault is None


async def test_a_half_open_connection_ends() -> None:
    async with bench([*openai.accept(), Deaf()]) as b:
        await b.connect()
        over = await b.seen(events.Disconnected)
    assert over.fault is not None and over.code == 1006
