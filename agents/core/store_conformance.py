"""What every store must do, as checks that anybody can run against their own.

    async def make() -> StoreAdapter:
        return MyStore(new_database())

    run_virtual(check_store(make))   # or asyncio.run, for a store that talks to a server

``check_store`` runs all checks that apply to the groups the store supports; each failure is an ``AssertionError`` that
names the rule. ``make`` returns a new, empty store each time it is called; each is closed at the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agents.base.conformance import same
from agents.core.messages import InboxItem, Message, Task, TokenUsage, ToolCall, ToolResult, ToolResultData
from agents.core.store import StoreAdapter

T = TypeVar("T")
Make = Callable[[], Awaitable[StoreAdapter]]
Check = Callable[[StoreAdapter], Awaitable[None]]


async def check_store(make: Make) -> list[str]:
    """Run all applicable checks, each on a new store. Returns the names of those that ran."""
    ran: list[str] = []
    for group, check in CHECKS:
        store = await make()
        try:
            if group is None or group in store.supports:
                await check(store)
                ran.append(check.__name__)
        finally:
            await store.close()
    return ran


async def keeps_messages_whole(store: StoreAdapter) -> None:
    """Every field of a message comes back, unknown fields of newer versions included."""
    call = ToolCall(tool_name="look", input_args={"a": [1, None, "ü"]}, id="c1", provider_options={"x": {"y": 1}})
    result = ToolResult(tool_name="look", call_id="c1", result=ToolResultData(data={"k": 1}, renderData=[1]))
    messages = [
        Message(sender="user", text="hello\n\u2028 \U0001f44b", id="u1"),
        Message(sender="agent", text="", id="r1", tool_calls=[call], reasoning_content="hm"),
        Message(sender="user", text="tool results", tool_results=[result]),
        Message(sender="user", text="so far", is_compaction=True),
        Message.model_validate({"sender": "user", "text": "n", "framework_context": "notice", "of_the_future": 7}),
    ]
    await store.append_messages(messages[:3])
    await store.append_messages(messages[3:])
    stored = await store.get_messages()
    same([m.model_dump() for m in stored], [m.model_dump() for m in messages], "messages come back whole, in order")


async def starts_empty(store: StoreAdapter) -> None:
    """A new conversation has no messages and counts from zero."""
    same(await store.get_messages(), [], "a new store has no messages")
    same((await store.get_token_count(), await store.get_turn_count()), (0, 0), "a new store counts from zero")
    await store.append_messages([])
    same(await store.get_messages(), [], "appending nothing adds nothing")


async def gives_copies(store: StoreAdapter) -> None:
    """Neither the caller's objects nor those handed out are the store's own, however deep one looks."""
    call = ToolCall(tool_name="look", input_args={"in": ["here"]}, id="c1", provider_options={"p": {"k": 1}})
    result = ToolResult(tool_name="look", call_id="c1", result=ToolResultData(data={"found": [1]}))
    given = Message(sender="agent", text="as it was", id="r1", tool_calls=[call])
    await store.append_messages([given, Message(sender="user", text="tool results", tool_results=[result])])
    before = [message.model_dump() for message in await store.get_messages()]
    given.text = "changed by the writer"
    call.input_args["in"].append("there")
    result.result.data["found"].append(2)
    for read in (store.get_messages, store.get_visible_messages):
        taken = await read()
        same(len(taken), 2, "lists of messages are handed out as copies")
        taken[0].text = "changed by a reader"
        _first(taken[0].tool_calls).input_args["in"].clear()
        _first(taken[1].tool_results).result.data["found"].clear()
        taken.clear()
    same([m.model_dump() for m in await store.get_messages()], before, "messages are copied in and out, deeply")


async def keeps_order_under_concurrency(store: StoreAdapter) -> None:
    """Batches written at the same time are not mixed with each other."""
    batches = [[Message(sender="user", text=f"{batch}.{part}") for part in range(3)] for batch in range(8)]
    await asyncio.gather(*(store.append_messages(batch) for batch in batches))
    texts = [m.text for m in await store.get_messages()]
    same(len(texts), 24, "no message is lost")
    triples = [texts[i : i + 3] for i in range(0, 24, 3)]
    same(all([t.split(".")[1] for t in triple] == ["0", "1", "2"] for triple in triples), True, "batches stay whole")
    same(all(len({t.split(".")[0] for t in triple}) == 1 for triple in triples), True, "batches do not interleave")


async def shows_the_newest_summary_on(store: StoreAdapter) -> None:
    """What the model sees begins with the newest summary; everything stays stored."""
    same(await store.get_visible_messages(), [], "a new store shows nothing")
    await store.append_messages([Message(sender="user", text="a"), Message(sender="agent", text="b")])
    same([m.text for m in await store.get_visible_messages()], ["a", "b"], "without a summary all is visible")
    for text in ("first", "second"):
        await store.append_messages([Message(sender="user", text=text, is_compaction=True)])
        await store.append_messages([Message(sender="user", text=f"after {text}")])
    visible = [m.text for m in await store.get_visible_messages()]
    same(visible, ["second", "after second"], "the newest summary and what follows is visible")
    same(len(await store.get_messages()), 6, "everything stays stored")


async def counts(store: StoreAdapter) -> None:
    """Counters add up; cache counters are kept but not counted; a reset leaves messages alone."""
    await store.append_messages([Message(sender="user", text="stay")])
    usage = TokenUsage(tokens_in=10, tokens_out=5, cache_creation_input_tokens=3, cache_read_input_tokens=2)
    await store.add_tokens(usage)
    await store.add_tokens(TokenUsage(tokens_in=1))
    await store.increment_turn()
    await store.increment_turn()
    same(await store.get_token_count(), 16, "tokens are counted in plus out, without cache counters")
    total = usage.model_copy(update={"tokens_in": 11})
    same((await store.get_token_consumption()).model_dump(), total.model_dump(), "all counters are kept")
    same(await store.get_turn_count(), 2, "turns are counted")
    await store.count_model_call(TokenUsage(tokens_out=4))
    same((await store.get_token_count(), await store.get_turn_count()), (20, 3), "a model call counts as both")
    await store.reset_counters()
    same(await store.get_token_consumption(), TokenUsage(), "a reset zeroes all token counters")
    same(await store.get_turn_count(), 0, "a reset zeroes turns")
    same([m.text for m in await store.get_messages()], ["stay"], "a reset keeps messages")


async def amends(store: StoreAdapter) -> None:
    """An agent message takes the text that was heard and nothing else of it changes."""
    call = ToolCall(tool_name="look", input_args={}, id="c1")
    await store.append_messages(
        [
            Message(sender="user", text="question", id="same"),
            Message(sender="agent", text="whole answer", id="same", tool_calls=[call]),
            Message(sender="agent", text="other", id="r2"),
        ]
    )
    same(await store.amend_message("same", text="whole", heard="interrupted"), True, "an amended message is reported")
    stored = await store.get_messages()
    same([m.text for m in stored], ["question", "whole", "other"], "only the agent's message with that id changes")
    same([m.heard for m in stored], [None, "interrupted", None], "what was heard is marked")
    same(stored[1].tool_calls, [call], "the rest of the message stays")
    same(await store.amend_message("same", text="", heard="complete"), True, "a message can be amended again")
    same((await store.get_messages())[1].text, "", "text may become empty")
    await store.amend_message("r2", text="other", heard="unconfirmed")
    same((await store.get_messages())[2].heard, "unconfirmed", "that nothing is known of what was heard is kept")
    same(await store.amend_message("unknown", text="x", heard="complete"), False, "unknown ids are reported")


async def keeps_a_journal(store: StoreAdapter) -> None:
    """What was said is kept apart from the messages until it becomes one of them."""
    same(await store.get_journal(), [], "a new store has an empty journal")
    said = [Message(sender="user", text=f"word {name}", id=name) for name in ("z", "a", "m")]
    for message in said:
        await store.add_journal_entry(message)
    same([m.model_dump() for m in await store.get_journal()], [m.model_dump() for m in said], "entries keep order")
    same(await store.get_messages(), [], "an entry is no message yet")
    await store.add_journal_entry(said[0].model_copy(update={"text": "said again"}))
    same([m.text for m in await store.get_journal()], ["said again", "word a", "word m"], "an id is one entry")
    other = Message(sender="user", text="without an id")
    await store.append_messages([other, said[1].model_copy(update={"text": "rewritten"})])
    same([m.id for m in await store.get_journal()], ["z", "m"], "what is stored leaves the journal")
    same([m.text for m in await store.get_messages()], ["without an id", "rewritten"], "and is a message")
    await store.remove_journal_entry("z")
    await store.remove_journal_entry("unknown")
    same([m.id for m in await store.get_journal()], ["m"], "an entry can be forgotten")


async def keeps_tasks(store: StoreAdapter) -> None:
    """A list of tasks replaces the one before; single tasks can be changed."""
    await store.add_tasks([Task(id="b", content="second first"), Task(id="a", content="then this")])
    await store.update_task("a", {"status": "completed"})
    await store.update_task("unknown", {"status": "completed"})
    tasks = await store.get_tasks()
    same([(t.id, t.status) for t in tasks], [("b", "pending"), ("a", "completed")], "tasks keep order and changes")
    tasks[0].content = "changed by a reader"
    same((await store.get_tasks())[0].content, "second first", "tasks are copies")
    await store.add_tasks([Task(id="c", content="instead", activeForm="Going")])
    same(
        [t.model_dump() for t in await store.get_tasks()],
        [Task(id="c", content="instead", activeForm="Going").model_dump()],
        "a new list takes the place of the old one",
    )
    await store.add_tasks([])
    same(await store.get_tasks(), [], "an empty list clears")


async def remembers_permissions(store: StoreAdapter) -> None:
    """Answers are kept per tool and input, whatever the order of the input's keys, at any depth."""
    same(await store.get_permission("t", {"a": 1}), "unset", "no answer is unset")
    await store.set_permission("t", "granted", {"a": 1, "b": {"x": [1, 2], "ü": None}})
    await store.set_permission("t", "denied")
    equal = {"b": {"ü": None, "x": [1, 2]}, "a": 1}
    same(await store.get_permission("t", equal), "granted", "equal inputs share an answer")
    for other in (
        {"a": 1},
        {"a": 1, "b": {"x": [2, 1], "ü": None}},
        {"a": "1", "b": {"x": [1, 2], "ü": None}},
        [equal],
    ):
        same(await store.get_permission("t", other), "unset", f"another input has no answer: {other!r}")
    same(await store.get_permission("t"), "denied", "no input is an input")
    same(await store.get_permission("u", equal), "unset", "other tools have no answer")
    await store.set_permission("t", "denied", equal)
    same(await store.get_permission("t", equal), "denied", "a new answer takes the place of the old one")
    await store.set_permission("t", "unset", equal)
    same(await store.get_permission("t", equal), "unset", "an answer can be forgotten")


