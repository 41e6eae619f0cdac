"""The display stack: cards and questions of a conversation, whatever shows them or reads them aloud.

The stack belongs to the conversation. Rooms attach as listeners and may come and go; a question stays until it is
answered, withdrawn, or its tool is aborted. Nothing on the stack can leave a waiter hanging.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agents.base.abort import Aborted, AbortToken
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.core.turn import tool_abort


@dataclass(frozen=True)
class Slot:
    """One entry of the stack.

    Attributes:
        id: ``slot_<n>``, unique within the stack.
        renderer: name of what can show it, for example ``permission_request`` or ``generic``.
        input: JSON value for the renderer.
        blocking: whether somebody waits for an answer.
    """

    id: str
    renderer: str
    input: Any
    blocking: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back for a question: its ``value``, and the words it was spoken in, if it was."""

    value: Any
    said: str = ""


class QuestionClosed(GloveError):
    """A question left the stack without an answer. Asking it again by itself would only bother the user.

    Codes: ``ERR_SLOT_REMOVED`` (taken off the display), ``ERR_SLOT_REJECTED`` (the user will not answer),
    ``ERR_SLOT_UNANSWERED`` (nobody answered in time), ``ERR_SLOT_NOT_UNDERSTOOD`` (the answer was not understood).
    """


class Unanswered(QuestionClosed, TimeoutError):
    """Nobody answered a question in time."""

    def __init__(self, message: str = "Nobody answered the question in time.") -> None:
        super().__init__("ERR_SLOT_UNANSWERED", message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message,))


@dataclass(frozen=True)
class SlotPushed:
    """A slot appeared."""

    type: ClassVar[str] = "slot"
    slot: Slot


@dataclass(frozen=True)
class SlotUpdated:
    """The input of a slot changed."""

    type: ClassVar[str] = "slot_update"
    slot: Slot


@dataclass(frozen=True)
class SlotResolved:
    """A slot left the stack; ``value`` is the answer, if there was one, and ``said`` the words it was spoken in."""

    type: ClassVar[str] = "slot_resolve"
    slot: Slot
    value: Any = None
    answered: bool = False
    said: str = ""


@dataclass(frozen=True)
class SlotTouched:
    """Somebody is busy answering a question (typing, for example): its time begins anew."""

    type: ClassVar[str] = "slot_touch"
    slot: Slot


