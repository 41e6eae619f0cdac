"""Whether a wrapper of agents passes everything on, as a check that anybody can run against their own.

    async def test_it_forwards() -> None:
        await check_forwarding(lambda agent: MyWrapper(agent))

A rule that is broken is an ``AssertionError`` that names the method.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from agents.base.abort import AbortToken
from agents.core.display import DisplayManager
from agents.core.external_event import Disposition
from agents.core.messages import ContentPart, Message
from agents.core.runnable import Runnable


async def check_forwarding(wrap: Callable[[Runnable], Runnable]) -> None:
    """Call every method of ``wrap(agent)`` with every option, and see that it reaches the agent unchanged.

    The wrapper may pass ``abort`` and ``request`` on in another form, and may call the agent more than once.
    """
    for name, options, free in _CALLS:
        inner = _Recorder()
        outer = wrap(inner)
        result = getattr(outer, name)(**options)
        result = await result if inspect.isawaitable(result) else result
        wanted = {option: value for option, value in options.items() if option not in free}
        if not any(called == name and _has(given, wanted) for called, given in inner.calls):
            raise AssertionError(f"{name} does not reach the agent with {wanted!r}: {inner.calls!r}")
        _check_result(name, result, inner)
    inner = _Recorder()
    if wrap(inner).display is not inner.display:
        raise AssertionError("display is not the agent's own")


def _has(given: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(given.get(option) is value or given.get(option) == value for option, value in wanted.items())


def _check_result(name: str, result: Any, inner: _Recorder) -> None:
    if name in inner.answers:
        same = result == inner.answers[name]
    elif name in ("add_context_provider", "add_turn_preparer"):
        result()
        same = inner.removed == 1
    else:
        same = True
    if not same:
        raise AssertionError(f"{name} does not give back what the agent gave: {result!r}")


class _Recorder:
    """An agent that does nothing but remember how it was called."""

    def __init__(self) -> None:
        self.display = DisplayManager()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.removed = 0
        self.answers: dict[str, Any] = {
            "process_request": Message(sender="agent", text="the answer", id="r1"),
            "report_heard": True,
            "get_runtime_context": [Message(sender="user", text="true now")],
            "emit_event": "deferred",
        }

    async def process_request(
        self, request: Any, abort: AbortToken | None = None, *, language: str | None = None, heard_reports: bool = False
    ) -> Message:
        self._note("process_request", request=request, abort=abort, language=language, heard_reports=heard_reports)
        return self.answers["process_request"]

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> bool:
        self._note("report_heard", reply_id=reply_id, text=text, complete=complete)
        return self.answers["report_heard"]

    def add_subscriber(self, subscriber: Any) -> object:
        self._note("add_subscriber", subscriber=subscriber)
        return self

    def remove_subscriber(self, subscriber: Any) -> object:
        self._note("remove_subscriber", subscriber=subscriber)
        return None

    def add_context_provider(
        self, provider: Any, *, delivery: Any = "iteration", key: str | None = None
    ) -> Callable[[], None]:
        self._note("add_context_provider", provider=provider, delivery=delivery, key=key)
        return self._remove

    async def get_runtime_context(self, abort: AbortToken | None = None, delivery: Any = None) -> list[Message]:
        self._note("get_runtime_context", abort=abort, delivery=delivery)
        return self.answers["get_runtime_context"]

    def add_turn_preparer(self, preparer: Any) -> Callable[[], None]:
        self._note("add_turn_preparer", preparer=preparer)
        return self._remove

    async def emit_event(
        self,
        id: str,  # noqa: A002 - the name of the field on the wire
        source: str,
        kind: str,
        content: str | Sequence[ContentPart],
        when_idle: Any = "auto",
        expires_at: datetime | None = None,
    ) -> Disposition:
        told = {"id": id, "source": source, "kind": kind, "content": content}
        self._note("emit_event", **told, when_idle=when_idle, expires_at=expires_at)
        return self.answers["emit_event"]

    def set_wake_handler(self, handler: Any) -> None:
        self._note("set_wake_handler", handler=handler)

    def notify_user_activity(self) -> None:
        self._note("notify_user_activity")

    def _note(self, name: str, **given: Any) -> None:
        self.calls.append((name, given))

    def _remove(self) -> None:
        self.removed += 1


class _Silent:
    async def record(self, event: object) -> None:
        """Take no note."""


def _nothing(_: object) -> None:
    return None


async def _no_wake(_: object) -> None:
    return None


_AT = datetime(2030, 1, 1, tzinfo=UTC)
_SILENT = _Silent()
_EVENT = {"id": "e1", "source": "s", "kind": "k", "content": "c", "when_idle": "defer", "expires_at": _AT}

_CALLS: tuple[tuple[str, dict[str, Any], frozenset[str]], ...] = (
    (
        "process_request",
        {"request": "hi", "abort": AbortToken(), "language": "de", "heard_reports": True},
        frozenset({"request", "abort"}),
    ),
    ("report_heard", {"reply_id": "r1", "text": "The", "complete": False}, frozenset()),
    ("add_subscriber", {"subscriber": _SILENT}, frozenset()),
    ("remove_subscriber", {"subscriber": _SILENT}, frozenset()),
    ("add_context_provider", {"provider": _nothing, "delivery": "history", "key": "plan"}, frozenset()),
    ("add_context_provider", {"provider": _nothing, "delivery": "request"}, frozenset()),
    ("get_runtime_context", {"abort": AbortToken(), "delivery": "request"}, frozenset({"abort"})),
    ("add_turn_preparer", {"preparer": _nothing}, frozenset()),
    ("emit_event", _EVENT, frozenset()),
    ("set_wake_handler", {"handler": _no_wake}, frozenset()),
    ("notify_user_activity", {}, frozenset()),
)
