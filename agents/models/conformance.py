"""What every model adapter must do, as checks that anybody can run against their own.

A *bench* is what an adapter's author adds: a function that takes scripted replies and gives, as an asynchronous
context, an adapter whose provider answers with them, one per request. ``Say`` is text in as many pieces as the bench
likes, ``Call`` a tool call, ``Hang`` an open connection on which nothing more comes, ``Fail`` any failure of the
provider::

    @asynccontextmanager
    async def bench(replies):
        async with my_fake_provider(replies) as url:
            yield MyModel(base_url=url, max_retries=0)

    await check_model(bench)

Each failure is an ``AssertionError`` that names the rule. No check waits longer than ``PATIENCE_S`` for the adapter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from agents.base.abort import Aborted, AbortToken
from agents.base.conformance import same
from agents.base.errors import GloveError
from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.messages import ContentPart, Message, ModelResult, Source, ToolCall, ToolResult, ToolResultData
from agents.core.model import ConnectedModel, ModelAdapter, PromptRequest, ToolSpec
from agents.models.scripted import Call, Fail, Hang, Say, Step

PATIENCE_S = 60.0
"""Longest wait for an adapter, in seconds."""

LONG_BEGUN_S = 0.5
"""When a provider has received a request, in seconds."""

Script = Sequence[Sequence[Step]]
Bench = Callable[[Script], AbstractAsyncContextManager[ModelAdapter]]
Check = Callable[[Bench], Awaitable[None]]

LOOK = ToolSpec("look", "Looks at something.", {"type": "object", "properties": {"where": {"type": "string"}}})
WAIT = ToolSpec("wait", "Waits.", {"type": "object", "properties": {}})


async def check_model(bench: Bench) -> list[str]:
    """Run all checks. Returns the names of those that ran."""
    for check in CHECKS:
        async with asyncio.timeout(PATIENCE_S):
            await check(bench)
    return [check.__name__ for check in CHECKS]


async def streams_text(bench: Bench) -> None:
    """Pieces of text add up to the reply; everything carries the reply's id; the end comes last and once."""
    async with bench([[Say("Good morning, everybody.")]]) as model:
        same(bool(model.name), True, "an adapter has a name")
        result, events = await _ask(model, [_user("hi")], reply_id="r1")
    message = _message(result)
    same(message.text, "Good morning, everybody.", "the reply's text is what was said")
    same((message.sender, message.id), ("agent", "r1"), "the reply is an agent's message under the id of the request")
    last = events[-1]
    ends = [event for event in events if isinstance(event, ModelResponse | ModelResponseComplete)]
    same(ends, [last], "a reply ends once, and last")
    assert isinstance(last, ModelResponse | ModelResponseComplete)
    same((last.text, last.reply_id, last.tool_calls), (message.text, "r1", ()), "the end repeats the reply")
    same(last.stop_reason, result.stop_reason, "the end and the result give one reason")
    deltas = [event for event in events if isinstance(event, TextDelta)]
    if isinstance(last, ModelResponseComplete):
        same("".join(delta.text for delta in deltas), message.text, "the pieces add up to the reply")
        same({delta.reply_id for delta in deltas}, {"r1"}, "pieces carry the reply's id")
    else:
        same(deltas, [], "an adapter that does not stream sends no pieces")
    same(result.usage.tokens_in > 0 and result.usage.tokens_out > 0, True, "tokens are counted")


