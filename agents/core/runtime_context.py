"""What is true right now, read from providers at the moment the model needs it; the system prompt stays as it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.context_records import changed, check_key, record
from agents.core.events import RuntimeContext
from agents.core.foreign import call
from agents.core.messages import ContentPart, Delivery, Message, content_parts, media_note, parts_text
from agents.core.model import Notify

ContextValue = str | Sequence[ContentPart] | None
"""Text, or parts of text and media; None or nothing but white space adds nothing."""

ContextProvider = Callable[[AbortToken], ContextValue | Awaitable[ContextValue]]
"""Called with the request's abort token; sync or async. What it raises fails the model call."""

DELIVERIES: tuple[Delivery, ...] = get_args(Delivery)


@dataclass(frozen=True, eq=False)
class _Entry:
    provider: ContextProvider
    delivery: Delivery
    key: str


@dataclass(frozen=True)
class HistoryContext:
    """What ``history`` providers have to say before a request.

    Attributes:
        records: messages to be saved; none where the conversation already shows the value.
        media: messages for this request only.
    """

    records: list[Message] = field(default_factory=list[Message])
    media: list[Message] = field(default_factory=list[Message])


class ContextProviders:
    """The context providers of an agent, or of several, in order of registration.

    Each reading notifies one ``RuntimeContext`` with copies of its own, provided that anybody is registered for it.
    """

    def __init__(self) -> None:
        self._entries: tuple[_Entry, ...] = ()

    def add(
        self, provider: ContextProvider, delivery: Delivery = "iteration", key: str | None = None
    ) -> Callable[[], None]:
        """Register ``provider``. Returns a function that removes it again.

        Raises:
            GloveError: ``ERR_CONTEXT_DELIVERY`` for an unknown delivery; ``ERR_CONTEXT_KEY`` when the key that
                ``history`` needs is missing, unusable or taken.
        """
        _check(delivery)
        if delivery == "history":
            check_key(key, taken=[entry.key for entry in self._of("history")])
        entry = _Entry(provider, delivery, key or "")
        self._entries = (*self._entries, entry)

        def remove() -> None:
            self._entries = tuple(known for known in self._entries if known is not entry)

        return remove

    def registered(self, delivery: Delivery) -> bool:
        """Whether anybody is registered for ``delivery``."""
        return bool(self._of(delivery))

    async def read(self, delivery: Delivery, abort: AbortToken, notify: Notify) -> list[Message]:
        """The messages of one delivery as the model sees them; nothing is saved.

        Raises what a provider raises, ``Aborted`` before and after each of them, and ``GloveError``
        (``ERR_CONTEXT_DELIVERY``) for an unknown delivery.
        """
        _check(delivery)
        return [message for _, messages in await self._read(delivery, abort, notify) for message in messages]

    async def read_history(self, visible: Sequence[Message], abort: AbortToken, notify: Notify) -> HistoryContext:
        """What is to be saved and sent before a request whose conversation shows ``visible``. Raises like ``read``."""
        values: dict[str, Message | None] = {}
        media: list[Message] = []
        for entry, messages in await self._read("history", abort, notify):
            values[entry.key] = next((message for message in messages if message.delivery == "history"), None)
            media += [message for message in messages if message.delivery != "history"]
        return HistoryContext(changed(values, visible), media)

    async def _read(self, delivery: Delivery, abort: AbortToken, notify: Notify) -> list[tuple[_Entry, list[Message]]]:
        entries = self._of(delivery)
        if not entries:
            return []
        readings = [
            (entry, _messages(await call(entry.provider, abort, "A context provider"), entry)) for entry in entries
        ]
        told = tuple(_told(message) for _, messages in readings for message in messages)
        await notify(RuntimeContext(told, delivery))
        return readings

    def _of(self, delivery: Delivery) -> tuple[_Entry, ...]:
        return tuple(entry for entry in self._entries if entry.delivery == delivery)


def _check(delivery: str) -> None:
    if delivery not in DELIVERIES:
        raise GloveError(
            "ERR_CONTEXT_DELIVERY",
            f"There is no delivery {delivery!r} for context.",
            f"Choose one of {', '.join(DELIVERIES)}.",
        )


def _messages(value: ContextValue, entry: _Entry) -> list[Message]:
    """``value`` as messages: one; or, for ``history``, the words to be saved and the media for this request."""
    if value is None:
        return []
    parts = None if isinstance(value, str) else content_parts(value, "What a context provider returned")
    text = value if isinstance(value, str) else parts_text(parts or ())
    media = [part for part in parts or () if part.type != "text"]
    if entry.delivery == "history":
        records = [record(entry.key, text)] if text.strip() else []
        return [*records, _transient("", media, "request")] if media else records
    if not text.strip() and not media:
        return []
    return [_transient(text, (parts or []) if media else [], entry.delivery)]


def _transient(text: str, parts: list[ContentPart], delivery: Delivery) -> Message:
    return Message(sender="user", text=text, content=parts or None, framework_context="runtime", delivery=delivery)


def _told(message: Message) -> Message:
    """A copy for subscribers, with notes in place of media."""
    copy = message.model_copy(deep=True)
    if copy.content is not None:
        copy.content = [
            part if part.type == "text" else ContentPart(type="text", text=media_note(part)) for part in copy.content
        ]
    return copy
