"""Instructions join the conversation when the user names them, or when the model asks for them."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import SkillInvoked, ToolUseResult
from agents.core.extensions.hooks import HookResult
from agents.core.extensions.skills import INVOKE_SKILL, SkillInvocation
from agents.core.glove import Glove
from agents.core.messages import ContentPart, InboxItem, Source
from agents.models.scripted import Call, Reply, ScriptedModel
from agents.stores.memory import MemoryStore
from tests.agents.core.scene import Ear, returning, sent, story, tool

MAP = ContentPart(type="image", source=Source(type="base64", media_type="image/png", data="AAAA"))


def agent(*replies: Reply, store: MemoryStore | None = None) -> tuple[Glove, ScriptedModel, Ear]:
    model, ear = ScriptedModel(replies), Ear()
    return Glove(model=model, store=store).add_subscriber(ear).build(), model, ear


async def test_a_skill_stands_before_the_message_that_names_it() -> None:
    glove, model, ear = agent("Three things.", "Sure.")
    calls: list[SkillInvocation] = []

    async def brief(call: SkillInvocation) -> str:
        calls.append(call)
        return "Answer in three lines."

    glove.define_skill("brief", brief)
    await glove.process_request("/brief what is new?")
    assert sent(model.requests[0].messages) == [
        "user: [Skill: brief]\nAnswer in three lines.",
        "user: [invoked_extension__skill_brief] what is new?",
    ]
    stored = await glove.store.get_messages()
    assert [message.is_skill_injection for message in stored] == [True, False, False]
    assert stored[1].pre_modified_text == "/brief what is new?"
    assert ear.of(SkillInvoked) == [SkillInvoked("brief", "user")]
    (call,) = calls
    assert (call.name, call.source, call.args) == ("brief", "user", None)
    assert call.parsed_text == "[invoked_extension__skill_brief] what is new?"
    await glove.process_request("and now?")
    assert len(sent(model.requests[1].messages)) == 4, "it is injected once"


async def test_several_skills_stand_in_the_order_of_the_text_after_what_came_from_outside() -> None:
    store = MemoryStore()
    await store.add_inbox_item(InboxItem(id="i", tag="form", request="sign", response="signed", status="resolved"))
    glove, model, _ = agent("Ok.", store=store)
    glove.define_skill("a", lambda call: "A").define_skill("b", lambda call: "B")
    await glove.emit_event("1", "mail", "mail.new", "A letter.", "defer")
    await glove.process_request("/b then /a")
    heads = [line.split("\n")[0] for line in sent(model.requests[0].messages)]
    assert heads[0].startswith("user: [Inbox: 1")
    assert heads[1].startswith("user: <events")
    assert heads[2:4] == ["user: [Skill: b]", "user: [Skill: a]"]
    assert heads[4].startswith("user: [invoked_extension__skill_b] then")


async def test_hooks_come_first_and_skills_read_what_they_left() -> None:
    glove, _, ear = agent("Ok.")
    seen: list[str] = []
    glove.define_hook("h", lambda call: HookResult(rewrite_text="rewritten"))
    glove.define_skill("s", lambda call: seen.append(call.parsed_text) or "S")
    await glove.process_request("/s /h")
    assert seen == ["rewritten"]
    assert ear.types[:2] == ["hook_invoked", "skill_invoked"]


async def test_pictures_of_a_skill_come_along() -> None:
    glove, model, _ = agent("I see.")
    glove.define_skill("map", lambda call: [ContentPart(type="text", text="The house:"), MAP])
    await glove.process_request("/map where?")
    injected = model.requests[0].messages[0]
    assert injected.text == "[Skill: map]\nThe house:"
    assert [(part.type, part.text) for part in injected.content or ()] == [
        ("text", "[Skill: map]"), ("text", "The house:"), ("image", None),
    ]  # fmt: skip


async def test_a_failing_skill_fails_the_turn_and_leaves_nothing_of_itself() -> None:
    glove, _, _ = agent()
    glove.define_skill("fine", lambda call: "Fine.")

    def broken(_: SkillInvocation) -> str:
        raise LookupError("lost")

    glove.define_skill("broken", broken)
    with pytest.raises(LookupError, match="lost"):
        await glove.process_request("/fine /broken go")
    assert await story(glove.store) == ["user: /fine /broken go"]


async def test_an_abort_while_a_skill_is_read_keeps_the_words() -> None:
    glove, _, _ = agent()
    abort = AbortToken()

    async def slow(_: SkillInvocation) -> str:
        await asyncio.sleep(60)
        return "too late"

    glove.define_skill("slow", slow)
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("/slow go", abort)
    assert await story(glove.store) == ["user: /slow go"]


async def test_the_model_calls_the_skills_that_are_for_it() -> None:
    glove, model, ear = agent([Call(INVOKE_SKILL, {"name": "tea", "args": "green"})], "Three minutes.")
    glove.define_skill("secret", lambda call: "Hidden.")
    assert glove.tools[-1].name != INVOKE_SKILL
    glove.define_skill("tea", lambda call: f"How to brew {call.args}.", description="Brewing.", expose_to_agent=True)
    await glove.process_request("tea?")
    description = next(tool for tool in model.requests[0].tools if tool.name == INVOKE_SKILL).description
    assert "- tea: Brewing." in description and "secret" not in description
    result = ear.only(ToolUseResult).result
    assert result.data == {"skill": "tea", "content": "How to brew green."}
    assert ear.of(SkillInvoked) == [SkillInvoked("tea", "agent", "green")]


async def test_the_list_for_the_model_follows_what_is_registered() -> None:
    glove, model, _ = agent("Ok.", "Ok.")
    glove.fold(tool("first", returning(1)))
    glove.define_skill("tea", lambda call: "T", expose_to_agent=True)
    glove.fold(tool("last", returning(1)))
    await glove.process_request("hi")
    glove.define_skill("coffee", lambda call: "C", description="Grinding.", expose_to_agent=True)
    await glove.process_request("hi")
    before, after = model.requests
    assert [spec.name for spec in before.tools] == [spec.name for spec in after.tools], "it keeps its place"
    texts = [next(spec.description for spec in r.tools if spec.name == INVOKE_SKILL) for r in (before, after)]
    assert "coffee" not in texts[0] and "- coffee: Grinding." in texts[1]
    glove.define_skill("tea", lambda call: "T")
    glove.define_skill("coffee", lambda call: "C")
    assert "coffee" not in next(tool.description for tool in glove.tools if tool.name == INVOKE_SKILL)


@pytest.mark.parametrize("name", ["secret", "nothing"])
async def test_a_skill_that_is_not_for_the_model_does_not_exist_for_it(name: str) -> None:
    glove, _, ear = agent([Call(INVOKE_SKILL, {"name": name})], "Sorry.")
    glove.define_skill("secret", lambda call: pytest.fail("read"))
    glove.define_skill("tea", lambda call: "T", expose_to_agent=True)
    await glove.process_request("hi")
    result = ear.only(ToolUseResult).result
    assert result.status == "error"
    assert result.message == f"There is no skill named {name!r}. Skills: tea."
    assert not ear.of(SkillInvoked)


async def test_parts_reach_the_model_as_text_and_screens_whole() -> None:
    glove, _, ear = agent([Call(INVOKE_SKILL, {"name": "map"})], [Call(INVOKE_SKILL, {"name": "void"})], "Ok.")
    glove.define_skill("map", lambda call: [ContentPart(type="text", text="Left."), MAP], expose_to_agent=True)
    glove.define_skill("void", lambda call: [MAP], expose_to_agent=True)
    await glove.process_request("hi")
    whole, void = (event.result for event in ear.of(ToolUseResult))
    assert whole.data == {"skill": "map", "content": "Left."}
    assert [part["type"] for part in whole.renderData["content"]] == ["text", "image"]
    assert void.data["content"].startswith("[") and void.data["content"].endswith("]")


async def test_a_skill_that_fails_for_the_model_is_told_once_and_not_repeated() -> None:
    glove, _, ear = agent([Call(INVOKE_SKILL, {"name": "broken"})], "Sorry.")

    async def broken(_: SkillInvocation) -> str:
        raise OSError("no disk")

    glove.define_skill("broken", broken, expose_to_agent=True)
    await glove.process_request("hi")
    assert ear.only(ToolUseResult).result.message == "The skill 'broken' failed: no disk"
    assert len(ear.of(SkillInvoked)) == 1


async def test_the_name_of_the_tool_is_not_taken_from_anybody() -> None:
    glove = Glove(model=ScriptedModel([])).fold(tool(INVOKE_SKILL.upper(), returning(1)))
    with pytest.raises(GloveError) as fault:
        glove.define_skill("tea", lambda call: "T", expose_to_agent=True)
    assert fault.value.code == "ERR_TOOL_DUPLICATE"
