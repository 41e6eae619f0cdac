"""A realtime session in a room, as the people in it notice it."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Say as ModelSays
from audio.events import AgentSays, AgentSpeechStopped, Interrupted, UserTurn, VoiceFault
from audio.voice_settings import VoiceSettings
from realtime.link_state import LinkSettings
from realtime.testing import Close, Expect, Hear, Pause, Refuse, Say, UntilGone, openai
from tests.realtime.agent.room import Room
from tests.realtime.agent.stage import tone


async def _open(_args: NoArgs, _ctx: Any) -> str:
    return "the door is open"


DOOR = Tool(name="open_door", description="Opens the door.", run=_open, args=NoArgs, requires_permission=True)


def answer(text: str, number: int = 1, seconds: float = 0.5) -> Say:
    return Say(openai.answer(text, tone(seconds), f"r{number}", f"a{number}"))


async def test_a_room_hears_and_sees_a_realtime_turn_like_one_of_the_cascade() -> None:
    script = [
        *openai.accept(),
        Hear(24_000),
        Say(openai.user_turn("What time is it?")),
        answer("It is noon."),
        UntilGone(),
    ]
    async with Room(script) as room:
        await room.seen(AgentSpeechStopped)
        await room.settle()
        assert room.types() == [
            "user_speech_started",
            "user_speech_stopped",
            "user_turn",
            "agent_text",
            "agent_speech_started",
            "agent_speech_stopped",
        ]
        assert room.of(AgentSpeechStopped)[0].heard == "It is noon."
        assert await room.history() == [("user", "What time is it?"), ("agent", "It is noon.")]
    modes = [event.to_json()["mode"] for event in room.events if event.type == "mode"]
    assert modes == ["listening", "thinking", "speaking", "listening", "idle"]
    assert (room.living.right != 0).sum() > 11_000


async def test_the_user_who_speaks_over_the_model_is_obeyed_at_once() -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("Count.")),
        answer("one two three four five six seven eight", seconds=4.0),
        Pause(1.5),
        Say([openai.speech_started("u2")]),
        Expect("conversation.item.truncate"),
        Say([*openai.speech_stopped("u2"), *openai.transcript("Stop.", "u2")]),
        UntilGone(),
    ]
    async with Room(script) as room:
        cut = await room.seen(Interrupted)
        assert abs(cut.played_ms - 1500) <= 40
        assert room.types()[-3:-1] != ["agent_speech_stopped", "interrupted"]
        await room.seen(UserTurn, lambda turn: turn.text == "Stop.")
        kinds = room.types()
        assert kinds.index("interrupted") < kinds.index("agent_speech_stopped")


async def test_permission_is_asked_and_answered_aloud_here_and_the_model_gets_the_result() -> None:
    script = [
        *openai.accept(),
        Say(openai.user_turn("Open the door."), openai.tool_calls([("c1", "open_door", "{}")])),
        Expect("conversation.item.create", check=lambda told: "the door is open" in told["item"]["output"]),
        Expect("response.create"),
        answer("It is open.", 2),
        UntilGone(),
    ]
    async with Room(script, tools=[DOOR]) as room:
        await room.seen(AgentSays)
        await asyncio.sleep(6)
        heard = room.peer.sessions[0].heard_samples
        room.living.speak("yes", 0.8)
        await room.seen(AgentSpeechStopped, lambda stopped: stopped.heard == "It is open.")
        assert room.peer.sessions[0].heard_samples - heard < 24_000 * 4, "the provider did not hear the answer"
        await room.settle()
    assert [event.type for event in room.events if event.type == "user_answer"] == ["user_answer"]


async def test_typed_lines_are_answered_by_the_model() -> None:
    script = [
        *openai.accept(),
        Expect("conversation.item.create"),
        Expect("response.create"),
        answer("Hello."),
        UntilGone(),
    ]
    async with Room(script) as room:
        room.voice.say_to_agent("Hi!")
        await room.seen(AgentSpeechStopped)
        assert await room.history() == [("user", "Hi!"), ("agent", "Hello.")]


async def test_the_talk_key_marks_turns() -> None:
    script = [
        *openai.accept(),
        Expect("input_audio_buffer.clear"),
        Hear(20_000),
        Expect("input_audio_buffer.commit"),
        Expect("response.create"),
        Say(openai.transcript("What time is it?")),
        answer("It is noon."),
        UntilGone(),
    ]
    async with Room(script, manual=True, settings=VoiceSettings(turn_mode="manual")) as room:
        await asyncio.sleep(1)
        assert room.voice.ptt_down()
        await asyncio.sleep(1)
        room.voice.ptt_up()
        await room.seen(AgentSpeechStopped)
        await room.settle()
        assert await room.history() == [("user", "What time is it?"), ("agent", "It is noon.")]


async def test_turns_that_are_found_here_are_heard_by_the_provider_exactly() -> None:
    script = [
        *openai.accept(),
        Expect("input_audio_buffer.clear"),
        Hear(24_000),
        Expect("input_audio_buffer.commit"),
        Expect("response.create"),
        Say(openai.transcript("Hello there.")),
        answer("Hi."),
        UntilGone(),
    ]
    async with Room(script, manual=True) as room:
        await asyncio.sleep(5)
        assert room.peer.sessions[0].heard_samples == 0
        room.living.speak("Hello there.", 1.2)
        await room.seen(AgentSpeechStopped)
        await room.settle()
        assert [turn.text for turn in room.of(UserTurn)] == ["Hello there."]
        assert await room.history() == [("user", "Hello there."), ("agent", "Hi.")]


async def test_the_cascade_takes_over_says_so_once_answers_and_steps_back() -> None:
    first = [
        *openai.accept(),
        Say(openai.user_turn("I am Ada.")),
        answer("Hello Ada."),
        Pause(2),
        Say(openai.user_turn("Who am I?", "u2")),
        Close(1011),
    ]
    refused = [[Refuse(503)] for _ in range(4)]
    back = [
        *openai.accept(history=6),
        Say(openai.user_turn("And now?", "u9")),
        answer("Here I am again.", 9),
        UntilGone(),
    ]
    async with Room(first, *refused, back, replies=[ModelSays("You are Ada."), ModelSays("Fine.")]) as room:
        await room.seen(AgentSpeechStopped, lambda stopped: stopped.heard == "You are Ada.")
        room.living.speak("How are you?", 1.0)
        await room.seen(AgentSpeechStopped, lambda stopped: stopped.heard == "Fine.")
        await room.seen(AgentSpeechStopped, lambda stopped: stopped.heard == "Here I am again.")
        await room.settle()
        lines = await room.history()
    told = [event.text for event in room.of(AgentSays)]
    assert len([text for text in told if "out of reach" in text]) == 1
    assert [text for _, text in lines] == [
        "I am Ada.",
        "Hello Ada.",
        "Who am I?",
        "Who am I?",
        "You are Ada.",
        "How are you?",
        "Fine.",
        "And now?",
        "Here I am again.",
    ]
    items = [each["item"] for each in room.peer.sessions[-1].received if each["type"] == "conversation.item.create"]
    assert [each["content"][0]["text"] for each in items] == [
        "I am Ada.",
        "Hello Ada.",
        "Who am I?",
        "You are Ada.",
        "How are you?",
        "Fine.",
    ]
    assert room.of(VoiceFault)


async def test_a_provider_that_is_not_there_at_the_start_is_no_reason_to_be_silent() -> None:
    refused = [[Refuse(503)]]
    async with Room(*refused, replies=[ModelSays("Hello.")], link=LinkSettings(return_s=10_000)) as room:
        room.living.speak("Hi.", 1.0)
        await room.seen(AgentSpeechStopped, lambda stopped: stopped.heard == "Hello.")


async def test_what_is_announced_is_spoken_here_and_known_to_the_model() -> None:
    script = [*openai.accept(), Expect("conversation.item.create", {"item.role": "system"}), UntilGone()]
    async with Room(script) as room:
        await room.voice.announce("The tea is ready.")
        await room.settle()
    assert [event.heard for event in room.of(AgentSpeechStopped)] == ["The tea is ready."]