async def reports_calls(bench: Bench) -> None:
    """Tool calls come in order, with parsed arguments and ids of their own; no arguments are an empty object."""
    called = [Say("Let me see."), Call("look", {"where": "up", "ü": [1, None]}), Call("wait", {}), Call("look", {})]
    async with bench([called]) as model:
        result, events = await _ask(model, [_user("what is up?")], (LOOK, WAIT))
    message = _message(result)
    calls = message.tool_calls or []
    expected = [("look", {"where": "up", "ü": [1, None]}), ("wait", {}), ("look", {})]
    same([(call.tool_name, call.input_args) for call in calls], expected, "calls come whole and in order")
    same(len({call.id for call in calls if call.id}), 3, "each call has an id of its own")
    same(message.text, "Let me see.", "text before calls is kept")
    last = events[-1]
    assert isinstance(last, ModelResponse | ModelResponseComplete)
    same(list(last.tool_calls), calls, "the end repeats the calls")
    used = [(event.id, event.name, event.input) for event in events if isinstance(event, ToolUse)]
    if isinstance(last, ModelResponseComplete):
        same(used, [(call.id, call.tool_name, call.input_args) for call in calls], "each call is told once")
        text_behind = [
            event for event in events[events.index(_first(events, ToolUse)) :] if isinstance(event, TextDelta)
        ]
        same(text_behind, [], "calls are told behind the text before them")


async def answers_any_history(bench: Bench) -> None:
    """Whatever a conversation holds, also from other models, is put so that the provider can answer."""
    cases = [(name, history, tools) for name, history in histories().items() for tools in ((LOOK, WAIT), ())]
    async with bench([[Say("Yes.")]] * len(cases)) as model:
        for name, history, tools in cases:
            before = [message.model_dump() for message in history]
            result, _ = await _ask(model, history, tools)
            same(_message(result).text, "Yes.", f"a history with {name} is answered")
            same([message.model_dump() for message in history], before, f"a history with {name} is not changed")


async def takes_its_own_replies_back(bench: Bench) -> None:
    """A reply with calls, stored as JSON and read again, is good for the next request."""
    async with bench([[Say("Let me see."), Call("look", {"where": "up"})], [Say("The sky.")]]) as model:
        asked = [_user("what is up?")]
        said = _message((await _ask(model, asked, (LOOK,)))[0])
        stored = Message.model_validate_json(said.model_dump_json())
        calls = stored.tool_calls or []
        seen = [ToolResult(tool_name=c.tool_name, call_id=c.id, result=ToolResultData(data="sky")) for c in calls]
        result, _ = await _ask(model, [*asked, stored, Message(sender="user", tool_results=seen)], (LOOK,))
    same(_message(result).text, "The sky.", "an adapter takes its own replies back")


async def stops_at_once(bench: Bench) -> None:
    """An abort ends a reply as ``Aborted`` wherever it is, and the next request is answered."""
    async with bench([[Say("Once upon a time"), Hang()], [Say("Yes.")]]) as model:
        if isinstance(model, ConnectedModel):
            await model.warm()
        abort, told = AbortToken(), list[AgentEvent]()
        # Without pieces of text nothing says that the provider has begun.
        asyncio.get_running_loop().call_later(LONG_BEGUN_S, abort.abort)
        ended = await _outcome(model, told, abort, on_text=abort.abort)
        same(ended, "Aborted", "an abort in mid-reply raises Aborted")
        ends = [event for event in told if isinstance(event, ModelResponse | ModelResponseComplete)]
        same(ends, [], "an aborted reply has no end")
        try:
            async with asyncio.timeout(PATIENCE_S / 3):
                result, _ = await _ask(model, [_user("hi")])
        except TimeoutError:
            # On a slow machine the aborted request never reached the provider, and its reply was still due.
            result, _ = await _ask(model, [_user("hi")])
    same(_message(result).text, "Yes.", "a reply follows an aborted one")


async def does_not_begin_aborted(bench: Bench) -> None:
    """A token that was aborted before stops the call before anything is told."""
    async with bench([[Say("Too late.")]]) as model:
        abort, told = AbortToken(), list[AgentEvent]()
        abort.abort()
        same(await _outcome(model, told, abort), "Aborted", "an aborted token raises Aborted")
    same(told, [], "nothing is told under an aborted token")


