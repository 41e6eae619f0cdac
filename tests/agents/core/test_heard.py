"""History holds what the user heard: no word more, no word less, whenever the report comes."""

from __future__ import annotations

import asyncio

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.core.events import ModelResponseComplete, TextDelta
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.models.scripted import Call, Say, ScriptedModel, tokens
from agents.stores.memory import MemoryStore
from tests.agents.core.scene import Ear, abort_at, returning, sent, story, tool

STORY = "Once upon a time there lived a fox, and it was hungry."


class PlainStore(MemoryStore):
    """A store that cannot amend what it holds."""

    supports = MemoryStore.supports - {"amend"}


@pytest.mark.parametrize("cut", range(1, len(tokens(STORY)) + 1))
@pytest.mark.parametrize("report", ["none", "before", "after", "nothing heard"])
async def test_interrupted_at_any_word_history_holds_what_was_heard(cut: int, report: str) -> None:
    """Swept over every delta; with and without reports, which come before or after the message is stored."""
    abort, ear = AbortToken(), Ear()
    model = ScriptedModel([STORY, "Yes?"], tokens_per_s=10)
    glove = Glove(model=model).add_subscriber(ear).add_subscriber(abort_at(cut, abort)).build()
    reports: list[asyncio.Task[bool]] = []
    request = asyncio.ensure_future(glove.process_request("a story", abort, heard_reports=report != "none"))
    streamed = "".join(tokens(STORY)[:cut])
    heard = "".join(tokens(STORY)[: cut - 1])
    if report == "before":
        abort.on_abort(
            lambda: reports.append(
                asyncio.ensure_future(glove.report_heard(ear.of(TextDelta)[0].reply_id, heard, False))
            )
        )
    with pytest.raises(Aborted):
        await request
    assert all(await asyncio.gather(*reports))
    reply_id = ear.of(TextDelta)[0].reply_id
    if report == "after":
        assert await glove.report_heard(reply_id, heard, False)
    if report == "nothing heard":
        assert await glove.report_heard(reply_id, "", False)
    expected = {"none": streamed, "before": heard, "after": heard, "nothing heard": ""}[report]
    assert await story(glove.store) == ["user: a story", f"agent: {expected} (interrupted)"]

    started = clock.now()
    await glove.process_request("go on")
    assert clock.now() - started < 0.15
    told = sent(model.requests[-1].messages)
    assert told == ["user: a story", *([f"agent: {expected} (interrupted)"] if expected else []), "user: go on"]


async def test_a_report_at_the_very_moment_of_storing_is_not_lost() -> None:
    store = MemoryStore()
    reports: list[asyncio.Task[bool]] = []
    append = store.append_messages

    async def append_slowly(messages: list[Message]) -> None:
        await asyncio.sleep(0.1)
        if messages[0].sender == "agent":
            reports.append(asyncio.ensure_future(glove.report_heard(messages[0].id or "", "Hello", False)))
            await asyncio.sleep(0.1)
        await append(messages)
        await asyncio.sleep(0.1)

    store.append_messages = append_slowly  # type: ignore[method-assign]
    glove = Glove(model=ScriptedModel(["Hello there."]), store=store).build()
    await glove.process_request("hi", heard_reports=True)
    assert await reports[0]
    assert await story(store) == ["user: hi", "agent: Hello (interrupted)"]


async def test_the_next_turn_waits_for_the_report_but_not_longer_than_it_may() -> None:
    model = ScriptedModel(["One two three.", "Four.", "Five.", "Six."])
    glove = Glove(model=model).build()
    reply = await glove.process_request("count", heard_reports=True)
    asyncio.get_running_loop().call_later(
        0.15, lambda: asyncio.ensure_future(glove.report_heard(reply.id or "", "One two", False))
    )
    await glove.process_request("more", heard_reports=True)
    assert clock.now() == pytest.approx(0.15)
    assert sent(model.requests[1].messages)[1] == "agent: One two (interrupted)"

    await glove.process_request("and more")
    assert clock.now() == pytest.approx(0.35)
    assert sent(model.requests[2].messages)[3] == "agent: Four."

    await glove.process_request("and more")
    assert clock.now() == pytest.approx(0.35), "a report is waited for once"


