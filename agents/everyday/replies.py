"""Finding what was said last, for "repeat that"."""

from __future__ import annotations

from agents.core.tool import ToolContext


async def last_heard_reply(ctx: ToolContext) -> str | None:
    """The text of the last agent message of the conversation that said something, or None."""
    for message in reversed(await ctx.glove.store.get_messages()):
        if message.sender == "agent" and message.text.strip():
            return message.text
    return None
