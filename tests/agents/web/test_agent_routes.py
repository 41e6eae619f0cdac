"""Agents on the server, as browsers see them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from agents.base import clock
from agents.base.errors import GloveError
from agents.core.glove import Glove
from agents.core.tool import Tool, ToolContext
from agents.models.scripted import Call, Fail, Hang, Say
from agents.web.access import Access
from agents.web.routes import web_routes
from tests.agents.web.house import CHAT, EVENTS, TOKEN, House, Place, tool, types
from tests.agents.web.peer import ask, served


async def test_a_turn_is_told_from_the_users_words_to_done() -> None:
    async def weather(args: Place, _: ToolContext) -> dict[str, Any]:
        return {"place": args.place, "sky": "grey"}

    house = House(
        [Say("Let me look."), Call("weather", {"place": "Bath"}, id="c1")],
        "It is grey.",
        tools=[Tool("weather", "Looks outside.", weather, Place)],
    )
    async with house.call("POST", CHAT, {"message": "How is it outside?"}) as made:
        events = await made.all()
    told = types(events)
    assert told[0] == "user_message" and told[-1] == "done"
    assert [kind for kind in told if kind.startswith("tool")] == ["tool_use", "tool_use_result"]
    assert "".join(event["text"] for event in events if event["type"] == "text_delta") == "Let me look.It is grey."
    result = next(event for event in events if event["type"] == "tool_use_result")
    assert (result["id"], result["call_id"], result["name"], result["tool_name"]) == ("c1", "c1", "weather", "weather")
    assert result["result"]["data"] == {"place": "Bath", "sky": "grey"}
    done = events[-1]
    used = [event["consumption"] for event in events if event["type"] == "token_consumption"]
    assert done["message"]["text"] == "It is grey." and "error" not in done
    assert done["tokens_in"] == sum(one["tokens_in"] for one in used) > 0
    status, history = await house.ask("GET", "/api/sessions/s-1/messages")
    assert status == 200 and [message["text"] for message in history["messages"]][-1] == "It is grey."
    _, counted = await house.ask("GET", "/api/sessions/s-1/tokens")
    assert counted["tokens_in"] == done["tokens_in"] and counted["turns"] == 2
    await house.sessions.close()


async def test_who_leaves_stops_the_turn_and_history_is_in_order() -> None:
    house = House([Say("One moment. "), Hang()], "Hello again.")
    async with house.call("POST", CHAT, {"message": "hi"}) as made:
        await made.next("text_delta")
        made.leave()
        await made.task
        for _ in range(100):
            await asyncio.sleep(0)
        assert not house.gloves["s-1"].busy
    async with house.call("POST", CHAT, {"message": "and now?"}) as made:
        done = (await made.all())[-1]
    assert done["message"]["text"] == "Hello again."
    texts = [message.text for message in house.model.requests[1].messages]
    assert texts[0] == "hi" and texts[-1] == "and now?"
    await house.sessions.close()
    assert len(asyncio.all_tasks()) == 1


async def test_a_turn_can_be_kept_running_for_one_who_comes_back() -> None:
    house = House([Say("One moment. "), Say("Done.", delay_s=30.0)], keep_running=True, idle_s=4.0)
    async with house.call("POST", CHAT, {"message": "hi"}) as made:
        await made.next("text_delta")
    await asyncio.sleep(20.0)
    async with house.call("GET", EVENTS) as back:
        assert (await back.next("attached"))["busy"] is True
        assert (await back.next("user_message"))["text"] == "hi"
        assert (await back.next("text_delta"))["text"] == "One moment. "
        assert (await back.next("text_delta"))["text"] == "Done."
        assert (await back.next("done"))["message"]["text"] == "One moment. Done."
    await house.sessions.close()


async def test_a_second_tab_sees_what_was_said_and_what_follows_once() -> None:
    house = House([Say("one two three "), Say("four five", delay_s=5.0)])
    async with house.call("POST", CHAT, {"message": "count"}) as first:
        await first.next("text_delta")
        await asyncio.sleep(1.0)
        async with house.call("GET", EVENTS) as second:
            assert types([await second.next() for _ in range(2)]) == ["attached", "user_message"]
            text = ""
            async for event in second.events():
                if event["type"] == "text_delta":
                    text += event["text"]
                elif event["type"] == "done":
                    break
            assert text == "one two three four five"
        assert (await first.all())[-1]["type"] == "done"
    await house.sessions.close()


async def test_what_is_told_of_a_turn_can_be_found_in_the_record() -> None:
    house = House(Say("Hello."))
    async with house.call("POST", CHAT, {"message": "hi"}) as made:
        events = await made.all()
    told = [events[0]["id"], next(event["reply_id"] for event in events if event["type"] == "text_delta")]
    _, record = await house.ask("GET", "/api/sessions/s-1/messages")
    assert [message["id"] for message in record["messages"]] == told
    await house.sessions.close()


async def test_one_caller_at_a_time_and_the_other_is_told() -> None:
    house = House([Say("slow"), Say("ly", delay_s=5.0)], "Next.")
    async with house.call("POST", CHAT, {"message": "a"}) as first:
        await first.next("text_delta")
        status, refused = await house.ask("POST", CHAT, {"message": "b"})
        assert (status, refused["code"]) == (409, "ERR_SESSION_BUSY")
        async with house.call("POST", "/api/sessions/other/chat", {"message": "b"}) as elsewhere:
            assert (await elsewhere.all())[-1]["message"]["text"] == "Next."
        assert (await first.all())[-1]["message"]["text"] == "slowly"
    await house.sessions.close()


async def test_stopping_ends_the_turn_for_everybody() -> None:
    house = House([Say("Well. "), Hang()])
    async with house.call("POST", CHAT, {"message": "hi"}) as made, house.call("GET", EVENTS) as second:
        await made.next("text_delta")
        assert await house.ask("POST", "/api/sessions/s-1/abort", {}) == (200, {"aborted": True})
        assert (await made.all())[-1]["aborted"] is True
        assert (await second.next("done"))["aborted"] is True
    assert await house.ask("POST", "/api/sessions/s-1/abort", {}) == (200, {"aborted": False})
    await house.sessions.close()


async def test_a_failing_model_is_a_done_with_an_error_and_the_session_goes_on() -> None:
    house = House(Fail(GloveError("ERR_MODEL_AUTH", "The key was not accepted.", "Check it.")), "Better.")
    async with house.call("POST", CHAT, {"message": "hi"}) as made:
        done = (await made.all())[-1]
    assert done["error"] == {"code": "ERR_MODEL_AUTH", "message": "The key was not accepted.", "remedy": "Check it."}
    assert done["message"]["text"] == "Error: The key was not accepted."
    async with house.call("POST", CHAT, {"message": "again"}) as made:
        assert (await made.all())[-1]["message"]["text"] == "Better."
    await house.sessions.close()


async def test_an_unforeseen_fault_says_nothing_of_itself() -> None:
    house = House(Fail(RuntimeError("sk-very-secret")))
    async with house.call("POST", CHAT, {"message": "hi"}) as made:
        events = await made.all()
    assert events[-1]["error"]["code"] == "ERR_INTERNAL" and "sk-very" not in str(events)
    await house.sessions.close()


async def test_a_question_is_shown_and_answered_from_another_tab() -> None:
    async def confirm(context: ToolContext) -> str:
        answer = await context.display.push_and_wait("confirm", {"q": "Really?"})
        return "yes" if answer else "no"

    house = House(Call("confirm", {}), "As you wish.", tools=[tool("confirm", confirm)])
    async with house.call("POST", CHAT, {"message": "delete it"}) as made:
        slot = await made.next("slot")
        assert slot == {
            "type": "slot", "id": slot["id"], "renderer": "confirm", "input": {"q": "Really?"}, "blocking": True,
        }  # fmt: skip
        async with house.call("GET", EVENTS) as second:
            (shown,) = (await second.next("attached"))["slots"]
            assert shown["id"] == slot["id"]
            _, state = await house.ask("GET", "/api/sessions/s-1")
            assert state["busy"] is True and state["slots"] == [shown]
            path = f"/api/sessions/s-1/slots/{slot['id']}"
            assert (await house.ask("POST", f"{path}/resolve", {"value": True}))[0] == 204
            gone = await second.next("slot_resolve")
            assert (gone["id"], gone["answered"], gone["value"]) == (slot["id"], True, True)
        events = await made.all()
        assert next(event for event in events if event["type"] == "tool_use_result")["result"]["data"] == "yes"
        for verb in ("resolve", "reject"):
            status, late = await house.ask("POST", f"{path}/{verb}", {"value": False})
            assert (status, late["code"]) == (404, "ERR_SLOT_UNKNOWN")
    await house.sessions.close()


async def test_a_question_can_be_refused() -> None:
    async def confirm(context: ToolContext) -> Any:
        return await context.display.push_and_wait("confirm")

    house = House(Call("confirm", {}), *["Then not."] * 6, tools=[tool("confirm", confirm)])
    async with house.call("POST", CHAT, {"message": "delete it"}) as made:
        slot = await made.next("slot")
        while True:
            path = f"/api/sessions/s-1/slots/{slot['id']}/reject"
            assert (await house.ask("POST", path, {"reason": "Not now."}))[0] == 204
            event = await made.next("slot", "tool_use_result")
            if event["type"] == "tool_use_result":
                break
            slot = event
        assert event["result"]["status"] == "error"
    await house.sessions.close()


async def test_a_card_is_closed_by_the_one_who_read_it() -> None:
    async def show(context: ToolContext) -> str:
        return await context.display.push_and_forget("card", {"title": "Hi"})

    house = House(Call("show", {}), "There.", tools=[tool("show", show)])
    async with house.call("POST", CHAT, {"message": "show"}) as made:
        slot = await made.next("slot")
        assert slot["blocking"] is False
        await made.all()
    assert (await house.ask("POST", f"/api/sessions/s-1/slots/{slot['id']}/resolve", {}))[0] == 204
    assert house.gloves["s-1"].display.stack == ()
    await house.sessions.close()


async def test_a_slow_reader_is_dropped_and_nobody_waits_for_it() -> None:
    async def flood(context: ToolContext) -> str:
        for number in range(300):
            await context.display.push_and_forget("card", {"n": number})
            await asyncio.sleep(0.001)
        return "shown"

    house = House(Call("flood", {}), "There.", tools=[tool("flood", flood)], waiting_events=100)
    async with house.call("GET", EVENTS) as slow, house.call("GET", EVENTS) as quick:
        await slow.next("attached")
        slow.flowing.clear()
        began = clock.now()
        async with house.call("POST", CHAT, {"message": "go"}) as made:
            assert (await made.all())[-1]["message"]["text"] == "There."
        assert clock.now() - began < 0.5
        assert (await quick.next("done"))["message"]["text"] == "There."
        slow.flowing.set()
        events = await slow.all()
        assert events[-1] == {"type": "end", "reason": "slow"} and len(events) < 100
    await house.sessions.close()


async def test_a_burst_of_words_drops_nobody() -> None:
    text = "word " * 5000
    house = House(Say(text), waiting_events=100)
    async with house.call("GET", EVENTS) as slow:
        await slow.next("attached")
        slow.flowing.clear()
        async with house.call("POST", CHAT, {"message": "go"}) as made:
            said = "".join(event["text"] for event in await made.all() if event["type"] == "text_delta")
        assert said == text
        slow.flowing.set()
        heard = ""
        while (event := await slow.next("text_delta", "done"))["type"] != "done":
            heard += event["text"]
        assert heard == text
    await house.sessions.close()


async def test_a_turn_that_an_event_started_is_seen_by_all_who_follow() -> None:
    house = House("Hello.", "The build is done.")
    async with house.call("GET", EVENTS) as made:
        await made.next("attached")
        async with house.call("POST", CHAT, {"message": "hi"}) as turn:
            await turn.all()
        await made.next("done")
        glove = house.gloves["s-1"]
        await glove.emit_event("e-1", "webhook:ci", "build.finished", "ok", when_idle="wake")
        assert (await made.next("event_received"))["id"] == "e-1"
        done = await made.next("done")
        assert done["message"]["text"] == "The build is done." and done["tokens_in"] > 0
    await house.sessions.close()


async def test_pictures_come_before_the_words() -> None:
    house = House("A cat.")
    body = {"message": "What is it?", "images": [{"data": "aGk=", "media_type": "image/png"}], "language": "en-GB"}
    async with house.call("POST", CHAT, body) as made:
        said = await made.next("user_message")
        await made.all()
    assert said["text"] == "What is it?" and [part["type"] for part in said["content"]] == ["image", "text"]
    message = house.model.requests[0].messages[-1]
    assert [part.type for part in message.content or ()] == ["image", "text"]
    await house.sessions.close()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "message"),
        ({"message": "  "}, "message"),
        ({"message": 3}, "message"),
        ({"message": "x", "images": [{"data": "", "media_type": "image/png"}]}, "images.0.data"),
        ({"message": "x", "images": [{"data": "a", "media_type": "text/html"}]}, "images.0.media_type"),
        ({"message": "x", "language": "en\n"}, "language"),
    ],
)
async def test_a_wrong_field_is_named(body: Any, field: str) -> None:
    house = House()
    status, answer = await house.ask("POST", CHAT, body)
    assert (status, answer["field"]) == (400, field) and not house.gloves


async def test_hostile_session_ids_open_nothing() -> None:
    house = House()
    for name in ("a__b", "..", "a b", "x" * 200, "%00"):
        for method, path, body in [
            ("POST", "chat", {"message": "hi"}),
            ("GET", "events", None),
            ("GET", "tasks", None),
        ]:
            status, answer = await house.ask(method, f"/api/sessions/{name}/{path}", body)
            assert (status, answer["code"]) == (400, "ERR_SESSION_ID")
    assert not house.gloves


async def test_a_session_that_cannot_be_opened_is_a_status_and_tells_nothing_of_the_machine() -> None:
    def broken(_: str) -> Glove:
        raise GloveError("ERR_STORE_UNWRITABLE", "chat.db cannot be written.", "Run: chown glove /srv/chat.db")

    app = Starlette(routes=web_routes(Access(TOKEN).allows, agent=broken))
    for method, path, body in [
        ("POST", CHAT, {"message": "hi"}),
        ("GET", EVENTS, None),
        ("GET", "/api/sessions/s-1", None),
    ]:
        status, answer = await ask(app, method, path, body, token=TOKEN)
        assert (status, answer) == (500, {"code": "ERR_STORE_UNWRITABLE", "error": "chat.db cannot be written."})


async def test_too_many_followers_are_refused() -> None:
    house = House(max_readers=1)
    async with house.call("GET", EVENTS) as first:
        await first.next("attached")
        status, answer = await house.ask("GET", EVENTS)
        assert (status, answer["code"]) == (429, "ERR_READERS_FULL")
    await house.sessions.close()


async def test_closing_the_server_ends_streams_and_turns() -> None:
    house = House([Say("Well. "), Hang()])
    async with house.call("POST", CHAT, {"message": "hi"}) as made, house.call("GET", EVENTS) as second:
        await made.next("text_delta")
        await house.sessions.close()
        assert (await made.all())[-1] == {"type": "end", "reason": "closed"}
        assert (await second.all())[-1] == {"type": "end", "reason": "closed"}
    status, answer = await house.ask("GET", EVENTS)
    assert (status, answer["code"]) == (503, "ERR_SESSIONS_FULL")
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.realtime
async def test_two_browsers_on_real_sockets_and_one_that_closes_its_tab() -> None:
    house = House([Say("Grüße. 世界 "), Hang()], "Still here.")
    bearer = {"authorization": f"Bearer {TOKEN}"}
    async with served(house.app) as url, httpx.AsyncClient(base_url=url, headers=bearer, timeout=20) as browser:
        async with browser.stream("GET", EVENTS) as followed:
            lines = followed.aiter_lines()
            assert (await _next_event(lines))["type"] == "attached"
            async with browser.stream("POST", CHAT, json={"message": "hi"}) as asked:
                mine = asked.aiter_lines()
                while (event := await _next_event(mine))["type"] != "text_delta":
                    pass
                assert event["text"] == "Grüße. 世界 "
            while (event := await _next_event(lines))["type"] != "done":
                pass
            assert event["aborted"] is True
        answer = await browser.post(CHAT, json={"message": "and now?"})
        assert '"text":"Still here."' in answer.text
        await house.sessions.close()


async def _next_event(lines: Any) -> dict[str, Any]:
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")
