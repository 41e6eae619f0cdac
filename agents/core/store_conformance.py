"""What every store must do, as checks that anybody can run against their own.

``await check_store(make)`` runs all checks that apply to the groups the store supports; each failure is an
``AssertionError`` that names the rule. ``make`` returns a new, empty store each time it is called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agents.core.messages import InboxItem, Message, Task, TokenUsage, ToolCall, ToolResult, ToolResultData
from agents.core.store import StoreAdapter

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
    _same([m.model_dump() for m in stored], [m.model_dump() for m in messages], "messages come back whole, in order")


async def starts_empty(store: StoreAdapter) -> None:
    """A new conversation has no messages and counts from zero."""
    _same(await store.get_messages(), [], "a new store has no messages")
    _same((await store.get_token_count(), await store.get_turn_count()), (0, 0), "a new store counts from zero")
    await store.append_messages([])
    _same(await store.get_messages(), [], "appending nothing adds nothing")


async def gives_copies(store: StoreAdapter) -> None:
    """Neither the caller's objects nor those handed out are the store's own."""
    given = Message(sender="user", text="as it was")
    await store.append_messages([given])
    given.text = "changed by the writer"
    taken = await store.get_messages()
    taken[0].text = "changed by a reader"
    taken.clear()
    _same([m.text for m in await store.get_messages()], ["as it was"], "messages are copied in and out")


async def keeps_order_under_concurrency(store: StoreAdapter) -> None:
    """Batches written at the same time are not mixed with each other."""
    batches = [[Message(sender="user", text=f"{batch}.{part}") for part in range(3)] for batch in range(8)]
    await asyncio.gather(*(store.append_messages(batch) for batch in batches))
    texts = [m.text for m in await store.get_messages()]
    _same(len(texts), 24, "no message is lost")
    triples = [texts[i : i + 3] for i in range(0, 24, 3)]
    _same(all([t.split(".")[1] for t in triple] == ["0", "1", "2"] for triple in triples), True, "batches stay whole")
    _same(all(len({t.split(".")[0] for t in triple}) == 1 for triple in triples), True, "batches do not interleave")


async def shows_the_newest_summary_on(store: StoreAdapter) -> None:
    """What the model sees begins with the newest summary; everything stays stored."""
    _same(await store.get_visible_messages(), [], "a new store shows nothing")
    await store.append_messages([Message(sender="user", text="a"), Message(sender="agent", text="b")])
    _same([m.text for m in await store.get_visible_messages()], ["a", "b"], "without a summary all is visible")
    for text in ("first", "second"):
        await store.append_messages([Message(sender="user", text=text, is_compaction=True)])
        await store.append_messages([Message(sender="user", text=f"after {text}")])
    visible = [m.text for m in await store.get_visible_messages()]
    _same(visible, ["second", "after second"], "the newest summary and what follows is visible")
    _same(len(await store.get_messages()), 6, "everything stays stored")


async def counts(store: StoreAdapter) -> None:
    """Counters add up; cache counters are kept but not counted; a reset leaves messages alone."""
    await store.append_messages([Message(sender="user", text="stay")])
    usage = TokenUsage(tokens_in=10, tokens_out=5, cache_creation_input_tokens=3, cache_read_input_tokens=2)
    await store.add_tokens(usage)
    await store.add_tokens(TokenUsage(tokens_in=1))
    await store.increment_turn()
    await store.increment_turn()
    _same(await store.get_token_count(), 16, "tokens are counted in plus out, without cache counters")
    total = usage.model_copy(update={"tokens_in": 11})
    _same((await store.get_token_consumption()).model_dump(), total.model_dump(), "all counters are kept")
    _same(await store.get_turn_count(), 2, "turns are counted")
    await store.reset_counters()
    _same(await store.get_token_consumption(), TokenUsage(), "a reset zeroes all token counters")
    _same(await store.get_turn_count(), 0, "a reset zeroes turns")
    _same([m.text for m in await store.get_messages()], ["stay"], "a reset keeps messages")


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
    _same(await store.amend_message("same", text="whole", heard="interrupted"), True, "an amended message is reported")
    stored = await store.get_messages()
    _same([m.text for m in stored], ["question", "whole", "other"], "only the agent's message with that id changes")
    _same([m.heard for m in stored], [None, "interrupted", None], "what was heard is marked")
    _same(stored[1].tool_calls, [call], "the rest of the message stays")
    _same(await store.amend_message("same", text="", heard="complete"), True, "a message can be amended again")
    _same((await store.get_messages())[1].text, "", "text may become empty")
    await store.amend_message("r2", text="other", heard="unconfirmed")
    _same((await store.get_messages())[2].heard, "unconfirmed", "that nothing is known of what was heard is kept")
    _same(await store.amend_message("unknown", text="x", heard="complete"), False, "unknown ids are reported")


async def keeps_tasks(store: StoreAdapter) -> None:
    """A list of tasks replaces the one before; single tasks can be changed."""
    await store.add_tasks([Task(id="b", content="second first"), Task(id="a", content="then this")])
    await store.update_task("a", {"status": "completed"})
    await store.update_task("unknown", {"status": "completed"})
    tasks = await store.get_tasks()
    _same([(t.id, t.status) for t in tasks], [("b", "pending"), ("a", "completed")], "tasks keep order and changes")
    await store.add_tasks([])
    _same(await store.get_tasks(), [], "an empty list clears")


async def remembers_permissions(store: StoreAdapter) -> None:
    """Answers are kept per tool and input, whatever the order of the input's keys."""
    _same(await store.get_permission("t", {"a": 1}), "unset", "no answer is unset")
    await store.set_permission("t", "granted", {"a": 1, "b": 2})
    await store.set_permission("t", "denied")
    _same(await store.get_permission("t", {"b": 2, "a": 1}), "granted", "equal inputs share an answer")
    _same(await store.get_permission("t", {"a": 1}), "unset", "other inputs do not")
    _same(await store.get_permission("t"), "denied", "no input is an input")
    _same(await store.get_permission("u", {"a": 1, "b": 2}), "unset", "other tools do not")


