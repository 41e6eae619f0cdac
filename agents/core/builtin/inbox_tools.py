"""How the agent asks for something that will take longer than the conversation waits."""

from __future__ import annotations

import uuid

from pydantic import BaseModel, Field

from agents.base import clock
from agents.core.messages import InboxItem, ToolResultData
from agents.core.tool import Tool, ToolContext

DESCRIPTION = (
    "Note that you need something which cannot be had now and which somebody or something outside this conversation"
    " will bring later: an approval, a delivery, the outcome of a long job. The answer is shown to you at the beginning"
    " of a later turn. Do not wait for it, and do not guess it."
)


class Posting(BaseModel):
    """Arguments of ``glove_post_to_inbox``."""

    tag: str = Field(min_length=1, description="One or two words that say what it is about, for example 'approval'.")
    request: str = Field(min_length=1, description="What is needed, understandable without this conversation.")
    blocking: bool = Field(default=False, description="Whether the work cannot go on before the answer is there.")


async def post_to_inbox(args: Posting, context: ToolContext) -> ToolResultData:
    """Add a pending item to the store's inbox; ``StoreAdapter.resolve_inbox_item`` answers it."""
    item = InboxItem(
        id=f"inbox_{uuid.uuid4().hex}",
        tag=args.tag,
        request=args.request,
        blocking=args.blocking,
        created_at=clock.wall().isoformat(),
    )
    await context.glove.store.add_inbox_item(item)
    what = "It blocks: you are reminded until it is answered." if args.blocking else "You can go on meanwhile."
    return ToolResultData(data={"inbox_item_id": item.id, "message": f"Noted. {what}"})


POST_TO_INBOX: Tool[Posting] = Tool("glove_post_to_inbox", DESCRIPTION, post_to_inbox, Posting)
