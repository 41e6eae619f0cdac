"""What to do about a turn that the program did not live to finish: say so in history, and do nothing again."""

from __future__ import annotations

from agents.core.context import Context
from agents.core.messages import Message
from agents.core.outcomes import failed, result_of
from agents.core.summaries import is_human

UNKNOWN_OUTCOME = (
    "No outcome was recorded because the program ended while the tool may have been running."
    " It may or may not have taken effect; check before repeating it."
)
UNANSWERED = (
    "[Notice: the message above was not answered, because the program ended first. It was not acted upon again.]"
)
UNCONFIRMED = (
    "[Notice: the program ended while your last reply was being spoken. It is not known how much of it the user heard;"
    " do not assume that they know it.]"
)


def unanswered(messages: list[Message]) -> Message | None:
    """The human message at the end of ``messages`` that no final reply followed, or None."""
    for message in reversed(messages):
        if message.sender == "agent" and not message.tool_calls:
            return None
        if message.framework_context == "notice" and getattr(message, "unanswered", None):
            return None
        if is_human(message):
            return message
    return None


async def mark_unanswered(context: Context) -> Message | None:
    """Close an unfinished turn at the end of the stored history and return its message, or None if there is none.

    Tool calls without results get an error result; then a notice with the field ``unanswered`` (the message's id) is
    stored. Doing this again changes nothing.
    """
    history = await context.store.get_visible_messages()
    message = unanswered(history)
    if message is None:
        return None
    closing: list[Message] = []
    if history[-1].tool_calls:
        results = [result_of(call, failed(UNKNOWN_OUTCOME)) for call in history[-1].tool_calls]
        closing.append(Message(sender="user", text="tool results", tool_results=results))
    await context.append([*closing, _unanswered_notice(message)])
    return message


async def restore_journalled(context: Context) -> Message | None:
    """Bring what was said and never came into history there, marked as unanswered. Returns the last of it, or None.

    Doing this again changes nothing.
    """
    left = await context.journal.left()
    if not left:
        return None
    known = {message.id for message in await context.store.get_messages()}
    lost = [message for message in left if message.id not in known]
    await context.append([part for message in lost for part in (message, _unanswered_notice(message))])
    for message in left:
        if message.id is not None and message.id in known:
            await context.journal.remove(message.id)
    return lost[-1] if lost else None


def _unanswered_notice(message: Message) -> Message:
    fields = {
        "sender": "user",
        "text": UNANSWERED,
        "framework_context": "notice",
        "unanswered": message.id or message.created_at or "last",
    }
    return Message.model_validate(fields)


def unconfirmed(message: Message) -> bool:
    """Whether nobody said how much of ``message``, a reply that was to be spoken, was heard."""
    return message.sender == "agent" and message.spoken is True and message.heard in (None, "unconfirmed")


async def mark_unconfirmed(context: Context) -> None:
    """Mark what was being spoken when the program ended: replies since the last human message without a report.

    The model gets a notice with the field ``unconfirmed`` (the replies' ids); in a store that cannot amend there is
    nothing else. Doing this again changes nothing.
    """
    left: list[str] = []
    for message in reversed(await context.store.get_visible_messages()):
        if is_human(message) or getattr(message, "unconfirmed", None):
            break
        if unconfirmed(message) and message.heard is None:
            left.append(message.id or "")
            if "amend" in context.store.supports:
                await context.store.amend_message(left[-1], text=message.text, heard="unconfirmed")
    if left:
        fields = {"sender": "user", "text": UNCONFIRMED, "framework_context": "notice", "unconfirmed": left}
        await context.append([Message.model_validate(fields)])
