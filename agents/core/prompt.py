"""The prompt machine: owns the model and the system prompt, and makes one model call at a time out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent, ModelResponse, ModelResponseComplete, TextDelta
from agents.core.messages import Message, ModelResult, new_reply_id
from agents.core.model import ModelAdapter, Notify, PromptRequest, ToolSpec
from agents.core.rehearsal import Rehearsal
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
        self._rehearsal: Rehearsal | None = None

    async def rehearse(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, language: str | None, abort: AbortToken
    ) -> bool:
        """Make a call that ``run`` takes over if it is asked for the same; an earlier one is given up.

        Returns when that is settled: whether it was taken over. A fault of a call that nobody took is nobody's.
        """
        self._drop_rehearsal()
        request = self._request(messages, tools, new_reply_id(), language)
        self._rehearsal = rehearsal = Rehearsal(self.model, request, abort)
        await rehearsal.play()
        return rehearsal.taken

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
        request = self._request(messages, tools, reply_id, language)

        async def tell(event: AgentEvent) -> None:
            await notify(_stamped(event, reply_id))

        rehearsal = self._rehearsal
        if rehearsal is not None and rehearsal.fits(self.model, request):
            self._rehearsal = None
            return await abort.race(rehearsal.take(tell, abort))
        self._drop_rehearsal()
        return await abort.race(self.model.prompt(request, tell, abort))

    def _request(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], reply_id: str, language: str | None
    ) -> PromptRequest:
        sent = with_summaries(messages) if self.summarise else list(messages)
        return PromptRequest(self.system_prompt, sent, tuple(tools), reply_id, language)

    def _drop_rehearsal(self) -> None:
        rehearsal, self._rehearsal = self._rehearsal, None
        if rehearsal is not None:
            rehearsal.drop()


def _stamped(event: AgentEvent, reply_id: str) -> AgentEvent:
    if isinstance(event, TextDelta | ModelResponse | ModelResponseComplete) and event.reply_id != reply_id:
        return replace(event, reply_id=reply_id)
    return event
