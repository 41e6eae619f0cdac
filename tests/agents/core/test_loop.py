"""A request is stored, thought about, acted on and answered, in that order; what was said and done is never lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.errors import ConfigError, GloveError
from agents.core.events import AgentEvent, ModelResponse, TextDelta, TokenConsumption
from agents.core.glove import Glove
from agents.core.messages import ContentPart, InboxItem, ModelResult, Source
from agents.core.model import Notify, PromptRequest
from agents.core.observer import Compaction
from agents.core.tool import ToolContext
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from tests.agents.core.scene import Ear, abort_at, returning, sent, story, tool


async def test_a_turn_with_a_tool_from_question_to_answer() -> None:
    ear = Ear()
    with ScriptedModel([[Say("One moment. "), Call("clock")], "It is noon."]) as model:
        glove = Glove(model=model, system_prompt="Be brief.").fold(tool("clock", returning("12:00")))
        reply = await glove.add_subscriber(ear).build().process_request("What time is it?", language="en")
    assert reply.text == "It is noon."
    assert await story(glove.store) == [
        "user: What time is it?",
        "agent: One moment.  +clock",
        "results: clock=success",
        "agent: It is noon.",
    ]
    assert ear.types == [
        "tool_use", "model_response_complete", "token_consumption", "tool_use_result",
        "model_response_complete", "token_consumption",
    ]  # fmt: skip
    assert [request.language for request in model.requests] == ["en", "en"]
    assert model.requests[0].system_prompt == "Be brief."
    assert await glove.store.get_turn_count() == 2


async def test_every_delta_names_the_message_that_is_stored() -> None:
    ear = Ear()
    model = ScriptedModel([[Say("First. "), Call("t")], "Second."])
    glove = Glove(model=model).fold(tool("t", returning(1))).add_subscriber(ear).build()
    reply = await glove.process_request("go")
    stored = {m.id: m.text for m in await glove.store.get_messages() if m.sender == "agent"}
    said: dict[str, str] = {}
    for delta in ear.of(TextDelta):
        said[delta.reply_id] = said.get(delta.reply_id, "") + delta.text
    assert said == stored
    assert reply.id in stored


async def test_the_question_is_stored_before_the_model_hears_it() -> None:
    store = MemoryStore()
    seen: list[list[str]] = []

    async def respond(_: object) -> str:
        seen.append(await story(store))
        return "yes"

    await Glove(model=ScriptedModel(respond), store=store).build().process_request("there?")
    assert seen == [["user: there?"]]


async def test_a_model_that_fails_leaves_the_question_and_the_next_turn_works() -> None:
    refused = GloveError("ERR_MODEL_UNREACHABLE", "No network.")
    with ScriptedModel([[Say("Well, "), Fail(refused)], "Back again."]) as model:
        glove = Glove(model=model).build()
        with pytest.raises(GloveError) as failed:
            await glove.process_request("hello?")
        assert failed.value is refused
        await glove.process_request("hello??")
    assert await story(glove.store) == [
        "user: hello?",
        "agent: Well,  (interrupted)",
        "user: hello??",
        "agent: Back again.",
    ]


async def test_at_the_limit_of_turns_it_says_so_without_asking_the_model() -> None:
    ear = Ear()
    model = ScriptedModel(lambda _: Call("again"))
    glove = Glove(model=model, compaction=Compaction(max_turns=3)).fold(tool("again", returning(1)))
    reply = await glove.add_subscriber(ear).build().process_request("go on")
    assert len(model.requests) == 3
    assert "maximum number of turns (3)" in reply.text
    assert [event.text for event in ear.of(ModelResponse)] == [reply.text]
    assert (await story(glove.store))[-1] == f"agent: {reply.text}"
    model_after = ScriptedModel(["fresh"])
    glove.set_model(model_after)
    assert (await glove.process_request("again")).text == "fresh"


async def test_a_request_may_make_a_hundred_and_twenty_model_calls() -> None:
    model = ScriptedModel(lambda _: Call("again"))
    glove = Glove(model=model, compaction=Compaction(context_limit_tokens=10**9)).fold(tool("again", returning(1)))
    reply = await glove.build().process_request("go on")
    assert len(model.requests) == 120
    assert "(120)" in reply.text


async def test_abort_before_the_model_is_asked_keeps_only_the_question() -> None:
    model, abort = ScriptedModel(["never"]), AbortToken()
    store = MemoryStore()
    append = store.append_messages

    async def append_and_abort(messages: list[object]) -> None:
        await append(messages)  # type: ignore[arg-type]
        abort.abort()

    store.append_messages = append_and_abort  # type: ignore[method-assign]
    with pytest.raises(Aborted):
        await Glove(model=model, store=store).build().process_request("wait", abort)
    assert (await story(store), model.requests) == (["user: wait"], [])


async def test_abort_while_the_model_is_silent_ends_the_turn_at_once() -> None:
    abort = AbortToken()
    glove = Glove(model=ScriptedModel([Hang()])).build()
    asyncio.get_running_loop().call_later(1.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("hello?", abort)
    assert clock.now() == pytest.approx(1.5)
    assert await story(glove.store) == ["user: hello?"]


async def test_abort_at_the_last_word_forgets_the_tools_it_asked_for() -> None:
    abort = AbortToken()
    ran: list[str] = []

    async def run(_: object, __: ToolContext) -> None:
        ran.append("ran")

    glove = Glove(model=ScriptedModel([[Say("I will order. "), Call("order")]])).fold(tool("order", run))
    glove.add_subscriber(abort_at(3, abort)).build()
    with pytest.raises(Aborted):
        await glove.process_request("order", abort)
    assert (ran, await story(glove.store)) == ([], ["user: order", "agent: I will order.  (interrupted)"])


async def test_abort_during_tools_leaves_a_result_for_every_call() -> None:
    abort = AbortToken()

    async def slow(_: object, __: ToolContext) -> str:
        await asyncio.sleep(10)
        return "late"

    model = ScriptedModel([[Call("quick"), Call("slow"), Call("quick")], "Fine."])
    glove = Glove(model=model).fold(tool("quick", returning(1))).fold(tool("slow", slow)).build()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert (await story(glove.store))[-1] == "results: quick=success, slow=aborted, quick=aborted"
    assert (await glove.process_request("and now?")).text == "Fine."


async def test_a_cancelled_caller_leaves_history_in_order() -> None:
    async def slow(_: object, __: ToolContext) -> None:
        await asyncio.sleep(10)

    glove = Glove(model=ScriptedModel([[Say("Let me. "), Call("slow")], "Hello."])).fold(tool("slow", slow)).build()
    request = asyncio.ensure_future(glove.process_request("go"))
    await asyncio.sleep(1)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert await story(glove.store) == ["user: go", "agent: Let me.  +slow", "results: slow=aborted"]
    assert not glove.busy
    assert (await glove.process_request("hi")).text == "Hello."


async def test_requests_take_turns_and_never_mix_their_messages() -> None:
    glove = Glove(model=ScriptedModel(lambda r: f"re {r.messages[-1].text}", first_token_s=1.0)).build()
    await asyncio.gather(*(glove.process_request(f"q{i}") for i in range(4)))
    assert await story(glove.store) == [text for i in range(4) for text in (f"user: q{i}", f"agent: re q{i}")]


async def test_a_request_that_comes_late_does_not_overtake() -> None:
    glove = Glove(model=ScriptedModel(lambda r: f"re {r.messages[-1].text}", first_token_s=1.0)).build()
    earlier = [asyncio.ensure_future(glove.process_request(f"q{i}")) for i in range(2)]
    await asyncio.sleep(1.5)
    assert glove.busy
    await glove.process_request("q2")
    await asyncio.gather(*earlier)
    assert await story(glove.store) == [text for i in range(3) for text in (f"user: q{i}", f"agent: re q{i}")]
    assert not glove.busy


async def test_the_name_of_a_model_is_no_model() -> None:
    name: Any = "gpt-4"
    with pytest.raises(ConfigError, match=r"not a value of type str.*create_adapter") as refused:
        Glove(model=name)
    assert refused.value.code == "ERR_MODEL_ADAPTER"
    with ScriptedModel(["Still here."]) as model:
        glove = Glove(model=model).build()
        with pytest.raises(ConfigError):
            glove.set_model(name)
        assert (await glove.process_request("hello?")).text == "Still here."


async def test_a_model_that_does_not_listen_cannot_hold_up_an_abort() -> None:
    class Deaf(ScriptedModel):
        async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
            return await super().prompt(request, notify, AbortToken())

    abort = AbortToken()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await Glove(model=Deaf(["late"], first_token_s=60)).build().process_request("hello?", abort)
    assert clock.now() == pytest.approx(1)


async def test_a_request_can_be_aborted_while_it_waits() -> None:
    glove = Glove(model=ScriptedModel(["one", "three"], first_token_s=1.0)).build()
    abort = AbortToken()
    first = asyncio.ensure_future(glove.process_request("q1"))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(glove.process_request("q2", abort))
    third = asyncio.ensure_future(glove.process_request("q3"))
    await asyncio.sleep(0.1)
    abort.abort()
    with pytest.raises(Aborted):
        await second
    assert clock.now() < 0.2
    await asyncio.gather(first, third)
    assert await story(glove.store) == ["user: q1", "agent: one", "user: q3", "agent: three"]


async def test_an_agent_that_would_wait_for_itself_is_told_so() -> None:
    errors: list[str] = []
    outer: Glove

    async def ask_yourself(_: object, context: ToolContext) -> str:
        try:
            await context.glove.process_request("what do I think?")
        except GloveError as error:
            errors.append(error.code)
        return "asked"

    async def ask_the_first(_: object, __: ToolContext) -> str:
        try:
            await outer.process_request("round and round")
        except GloveError as error:
            errors.append(error.code)
        return "asked"

    inner = Glove(model=ScriptedModel([Call("ask"), "ok"])).fold(tool("ask", ask_the_first)).build()

    async def ask_another(_: object, __: ToolContext) -> str:
        return (await inner.process_request("help me")).text

    outer = Glove(model=ScriptedModel([[Call("self"), Call("other")], "done"]))
    outer.fold(tool("self", ask_yourself)).fold(tool("other", ask_another)).build()
    async with asyncio.timeout(60):
        assert (await outer.process_request("go")).text == "done"
    assert errors == ["ERR_TURN_REENTRANT", "ERR_TURN_REENTRANT"]


async def test_work_left_behind_by_a_tool_may_ask_after_the_turn() -> None:
    later: list[asyncio.Task[object]] = []

    async def remind(_: object, context: ToolContext) -> str:
        async def ask() -> object:
            await asyncio.sleep(60)
            return await context.glove.process_request("reminder")

        later.append(asyncio.ensure_future(ask()))
        return "set"

    glove = Glove(model=ScriptedModel([Call("remind"), "Set.", "Here it is."])).fold(tool("remind", remind)).build()
    await glove.process_request("remind me")
    await later[0]
    assert (await story(glove.store))[-1] == "agent: Here it is."


async def test_a_tool_folded_in_the_middle_of_a_turn_is_offered_next() -> None:
    async def learn(_: object, context: ToolContext) -> str:
        context.glove.fold(tool("new", returning("it works")))
        return "learned"

    with ScriptedModel([Call("learn"), Call("new"), "done"]) as model:
        glove = Glove(model=model, builtin_tools=False).fold(tool("learn", learn)).build()
        await glove.process_request("learn it")
    assert [[spec.name for spec in request.tools] for request in model.requests] == [
        ["learn"],
        ["learn", "new"],
        ["learn", "new"],
    ]
    assert "results: new=success" in await story(glove.store)


async def test_a_failing_subscriber_disturbs_nobody() -> None:
    class Broken:
        async def record(self, event: AgentEvent) -> None:
            raise RuntimeError("my own problem")

    ear = Ear()
    glove = Glove(model=ScriptedModel(["hello there"])).add_subscriber(Broken()).add_subscriber(ear).build()
    assert (await glove.process_request("hi")).text == "hello there"
    assert [delta.text for delta in ear.of(TextDelta)] == ["hello ", "there"]
    assert len(ear.of(TokenConsumption)) == 1
    glove.remove_subscriber(ear)
    glove.set_model(ScriptedModel(["more"]))
    await glove.process_request("hi")
    assert len(ear.of(TokenConsumption)) == 1


async def test_one_who_subscribes_twice_is_told_twice_until_they_leave_once() -> None:
    ear = Ear()
    glove = Glove(model=ScriptedModel(lambda _: "hello")).add_subscriber(ear).add_subscriber(ear).build()
    await glove.process_request("hi")
    assert len(ear.of(TokenConsumption)) == 2
    glove.remove_subscriber(ear)
    await glove.process_request("hi")
    assert len(ear.of(TokenConsumption)) == 3


async def test_what_the_inbox_brought_is_told_once_and_what_blocks_every_time() -> None:
    store = MemoryStore()
    await store.add_inbox_item(
        InboxItem(id="i1", tag="order", request="size?", response="large", status="resolved", resolved_at="noon")
    )
    await store.add_inbox_item(InboxItem(id="i2", tag="bank", request="approve?", blocking=True, created_at="dawn"))
    with ScriptedModel([Call("t"), "one", "two"]) as model:
        glove = Glove(model=model, store=store).fold(tool("t", returning(1))).build()
        await glove.process_request("q1")
        await glove.process_request("q2")
    stored = await store.get_messages()
    assert stored[0].text.startswith("[Inbox: 1 item(s) resolved]")
    assert all(part in stored[0].text for part in ("order", "size?", "large", "noon"))
    assert [m.framework_context for m in stored].count("inbox") == 1
    assert not any("approve?" in m.text for m in stored)
    for request in model.requests:
        assert "approve?" in request.messages[-1].text
        assert request.messages[-1].text.startswith("[Inbox: 1 blocking item(s) still pending")
    assert [item.status for item in await store.get_inbox_items()] == ["consumed", "pending"]


async def test_media_travel_with_their_words() -> None:
    picture = ContentPart(type="image", source=Source(type="base64", media_type="image/png", data="AA=="))
    with ScriptedModel(["a cat", "a cat"]) as model:
        glove = Glove(model=model).build()
        await glove.process_request([ContentPart(type="text", text="what is it?"), picture])
        await glove.process_request([picture])
    assert sent(model.requests[1].messages) == ["user: what is it?", "agent: a cat", "user: [multimodal message]"]
    assert model.requests[0].messages[0].content is not None


async def test_a_store_is_chosen_once_and_an_unbuilt_agent_says_so() -> None:
    given, other = MemoryStore("given"), MemoryStore("other")
    assert Glove(model=ScriptedModel(), store=given).build(other).store is given
    glove = Glove(model=ScriptedModel())
    with pytest.raises(GloveError) as early:
        await glove.process_request("hi")
    assert early.value.code == "ERR_NOT_BUILT"
    assert glove.build(other).build(given).store is other


async def test_an_empty_answer_is_an_answer() -> None:
    glove = Glove(model=ScriptedModel([""])).build()
    reply = await glove.process_request("say nothing")
    assert reply.text == ""
    assert await story(glove.store) == ["user: say nothing"]
