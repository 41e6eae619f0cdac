"""The prompt machine: owns the model and the system prompt, and makes one model call at a time out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta
from agents.core.messages import Message, ModelResult
from agents.core.model import ModelAdapter, Notify, PromptRequest, ToolSpec
from agents.core.summaries import with_summaries


class PromptMachine:
    """Calls the model.

    Attributes:
        model: the adapter in force; a change takes effect with the next call.
        system_prompt: stable instructions; likewise.
        summarise: whether old tool results are sent in their short form.
    """

    def __init__(self, model: ModelAdapter, system_prompt: str, *, summarise: bool = False) -> None:
        self.model = model
        self.system_prompt = system_prompt
        self.summarise = summarise

    async def run(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        reply_id: str,
        language: str | None,
        notify: Notify,
        abort: AbortToken,
    ) -> ModelResult:
        """Make one model call whose events and message carry ``reply_id``.

        Raises ``Aborted`` as soon as ``abort`` fires, even if the adapter is slow to notice, and whatever the adapter
        raises for a fault.
        """
        sent = with_summaries(messages) if self.summarise else list(messages)
        request = PromptRequest(self.system_prompt, sent, tuple(tools), reply_id, language)

        async def tell(event: AgentEvent) -> None:
            await notify(_stamped(event, reply_id))

        return await abort.race(self.model.prompt(request, tell, abort))


def _stamped(event: AgentEvent, reply_id: str) -> AgentEvent:
    if isinstance(event, TextDelta | ModelResponse | ModelResponseComplete) and event.reply_id != reply_id:
        return replace(event, reply_id=reply_id)
    return event
