"""A call over a socket, from the first message to the last, on virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.core.messages import ToolResultData
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, ScriptedModel
from realtime.browser.desk import BrowserRoom, State
from realtime.browser.session import Follower
from tests.realtime.peer import House, MemorySocket, send_sound, until

TOPICS = ("ready", "utterance", "speech", "sound", "speech_end", "interrupted", "clear", "pause", "resume")


async def settled(house: House) -> None:
    await until(lambda: house.session.voice.settled)
    await asyncio.sleep(0.05)


async def test_a_spoken_turn_is_seen_and_heard() -> None:
    async with House(["It is noon."]) as house:
        caller = await house.call()
        await house.speak(caller, "what time is it")
        await settled(house)
        assert list(dict.fromkeys(caller.types(*TOPICS))) == ["ready", "utterance", "speech", "sound", "speech_end"]
        assert caller.of("utterance")[0] == {
            "t": "utterance",
            "speaker": "user",
            "text": "what time is it",
            "language": "en",
        }
        assert "".join(message["text"] for message in caller.of("speech")).strip() == "It is noon."
        assert any(message["text"] for message in caller.of("partial"))
        assert [state["mode"] for state in caller.of("state") if state["mode"] != "listening"] == [
            "thinking",
            "speaking",
        ]
        assert caller.of("speech_end")[0]["turnId"] == caller.of("speech")[0]["turnId"]
        assert caller.samples == house.session.room.player.played_total
        metric = next(message for message in caller.of("metric") if message["name"] == "voice_to_voice")
        assert metric["ms"] > 0 and "agent_ms" in metric["data"]


async def test_a_typed_line_is_a_turn_like_a_spoken_one() -> None:
    async with House(["Done."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "speaker": "user", "text": "lights on"})
        await until(lambda: caller.of("speech_end"))
        assert caller.types(*TOPICS)[1:3] == ["utterance", "speech"]


async def test_an_interruption_pauses_at_once_then_clears_and_the_page_learns_what_was_heard() -> None:
    async with House(["One two three four five six seven eight nine ten.", "Yes?"]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "count"})
        await until(lambda: house.session.voice.current_mode == "speaking")
        await asyncio.sleep(0.6)
        before = caller.samples
        speaking = asyncio.create_task(house.speak(caller, "stop please"))
        await until(lambda: caller.of("pause"))
        assert caller.samples - before < 16_000 * 0.4
        await until(lambda: caller.of("clear"))
        await speaking
        await settled(house)
        cut = caller.of("interrupted")[0]
        assert cut["text"] and "One two three four five six seven eight nine ten.".startswith(cut["text"])
        assert set(caller.types("pause", "clear", "interrupted")[:1]) == {"pause"}
        assert caller.of("clear")[0]["epoch"] == caller.of("ready")[0]["epoch"] + 1
        history = (await house.call()).of("ready")[0]["history"]
        assert [(line["who"], line.get("cut", False)) for line in history] == [
            ("user", False),
            ("assistant", True),
            ("user", False),
            ("assistant", False),
        ]


async def test_no_sound_of_a_cut_reply_follows_the_clear() -> None:
    async with House(["One two three four five six seven eight nine ten.", "Yes?"]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "count"})
        await until(lambda: caller.samples > 8000)
        caller.say({"t": "stop"})
        await until(lambda: caller.of("clear"))
        at = caller.sent.index(caller.of("clear")[0])
        await asyncio.sleep(2)
        assert not [message for message in caller.sent[at:] if isinstance(message, bytes)]
        assert house.session.voice.current_mode == "listening"


async def test_sound_that_waits_for_a_slow_network_is_not_sent_after_a_cut() -> None:
    async with House(["One two three four five six seven eight nine ten."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "count"})
        await until(lambda: caller.samples > 8000)
        caller.reading.clear()
        await asyncio.sleep(1)
        before = caller.samples
        caller.say({"t": "stop"})
        await until(lambda: house.session.voice.current_mode == "listening")
        caller.reading.set()
        await until(lambda: caller.of("clear"))
        assert caller.samples - before <= 320


async def test_what_the_caller_has_not_played_was_not_heard() -> None:
    async with House(["One two three four five six seven eight nine ten."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "count"})
        await until(lambda: caller.samples)
        epoch = caller.of("ready")[0]["epoch"]
        for _ in range(10):  # the caller's sound card is slow to start: nothing is heard for a second
            caller.say({"t": "playback", "epoch": epoch, "position": 0})
            await asyncio.sleep(0.1)
        assert house.session.room.player.played < 16_000 * 0.15
        caller.say({"t": "stop"})
        await until(lambda: house.session.voice.current_mode == "listening")
        assert "three" not in "".join(message["text"] for message in caller.of("interrupted"))


async def test_client_barge_in_cuts_a_reply_and_otherwise_frees_the_client() -> None:
    async with House(["One two three four five."]) as house:
        caller = await house.call()
        caller.say({"t": "barge_in"})
        await until(lambda: caller.of("resume"))
        caller.say({"t": "say", "text": "count"})
        await until(lambda: house.session.voice.current_mode == "speaking")
        caller.say({"t": "barge_in"})
        await until(lambda: caller.of("clear"))
        assert house.session.voice.current_mode == "listening"


async def test_a_closed_microphone_is_not_listened_to_and_an_open_one_is_at_once() -> None:
    async with House(["One.", "Two."]) as house:
        caller = await house.call()
        await house.speak(caller, "first")
        await until(lambda: caller.of("utterance"))
        detector = house.session.vad
        await asyncio.sleep(10)
        rested_from = detector.samples
        await asyncio.sleep(60)
        assert detector.samples == rested_from
        await house.speak(caller, "second")
        await until(lambda: len(caller.of("utterance")) == 2)
        assert caller.of("utterance")[1]["text"] == "second"


async def test_mute_keeps_the_user_unheard_until_unmute() -> None:
    async with House(["No.", "Yes."]) as house:
        caller = await house.call()
        caller.say({"t": "mute"})
        await house.speak(caller, "secret")
        await asyncio.sleep(3)
        assert not caller.of("utterance") and caller.of("muted")[-1]["muted"] is True
        caller.say({"t": "unmute"})
        await house.speak(caller, "hello")
        await until(lambda: caller.of("utterance"))
        assert caller.of("utterance")[0]["text"] == "hello"


async def test_a_page_that_was_not_touched_is_not_counted_on_to_be_heard() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        assert house.room.health.values["speaker"] == 1
        caller.say({"t": "audio", "speaker": False})
        await until(lambda: house.room.health.state == "degraded")
        assert house.room.health.values["speaker"] == 0
        caller.say({"t": "audio", "speaker": True})
        await until(lambda: house.room.health.state == "ok")


async def test_the_talk_button_sends_all_that_was_said_before_it_was_let_go() -> None:
    async with House(["Sure."]) as house:
        caller = await house.call()
        caller.say({"t": "ptt", "phase": "down"})
        house.living.speak("remember", 1.0)
        house.living.speak("the milk", 0.02)
        await send_sound(caller, np.concatenate(house.living.waiting))
        house.living.waiting.clear()
        caller.say({"t": "ptt", "phase": "up"})
        await until(lambda: caller.of("utterance"), 5)
        assert caller.of("utterance")[0]["text"] == "remember the milk"
        caller.say({"t": "ptt", "phase": "down"})
        caller.say({"t": "ptt", "phase": "cancel"})
        await settled(house)
        assert len(caller.of("utterance")) == 1


@pytest.mark.parametrize("replaced", [True, False])
async def test_a_talk_button_that_is_held_by_nobody_any_more_is_let_go(replaced: bool) -> None:
    async with House(["Sure."]) as house:
        caller = await house.call()
        caller.say({"t": "ptt", "phase": "down"})
        await until(lambda: house.session.voice.ptt_held)
        if not replaced:
            caller.hang_up()
            await until(lambda: house.room.state is State.WAITING)
        await house.call()
        assert not house.session.voice.ptt_held
        await asyncio.sleep(2)
        assert house.session.voice.settled, "so timers and messages may be spoken"


async def test_a_second_caller_takes_the_place_of_the_first() -> None:
    async with House(["Hello."]) as house:
        first = await house.call()
        second = await house.call()
        assert first.closed == (4000, "replaced by a new connection")
        assert second.closed is None and len(house.sessions) == 1
        second.say({"t": "say", "text": "hi"})
        await until(lambda: second.of("speech_end"))
        assert not first.of("utterance") and house.room.state is State.CALLED


async def test_a_caller_who_returns_finds_the_conversation() -> None:
    async with House(["First.", "Second."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "one"})
        await until(lambda: caller.of("speech_end"))
        await settled(house)
        caller.hang_up()
        await asyncio.sleep(20)
        assert house.room.state is State.WAITING and house.room.health.state == "down"
        again = await house.call()
        assert again.of("ready")[0]["history"] == [
            {"who": "user", "text": "one"},
            {"who": "assistant", "text": "First."},
        ]
        assert len(house.sessions) == 1


async def test_a_session_ends_when_nobody_comes_back_and_the_next_caller_gets_another() -> None:
    async with House(["First.", "Second."], linger_s=60) as house:
        caller = await house.call()
        caller.hang_up()
        await asyncio.sleep(61)
        assert house.sessions[0].closed and house.room.state is State.EMPTY
        house.agent.past = (("user", "before"), ("agent", "indeed"))
        again = await house.call()
        assert len(house.sessions) == 2
        assert [line["who"] for line in again.of("ready")[0]["history"]] == ["user", "assistant"]


async def test_a_reply_waits_a_moment_for_a_caller_whose_connection_broke() -> None:
    async with House(["One two three four five six seven eight nine ten."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "count"})
        await until(lambda: caller.samples > 8000)
        caller.hang_up()
        await asyncio.sleep(1)
        again = await house.call()
        await until(lambda: again.of("speech_end"))
        await settled(house)
        assert house.session.voice.current_mode == "listening"
        whole = await house.agent.store.get_messages()
        assert whole[-1].heard == "complete"


async def test_a_reply_that_nobody_hears_is_cut_and_recorded_as_such() -> None:
    async with House(["One two three four five six seven eight nine ten."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "count"})
        await until(lambda: caller.samples > 8000)
        caller.hang_up()
        await asyncio.sleep(6)
        assert house.session.voice.settled
        assert (await house.agent.store.get_messages())[-1].heard == "interrupted"


async def test_a_session_closed_from_elsewhere_sends_the_caller_away() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        await house.session.close()
        await until(lambda: caller.closed)
        assert caller.closed == (1001, "the session is over")
        again = await house.call()
        assert len(house.sessions) == 2 and again.of("ready")


async def test_a_session_ends_although_its_last_caller_could_not_be_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Follower) -> dict[str, Any]:
        raise OSError("the record is gone")

    async with House(["Hello."], linger_s=60) as house:
        (await house.call()).hang_up()
        await asyncio.sleep(1)
        with monkeypatch.context() as patched:
            patched.setattr(Follower, "records", broken)
            with pytest.raises(OSError, match="gone"):
                await house.room.serve(MemorySocket())
        await asyncio.sleep(61)
        assert house.sessions[0].closed and house.room.state is State.EMPTY


async def test_who_has_gone_before_the_room_could_answer_is_no_fault() -> None:
    class Gone(MemorySocket):
        async def close(self, code: int, reason: str) -> None:
            raise ConnectionError("gone")

    async with House(["Hello."]) as house:
        await house.room.close()
        await house.room.serve(Gone())


async def test_a_session_that_cannot_be_opened_is_explained() -> None:
    async def broken(_: Any) -> Any:
        raise GloveError("ERR_WEIGHTS", "The weights are missing.", "glove weights pull")

    room, caller = BrowserRoom(broken), MemorySocket()
    await room.serve(caller)
    assert caller.of("error")[0]["code"] == "ERR_WEIGHTS"
    assert caller.closed is not None and caller.closed[0] == 1013
    assert room.state is State.EMPTY
    await room.close()


async def test_a_question_is_shown_and_its_answer_reaches_the_tool() -> None:
    async def run(_: NoArgs, context: ToolContext) -> ToolResultData:
        answer = await context.display.push_and_wait("generic", {"title": "Which?", "options": ["red", "blue"]})
        return ToolResultData(data=f"chose {answer}")

    tool = Tool(name="choose", description="Choose.", run=run, args=NoArgs)
    model = ScriptedModel([Call("choose", {}), "Very well."])
    async with House([], tools=(tool,), model=model) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "choose"})
        await until(lambda: caller.of("slot"))
        slot = caller.of("slot")[0]
        assert slot["blocking"] and slot["input"]["options"] == ["red", "blue"]
        assert (await house.call()).of("ready")[0]["slots"][0]["id"] == slot["id"]


async def test_cards_come_change_and_go() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        display = house.agent.display
        slot_id = await display.push_and_forget("generic", {"title": "Note"})
        display.update(slot_id, {"title": "Changed"})
        await until(lambda: caller.of("slot_update"))
        caller.say({"t": "slot_resolve", "id": slot_id, "value": None})
        await until(lambda: caller.of("slot_resolve"))
        assert display.stack == ()
        caller.say({"t": "slot_resolve", "id": "slot_99", "value": 1})
        await until(lambda: len(caller.of("slot_resolve")) == 2)
        await display.push_and_forget("generic", {"text": "x" * 100_000})
        await until(lambda: len(caller.of("slot")) == 2)
        assert caller.of("slot")[1]["input"] == {"truncated": True}


async def test_an_answer_resolves_a_waiting_question() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        asking = asyncio.create_task(house.agent.display.push_and_wait("permission_request", {"toolName": "x"}))
        await until(lambda: caller.of("slot"))
        caller.say({"t": "slot_resolve", "id": caller.of("slot")[0]["id"], "value": True})
        assert await asking is True


async def test_a_caller_who_doubts_the_connection_is_answered() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        caller.say({"t": "ping"})
        await until(lambda: caller.of("pong"))


async def test_timers_are_shown_and_can_be_dropped_and_silenced() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        timers = house.session.mind.timers
        tea = await timers.set_timer(3, "tea")
        egg = await timers.set_timer(500, "egg")
        await until(lambda: caller.of("timers") and len(caller.of("timers")[-1]["running"]) == 2)
        await until(lambda: caller.of("timers")[-1]["ringing"])
        caller.say({"t": "timer_dismiss", "id": tea.id})
        caller.say({"t": "timer_cancel", "id": egg.id})
        await until(lambda: caller.of("timers")[-1] == {"t": "timers", "running": [], "ringing": []})
        assert timers.running() == [] and timers.ringing() == []


async def test_a_timer_that_cannot_be_dropped_for_good_is_an_error_and_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(_: str) -> bool:
        raise GloveError("ERR_STORE_FULL", "There is no room left.")

    async with House(["Hello."]) as house:
        caller = await house.call()
        monkeypatch.setattr(house.session.mind.timers, "cancel", full)
        caller.say({"t": "timer_cancel", "id": "timer_1"})
        await until(lambda: caller.of("error"))
        assert caller.of("error")[0]["code"] == "ERR_STORE_FULL"
        caller.say({"t": "say", "text": "are you there"})
        await until(lambda: caller.of("speech_end"))


async def test_half_a_character_in_what_was_said_before_keeps_nobody_out() -> None:
    async with House(["Hello."]) as house:
        house.agent.past = (("user", "caf\ud800"),)
        history = (await house.call()).of("ready")[0]["history"]
        assert history == [{"who": "user", "text": "caf?"}]


async def test_a_card_that_is_no_json_keeps_nobody_out() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        display = house.session.mind.agent.display
        circular: list[Any] = []
        circular.append(circular)
        for value in (float("nan"), 10**5000, circular):
            await display.push_and_forget("generic", value)
        await until(lambda: len(caller.of("slot")) == 3)
        again = await house.call()
        told = [slot["input"] for slot in again.of("ready")[0]["slots"]]
        assert told == [slot["input"] for slot in caller.of("slot")] == [None, "int", ["list"]]


async def test_a_caller_who_cannot_be_told_anything_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()

        async def broken(_: str | bytes) -> None:
            raise ValueError("no message")

        monkeypatch.setattr(caller, "send", broken)
        caller.say({"t": "say", "text": "hello"})
        await until(lambda: caller.closed)
        assert caller.closed is not None and caller.closed[0] == 1011


@pytest.mark.parametrize(("rubbish", "code"), [(b"\x01", 1003), ("{", 1007), ('{"t":"?"}', 1007)])
async def test_rubbish_is_answered_and_ends_the_call_when_it_goes_on(rubbish: str | bytes, code: int) -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        caller.say(rubbish)
        await until(lambda: caller.of("error"))
        assert caller.closed is None
        for _ in range(20):
            caller.say(rubbish)
        await until(lambda: caller.closed)
        assert caller.closed is not None and caller.closed[0] == code
        assert (await house.call()).of("ready")


async def test_a_flood_of_sound_ends_the_call_but_not_the_room() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        for _ in range(20):
            caller.say(b"\0" * 60_000)
        await until(lambda: caller.closed)
        assert caller.closed is not None and caller.closed[0] == 1008
        assert house.session.room.microphone.waiting <= 200


async def test_a_flood_of_messages_ends_the_call() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        for _ in range(1000):
            caller.say({"t": "barge_in"})
        await until(lambda: caller.closed)
        assert caller.closed is not None and caller.closed[0] == 1008


async def test_a_message_that_is_too_big_ends_the_call() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        caller.say({"t": "say", "text": "x" * 100_000})
        await until(lambda: caller.closed)
        assert caller.closed is not None and caller.closed[0] == 1009


async def test_a_caller_that_does_not_read_is_let_go() -> None:
    async with House(["word " * 300]) as house:
        caller = await house.call()
        caller.reading.clear()
        caller.say({"t": "say", "text": "talk"})
        await asyncio.sleep(60)
        assert house.room.state is State.WAITING
        caller.reading.set()


async def test_a_whole_minute_of_sound_at_its_own_pace_is_no_flood() -> None:
    async with House(["Hello."]) as house:
        caller = await house.call()
        await send_sound(caller, np.zeros(16_000 * 60, np.int16))
        assert caller.closed is None and house.session.room.microphone.dropped == 0