async def test_nobody_waits_for_reports_that_nobody_promised() -> None:
    glove = Glove(model=ScriptedModel(["One.", [Call("t")], "Two.", "Three."])).fold(tool("t", returning(1))).build()
    await glove.process_request("a")
    reply = await glove.process_request("b", heard_reports=True)
    await glove.report_heard(reply.id or "", "Two.", True)
    await glove.process_request("c")
    assert clock.now() == 0
    assert (await story(glove.store))[-3] == "agent: Two. (complete)"


async def test_a_late_report_still_counts() -> None:
    model = ScriptedModel(["One two.", "Three.", "Four."])
    glove = Glove(model=model).build()
    reply = await glove.process_request("a", heard_reports=True)
    await glove.process_request("b")
    assert await glove.report_heard(reply.id or "", "One", False)
    await glove.process_request("c")
    assert sent(model.requests[2].messages)[1] == "agent: One (interrupted)"


async def test_the_wait_ends_when_the_turn_is_aborted() -> None:
    glove = Glove(model=ScriptedModel(["One.", "Two."])).build()
    await glove.process_request("a", heard_reports=True)
    abort = AbortToken()
    asyncio.get_running_loop().call_later(0.05, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("b", abort)
    assert clock.now() == pytest.approx(0.05)


async def test_each_reply_of_a_turn_is_reported_by_itself() -> None:
    ear = Ear()
    model = ScriptedModel([[Say("Let me look. "), Call("look")], "It is grey."])
    glove = Glove(model=model).fold(tool("look", returning("grey"))).add_subscriber(ear).build()
    await glove.process_request("sky?", heard_reports=True)
    first, second = (event.reply_id for event in ear.of(ModelResponseComplete))
    await glove.report_heard(second, "", False)
    await glove.report_heard(first, "Let me", False)
    glove.set_model(after := ScriptedModel(["Still."]))
    await glove.process_request("and?")
    assert await story(glove.store) == [
        "user: sky?", "agent: Let me +look (interrupted)", "results: look=success", "agent:  (interrupted)",
        "user: and?", "agent: Still.",
    ]  # fmt: skip
    assert sent(after.requests[0].messages) == [
        "user: sky?", "agent: Let me +look (interrupted)", "results: look=success", "user: and?",
    ]  # fmt: skip


async def test_an_unheard_reply_that_called_tools_stays_in_sight() -> None:
    ear = Ear()
    model = ScriptedModel([[Say("Looking. "), Call("look")], "Grey.", "Yes."])
    glove = Glove(model=model).fold(tool("look", returning(1))).add_subscriber(ear).build()
    await glove.process_request("sky?")
    await glove.report_heard(ear.of(TextDelta)[0].reply_id, "", False)
    await glove.process_request("sure?")
    assert sent(model.requests[-1].messages)[1] == "agent:  +look (interrupted)"


async def test_a_report_about_an_unknown_reply_changes_nothing() -> None:
    glove = Glove(model=ScriptedModel(["One."])).build()
    await glove.process_request("a")
    assert not await glove.report_heard("reply_unknown", "x", True)
    assert await story(glove.store) == ["user: a", "agent: One."]


async def test_a_store_that_cannot_amend_gets_a_notice_before_the_next_turn() -> None:
    store = PlainStore()
    glove = Glove(model=ScriptedModel(["One two three.", "Four.", "Five."]), store=store).build()
    first = await glove.process_request("count", heard_reports=True)
    await glove.report_heard(first.id or "", "One two", False)
    second = await glove.process_request("more", heard_reports=True)
    await glove.report_heard(second.id or "", "Four.", True)
    await glove.process_request("more")
    stored = await store.get_messages()
    assert [m.framework_context for m in stored] == [None, None, "notice", None, None, None, None]
    assert "'One two'" in stored[2].text
    assert stored[1].text == "One two three."
    assert clock.now() == 0
