"""Conversations that were kept, as lines for people."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agents.base.errors import InputError
from agents.core.messages import Message
from agents.core.recovery import unconfirmed
from agents.stores.sqlite import Conversation, SqliteStore, list_conversations
from appliance.daemon.conversations import spoken_lines

PREFIX = "conversation_"

OPENING_CHARS = 40
"""How much of a conversation's first words its line in the list shows."""


async def listed(path: Path) -> list[str]:
    """One line per conversation of the file ``path``: last use in local time, room, id, the first words."""
    known = [entry for entry in await list_conversations(path) if entry.parent is None]
    lines = [f"{_where(entry)}  {await _opening(path, entry)}".rstrip() for entry in known]
    return lines or ["No conversation is kept yet."]


async def transcript(path: Path, wanted: str) -> list[str]:
    """What was said in the conversation whose id begins with ``wanted``.

    Raises:
        InputError: ``ERR_CONVERSATION``: there is none such, or more than one.
    """
    entry = _chosen(await list_conversations(path), wanted)
    return [f"{entry.session_id}, {_local(entry.created_at)}", *map(_line, await _spoken(path, entry))]


def _where(entry: Conversation) -> str:
    return f"{_local(entry.updated_at)}  {entry.name or '-':<8}  {entry.session_id}"


async def _spoken(path: Path, entry: Conversation) -> list[Message]:
    store = SqliteStore(path, entry.session_id)
    try:
        return spoken_lines(await store.get_messages())
    finally:
        await store.close()


async def _opening(path: Path, entry: Conversation) -> str:
    spoken = await _spoken(path, entry)
    first = next((message for message in spoken if message.sender == "user"), spoken[0] if spoken else None)
    words = "" if first is None else " ".join(first.text.split())
    return words if len(words) <= OPENING_CHARS else f"{words[: OPENING_CHARS - 1].rstrip()}…"


def _line(message: Message) -> str:
    mark = " (how much of this was heard is not known)" if unconfirmed(message) else ""
    return f"{'You' if message.sender == 'user' else 'Glove'}: {message.text}{mark}"


def _chosen(known: list[Conversation], wanted: str) -> Conversation:
    matching = [entry for entry in known if entry.session_id.startswith((wanted, PREFIX + wanted))]
    exact = [entry for entry in matching if entry.session_id == wanted]
    if len(exact or matching) == 1:
        return (exact or matching)[0]
    if not matching:
        raise InputError(
            "ERR_CONVERSATION",
            f"There is no conversation {wanted!r}.",
            "glove conversations lists those that are kept.",
        )
    raise InputError(
        "ERR_CONVERSATION", f"{len(matching)} conversations begin with {wanted!r}.", "Name more of the id."
    )


def _local(stamp: str) -> str:
    return datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M")
