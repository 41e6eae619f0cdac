"""Gemini Live against a scripted server, whose messages and the client's are checked with the SDK's types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from realtime.s2s import events
from realtime.s2s.contract import HistoryItem, S2SError, SessionConfig, SessionPatch, ToolSpec
from realtime.s2s.gemini.adapter import GeminiLive
from realtime.s2s.gemini.messages import GeminiSettings, GoAway
from realtime.s2s.turn_detection import ActivityDetection
from realtime.testing import (
    Close,
    Expect,
    Garbage,
    GeminiDialect,
    Hear,
    Pause,
    Say,
    ScriptedPeer,
    Step,
    UntilGone,
    gemini,
)
from tests.realtime.s2s.bench import Bench, tone

HEARD = tone(1.0, 16_000)
SAID = tone(1.0, 24_000)
CANCEL = Expect("clientContent", {"clientContent.turns": [], "clientContent.turnComplete": False})


def bench(*scripts: Sequence[Step], **settings: Any) -> Bench:
    peer = ScriptedPeer(GeminiDialect("g-key"), *scripts)
    return Bench(peer, lambda dialler: GeminiLive("g-key", GeminiSettings(**settings), dialler=dialler))


async def setup_of(config: SessionConfig | None = None, history: bool = False, **settings: Any) -> dict[str, Any]:
    async with bench([*gemini.accept(history=history), UntilGone()], **settings) as b:
        await b.adapter.connect(config or SessionConfig())
    return b.peer.sessions[0].received[0]["setup"]


async def test_the_setup_comes_first_and_has_everything() -> None:
    tool = ToolSpec("look", "Looks.", {"$schema": "x", "type": "object", "properties": {"at": {"type": "string"}}})
    told = await setup_of(SessionConfig("Be brief.", "Kore", (tool,)), voice="Puck")
    assert told["model"] == "models/gemini-live-2.5-flash-preview"
    assert told["generationConfig"]["responseModalities"] == ["AUDIO"]
    assert told["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] == "Kore"
    assert told["inputAudioTranscription"] == told["outputAudioTranscription"] == {}
    assert told["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert told["tools"][0]["functionDeclarations"][0]["parameters"] == {
        "type": "object",
        "properties": {"at": {"type": "string"}},
    }
    assert told["contextWindowCompression"] == {"slidingWindow": {}} and told["sessionResumption"] == {}


async def test_settings_of_the_session_go_out() -> None:
    detection = ActivityDetection(
        start_sensitivity="high", end_sensitivity="low", silence_duration_ms=450, interrupts=False
    )
    told = await setup_of(activity_detection=detection, compression_trigger_tokens=25_600)
    assert told["realtimeInputConfig"] == {
        "automaticActivityDetection": {
            "startOfSpeechSensitivity": "START_SENSITIVITY_HIGH",
            "endOfSpeechSensitivity": "END_SENSITIVITY_LOW",
            "silenceDurationMs": 450,
        },
        "activityHandling": "NO_INTERRUPTION",
    }
    assert told["contextWindowCompression"] == {"slidingWindow": {}, "triggerTokens": "25600"}
    assert "contextWindowCompression" not in await setup_of(compression=False)


async def test_an_answer_and_its_words_come_once() -> None:
    script = [*gemini.accept(), Say(gemini.answer("Hello.", SAID), gemini.turn_complete()), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        await b.idle()
    assert b.kinds() == [
        "connected",
        "response_started",
        "agent_speech_started",
        *["audio"] * 10,
        "agent_transcript_delta",
        "agent_speech_stopped",
        "agent_transcript_done",
        "response_done",
        "disconnected",
    ]
    assert b.of(events.AgentAudio)[0].rate_hz == 24_000
    assert b.of(events.ResponseDone)[0].input_tokens == 12


async def test_the_users_words_come_in_pieces_and_whole_once() -> None:
    script = [
        *gemini.accept(),
        Hear(16_000),
        Say(gemini.transcript("What time ", finished=False), gemini.transcript("is it?", finished=False)),
        Say(gemini.answer("Noon.", SAID)),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        b.adapter.send_audio(HEARD)
        await b.seen(events.ResponseDone)
    assert [(told.text, told.final) for told in b.of(events.UserTranscript)] == [
        ("What time ", False),
        ("is it?", False),
        ("What time is it?", True),
    ]


async def test_a_barge_in_of_the_user() -> None:
    script = [
        *gemini.accept(),
        Say(gemini.speech(SAID), gemini.words("I was about to")),
        Pause(0.25),
        Say(gemini.interrupted(), gemini.turn_complete()),
        Say(gemini.answer("Yes?", SAID)),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentTranscriptDone)
    assert [told.text for told in b.of(events.AgentTranscriptDone)] == ["Yes?"]
    heard = b.of(events.Interrupted)[0].unheard[0]
    assert (heard.heard_ms, heard.sent_ms) == (pytest.approx(250, abs=1), 1000)
    assert [told.status for told in b.of(events.ResponseDone)] == ["cancelled", "completed"]
    kinds = b.kinds()
    assert kinds.index("interrupted") < kinds.index("agent_speech_stopped")


async def test_what_comes_late_of_a_cancelled_answer_is_dropped() -> None:
    script = [
        *gemini.accept(),
        Say(gemini.speech(SAID)),
        CANCEL,
        Say(gemini.speech(SAID), gemini.words("late"), gemini.interrupted(), gemini.turn_complete()),
        Say(gemini.answer("New.", SAID)),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentAudio)
        await b.idle()
        b.adapter.interrupt()
        await b.seen(events.AgentTranscriptDone)
    assert len(b.of(events.AgentAudio)) == 20 and len(b.of(events.Interrupted)) == 1
    assert [told.text for told in b.of(events.AgentTranscriptDelta)] == ["New."]


async def test_a_provider_that_forgets_to_say_that_it_has_stopped_is_heard_again() -> None:
    script = [
        *gemini.accept(),
        Say(gemini.speech(SAID)),
        CANCEL,
        Pause(4),
        Say(gemini.answer("Heard.", SAID)),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentAudio)
        b.adapter.interrupt()
        await b.seen(events.AgentTranscriptDone)


async def test_an_interruption_while_the_model_thinks_is_obeyed() -> None:
    script = [*gemini.accept(), Say(gemini.transcript("Well")), CANCEL, Say(gemini.speech(SAID)), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.UserTranscript)
        b.adapter.interrupt()
        await b.idle()
    assert not b.of(events.AgentAudio)


async def test_a_tool_call_and_its_result_carry_id_and_name() -> None:
    script = [
        *gemini.accept(),
        Say(gemini.tool_calls([("f1", "look", {"at": "a"}), ("f2", "listen", {})])),
        Expect(
            "toolResponse",
            {
                "toolResponse.functionResponses.0.id": "f1",
                "toolResponse.functionResponses.0.name": "look",
                "toolResponse.functionResponses.0.response": {"output": {"ok": True}},
            },
        ),
        Expect("toolResponse", {"toolResponse.functionResponses.0.scheduling": "SILENT"}),
        Say(gemini.answer("Seen.", SAID)),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        call = await b.seen(events.ToolCall)
        assert (call.call_id, call.name, call.arguments) == ("f1", "look", '{"at": "a"}')
        b.adapter.send_tool_result("f1", {"ok": True})
        b.adapter.send_tool_result("f2", "nothing", respond=False)
        b.adapter.send_tool_result("f2", "twice")
        await b.seen(events.AgentTranscriptDone)


async def test_cancelled_calls_are_told_and_their_results_dropped() -> None:
    script = [
        *gemini.accept(),
        Say(gemini.tool_calls([("f1", "look", {}), ("f2", "listen", {})]), gemini.cancel_calls("f1", "unknown")),
        Expect("toolResponse", {"toolResponse.functionResponses.0.id": "f2"}),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        told = await b.seen(events.ToolCallsCancelled)
        b.adapter.send_tool_result("f1", "late")
        b.adapter.send_tool_result("f2", "wanted")
        await b.idle()
    assert told.call_ids == ("f1",)


async def test_a_message_waits_until_the_agent_has_spoken() -> None:
    """Each message of the client ends the answer that is under way, so a silent note must not be sent into one."""
    script = [
        *gemini.accept(),
        Say(gemini.speech(SAID)),
        Pause(1),
        Say(gemini.generation_complete(), gemini.turn_complete()),
        Expect(
            "clientContent",
            {
                "clientContent.turns.0.parts.0.text": "[system] It rains.",
                "clientContent.turns.1.parts.0.text": "Hello?",
                "clientContent.turnComplete": True,
            },
        ),
        Say(gemini.answer("Hi.", SAID)),
        Expect("clientContent", {"clientContent.turnComplete": False}),
        UntilGone(),
    ]
    async with bench(script) as b:
        await b.connect()
        await b.seen(events.AgentAudio)
        b.adapter.update_session(SessionPatch(instructions="It rains."))
        b.adapter.inject_text("Hello?", respond=True)
        await b.seen(events.ResponseDone, lambda done: done.response_id == "turn-2")
        b.adapter.inject_text("Nothing to say.", respond=False)
        await b.idle()


async def test_tools_cannot_be_changed_and_nobody_pretends() -> None:
    async with bench([*gemini.accept(), UntilGone()]) as b:
        await b.connect()
        with pytest.raises(S2SError) as caught:
            b.adapter.update_session(SessionPatch(tools=()))
    assert caught.value.code == "ERR_S2S_REQUEST" and not b.adapter.capabilities.updates_tools


async def test_turns_marked_by_the_host() -> None:
    script = [
        *gemini.accept(),
        Expect("activityStart"),
        Hear(16_000),
        Expect("activityEnd"),
        Say(gemini.answer("Yes?", SAID)),
        UntilGone(),
    ]
    async with bench(script, activity_detection=None) as b:
        await b.connect()
        b.adapter.send_audio(HEARD)
        b.adapter.begin_turn()
        b.adapter.end_turn()
        b.adapter.begin_turn()
        b.adapter.send_audio(HEARD)
        b.adapter.end_turn()
        await b.seen(events.AgentTranscriptDone)
    session = b.peer.sessions[0]
    assert session.heard_samples == 16_000
    assert session.received[0]["setup"]["realtimeInputConfig"] == {"automaticActivityDetection": {"disabled": True}}


async def test_a_turn_that_is_not_to_be_answered_is_not_heard() -> None:
    script = [*gemini.accept(), Expect("activityStart"), Expect("activityEnd"), CANCEL]
    async with bench([*script, Say(gemini.speech(SAID)), UntilGone()], activity_detection=None) as b:
        await b.connect()
        b.adapter.begin_turn()
        b.adapter.send_audio(HEARD)
        b.adapter.end_turn(respond=False)
        await b.idle()
    assert not b.of(events.AgentAudio)


@pytest.mark.parametrize(
    ("model", "announced"), [("gemini-live-2.5-flash-preview", False), ("models/gemini-3.1-flash-live", True)]
)
async def test_history_asks_for_no_answer(model: str, announced: bool) -> None:
    history = (HistoryItem("user", "I am Ada."), HistoryItem("assistant", "Hello Ada."))
    async with bench([*gemini.accept(history=True), UntilGone()], model=model) as b:
        await b.adapter.connect(SessionConfig(history=history))
    setup, told = b.peer.sessions[0].received
    assert [turn["role"] for turn in told["clientContent"]["turns"]] == ["user", "model"]
    # Models that were told of a history do not answer it; the others must not be told that it is a whole turn.
    assert told["clientContent"]["turnComplete"] is announced
    assert ("historyConfig" in setup["setup"]) is announced


async def test_a_session_is_resumed_with_its_handle_after_the_old_connection_is_closed() -> None:
    """Case E29: this provider refuses a resumed session while the old connection is open."""
    first = [*gemini.accept(), Say(gemini.resumption("h1"), gemini.go_away(9.5)), UntilGone()]
    second = [Expect("setup", {"setup.sessionResumption.handle": "h1"}), Say(gemini.setup_complete()), UntilGone()]
    async with bench(first, second) as b:
        await b.connect()
        leaving = await b.seen(events.SessionExpiring)
        assert leaving.time_left_s == 9.5 and b.adapter.capabilities.closes_before_resuming
        successor = b.adapter.successor()
        told: list[events.Connected] = []
        successor.events.on(events.Connected, told.append)
        handle = b.adapter.resume_handle
        await b.adapter.disconnect()
        await successor.connect(SessionConfig(history=(HistoryItem("user", "old"),), resume=handle))
        await successor.disconnect()
    assert told[0].resumed and b.peer.most_at_once == 1


async def test_a_session_that_cannot_be_resumed_right_now_says_so() -> None:
    script = [*gemini.accept(), Say(gemini.resumption("h1"), gemini.resumption("", resumable=False)), UntilGone()]
    async with bench(script) as b:
        await b.connect()
        await b.idle()
        assert b.adapter.resume_handle is None


@pytest.mark.parametrize(("told", "seconds"), [("50s", 50.0), ("1.25s", 1.25), ("", 0.0), ("soon", 0.0)])
def test_the_time_that_is_left(told: str, seconds: float) -> None:
    assert GoAway.model_validate({"timeLeft": told}).seconds == seconds


@pytest.mark.parametrize(
    ("code", "reason", "fault"),
    [
        (1007, "Unknown name $schema", "ERR_S2S_REQUEST"),
        (1008, "model is not found", "ERR_S2S_REQUEST"),
        (1008, "API key not valid", "ERR_S2S_AUTH"),
        (1011, "You exceeded your current quota", "ERR_S2S_LIMIT"),
        (1011, "Internal error", "ERR_S2S_CONNECTION"),
    ],
)
async def test_a_setup_that_is_refused_says_why(code: int, reason: str, fault: str) -> None:
    async with bench([Expect("setup"), Close(code, reason)]) as b:
        with pytest.raises(S2SError) as caught:
            await b.connect()
    assert caught.value.code == fault and reason in caught.value.message
    assert b.kinds() == []


async def test_frames_of_every_kind_are_read_and_garbage_is_counted() -> None:
    script: list[Step] = [*gemini.accept(), Garbage('{"serverContent": {"outputTranscription": {"text": "Text."}}}')]
    script += [Garbage(data) for data in (b"\xff\xfe", "[]", '{"serverContent": 3}')]
    async with bench([*script, Say(gemini.generation_complete(), gemini.turn_complete()), UntilGone()]) as b:
        await b.connect()
        done = await b.seen(events.AgentTranscriptDone)
    assert done.text == "Text." and b.adapter.ignored == 3


async def test_an_answer_that_never_begins_ends_the_session() -> None:
    async with bench([*gemini.accept(), Expect("clientContent"), UntilGone()]) as b:
        await b.connect()
        b.adapter.inject_text("Hello?", respond=True)
        over = await b.seen(events.Disconnected)
    assert over.fault is not None and "an answer" in over.fault.message


async def test_short_lived_tokens_go_into_the_address() -> None:
    async def token() -> str:
        return "auth_tokens/abc"

    peer = ScriptedPeer(GeminiDialect("auth_tokens/abc"), [*gemini.accept(), UntilGone()])
    async with Bench(peer, lambda dialler: GeminiLive(get_token=token, dialler=dialler)) as b:
        await b.connect()