async def keeps_inbox(store: StoreAdapter) -> None:
    """Items keep their order and change one by one."""
    await store.add_inbox_item(InboxItem(id="z", tag="t", request="first", blocking=True, created_at="2030-01-01"))
    await store.add_inbox_item(InboxItem(id="a", tag="t", request="second"))
    await store.update_inbox_item("a", {"status": "resolved", "response": "yes", "resolved_at": "2030-01-02"})
    await store.update_inbox_item("unknown", {"status": "resolved"})
    items = await store.get_inbox_items()
    same([(i.id, i.status) for i in items], [("z", "pending"), ("a", "resolved")], "items keep order and changes")
    same((items[0].blocking, items[0].created_at), (True, "2030-01-01"), "items come back whole")
    items[0].request = "changed by a reader"
    same((await store.get_inbox_items())[0].request, "first", "items are copies")
    pending = await store.get_pending_inbox_items()
    same([(i.id, i.request) for i in pending], [("z", "first")], "items without an answer are found")
    resolved = await store.get_resolved_inbox_items()
    same([(i.id, i.response) for i in resolved], [("a", "yes")], "resolved items are found")
    await store.update_inbox_item("a", {"status": "consumed"})
    same(await store.get_resolved_inbox_items(), [], "consumed items are not told again")
    same([i.response for i in await store.get_inbox_items()], [None, "yes"], "consumed items are kept")