async def passes_cancellation_on(bench: Bench) -> None:
    """A task that is cancelled from outside ends as cancelled, not as aborted."""
    async with bench([[Say("Once upon a time"), Hang()]]) as model:
        task = asyncio.create_task(_outcome(model, [], AbortToken()))
        await asyncio.sleep(0.05)
        task.cancel()
        same(await task, "CancelledError", "cancellation passes through")


async def names_failures(bench: Bench) -> None:
    """A provider's failure is a ``GloveError`` with a code and a remedy, or a code that says it was the request."""
    for script in ([Fail(RuntimeError("broken"))], [Say("Well, "), Fail(RuntimeError("broken"))]):
        async with bench([script]) as model:
            try:
                await _ask(model, [_user("hi")])
            except GloveError as fault:
                same(fault.code.startswith("ERR_"), True, "a failure has a code")
                same(bool(fault.message), True, "a failure has a message")
            else:
                raise AssertionError("a failure of the provider is told: nothing was raised")


async def lets_readers_fail(bench: Bench) -> None:
    """An exception of whoever reads the events comes out as it is, and the next request is answered."""
    async with bench([[Say("Once upon a time")], [Say("Yes.")]]) as model:

        async def full(event: AgentEvent) -> None:
            raise ZeroDivisionError

        try:
            await model.prompt(PromptRequest("", [_user("hi")]), full, AbortToken())
        except ZeroDivisionError:
            pass
        else:
            raise AssertionError("an exception of a reader comes out: nothing was raised")
        result, _ = await _ask(model, [_user("hi")])
    same(_message(result).text, "Yes.", "a reply follows one whose reader failed")


async def keeps_requests_apart(bench: Bench) -> None:
    """Two requests at the same time each get a whole reply under their own id."""
    async with bench([[Say("One reply.")], [Say("One reply.")]]) as model:
        both = await asyncio.gather(*(_ask(model, [_user("hi")], reply_id=name) for name in ("a", "b")))
    for name, (result, events) in zip(("a", "b"), both, strict=True):
        same((_message(result).id, _message(result).text), (name, "One reply."), "requests do not mix")
        ids = {event.reply_id for event in events if isinstance(event, TextDelta | ModelResponse)}
        same(ids <= {name}, True, "events of requests do not mix")


async def closes_and_opens_again(bench: Bench) -> None:
    """Getting ready and closing can be repeated, in any order; a closed adapter answers again."""
    async with bench([[Say("Yes.")], [Say("Again.")]]) as model:
        if not isinstance(model, ConnectedModel):
            return
        await model.close()
        await model.warm()
        await model.warm()
        first, _ = await _ask(model, [_user("hi")])
        await model.close()
        await model.close()
        again, _ = await _ask(model, [_user("hi")])
        await model.close()
    same([_message(one).text for one in (first, again)], ["Yes.", "Again."], "a closed adapter answers again")


CHECKS: tuple[Check, ...] = (
    streams_text,
    reports_calls,
    answers_any_history,
    takes_its_own_replies_back,
    stops_at_once,
    does_not_begin_aborted,
    passes_cancellation_on,
    names_failures,
    lets_readers_fail,
    keeps_requests_apart,
    closes_and_opens_again,
)


