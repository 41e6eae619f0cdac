"""What is true right now reaches the model at the right place of each call, and stays out of the record."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, RuntimeContext
from agents.core.external import Events
from agents.core.glove import Glove
from agents.core.messages import ContentPart, InboxItem, Message, Source
from agents.core.observer import Compaction
from agents.core.tool import ToolContext
from agents.models.anthropic_request import build
from agents.models.scripted import Call, Reply, ScriptedModel
from agents.stores.memory import MemoryStore
from tests.agents.core.scene import Ear, returning, sent, story, tool

IMAGE = ContentPart(type="image", name="board", source=Source(type="base64", media_type="image/png", data="AA=="))


def agent(*replies: Reply, store: MemoryStore | None = None, **fields: Any) -> tuple[Glove, ScriptedModel]:
    model = ScriptedModel(replies)
    glove = Glove(model=model, store=store, **fields).fold(tool("t", returning(1)))
    return glove.build(), model


def counting(name: str) -> Any:
    """A provider that says how often it was read."""
    reads = 0

    def provider(_: AbortToken) -> str:
        nonlocal reads
        reads += 1
        return f"{name} {reads}"

    return provider


async def test_each_delivery_has_its_place_in_every_call_of_a_request() -> None:
    store = MemoryStore()
    await store.append_messages([Message(sender="user", text="hi"), Message(sender="agent", text="Hello.")])
    await store.add_inbox_item(InboxItem(id="i", tag="bank", request="approve?", blocking=True))
    glove, model = agent([Call("t")], "Done.", store=store)
    glove.add_context_provider(counting("now"))
    glove.add_context_provider(counting("plan"), delivery="history", key="plan")
    glove.add_context_provider(counting("account"), delivery="request")
    await glove.process_request("go")
    first, second = (sent(request.messages) for request in model.requests)
    opening = [
        "user: hi",
        "agent: Hello.",
        'user: <context key="plan">plan 1</context>',
        "user: account 1",
        "user: go",
    ]
    assert first[:5] == second[:5] == opening
    assert "approve?" in first[5]
    assert first[6:] == ["user: now 1"]
    assert second[5:7] == ["agent:  +t", "results: t=success"]
    assert "approve?" in second[7]
    assert second[8:] == ["user: now 2"]
    assert [line for line in await story(store) if "account" in line or "now" in line] == []


async def test_providers_speak_in_order_of_registration_and_only_if_they_have_something_to_say() -> None:
    async def slow(_: AbortToken) -> str:
        await asyncio.sleep(1)
        return "first"

    glove, model = agent("ok")
    for value in (slow, "", "  \n", None, [], [ContentPart(type="text", text=" ")], "last"):
        glove.add_context_provider(value if callable(value) else lambda _, value=value: value)
    await glove.process_request("go")
    assert sent(model.requests[0].messages) == ["user: go", "user: first", "user: last"]


async def test_parts_reach_the_model_whole_and_subscribers_as_notes() -> None:
    glove, model = agent("ok")
    ear = Ear()
    glove.add_subscriber(ear)
    glove.add_context_provider(lambda _: [ContentPart(type="text", text="The board:"), IMAGE], delivery="request")
    await glove.process_request("go")
    board = model.requests[0].messages[0]
    assert [part.type for part in board.content or ()] == ["text", "image"]
    assert (board.text, board.framework_context) == ("The board:", "runtime")
    (told,) = ear.of(RuntimeContext)
    assert told.delivery == "request"
    assert [part.text for part in told.messages[0].content or ()] == [
        "The board:",
        "[Attachment omitted: board (image/png)]",
    ]


async def test_a_subscriber_cannot_change_what_the_model_sees() -> None:
    def meddle(event: AgentEvent) -> None:
        if isinstance(event, RuntimeContext):
            for message in event.messages:
                message.text = "forged"
                for part in message.content or ():
                    part.text = "forged"

    glove, model = agent([Call("t")], "ok")
    glove.add_subscriber(Ear(meddle))
    shared = [ContentPart(type="text", text="true"), IMAGE]
    glove.add_context_provider(lambda _: shared, delivery="request")
    glove.add_context_provider(lambda _: "also true")
    await glove.process_request("go")
    assert "forged" not in str(sent(model.requests[1].messages))
    assert [part.text for part in shared] == ["true", None]


async def test_what_a_provider_changes_later_does_not_change_what_was_frozen() -> None:
    parts = [ContentPart(type="text", text="before"), IMAGE]

    def change(_: Any, __: ToolContext) -> Any:
        parts[0].text = "after"
        return returning(1)(_, __)

    model = ScriptedModel([[Call("change")], "ok"])
    glove = Glove(model=model).fold(tool("change", change)).build()
    glove.add_context_provider(lambda _: parts, delivery="request")
    await glove.process_request("go")
    assert [(request.messages[0].content or [])[0].text for request in model.requests] == ["before", "before"]


@pytest.mark.parametrize("delivery", ["iteration", "request", "history"])
async def test_a_provider_that_fails_fails_the_call_and_not_the_record(delivery: Any) -> None:
    def broken(_: AbortToken) -> str:
        raise LookupError("the board is gone")

    glove, model = agent("Back.")
    remove = glove.add_context_provider(broken, delivery=delivery, key="board")
    with pytest.raises(LookupError, match="the board is gone"):
        await glove.process_request("hi")
    assert (await story(glove.store), model.requests) == (["user: hi"], [])
    remove()
    remove()
    await glove.process_request("again")
    assert sent(model.requests[0].messages) == ["user: hi", "user: again"]


@pytest.mark.parametrize("delivery", ["iteration", "request", "history"])
async def test_an_abort_while_a_provider_is_read_ends_the_turn_at_once(delivery: Any) -> None:
    async def deaf(_: AbortToken) -> str:
        await asyncio.sleep(60)
        return "late"

    later: list[str] = []
    glove, model = agent()
    glove.add_context_provider(deaf, delivery=delivery, key="a")
    glove.add_context_provider(lambda _: later.append("read"), delivery=delivery, key="b")
    abort = AbortToken()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("hi", abort)
    assert clock.now() < 2
    assert (await story(glove.store), model.requests, later) == (["user: hi"], [], [])


async def test_an_abort_by_a_provider_stops_before_the_next_one() -> None:
    read: list[str] = []
    abort = AbortToken()
    glove, model = agent()
    glove.add_context_provider(lambda _: abort.abort())
    glove.add_context_provider(lambda _: read.append("second"))
    with pytest.raises(Aborted):
        await glove.process_request("hi", abort)
    assert (read, model.requests) == ([], [])


async def test_a_provider_that_gives_up_is_not_taken_for_the_users_wish() -> None:
    async def gives_up(_: AbortToken) -> str:
        raise Aborted("my own timeout")

    glove, _ = agent()
    glove.add_context_provider(gives_up)
    with pytest.raises(GloveError) as failed:
        await glove.process_request("hi")
    assert failed.value.code == "ERR_STOPPED_ITSELF"


async def test_a_provider_is_given_the_requests_abort_token() -> None:
    seen: list[str | None] = []

    async def waiting(abort: AbortToken) -> None:
        abort.on_abort(lambda: seen.append(abort.reason))
        await asyncio.sleep(60)

    glove, _ = agent()
    glove.add_context_provider(waiting)
    abort = AbortToken()
    asyncio.get_running_loop().call_later(1, lambda: abort.abort("enough"))
    with pytest.raises(Aborted):
        await glove.process_request("hi", abort)
    assert seen == ["enough"]


async def test_turns_that_events_start_get_context_too() -> None:
    glove, model = agent("Good.")
    glove.add_context_provider(counting("plan"), delivery="history", key="plan")
    glove.add_context_provider(counting("account"), delivery="request")
    glove.add_context_provider(counting("now"))
    await glove.emit_event("e1", "webhook:ci", "build.finished", "Green.", when_idle="wake")
    await asyncio.sleep(1)
    plan, account, event, now = sent(model.requests[0].messages)
    assert (plan, account, now) == ('user: <context key="plan">plan 1</context>', "user: account 1", "user: now 1")
    assert "Green." in event


async def test_a_turn_that_events_start_and_saved_context_fails_tells_the_event_later() -> None:
    fails = True

    def flaky(_: AbortToken) -> str:
        if fails:
            raise LookupError("not now")
        return "plan"

    glove, model = agent("Good.")
    glove.add_context_provider(flaky, delivery="history", key="plan")
    await glove.emit_event("e1", "webhook:ci", "build.finished", "Green.", when_idle="wake")
    await asyncio.sleep(1)
    assert await story(glove.store) == []
    fails = False
    await asyncio.sleep(61)
    assert "Green." in sent(model.requests[0].messages)[-1]


async def test_frozen_context_follows_the_summary_that_took_its_message_away() -> None:
    config = Compaction(context_limit_tokens=1)
    glove, model = agent("Hello.", [Call("t")], "Sum one.", "Sum two.", "Done.", compaction=config)
    await glove.process_request("hi")
    glove.add_context_provider(counting("account"), delivery="request")
    glove.add_context_provider(counting("now"))
    await glove.process_request("go")
    last = sent(model.requests[-1].messages)
    assert "Sum two." in last[0]
    assert last[1:] == ["user: account 1", "user: now 2"]


async def test_runtime_context_never_enters_a_summary() -> None:
    glove, model = agent([Call("t")], "Sum.", "Done.", compaction=Compaction(context_limit_tokens=1))
    glove.add_context_provider(counting("account"), delivery="request")
    glove.add_context_provider(counting("now"))
    await glove.process_request("go")
    summing_up = next(request for request in model.requests if request.messages[-1].is_compaction_request)
    assert not any("account" in each or "now" in each for each in sent(summing_up.messages))


async def test_runtime_context_is_no_word_of_the_user() -> None:
    async def summary(_: Any) -> str:
        return "short"

    from agents.core.messages import ToolResultData

    long = tool("long", returning(ToolResultData(data="long", generateSummaryArgs=1)), generate_summary=summary)
    model = ScriptedModel([[Call("long")], "ok"])
    glove = Glove(model=model, summarise_tool_results=True).fold(long).build()
    glove.add_context_provider(counting("now"))
    await glove.process_request("go")
    (result,) = next(message for message in model.requests[1].messages if message.tool_results).tool_results or ()
    assert result.result.data == "long"


async def test_context_can_be_looked_at_without_saving_it() -> None:
    ear = Ear()
    glove, _ = agent()
    glove.add_subscriber(ear)
    assert await glove.get_runtime_context() == []
    assert ear.events == []
    glove.add_context_provider(counting("now"))
    glove.add_context_provider(counting("account"), delivery="request")
    glove.add_context_provider(lambda _: ["plan"] and "the plan", delivery="history", key="plan")
    texts = [message.text for message in await glove.get_runtime_context()]
    assert texts == ['<context key="plan">the plan</context>', "account 1", "now 1"]
    assert [message.text for message in await glove.get_runtime_context(delivery="iteration")] == ["now 2"]
    assert [event.delivery for event in ear.of(RuntimeContext)] == ["history", "request", "iteration", "iteration"]
    assert await story(glove.store) == []
    abort = AbortToken()
    glove.add_context_provider(lambda _: abort.abort())
    for _ in range(2):
        with pytest.raises(Aborted):
            await glove.get_runtime_context(abort)


async def test_a_provider_registered_before_building_is_kept() -> None:
    model = ScriptedModel(["ok"])
    glove = Glove(model=model)
    glove.add_context_provider(counting("now"))
    assert [message.text for message in await glove.get_runtime_context()] == ["now 1"]
    await glove.build().rebuild().process_request("hi")
    assert sent(model.requests[0].messages) == ["user: hi", "user: now 2"]


async def test_the_system_prompt_stays_as_it_is() -> None:
    glove, model = agent("ok", system_prompt="Be brief.")
    glove.add_context_provider(counting("now"))
    await glove.process_request("hi")
    assert model.requests[0].system_prompt == glove.get_system_prompt() == "Be brief."


async def test_what_cannot_be_context_is_refused_with_a_reason() -> None:
    glove, _ = agent()
    with pytest.raises(GloveError) as unknown:
        glove.add_context_provider(counting("x"), delivery="hourly")  # type: ignore[arg-type]
    assert unknown.value.code == "ERR_CONTEXT_DELIVERY"
    with pytest.raises(GloveError):
        await glove.get_runtime_context(delivery="hourly")  # type: ignore[arg-type]
    glove.add_context_provider(lambda _: {"a": 1})  # type: ignore[arg-type, return-value]
    with pytest.raises(GloveError) as strange:
        await glove.process_request("hi")
    assert strange.value.code == "ERR_CONTENT"


class Bare(MemoryStore):
    """Keeps senders, texts, calls and results, and nothing else."""

    async def append_messages(self, messages: list[Message]) -> None:
        kept = {"sender", "text", "tool_calls", "tool_results"}
        await super().append_messages(
            [Message.model_validate(message.model_dump(include=kept)) for message in messages]
        )


async def test_a_store_that_keeps_only_text_has_frozen_context_in_its_place() -> None:
    glove, model = agent([Call("t")], "ok", "ok", store=Bare())
    glove.add_context_provider(counting("account"), delivery="request")
    await glove.process_request("go")
    await glove.process_request("go")
    assert sent(model.requests[1].messages)[:3] == ["user: account 1", "user: go", "agent:  +t"]
    assert sent(model.requests[2].messages)[-2:] == ["user: account 2", "user: go"]


async def test_frozen_context_keeps_its_place_before_the_event_that_started_the_turn() -> None:
    async def another(_: Any, context: ToolContext) -> str:
        return await context.glove.emit_event("e2", "ci", "build", "Red.")

    model = ScriptedModel([[Call("another")], "Hm."])
    glove = Glove(model=model, events=Events(formatter=lambda _: "Something happened.")).fold(tool("another", another))
    glove.build().add_context_provider(counting("account"), delivery="request")
    await glove.emit_event("e1", "ci", "build", "Green.", when_idle="wake")
    await asyncio.sleep(1)
    assert sent(model.requests[1].messages) == [
        "user: account 1",
        "user: Something happened.",
        "agent:  +another",
        "results: another=success",
        "user: Something happened.",
    ]


def marked(model: ScriptedModel, call: int) -> list[str]:
    """The texts of the blocks after which Anthropic's cache is cut."""
    wire = build(model.requests[call], model="m", max_tokens=1, cache="5m", thinking=None)
    blocks = [block for message in wire["messages"] for block in message["content"]]
    return [block.get("text") or block["type"] for block in blocks if "cache_control" in block]