async def answers_an_inbox_item_once(store: StoreAdapter) -> None:
    """The first answer to a pending item counts; nothing else can be answered."""
    await store.add_inbox_item(InboxItem(id="z", tag="t", request="first"))
    await store.add_inbox_item(InboxItem(id="a", tag="t", request="second", status="consumed"))
    same(await store.resolve_inbox_item("z", "done"), True, "a pending item can be answered")
    answers = [await store.resolve_inbox_item(item, "again") for item in ("z", "a", "unknown")]
    same(answers, [False, False, False], "nothing else can be answered")
    resolved = [(i.id, i.response, bool(i.resolved_at)) for i in await store.get_resolved_inbox_items()]
    same(resolved, [("z", "done", True)], "the first answer counts")


async def separates_subagents(store: StoreAdapter) -> None:
    """A subagent's record is its own; durable ones are found again, also a subagent's subagents."""
    durable = await store.create_sub_agent_store("helper", durable=True)
    await durable.append_messages([Message(sender="user", text="for the helper")])
    await durable.count_model_call(TokenUsage(tokens_in=5))
    again = await store.create_sub_agent_store("helper", durable=True)
    same([m.text for m in await again.get_messages()], ["for the helper"], "a durable store is found again")
    same(await store.get_messages(), [], "the parent does not see it")
    same(await store.get_token_count(), 0, "its tokens are its own")
    fresh, other = [await store.create_sub_agent_store("helper") for _ in range(2)]
    await fresh.append_messages([Message(sender="user", text="once")])
    same(await other.get_messages(), [], "a store that is not durable is new")
    same([m.text for m in await durable.get_messages()], ["for the helper"], "and leaves the durable one alone")
    below = await durable.create_sub_agent_store("helper", durable=True)
    same(await below.get_messages(), [], "a subagent's subagent has a record of its own")
    identifiers = {each.identifier for each in (store, durable, fresh, other, below)}
    same(len(identifiers), 5, "identifiers differ")
    await fresh.close()
    await durable.close()
    same(await store.get_messages(), [], "closing a subagent's store leaves the parent's open")