class _Patience:
    """How long a question waits. While somebody holds it, it waits for them instead, and they have a limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._holders = 0
        self._over = False
        self._timeout = asyncio.timeout(seconds)

    @property
    def timeout(self) -> asyncio.Timeout:
        """Bounds the waiting."""
        return self._timeout

    def hold(self, by: int) -> None:
        """One more (or, with -1, one fewer) holds the question."""
        self._holders += by
        self.restart()

    def restart(self) -> None:
        """The time begins anew."""
        if self._seconds is None or self._over or self._timeout.expired():
            return
        self._timeout.reschedule(None if self._holders else asyncio.get_running_loop().time() + self._seconds)

    def end(self) -> None:
        """Nobody waits any more."""
        self._over = True


class DisplayManager:
    """Holds the slots of one conversation. Use it from the event loop only.

    ``events`` emits ``SlotPushed``, ``SlotUpdated``, ``SlotTouched`` and ``SlotResolved``; ``subscribe`` is for those
    who only want the stack as it is now.
    """

    def __init__(self) -> None:
        self.events = Emitter()
        self.renderers: dict[str, Mapping[str, Any]] = {}
        self._slots: dict[str, Slot] = {}
        self._waiters: dict[str, asyncio.Future[Answer]] = {}
        self._patience: dict[str, _Patience] = {}
        self._count = 0

    @property
    def stack(self) -> tuple[Slot, ...]:
        """All slots, oldest first."""
        return tuple(self._slots.values())

    @property
    def pending(self) -> tuple[Slot, ...]:
        """The slots that wait for an answer, oldest first."""
        return tuple(slot for slot in self._slots.values() if slot.id in self._waiters)

    def register_renderer(self, name: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Note that ``name`` can be shown, with whatever a room should know about it."""
        self.renderers[name] = dict(metadata or {})

    def subscribe(self, listener: Callable[[tuple[Slot, ...]], None]) -> Callable[[], None]:
        """Call ``listener`` with the whole stack after each change. Returns an unsubscribe function."""
        return self.events.on(object, lambda _: listener(self.stack))

    async def push_and_forget(self, renderer: str, input: Any = None) -> str:  # noqa: A002 - wire name
        """Show something. Returns the slot's id; it stays until ``remove_slot`` or ``clear_stack``."""
        return self._push(renderer, input, blocking=False).id

    async def push_and_wait(
        self,
        renderer: str,
        input: Any = None,  # noqa: A002 - wire name
        *,
        abort: AbortToken | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Ask something and wait for the answer; see ``ask``, which also tells how it was said."""
        return (await self.ask(renderer, input, abort=abort, timeout_s=timeout_s)).value

    async def ask(
        self,
        renderer: str,
        input: Any = None,  # noqa: A002 - wire name
        *,
        abort: AbortToken | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Ask something and wait for the answer.

        Args:
            renderer: what shows the question.
            input: JSON value for the renderer.
            abort: withdraws the question; the token of the running tool when None.
            timeout_s: withdraws the question after that many seconds, unless somebody holds it.

        Raises:
            Aborted: the token was aborted.
            Unanswered: nobody answered in time. It is a ``TimeoutError``, too.
            QuestionClosed: the question was refused, or taken off the stack unanswered.
        """
        abort = abort or tool_abort()
        if abort is not None:
            abort.check()
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        patience = _Patience(timeout_s)

        def withdraw() -> None:
            self._fail(slot.id, Aborted((abort and abort.reason) or "aborted"))

        async with _unanswered(patience):
            slot = self._push(renderer, input, blocking=True, waiter=waiter, patience=patience)
            stop = abort.on_abort(withdraw) if abort is not None else None
            try:
                return await waiter
            finally:
                if stop is not None:
                    stop()
                self._drop(slot.id)

    def update(self, slot_id: str, input: Any) -> bool:  # noqa: A002 - wire name
        """Change what a slot shows. False if there is no such slot."""
        slot = self._slots.get(slot_id)
        if slot is None:
            return False
        self._slots[slot_id] = slot = replace(slot, input=input)
        self.events.emit(SlotUpdated(slot))
        return True

    def hold(self, slot_id: str) -> Callable[[], None]:
        """Keep a question from running out of time while the caller sees to its answer within a limit of their own.

        Returns a function that lets go; its time then begins anew. Letting go twice has no effect.
        """
        patience = self._patience.get(slot_id)
        if patience is None:
            return lambda: None
        patience.hold(1)
        held = [patience]

        def release() -> None:
            if held:
                held.pop().hold(-1)

        return release

    def touch(self, slot_id: str) -> bool:
        """Somebody is busy answering: the question's time begins anew. False if nobody waits for this slot."""
        if slot_id not in self._waiters:
            return False
        self._patience[slot_id].restart()
        self.events.emit(SlotTouched(self._slots[slot_id]))
        return True

    def resolve(self, slot_id: str, value: Any, *, said: str = "") -> bool:
        """Answer a question, ``said`` in these words. False if nobody waits for this slot (cards are closed with
        ``remove_slot``)."""
        waiter = self._waiters.pop(slot_id, None)
        if waiter is None:
            return False
        if not waiter.done():
            waiter.set_result(Answer(value, said))
        self._drop(slot_id, value, answered=True, said=said)
        return True

    def reject(self, slot_id: str, error: BaseException | None = None) -> bool:
        """Refuse a question; the one who asked gets ``error``. False if nobody waits for this slot."""
        return self._fail(slot_id, error or QuestionClosed("ERR_SLOT_REJECTED", "The question was refused."))

    def remove_slot(self, slot_id: str) -> bool:
        """Take a slot off the stack; one who waits for it gets ``ERR_SLOT_REMOVED``. False if there is no such slot."""
        if slot_id not in self._slots:
            return False
        if not self._fail(slot_id, _removed()):
            self._drop(slot_id)
        return True

    def clear_stack(self) -> None:
        """Remove all slots, newest first; everyone who waits gets ``ERR_SLOT_REMOVED``."""
        for slot_id in reversed(tuple(self._slots)):
            self.remove_slot(slot_id)

    def _push(
        self,
        renderer: str,
        value: Any,
        *,
        blocking: bool,
        waiter: asyncio.Future[Answer] | None = None,
        patience: _Patience | None = None,
    ) -> Slot:
        self._count += 1
        slot = Slot(f"slot_{self._count}", renderer, value, blocking)
        self._slots[slot.id] = slot
        if waiter is not None and patience is not None:
            # Before anyone is told: a listener may answer at once.
            self._waiters[slot.id] = waiter
            self._patience[slot.id] = patience
        self.events.emit(SlotPushed(slot))
        return slot

    def _fail(self, slot_id: str, error: BaseException) -> bool:
        waiter = self._waiters.pop(slot_id, None)
        if waiter is None:
            return False
        if not waiter.done():
            waiter.set_exception(error)
        self._drop(slot_id)
        return True

    def _drop(self, slot_id: str, value: Any = None, *, answered: bool = False, said: str = "") -> None:
        self._waiters.pop(slot_id, None)
        patience = self._patience.pop(slot_id, None)
        if patience is not None:
            patience.end()
        slot = self._slots.pop(slot_id, None)
        if slot is not None:
            self.events.emit(SlotResolved(slot, value, answered, said))


@contextlib.asynccontextmanager
async def _unanswered(patience: _Patience) -> AsyncGenerator[None]:
    """Bound the waiting by ``patience``."""
    try:
        async with patience.timeout:
            yield
    except TimeoutError as fault:
        if patience.timeout.expired():
            raise Unanswered from fault
        raise


def _removed() -> QuestionClosed:
    return QuestionClosed("ERR_SLOT_REMOVED", "The question was taken off the display before it was answered.")