async def test_caches_are_cut_after_what_is_saved_and_before_what_is_frozen() -> None:
    glove, model = agent("Hello.", [Call("t")], "Done.")
    await glove.process_request("hi")
    glove.add_context_provider(counting("plan"), delivery="history", key="plan")
    glove.add_context_provider(counting("account"), delivery="request")
    glove.add_context_provider(counting("now"))
    await glove.process_request("go")
    assert marked(model, 1) == ['<context key="plan">plan 1</context>', "go"]
    assert marked(model, 2) == ['<context key="plan">plan 1</context>', "tool_result"]


async def test_what_the_next_request_begins_with_was_marked_in_the_one_before() -> None:
    glove, model = agent([Call("t")], "Done.", "Again.")
    glove.add_context_provider(lambda _: "the plan", delivery="history", key="plan")
    glove.add_context_provider(counting("account"), delivery="request")
    glove.add_context_provider(counting("now"))
    await glove.process_request("go")
    await glove.process_request("more")
    before, after = (
        [
            block
            for message in build(request, model="m", max_tokens=1, cache=None, thinking=None)["messages"]
            for block in message["content"]
        ]
        for request in (model.requests[1], model.requests[2])
    )
    assert marked(model, 1)[0] == before[0]["text"] == after[0]["text"] == '<context key="plan">the plan</context>'