async def survives_cancellation(store: StoreAdapter) -> None:
    """A caller that is cancelled leaves a batch behind whole or not at all, and the store usable."""
    batch = [Message(sender="user", text=f"{part}") for part in range(3)]
    for _ in range(4):
        task = asyncio.ensure_future(store.append_messages(batch))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await store.append_messages([Message(sender="user", text="end")])
    texts = [message.text for message in await store.get_messages()]
    same(texts[-1:], ["end"], "the store goes on working")
    same(texts[:-1], ["0", "1", "2"] * (len(texts) // 3), "batches are whole")


CHECKS: tuple[tuple[str | None, Check], ...] = (
    (None, starts_empty),
    (None, keeps_messages_whole),
    (None, gives_copies),
    (None, keeps_order_under_concurrency),
    (None, survives_cancellation),
    (None, shows_the_newest_summary_on),
    (None, counts),
    ("amend", amends),
    ("journal", keeps_a_journal),
    ("tasks", keeps_tasks),
    ("permissions", remembers_permissions),
    ("inbox", keeps_inbox),
    ("inbox", answers_an_inbox_item_once),
    ("subagents", separates_subagents),
)


def _first(items: list[T] | None) -> T:
    if not items:
        raise AssertionError("tool calls and results come back with their message")
    return items[0]
