"""Runtime context that is saved once per change: how a value is written into history, and found there again.

A record is recognised by its text alone. So it is found after a restart, and in stores that keep nothing but text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from agents.base.errors import GloveError
from agents.core.markup import attribute, escaped
from agents.core.messages import Message


def check_key(key: str | None, *, taken: Collection[str]) -> None:
    """Raise ``GloveError`` (``ERR_CONTEXT_KEY``) unless ``key`` can tell its records from all others."""
    if not key or not key.strip():
        problem, remedy = "Context with the delivery history needs a key.", "Name what it is about, for example 'plan'."
    elif not key.isprintable():
        problem, remedy = f"The context key {key!r} has characters that cannot be printed.", "Use plain words."
    elif key in taken:
        problem, remedy = f"The context key {key!r} is taken.", "Choose another key, or remove the other provider."
    else:
        return
    raise GloveError("ERR_CONTEXT_KEY", problem, remedy)


def record(key: str, text: str) -> Message:
    """The message that saves ``text`` under ``key``; nothing in ``text`` can end it early."""
    return _message(f"{_opening(key)}{escaped(text)}{_CLOSING}")


def changed(values: Mapping[str, Message | None], visible: Sequence[Message]) -> list[Message]:
    """What has to be saved so that ``visible`` shows ``values``: a record per key, or None where there is no value.

    That a value is gone is said once, and only while the value is still in sight.
    """
    saved: list[Message] = []
    for key, value in values.items():
        last = _last(key, visible)
        if value is not None and value.text != last:
            saved.append(value)
        elif value is None and last is not None and last != _cleared(key):
            saved.append(_message(_cleared(key)))
    return saved


_CLOSING = "</context>"


def _opening(key: str) -> str:
    return f'<context key="{attribute(key)}">'


def _cleared(key: str) -> str:
    return f'<context key="{attribute(key)}" status="cleared" />'


def _last(key: str, visible: Sequence[Message]) -> str | None:
    """The text of the newest record under ``key``."""
    opening, cleared = _opening(key), _cleared(key)
    for message in reversed(visible):
        text = message.text
        if message.sender == "user" and (text == cleared or (text.startswith(opening) and text.endswith(_CLOSING))):
            return text
    return None


def _message(text: str) -> Message:
    return Message(sender="user", text=text, framework_context="runtime", delivery="history")
