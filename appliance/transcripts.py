"""Conversations that were kept, as lines for people."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agents.base.errors import InputError
from agents.core.messages import Message
from agents.core.recovery import unconfirmed
from agents.stores.sqlite import Conversation, SqliteStore, list_conversations
from appliance.conversations import spoken_lines

PREFIX = "conversation_"


async def listed(path: Path) -> list[str]:
    """One line per conversation of the file ``path``: last use in local time, room, id."""
    known = [entry for entry in await list_conversations(path) if entry.parent is None]
    return [f"{_local(entry.updated_at)}  {entry.name or '-':<8}  {entry.session_id}" for entry in known] or [
        "No conversation is kept yet."
    ]


async def transcript(path: Path, wanted: str) -> list[str]:
    """What was said in the conversation whose id begins with ``wanted``.

    Raises:
        InputError: ``ERR_CONVERSATION``: there is none such, or more than one.
    """
    entry = _chosen(await list_conversations(path), wanted)
    store = SqliteStore(path, entry.session_id)
    try:
        spoken = spoken_lines(await store.get_messages())
    finally:
        await store.close()
    return [f"{entry.session_id}, {_local(entry.created_at)}", *map(_line, spoken)]


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