async def keeps_inbox(store: StoreAdapter) -> None:
    """Items keep their order and change one by one."""
    await store.add_inbox_item(InboxItem(id="z", tag="t", request="first", blocking=True))
    await store.add_inbox_item(InboxItem(id="a", tag="t", request="second"))
    await store.update_inbox_item("a", {"status": "resolved", "response": "yes", "resolved_at": "2030-01-01"})
    await store.update_inbox_item("unknown", {"status": "resolved"})
    items = await store.get_inbox_items()
    _same([(i.id, i.status) for i in items], [("z", "pending"), ("a", "resolved")], "items keep order and changes")
    resolved = await store.get_resolved_inbox_items()
    _same([(i.id, i.response) for i in resolved], [("a", "yes")], "resolved items are found")
    await store.update_inbox_item("a", {"status": "consumed"})
    _same(await store.get_resolved_inbox_items(), [], "consumed items are not told again")


async def separates_subagents(store: StoreAdapter) -> None:
    """A subagent's messages are its own; durable ones are found again."""
    durable = await store.create_sub_agent_store("helper", durable=True)
    await durable.append_messages([Message(sender="user", text="for the helper")])
    again = await store.create_sub_agent_store("helper", durable=True)
    _same([m.text for m in await again.get_messages()], ["for the helper"], "a durable store is found again")
    _same(await store.get_messages(), [], "the parent does not see it")
    fresh = await store.create_sub_agent_store("helper")
    _same(await fresh.get_messages(), [], "a store that is not durable is new")
    identifiers = {store.identifier, durable.identifier, fresh.identifier}
    _same(len(identifiers), 3, "identifiers differ")


CHECKS: tuple[tuple[str | None, Check], ...] = (
    (None, starts_empty),
    (None, keeps_messages_whole),
    (None, gives_copies),
    (None, keeps_order_under_concurrency),
    (None, shows_the_newest_summary_on),
    (None, counts),
    ("amend", amends),
    ("tasks", keeps_tasks),
    ("permissions", remembers_permissions),
    ("inbox", keeps_inbox),
    ("subagents", separates_subagents),
)


def _same(actual: object, expected: object, rule: str) -> None:
    if actual != expected:
        raise AssertionError(f"{rule}: expected {expected!r}, got {actual!r}")
