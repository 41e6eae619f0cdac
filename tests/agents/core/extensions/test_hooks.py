"""What the user calls by ``/name`` runs before the model, which then sees what the hook left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import HookInvoked, ModelResponse, SkillInvoked
from agents.core.extensions.hooks import HookInvocation, HookResult
from agents.core.glove import Glove
from agents.core.messages import ContentPart, Message, Source, ToolCall, ToolResult, ToolResultData
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from agents.testing import FaultyStore
from tests.agents.core.scene import Ear, sent, story

PICTURE = ContentPart(type="image", source=Source(type="url", url="https://example.org/a.png", media_type="image/png"))


def agent(*replies: str, store: MemoryStore | None = None) -> tuple[Glove, ScriptedModel, Ear]:
    model, ear = ScriptedModel(replies), Ear()
    return Glove(model=model, store=store).add_subscriber(ear).build(), model, ear


async def test_a_hook_that_only_looks_leaves_a_marker() -> None:
    glove, model, ear = agent("Noted.")
    seen: list[HookInvocation] = []
    glove.define_hook("note", lambda call: seen.append(call))
    await glove.process_request("/note the milk")
    assert sent(model.requests[0].messages) == ["user: [invoked_extension__hook_note] the milk"]
    assert ear.of(HookInvoked) == [HookInvoked("note")]
    (call,) = seen
    assert (call.name, call.raw_text) == ("note", "/note the milk")
    assert call.parsed_text == "[invoked_extension__hook_note] the milk"
    (stored, _) = await glove.store.get_messages()
    assert stored.pre_modified_text == "/note the milk"


async def test_what_was_written_is_kept_beside_what_a_hook_made_of_it() -> None:
    glove, model, _ = agent("Bonjour.")

    async def translate(call: HookInvocation) -> HookResult:
        return HookResult(rewrite_text=f"In French, please: {call.parsed_text.split('] ')[1]}")

    glove.define_hook("french", translate)
    await glove.process_request("/french good morning")
    (stored, _) = await glove.store.get_messages()
    assert (stored.text, stored.pre_modified_text) == ("In French, please: good morning", "/french good morning")
    assert sent(model.requests[0].messages) == ["user: In French, please: good morning"]


async def test_hooks_run_in_the_order_of_the_text_as_often_as_they_are_called_on_the_text_so_far() -> None:
    glove, model, ear = agent("Ok.")
    glove.define_hook("a", lambda call: HookResult(rewrite_text=f"{call.parsed_text}A"))
    glove.define_hook("b", lambda call: HookResult(rewrite_text=f"{call.parsed_text}B"))
    await glove.process_request("/b /a /b x")
    assert [event.name for event in ear.of(HookInvoked)] == ["b", "a", "b"]
    assert sent(model.requests[0].messages)[0].endswith(" xBAB")


async def test_a_message_without_calls_is_untouched() -> None:
    glove, model, ear = agent("Ok.")
    glove.define_hook("a", lambda call: HookResult(short_circuit="no"))
    await glove.process_request("see /usr/a and @a")
    assert sent(model.requests[0].messages) == ["user: see /usr/a and @a"]
    assert (await glove.store.get_messages())[0].pre_modified_text is None
    assert not ear.of(HookInvoked)


async def test_an_answer_of_a_hook_is_stored_and_told_like_a_reply_without_asking_the_model() -> None:
    glove, model, ear = agent()
    glove.define_hook("ping", lambda call: HookResult(rewrite_text="(a ping)", short_circuit="Pong."))
    glove.define_hook("later", lambda call: pytest.fail("a later hook ran"))
    glove.define_skill("brief", lambda call: pytest.fail("a skill ran"))
    reply = await glove.process_request("/ping /later /brief", heard_reports=True)
    assert (reply.text, model.requests) == ("Pong.", [])
    assert await story(glove.store) == ["user: (a ping)", "agent: Pong."]
    assert ear.types == ["hook_invoked", "model_response"]
    told = ear.only(ModelResponse)
    assert (told.text, told.reply_id) == ("Pong.", reply.id)
    assert await glove.report_heard(told.reply_id, "Po", False)
    assert (await story(glove.store))[1] == "agent: Po (interrupted)"


async def test_an_answer_may_be_several_messages() -> None:
    glove, _, ear = agent()
    result = ToolResult(tool_name="look", call_id="c", result=ToolResultData(data="grey"))
    answer = [
        Message(sender="agent", text="Let me see.", tool_calls=[ToolCall(tool_name="look", id="c")]),
        Message(sender="user", text="tool results", tool_results=[result]),
        Message(sender="agent", text="It is grey."),
    ]
    glove.define_hook("sky", lambda call: HookResult(short_circuit=answer))
    assert (await glove.process_request("/sky")).text == "It is grey."
    assert (await glove.process_request("/sky")).text == "It is grey."
    assert (await story(glove.store))[4:] == [
        "user: [invoked_extension__hook_sky]", "agent: Let me see. +look", "results: look=success",
        "agent: It is grey.",
    ]  # fmt: skip
    ids = [told.reply_id for told in ear.of(ModelResponse)]
    assert len(set(ids)) == 4, "each reply can be reported on by itself"


@pytest.mark.parametrize(
    "answer",
    [[], Message(sender="user", text="hm"), Message(sender="agent", tool_calls=[ToolCall(tool_name="t", id="c")])],
)
async def test_an_answer_that_leaves_the_turn_open_is_refused(answer: Any) -> None:
    glove, _, _ = agent()
    glove.define_hook("odd", lambda call: HookResult(short_circuit=answer))
    with pytest.raises(GloveError, match="do not end with words of the agent") as fault:
        await glove.process_request("/odd")
    assert fault.value.code == "ERR_HOOK_RESULT"
    assert await story(glove.store) == ["user: /odd"]


async def test_a_hook_that_rewrites_everything_away_is_refused() -> None:
    glove, _, _ = agent()
    glove.define_hook("gone", lambda call: HookResult(rewrite_text=" "))
    with pytest.raises(GloveError, match="to nothing"):
        await glove.process_request("/gone")
    assert await story(glove.store) == ["user: /gone"]


async def test_media_stays_when_the_words_change() -> None:
    glove, _, _ = agent("A cat.", "A dog.", "A cow.")
    glove.define_hook("what", lambda call: HookResult(rewrite_text="What is this?"))
    glove.define_hook("silent", lambda call: HookResult(rewrite_text=""))
    words = [ContentPart(type="text", text="/what"), PICTURE, ContentPart(type="text", text="tell")]
    await glove.process_request(words)
    await glove.process_request([ContentPart(type="text", text="/silent"), PICTURE])
    await glove.process_request([PICTURE, ContentPart(type="text", text="plain")])
    first, second, third = [message for message in await glove.store.get_messages() if message.sender == "user"]
    assert (first.text, first.pre_modified_text) == ("What is this?", "/what\ntell")
    assert [part.type for part in first.content or ()] == ["text", "image"]
    assert (second.text, second.content) == ("[multimodal message]", [PICTURE])
    assert [part.type for part in third.content or ()] == ["image", "text"]


async def test_a_failing_hook_fails_the_turn_and_the_words_are_kept_as_they_were_written() -> None:
    glove, model, _ = agent("Fine.")

    async def broken(_: HookInvocation) -> None:
        raise OSError("no network")

    glove.define_hook("broken", broken)
    with pytest.raises(OSError, match="no network"):
        await glove.process_request("/broken please")
    assert await story(glove.store) == ["user: /broken please"]
    await glove.process_request("hello")
    assert model.requests[0].messages[-1].text == "hello"


async def test_an_abort_cancels_a_hook_at_once_and_keeps_the_words() -> None:
    glove, _, _ = agent()
    abort, cancelled = AbortToken(), asyncio.Event()

    async def slow(_: HookInvocation) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    glove.define_hook("slow", slow)
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("/slow /slow", abort)
    assert cancelled.is_set()
    assert asyncio.get_running_loop().time() == pytest.approx(0.5)
    assert await story(glove.store) == ["user: /slow /slow"]


async def test_a_short_circuit_whose_storing_fails_is_not_taken_for_an_answer() -> None:
    model = ScriptedModel([])
    glove = Glove(model=model, store=FaultyStore(MemoryStore(), range(100))).build()
    glove.define_hook("ping", lambda call: HookResult(short_circuit="Pong."))
    with pytest.raises(GloveError, match="no room left"):
        await glove.process_request("/ping")


async def test_a_hook_cannot_start_a_turn_of_its_own_agent() -> None:
    glove, _, _ = agent()

    async def nested(call: HookInvocation) -> None:
        await call.controls.glove.process_request("again")

    glove.define_hook("nested", nested)
    with pytest.raises(GloveError) as fault:
        await glove.process_request("/nested")
    assert fault.value.code == "ERR_TURN_REENTRANT"


async def test_events_do_not_call_anything() -> None:
    glove, model, ear = agent("I see.")
    glove.define_hook("clear", lambda call: pytest.fail("an event called a hook"))
    glove.define_skill("brief", lambda call: pytest.fail("an event called a skill"))
    assert await glove.emit_event("1", "mail", "mail.new", "/clear /brief", "wake") == "woke"
    await asyncio.sleep(1)
    assert "/clear /brief" in model.requests[0].messages[0].text
    assert not ear.of(HookInvoked) and not ear.of(SkillInvoked)


async def test_what_waits_is_told_with_the_next_message_that_the_model_sees() -> None:
    glove, model, _ = agent("I see.")
    glove.define_hook("ping", lambda call: HookResult(short_circuit="Pong."))
    await glove.emit_event("1", "mail", "mail.new", "A letter came.", "defer")
    await glove.process_request("/ping")
    assert await story(glove.store) == ["user: [invoked_extension__hook_ping]", "agent: Pong."]
    await glove.process_request("hello")
    assert "A letter came." in model.requests[0].messages[2].text


@pytest.mark.parametrize("name", ["", "two words", "/slash", "9lives"])
def test_a_name_that_nobody_can_write_is_refused(name: str) -> None:
    glove = Glove(model=ScriptedModel([]))
    for define in (glove.define_hook, glove.define_skill, glove.define_sub_agent):
        with pytest.raises(GloveError, match="cannot be the name") as fault:
            define(name, lambda call: pytest.fail("called"))
        assert fault.value.code == "ERR_EXTENSION_NAME"
    assert glove.tools == ()


async def test_once_the_turn_is_stopped_nothing_further_is_called() -> None:
    glove, _, ear = agent()
    abort = AbortToken()
    glove.define_hook("stop", lambda call: abort.abort())
    glove.define_skill("brief", lambda call: pytest.fail("a skill ran"))
    with pytest.raises(Aborted):
        await glove.process_request("/stop /brief", abort)
    assert ear.types == ["hook_invoked"]
    assert await story(glove.store) == ["user: /stop /brief"]


async def test_a_hook_that_gives_up_by_itself_is_a_failure_and_not_the_users_wish() -> None:
    glove, _, _ = agent()

    async def tired(_: HookInvocation) -> None:
        raise Aborted("tired")

    glove.define_hook("tired", tired)
    with pytest.raises(GloveError) as fault:
        await glove.process_request("/tired")
    assert fault.value.code == "ERR_STOPPED_ITSELF"
    assert await story(glove.store) == ["user: /tired"]
