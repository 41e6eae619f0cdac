"""Hooks: code that the user calls by ``/name`` and that runs before the model sees the message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.extensions.controls import AgentControls
from agents.core.messages import Message

ShortCircuit = str | Message | Sequence[Message]
"""What is answered instead of asking the model: the agent's words, its message, or messages that end with one."""


@dataclass(frozen=True)
class HookInvocation:
    """One call of a hook.

    Attributes:
        name: under which the hook is registered.
        raw_text: what the user wrote.
        parsed_text: the same with markers instead of directives, as far as earlier hooks left it alone.
        controls: the inside of the agent.
        abort: of the turn; an asynchronous hook is cancelled when it fires.
    """

    name: str
    raw_text: str
    parsed_text: str
    controls: AgentControls
    abort: AbortToken


@dataclass(frozen=True)
class HookResult:
    """What a hook wants.

    Attributes:
        rewrite_text: stands in the place of the user's words from here on; what they wrote is kept beside it.
        short_circuit: the answer. The model is not called; later hooks and all skills are left out.
    """

    rewrite_text: str | None = None
    short_circuit: ShortCircuit | None = None


HookHandler = Callable[[HookInvocation], Awaitable[HookResult | None] | HookResult | None]


def answer_messages(answer: ShortCircuit) -> list[Message]:
    """A short circuit's answer as messages of their own.

    Raises ``GloveError`` (``ERR_HOOK_RESULT``) unless the last of them is the agent's and leaves no tool call open.
    """
    if isinstance(answer, str):
        return [Message(sender="agent", text=answer)]
    messages = [answer] if isinstance(answer, Message) else answer
    if not messages or messages[-1].sender != "agent" or messages[-1].tool_calls:
        raise GloveError(
            "ERR_HOOK_RESULT",
            "A hook answered with messages that do not end with words of the agent.",
            "Let the last message be the agent's, without tool calls.",
        )
    return [message.model_copy(deep=True) for message in messages]
