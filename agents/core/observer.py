"""Counts turns and tokens, and summarises the conversation when the count says so."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.context import Context
from agents.core.events import CompactionEnd, CompactionStart, TokenConsumption
from agents.core.inbox import pending_block, pending_items
from agents.core.messages import Message, TokenUsage, new_reply_id
from agents.core.model import Notify
from agents.core.prompt import PromptMachine

log = structlog.get_logger(__name__)

MAX_TURNS = 120
CONTEXT_LIMIT_TOKENS = 100_000
IMMINENT_PERCENT = 90

INSTRUCTIONS = (
    "Summarise the conversation so far for yourself; only your summary will remain. Keep who the user is and what they"
    " want, decisions and promises made, facts and figures learned, names and identifiers in use, what was tried and"
    " what came of it, and what is still open. Write plain notes, not a reply to the user."
)
HEADER = "[Conversation summary from compaction]"
FOOTER = "[End of summary: the conversation continues below]"
NO_SUMMARY = "No summary is available."


@dataclass(frozen=True)
class Compaction:
    """When and how history is summarised.

    Attributes:
        instructions: what the model is told to write.
        context_limit_tokens: tokens in plus out *of all calls since the last summary*, not the size of one prompt.
        max_turns: model calls that one request may make.
    """

    instructions: str = INSTRUCTIONS
    context_limit_tokens: int = CONTEXT_LIMIT_TOKENS
    max_turns: int = MAX_TURNS


class Observer:
    """Accounting and compaction of one conversation."""

    def __init__(self, context: Context, prompt: PromptMachine, notify: Notify, config: Compaction) -> None:
        self._context = context
        self._prompt = prompt
        self._notify = notify
        self.config = config

    async def count(self, usage: TokenUsage) -> None:
        """Account for one model call. A store that cannot is no reason to lose what the model said; it is logged."""
        try:
            await self._context.store.count_model_call(usage)
        except GloveError as fault:
            log.warning("a model call was not counted", code=fault.code, error=fault.message)
        await self._notify(TokenConsumption(usage))

    async def imminent(self) -> bool:
        """Whether the limit is so near that a reply with tool calls should be stored after a summary."""
        tokens = await self._context.store.get_token_count()
        return tokens * 100 >= self.config.context_limit_tokens * IMMINENT_PERCENT

    async def due(self) -> bool:
        """Whether the limit is reached."""
        return await self._context.store.get_token_count() >= self.config.context_limit_tokens

    async def compact(self, abort: AbortToken) -> bool:
        """Summarise the history and start counting anew.

        Nothing changes before the summary is stored: after a fault of the model (logged; returns False) or an abort
        (raises ``Aborted``) history and counters are as before. Counters that cannot be set afterwards make the next
        summary come early. ``CompactionStart`` is always followed by ``CompactionEnd``,
        with an empty summary when there is none.
        """
        tokens = await self._context.store.get_token_count()
        end = CompactionEnd(tokens, "")
        await self._notify(CompactionStart(tokens))
        try:
            summary, usage = await self._summarise(abort)
            abort.check()
            await self._context.append([Message(sender="user", text=summary, is_compaction=True)])
            end = CompactionEnd(usage.tokens_out, summary, usage)
            await self._count_anew(usage)
        except GloveError as fault:
            log.warning("compaction failed, history stays as it is", code=fault.code, error=fault.message)
            return False
        finally:
            await self._notify(end)
        return True

    async def _count_anew(self, usage: TokenUsage) -> None:
        try:
            await self._context.store.reset_counters()
            await self._context.store.add_tokens(TokenUsage(tokens_out=usage.tokens_out))
        except GloveError as fault:
            log.warning("counting did not begin anew", code=fault.code, error=fault.message)

    async def _summarise(self, abort: AbortToken) -> tuple[str, TokenUsage]:
        history = await self._context.messages()
        request = Message(sender="user", text=self.config.instructions, is_compaction_request=True)
        result = await self._prompt.run(
            [*history, request], (), reply_id=new_reply_id(), language=None, notify=self._notify, abort=abort
        )
        text = "\n".join(message.text for message in result.messages if message.sender == "agent" and message.text)
        pending = pending_block(await pending_items(self._context))
        parts = [HEADER, text or NO_SUMMARY, pending, FOOTER]
        return "\n\n".join(part for part in parts if part), result.usage
