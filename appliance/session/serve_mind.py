"""The agent of this machine as the mind of realtime sessions.

The conversation and its tools are the client's. What the agent does by itself to answer (sums, units, lists) happens
between a question and its answer, as in any other room.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agents.base.abort import AbortToken
from agents.core.events import AgentEvent, ModelResponse, TextDelta, TokenConsumption
from agents.core.messages import Message, ModelResult, TokenUsage, ToolCall, new_turn_id
from agents.core.model import ModelAdapter, Notify, PromptRequest
from realtime.serving.contract import ClientCall, Question, TextPiece, Thought

if TYPE_CHECKING:
    from agents.core.tool import Tool
    from appliance.session.mind import Mind

Tell = Callable[[Thought], None]


class AgentMind:
    """See ``realtime.serving.contract.Mind``.

    Args:
        mind: model and tools.
        unfit: names of tools that have no place here: those that ring or ask long after an answer.
    """

    def __init__(self, mind: Mind, unfit: Sequence[str] = ()) -> None:
        self._mind = mind
        self._tools = [tool for tool in mind.tools if tool.name not in unfit]

    async def answer(self, question: Question, tell: Tell) -> TokenUsage:
        """See ``Mind``. Raises as ``Glove.process_request``."""
        from agents.core.glove import Glove
        from agents.stores.memory import MemoryStore

        question, own_tools = self._shared_out(question)
        turn_id = new_turn_id()
        model = HandsOver(self._mind.model, question, turn_id, tell)
        instructions = question.instructions or self._mind.instructions
        store = MemoryStore()
        await store.append_messages(list(question.messages[:-1]))  # for tools that look back: "repeat that"
        glove = Glove(model=model, system_prompt=instructions, store=store, builtin_tools=False, server_mode=True)
        for tool in own_tools:
            glove.fold(tool)
        listener = _Listener(tell)
        glove.build().add_subscriber(listener)
        try:
            await glove.process_request(_asked(question), language=question.language, turn_id=turn_id)
        finally:
            await glove.close()
        return listener.usage

    def _shared_out(self, question: Question) -> tuple[Question, list[Tool[Any]]]:
        """Of two tools of a name the client's is kept where a model chooses; else ours, which knows its sentences."""
        ours = self._tools if question.own_tools else []
        if self._mind.calls_tools:
            theirs = {tool.name.lower() for tool in question.tools}
            return question, [tool for tool in ours if tool.name.lower() not in theirs]
        names = {tool.name.lower() for tool in ours}
        left = [tool for tool in question.tools if tool.name.lower() not in names]
        return dataclasses.replace(question, tools=left), ours


def _asked(question: Question) -> str:
    last = question.messages[-1] if question.messages else None
    return last.text if last is not None and last.sender == "user" and not last.tool_results else ""


class HandsOver:
    """A model whose conversation is the client's, and whose calls of the client's tools go to the client.

    A turn of the agent ends with such a call: the client runs the tool, and asks again.

    Args:
        inner: the model in force.
        question: conversation and tools.
        turn_id: id of the agent's own record of the question; what follows it are the steps of the answer.
        tell: is told of the calls.
    """

    def __init__(self, inner: ModelAdapter, question: Question, turn_id: str, tell: Tell) -> None:
        self._inner = inner
        self._question = question
        self._turn_id = turn_id
        self._tell = tell
        self._handed_over = False

    @property
    def name(self) -> str:
        """That of the model in force."""
        return self._inner.name

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """See ``ModelAdapter``."""
        if self._handed_over:
            return ModelResult(messages=[Message(sender="agent", id=request.reply_id)])
        asked = dataclasses.replace(
            request,
            messages=[*self._question.messages, *self._steps(request.messages)],
            tools=[*request.tools, *self._question.tools],
        )
        result = await self._inner.prompt(asked, notify, abort)
        messages = [self._without_their_calls(message) for message in result.messages]
        return result.model_copy(update={"messages": messages})

    def _steps(self, messages: Sequence[Message]) -> Sequence[Message]:
        places = [index for index, message in enumerate(messages) if message.id == self._turn_id]
        return messages[places[-1] + 1 :] if places else ()

    def _without_their_calls(self, message: Message) -> Message:
        theirs = {tool.name for tool in self._question.tools}
        calls = list(message.tool_calls or ())
        handed = [call for call in calls if call.tool_name in theirs]
        for call in handed:
            self._handed_over = True
            self._tell(ClientCall(call.tool_name, _arguments(call)))
        if not handed:
            return message
        own = [call for call in calls if call.tool_name not in theirs]
        return message.model_copy(update={"tool_calls": own or None})


def _arguments(call: ToolCall) -> str:
    arguments = {} if call.input_args is None else call.input_args
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


class _Listener:
    """Tells what the agent says. What it says before and after a step of its own is parted by a space."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._reply_id: str | None = None
        self._streamed: set[str] = set()
        self.usage = TokenUsage()

    async def record(self, event: AgentEvent) -> None:
        """See ``Subscriber``."""
        match event:
            case TextDelta(text, reply_id):
                self._streamed.add(reply_id)
                self._say(text, reply_id)
            case ModelResponse(text, reply_id):
                if reply_id not in self._streamed:
                    self._say(text, reply_id)
            case TokenConsumption(consumption):
                self.usage = self.usage + consumption
            case _:
                pass

    def _say(self, text: str, reply_id: str) -> None:
        if not text:
            return
        apart = self._reply_id is not None and reply_id != self._reply_id
        self._reply_id = reply_id
        self._tell(TextPiece(f" {text}" if apart else text))