def histories() -> dict[str, list[Message]]:
    """Conversations that an adapter may meet, by what is special about them."""
    up, down = ToolCall(tool_name="look", input_args={"where": "up"}, id="c1"), ToolCall(tool_name="wait", id="c2")
    odd = ToolCall(tool_name="look at all!", input_args="not json", id="call:" + "x" * 80 + "/é")
    state = {"anthropic": {"thinking": [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]}}
    media = [_part(kind, source) for kind in ("image", "document", "audio", "video") for source in ("data", "url")]
    return {
        "a question": [_user("hi")],
        "the agent speaking first": [Message(sender="agent", text="Good morning!"), _user("hi")],
        "the user speaking twice": [_user("one"), _user("two")],
        "words that cannot be encoded": [_user("half a \ud83d smile")],
        "empty messages": [_user("hi"), Message(sender="agent", text=""), _user("  "), _user("hm?")],
        "all kinds of media": [_user("see", content=[ContentPart(type="text", text="see"), *media])],
        "nothing but a document": [_user("", content=[_part("document", "data"), _part("document", "data")])],
        "calls and results": [_user("go"), _calling(up, down), _results(("c2", "b"), ("c1", "a"))],
        "a failed and an empty result": [_user("go"), _calling(up, down), _failed("c1"), _results(("c2", ""))],
        "unanswered calls": [_user("go"), _calling(up, down), _user("never mind")],
        "unanswered calls at its end": [_user("go"), _calling(up)],
        "one result too many": [_user("go"), _calling(up), _results(("c1", "a"), ("c1", "b"), ("c9", "c"))],
        "calls without ids": [_user("go"), _calling(ToolCall(tool_name="look")), _results((None, "a"))],
        "names and ids of a stranger": [_user("go"), _calling(odd), _results((odd.id, "a"))],
        "thoughts of another model": [
            _user("go"),
            _calling(up, reasoning_content="Hm.", provider_options={**state, "other": {"x": [1]}}),
            _results(("c1", "a")),
        ],
        "context for this call": [
            _user("one"),
            Message(sender="agent", text="two"),
            _user("plan: free", framework_context="runtime"),
            _user("three"),
            _calling(up),
            _results(("c1", "a")),
            _user("build is red", framework_context="runtime"),
        ],
        "a summary and a request for one": [
            _user("so far", is_compaction=True),
            _calling(up),
            _results(("c1", "a")),
            _user("sum up", is_compaction_request=True),
        ],
    }


def _user(text: str, **fields: Any) -> Message:
    return Message(sender="user", text=text, **fields)


def _calling(*calls: ToolCall, **fields: Any) -> Message:
    return Message(sender="agent", tool_calls=list(calls), **fields)


def _results(*pairs: tuple[str | None, str]) -> Message:
    told = [ToolResult(tool_name="look", call_id=call, result=ToolResultData(data=data)) for call, data in pairs]
    return _user("tool results", tool_results=told)


def _failed(call_id: str) -> Message:
    result = ToolResultData(status="error", message="It is dark.", data={"lux": 0})
    return _user("tool results", tool_results=[ToolResult(tool_name="look", call_id=call_id, result=result)])


def _part(kind: Any, source: str) -> ContentPart:
    types = {"image": "image/png", "document": "application/pdf", "audio": "audio/wav", "video": "video/mp4"}
    if source == "url":
        return ContentPart(type=kind, source=Source(type="url", url=f"https://example.org/{kind}"))
    return ContentPart(type=kind, name="my file.x", source=Source(type="base64", media_type=types[kind], data="AAAA"))


async def _ask(
    model: ModelAdapter, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), *, reply_id: str = "reply"
) -> tuple[ModelResult, list[AgentEvent]]:
    events: list[AgentEvent] = []

    async def record(event: AgentEvent) -> None:
        events.append(event)

    request = PromptRequest("You are brief.", messages, tools, reply_id=reply_id)
    return await model.prompt(request, record, AbortToken()), events


async def _outcome(
    model: ModelAdapter, events: list[AgentEvent], abort: AbortToken, on_text: Callable[[], None] | None = None
) -> str:
    """How a call ended, by name."""

    async def record(event: AgentEvent) -> None:
        events.append(event)
        if on_text is not None and isinstance(event, TextDelta):
            asyncio.get_running_loop().call_soon(on_text)

    try:
        await model.prompt(PromptRequest("", [_user("a story")]), record, abort)
    except (Aborted, asyncio.CancelledError) as end:
        return type(end).__name__
    return "a reply"


def _message(result: ModelResult) -> Message:
    same(len(result.messages), 1, "a reply is one message")
    return result.messages[0]


def _first(events: Sequence[AgentEvent], kind: type[AgentEvent]) -> AgentEvent:
    return next(event for event in events if isinstance(event, kind))
