"""Questions in a whole appliance: with a language model and without one, typed and from a script."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.base.credentials import Credentials
from agents.core.model import Sentences
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.web.tools.ready_made import ready_made_tools
from appliance.commands.conversation import talk
from appliance.commands.talk import TalkOptions
from appliance.config.schema import GloveConfig
from appliance.session.build import load_parts
from appliance.session.mind import build_mind
from tests.appliance.house import Inhabited, Room, simulated

SENTENCES = (Sentences("en", ("open the garage",)), Sentences("de", ("öffne die garage",)))
QUESTION = "May I use open garage?"


def garage(opened: list[str]) -> Tool[Any]:
    async def run(args: NoArgs, ctx: ToolContext) -> str:
        opened.append(ctx.language)
        return "It is open."

    return Tool("open_garage", "Opens it.", run, NoArgs, requires_permission=True, sentences=SENTENCES)


async def inhabited(config: GloveConfig, tool: Tool[Any]) -> Inhabited:
    parts = await load_parts(config)
    session = await replace(parts, mind=replace(parts.mind, tools=(tool,))).session(Room(), name="device")
    await session.start()
    return Inhabited(session)


async def listening(room: Inhabited) -> None:
    async with asyncio.timeout(60):
        while not room.session.voice.listens_for_answer:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("answer", "opened", "last"), [("Yes.", ["en"], "It is open."), ("No.", [], "All right, I will leave it.")]
)
async def test_an_appliance_alone_asks_for_permission(answer: str, opened: list[str], last: str) -> None:
    done: list[str] = []
    room = await inhabited(simulated(), garage(done))
    room.session.voice.say_to_agent("Open the garage.")
    await listening(room)
    assert room.heard == [QUESTION]
    assert await room.say(answer) == last
    assert done == opened
    await room.session.close()


@pytest.mark.parametrize(("answer", "asked_again"), [("Stop.", True), ("Cancel.", True), ("No.", False)])
async def test_stop_is_no_lasting_no(answer: str, asked_again: bool) -> None:
    done: list[str] = []
    room = await inhabited(simulated(), garage(done))
    room.session.voice.say_to_agent("Open the garage.")
    await listening(room)
    assert await room.say(answer) == "All right, I will leave it."
    before = len(room.heard)
    room.session.voice.say_to_agent("Open the garage.")
    async with asyncio.timeout(60):
        while len(room.heard) == before:
            await asyncio.sleep(0.02)
    assert (room.heard[before] == QUESTION) == asked_again
    assert done == []
    await room.session.close()


async def test_it_leaves_things_alone_when_nobody_answers_and_says_so_once() -> None:
    done: list[str] = []
    room = await inhabited(simulated(), garage(done))
    spoken = await room.say("Open the garage.")
    assert spoken.strip() == f"{QUESTION} I heard no answer, so I will leave that."
    assert done == []
    assert await room.say("Hello.")  # and goes on talking
    await room.session.close()


async def test_it_is_asked_in_the_language_of_the_conversation() -> None:
    done: list[str] = []
    german = simulated(speech={"language": "de"})
    room = await inhabited(german, garage(done))
    room.session.voice.say_to_agent("Öffne die Garage.")
    await listening(room)
    assert room.heard == ["Darf ich open garage verwenden?"]
    assert await room.say("Nein, danke.") == "Gut, ich lasse es."
    await room.session.close()


async def test_typed_lines_of_a_script_answer_its_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr("agents.everyday.everyday_tools", lambda book, timers: [garage(done)])
    events = tmp_path / "events.jsonl"
    options = TalkOptions(None, tmp_path / "out.wav", events, "fast", ("Open the garage.", "Yes, please.", "Hello."))
    assert await talk(options, simulated()) == 0
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert done == ["en"]
    assert [event["text"] for event in told if event["type"] == "user_answer"] == ["Yes, please."]
    turns = [event["text"] for event in told if event["type"] == "user_turn"]
    assert turns[:2] == ["Open the garage.", "Hello."]


async def test_the_asking_tools_come_with_a_language_model_only() -> None:
    asking = {tool.name for tool in ready_made_tools()}
    keys = Credentials(environ={"ANTHROPIC_API_KEY": "k"})
    for provider, folded in (("anthropic", True), ("none", False), ("smollm", False)):
        mind = build_mind(simulated(model={"provider": provider}), keys)
        names = {tool.name for tool in mind.agent().tools}
        assert (asking <= names) == folded and bool(asking & names) == folded, provider
        await mind.close()
