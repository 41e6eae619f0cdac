"""A question on the page is also asked aloud, can be read along, and is answered by whatever comes first."""

from __future__ import annotations

import asyncio

from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, ScriptedModel
from tests.realtime.peer import House, MemorySocket, until


def house() -> House:
    async def choose(_: NoArgs, context: ToolContext) -> str:
        options = {"question": "Which colour?", "options": ["red", "blue"]}
        return f"chose {await context.display.push_and_wait('ask_preference', options)}"

    tool = Tool("choose", "Choose.", choose, NoArgs)
    return House([], tools=(tool,), model=ScriptedModel([Call("choose", {}), "Very well."]))


def read_along(caller: MemorySocket) -> str:
    return "".join(message["text"] for message in caller.of("speech"))


async def asked(house: House, caller: MemorySocket) -> str:
    caller.say({"t": "say", "text": "choose"})
    await until(lambda: caller.of("slot"))
    await until(lambda: house.session.voice.listens_for_answer)
    return caller.of("slot")[0]["id"]


async def test_the_question_and_its_answer_can_be_read_along() -> None:
    async with house() as room:
        caller = await room.call()
        slot_id = await asked(room, caller)
        assert "Which colour? You can say red or blue." in read_along(caller)
        caller.say({"t": "say", "text": "the second one"})
        await until(lambda: caller.of("slot_resolve"))
        assert caller.of("slot_resolve")[0] == {"t": "slot_resolve", "id": slot_id, "answered": True, "value": "blue"}
        await until(lambda: "Very well." in read_along(caller))
        assert [message["text"] for message in caller.of("utterance")] == ["choose", "the second one"]


async def test_a_click_ends_the_asking() -> None:
    async with house() as room:
        caller = await room.call()
        slot_id = await asked(room, caller)
        caller.say({"t": "slot_resolve", "id": slot_id, "value": "red"})
        await until(lambda: "Very well." in read_along(caller))
        assert not room.session.voice.awaits_answer()
        await asyncio.sleep(40.0)
        assert read_along(caller).count("Which colour?") == 1
