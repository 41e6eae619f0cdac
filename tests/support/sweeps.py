"""One turn with everything in it, interrupted at each single place: history must stay whole and the agent usable."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.display import DisplayManager, SlotPushed
from agents.core.events import AgentEvent, CompactionEnd, CompactionStart, EventReceived
from agents.core.glove import Glove
from agents.core.messages import InboxItem, Message, TokenUsage
from agents.core.model import PromptRequest
from agents.core.observer import Compaction
from agents.core.store import StoreAdapter
from agents.core.tool import Tool, ToolContext
from agents.models.scripted import Call, Reply, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.stores.sqlite import SqliteStore
from agents.testing import FaultyStore, RecordingSubscriber, Steps, left_behind

Interference = Literal["abort", "cancel", "cancel twice", "store fails"]
INTERFERENCES: tuple[Interference, ...] = ("abort", "cancel", "cancel twice", "store fails")

REPLIES: tuple[Reply, ...] = (
    [Say("Let me look. "), Call("quick"), Call("side"), Call("side"), Call("ask"), Call("pay")],
    [Say("One more thing. "), Call("slow"), Call("nonsense"), Call("quick")],
    "Done. All of it.",
)


class Stage:
    """An agent with everything that a turn can meet; every part of it waits at least once."""

    def __init__(self, store: StoreAdapter) -> None:
        self.inner = store
        self.store = FaultyStore(store)
        self.ear = SlowEar()
        self.paid = 0
        self._calls = 0
        model = ScriptedModel(self._respond, usage=TokenUsage(tokens_in=40, tokens_out=10))
        display = DisplayManager()
        display.events.on(SlotPushed, lambda event: _soon(display.resolve, event.slot.id, True))
        self.glove = Glove(
            model=model, store=self.store, display=display, compaction=Compaction(context_limit_tokens=55)
        )
        self.glove.add_subscriber(self.ear)
        for each in self._tools():
            self.glove.fold(each)
        self.glove.add_turn_preparer(_waits)
        self.glove.add_context_provider(_says("It is noon."), delivery="iteration")
        self.glove.add_context_provider(_says("Two people are here."), delivery="request")
        self.glove.add_context_provider(_says("The kitchen."), delivery="history", key="place")
        self.glove.build()

    async def set_up(self) -> None:
        """What is there before the turn: earlier messages, an inbox, an event that waits."""
        await self.inner.append_messages(
            [Message(sender="user", text="hello", id="u0"), Message(sender="agent", text="hi", id="r0")]
        )
        await self.inner.add_inbox_item(InboxItem(id="i1", tag="t", request="?", response="!", status="resolved"))
        await self.inner.add_inbox_item(InboxItem(id="i2", tag="t", request="open?", blocking=True))
        await self.glove.emit_event("e0", "test", "before", "an event", when_idle="defer")

    def _respond(self, request: PromptRequest) -> Reply:
        if request.messages[-1].is_compaction_request:
            return "So far, so good."
        if any(message.text == "again" for message in request.messages):
            return "Fine."
        self._calls += 1
        return REPLIES[min(self._calls, len(REPLIES)) - 1]

    def _tools(self) -> list[Tool[Any]]:
        async def pay() -> None:
            await asyncio.sleep(0.1)
            self.paid += 1

        async def tell() -> None:
            await self.glove.emit_event("e1", "test", "meanwhile", "another event", when_idle="defer")

        return [
            _tool("quick", tell),
            _tool("side", lambda: asyncio.sleep(0.1), parallel=True),
            _tool("ask", _waits, requires_permission=True),
            _tool("pay", pay, un_abortable=True),
            _tool("slow", lambda: asyncio.sleep(0.3)),
        ]


class SlowEar(RecordingSubscriber):
    """Gives everything else a chance at each event."""

    async def record(self, event: AgentEvent) -> None:
        await asyncio.sleep(0)
        await super().record(event)


async def turn(interference: Interference, place: int | None, *, on_disk: bool = False) -> int:
    """Run the turn, interfere at ``place``, and check what must hold. Returns the number of places."""
    stage = Stage(SqliteStore(":memory:") if on_disk else MemoryStore())
    await stage.set_up()
    stage.store.operations.clear()
    abort = AbortToken()
    begun: list[bool] = []
    if interference == "store fails" and place is not None:
        stage.store.at = {place}
    steps = Steps(None if interference == "store fails" else place, lambda: interfere())
    with steps.counting():
        asking = asyncio.ensure_future(stage.glove.process_request("go", abort))

        def interfere() -> None:
            begun.append(stage.glove.busy)
            if interference == "abort":
                abort.abort()
                return
            asking.cancel()
            if interference == "cancel twice":
                _soon(asking.cancel)

        (outcome,) = await asyncio.gather(asking, return_exceptions=True)
        assert _expected(interference, place, outcome), f"the turn ended with {outcome!r}"
    operations = list(stage.store.operations)
    await asyncio.sleep(2)
    assert left_behind() == []
    assert not stage.glove.busy
    assert stage.glove.display.stack == ()
    refused = operations[place - 1] if interference == "store fails" and place is not None else ""
    stored = bool(begun and begun[0]) if interference != "store fails" else refused != "append_messages"
    _check_history(interference, await stage.inner.get_messages(), stored=stored)
    assert (await stage.glove.process_request("again")).text == "Fine."
    await asyncio.sleep(2)
    await _check_end(interference, stage)
    await stage.glove.close()
    await stage.inner.close()
    return len(operations) if interference == "store fails" else steps.count


def _expected(interference: Interference, place: int | None, outcome: object) -> bool:
    if isinstance(outcome, Message):
        return outcome.text == "Done. All of it."
    match interference:
        case "abort":
            return isinstance(outcome, Aborted)
        case "store fails":
            return isinstance(outcome, GloveError) and outcome.code == "ERR_STORE_FULL"
        case _:
            return isinstance(outcome, asyncio.CancelledError) and place is not None


def _check_history(interference: Interference, history: list[Message], *, stored: bool) -> None:
    """What must hold right after the turn, whatever happened in it."""
    ids = Counter(message.id for message in history if message.id is not None)
    assert [each for each, count in ids.items() if count > 1] == [], "messages are stored once"
    lines = [message.text for message in history]
    if stored:
        assert lines.count("go") == 1, f"what the user said is stored once: {lines}"
    assert lines.count("go") <= 1
    if interference in ("abort", "cancel"):
        _check_calls(history)


def _check_calls(history: list[Message]) -> None:
    """Every batch of calls has its results right behind it, one each, in order."""
    for message, after in zip(history, [*history[1:], None], strict=True):
        calls = [call.id for call in message.tool_calls or ()]
        results = [result.call_id for result in (after and after.tool_results) or ()]
        assert calls == results, f"calls {calls}, results {results}"


async def _check_end(interference: Interference, stage: Stage) -> None:
    """What must hold after the next request, which could repair what the store had refused."""
    history = await stage.inner.get_messages()
    _check_calls(history)
    assert [message.text for message in history].count("again") == 1
    told = Counter(event.id for message in history for event in message.events or ())
    received = {event.id for event in stage.ear.of(EventReceived)}
    assert set(told) <= received | {"e0"}
    if interference != "store fails":
        assert told == Counter(dict.fromkeys(received | {"e0"}, 1)), f"events are told once: {told}"
    inbox = [message.text for message in history if message.framework_context == "inbox"]
    assert len(inbox) == 1 or interference in ("store fails", "cancel twice"), f"the inbox is told once: {inbox}"
    assert inbox, "the inbox is told"
    begun, ended = len(stage.ear.of(CompactionStart)), len(stage.ear.of(CompactionEnd))
    assert begun == ended or interference == "cancel twice", "the end of a summary is told"
    assert stage.paid <= 1
    assert await stage.inner.get_journal() == [] or interference == "store fails", "nothing said waits in the journal"
    assert [item.id for item in await stage.inner.get_pending_inbox_items()] == ["i2"]


def _tool(name: str, run: Callable[[], Awaitable[Any]], **fields: Any) -> Tool[Any]:
    async def call(_: Any, __: ToolContext) -> Any:
        return await run()

    return Tool(name, f"Does {name}.", call, json_schema={"type": "object"}, **fields)


def _says(text: str) -> Callable[[AbortToken], Awaitable[str]]:
    async def provide(_: AbortToken) -> str:
        await asyncio.sleep(0)
        return text

    return provide


async def _waits(*_: object) -> None:
    await asyncio.sleep(0)


def _soon(work: Callable[..., object], *arguments: object) -> None:
    asyncio.get_running_loop().call_soon(work, *arguments)
