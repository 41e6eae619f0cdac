"""Long conversations are summarised without losing what is being done or said at the moment."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import CompactionEnd, CompactionStart, TextDelta
from agents.core.glove import Glove
from agents.core.messages import InboxItem, TokenUsage
from agents.core.observer import Compaction
from agents.models.scripted import Call, Fail, Hang, Reply, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from tests.agents.core.scene import Ear, returning, sent, story, tool

PER_CALL = TokenUsage(tokens_in=40, tokens_out=10, cache_read_input_tokens=5)


def agent(store: MemoryStore, *replies: Reply, limit: int = 100) -> tuple[Glove, ScriptedModel, Ear]:
    model, ear = ScriptedModel(replies, usage=PER_CALL), Ear()
    config = Compaction(instructions="Sum up.", context_limit_tokens=limit)
    glove = Glove(model=model, store=store, compaction=config).fold(tool("t", returning(1)))
    return glove.add_subscriber(ear).build(), model, ear


async def test_at_the_limit_it_summarises_after_the_results_are_stored() -> None:
    store = MemoryStore()
    glove, model, ear = agent(store, [Call("t")], [Call("t")], "So far: two calls.", "Done.", "Again.")
    await glove.process_request("go")
    lines = await story(store)
    assert lines[:5] == ["user: go", "agent:  +t", "results: t=success", "agent:  +t", "results: t=success"]
    assert "So far: two calls." in lines[5]
    assert lines[5].startswith("user: [Conversation summary from compaction]")
    assert lines[6] == "agent: Done."
    summing_up = model.requests[2]
    assert sent(summing_up.messages)[-1] == "user: Sum up."
    assert summing_up.tools == ()
    assert await store.get_token_count() == 10 + 50
    assert await store.get_turn_count() == 1
    (end,) = ear.of(CompactionEnd)
    assert (end.current_token_consumption, end.consumption) == (10, PER_CALL)
    assert ear.of(CompactionStart) == [CompactionStart(100)]
    await glove.process_request("more")
    assert sent(model.requests[-1].messages)[0] == lines[5]
    assert len(await story(store)) == 9


async def test_near_the_limit_it_summarises_before_a_reply_that_calls_tools_is_stored() -> None:
    store = MemoryStore()
    glove, model, _ = agent(store, "Hello.", "Fine.", [Say("Looking. "), Call("t")], "Greeted.", "Done.", limit=110)
    for said in ("hi", "how are you?", "look"):
        await glove.process_request(said)
    lines = (await story(store))[4:]
    assert [each.split(":")[0] for each in lines] == ["user", "user", "agent", "results", "agent"]
    assert "Greeted." in lines[1]
    assert "Looking." not in str(sent(model.requests[3].messages))
    assert sent(model.requests[4].messages)[1:] == ["agent: Looking.  +t", "results: t=success"]


async def test_an_answer_without_tools_never_makes_the_user_wait() -> None:
    glove, model, ear = agent(MemoryStore(), "One.", "Two.", "Three.", limit=10)
    for question in "abc":
        await glove.process_request(question)
    assert (len(model.requests), ear.of(CompactionStart)) == (3, [])


async def test_what_the_inbox_waits_for_is_in_the_summary() -> None:
    store = MemoryStore()
    await store.add_inbox_item(InboxItem(id="a", tag="bank", request="approve?", blocking=True))
    await store.add_inbox_item(InboxItem(id="b", tag="shop", request="in stock?"))
    glove, _, ear = agent(store, "Sum.")
    assert await glove.compact()
    summary = ear.of(CompactionEnd)[0].summary_message
    assert "- [bank] (BLOCKING) approve?" in summary
    assert "- [shop] (non-blocking) in stock?" in summary


async def test_a_summary_that_fails_changes_nothing_and_the_turn_goes_on() -> None:
    store = MemoryStore()
    failing = Fail(GloveError("ERR_MODEL_UNREACHABLE", "No network."))
    glove, _, ear = agent(store, [Call("t")], [Call("t")], failing, "Done.")
    assert (await glove.process_request("go")).text == "Done."
    assert await store.get_token_count() == 150
    assert not any("summary" in each for each in await story(store))
    assert [type(e) for e in ear.events if isinstance(e, CompactionStart | CompactionEnd)] == [
        CompactionStart,
        CompactionEnd,
    ]


async def test_an_abort_while_summarising_changes_nothing_but_keeps_what_was_said() -> None:
    store = MemoryStore()
    glove, _, ear = agent(store, "Hello.", [Say("Looking. "), Call("t")], Hang(), limit=55)
    await glove.process_request("hi")
    abort = AbortToken()
    asyncio.get_running_loop().call_later(1, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("look", abort)
    assert await story(store) == ["user: hi", "agent: Hello.", "user: look", "agent: Looking.  (interrupted)"]
    assert await store.get_token_count() == 50
    assert ear.of(CompactionEnd)[0].summary_message == ""


async def test_deltas_of_a_summary_come_between_its_start_and_end() -> None:
    glove, _, ear = agent(MemoryStore(), "Secret notes.", "Hi.")
    await glove.compact()
    await glove.process_request("hello")
    start, end = (
        next(i for i, e in enumerate(ear.events) if isinstance(e, k)) for k in (CompactionStart, CompactionEnd)
    )
    told = [i for i, e in enumerate(ear.events) if isinstance(e, TextDelta) and "Hi" not in e.text]
    assert told
    assert all(start < index < end for index in told)


async def test_a_conversation_of_words_alone_is_summarised_in_idle_moments() -> None:
    store = MemoryStore()
    glove, model, _ = agent(store, "One.", "Two.", "So far: counting.", "Three.", limit=100)
    assert not await glove.compaction_due()
    await glove.process_request("a")
    await glove.process_request("b")
    assert await glove.compaction_due()
    assert await glove.compact()
    assert not await glove.compaction_due()
    await glove.process_request("c")
    assert [each.split("\n")[0] for each in sent(model.requests[-1].messages)] == [
        "user: [Conversation summary from compaction]",
        "user: c",
    ]


async def test_an_empty_summary_says_so() -> None:
    glove, _, ear = agent(MemoryStore(), "")
    assert await glove.compact()
    assert "No summary is available." in ear.of(CompactionEnd)[0].summary_message
