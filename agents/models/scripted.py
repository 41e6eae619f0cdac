"""A model that says what it was told to: for tests, demonstrations, and benchmarks with a simulated provider.

Scripts are strict: a call without a scripted reply fails, a call that is not the one a reply was written for fails, and
``assert_finished`` fails if there was such a call, even if its failure was swallowed, or while replies are left.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from agents.base.abort import AbortToken
from agents.base.errors import GloveError
from agents.core.events import ModelResponse, ModelResponseComplete, TextDelta, ToolUse
from agents.core.messages import Message, ModelResult, TokenUsage, ToolCall
from agents.core.model import Notify, PromptRequest


@dataclass(frozen=True)
class Say:
    """Text, streamed in tokens (words with the space that follows), or as one delta with ``whole``.

    ``delay_s`` passes before the first of them.
    """

    text: str
    delay_s: float = 0.0
    whole: bool = False


@dataclass(frozen=True)
class Call:
    """A tool call; ``id`` is generated when None."""

    tool_name: str
    input_args: Any = None
    id: str | None = None
    delay_s: float = 0.0


@dataclass(frozen=True)
class Fail:
    """The provider fails with ``error``."""

    error: Exception
    delay_s: float = 0.0


@dataclass(frozen=True)
class Hang:
    """The provider says nothing more until the turn is aborted."""


Step = Say | Call | Fail | Hang
PlainReply = str | Step | Sequence[Step]


@dataclass(frozen=True)
class When:
    """A reply to one particular request; another one in its place fails.

    Attributes:
        asks: text that the newest message must contain, or a function that recognises the request.
        reply: what is answered to it.
    """

    asks: str | Callable[[PromptRequest], bool]
    reply: PlainReply

    def fits(self, request: PromptRequest) -> bool:
        """Whether ``request`` is the one."""
        if isinstance(self.asks, str):
            return bool(request.messages) and self.asks in request.messages[-1].text
        return self.asks(request)


Reply = PlainReply | When
Responder = Callable[[PromptRequest], Reply | Awaitable[Reply]]


class ScriptedModel:
    """A ``ModelAdapter`` that follows a script.

    Args:
        replies: one per model call (a plain string is one ``Say``), or a function of the request that never runs out.
        stream: notify deltas; otherwise one ``ModelResponse`` at the end.
        first_token_s: simulated time before the first step of each reply, in seconds.
        tokens_per_s: simulated pace of text; at once when None.
        usage: tokens that each call reports; counted in words when None.
        name: what ``name`` says.

    ``requests`` holds all requests so far, ``unexpected`` those that the script had no reply for. As a context manager
    it asserts on leaving that the script was followed to its end.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Responder = (),
        *,
        stream: bool = True,
        first_token_s: float = 0.0,
        tokens_per_s: float | None = None,
        usage: TokenUsage | None = None,
        name: str = "scripted",
    ) -> None:
        self._responder = replies if callable(replies) else None
        self._replies: list[Reply] = [] if callable(replies) else list(replies)
        self._stream = stream
        self._first_token_s = first_token_s
        self._tokens_per_s = tokens_per_s
        self._usage = usage
        self._name = name
        self.requests: list[PromptRequest] = []
        self.unexpected: list[PromptRequest] = []

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def remaining(self) -> int:
        """Scripted replies not yet given."""
        return len(self._replies)

    def add(self, *replies: Reply) -> None:
        """Append replies to the script."""
        self._replies.extend(replies)

    def assert_finished(self) -> None:
        """Raise ``AssertionError`` if a request was not expected, or scripted replies are left."""
        if self.unexpected:
            raise AssertionError(f"{len(self.unexpected)} unexpected requests, the first: {_told(self.unexpected[0])}")
        if self._replies:
            raise AssertionError(f"{self.remaining} scripted replies were not used, the next is {self._replies[0]!r}")

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_finished()

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Give the next scripted reply.

        Raises ``GloveError``: ``ERR_SCRIPT_EXHAUSTED`` if there is none, ``ERR_SCRIPT_MISMATCH`` if it is the reply to
        another request.
        """
        self.requests.append(request)
        abort.check()
        return await abort.race(self._play(await self._next(request), request, notify, abort))

    async def _next(self, request: PromptRequest) -> PlainReply:
        if self._responder is not None:
            answer = self._responder(request)
            reply = await answer if inspect.isawaitable(answer) else answer
        elif self._replies:
            reply = self._replies.pop(0)
        else:
            self.unexpected.append(request)
            raise GloveError(
                "ERR_SCRIPT_EXHAUSTED", f"Model call {len(self.requests)} has no scripted reply.", "Extend the script."
            )
        if not isinstance(reply, When):
            return reply
        if not reply.fits(request):
            self.unexpected.append(request)
            raise GloveError(
                "ERR_SCRIPT_MISMATCH",
                f"Model call {len(self.requests)} is not the scripted one, {reply.asks!r}: {_told(request)}",
                "Correct the script, or what led to this request.",
            )
        return reply.reply

    async def _play(self, reply: PlainReply, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        await _pause(self._first_token_s)
        text = ""
        calls: list[ToolCall] = []
        for step in _steps(reply):
            match step:
                case Say():
                    await _pause(step.delay_s)
                    text += step.text
                    await self._say(step, request, notify)
                case Call():
                    await _pause(step.delay_s)
                    call_id = step.id or f"call_{len(self.requests)}_{len(calls) + 1}"
                    calls.append(ToolCall(tool_name=step.tool_name, input_args=step.input_args, id=call_id))
                    if self._stream:
                        await notify(ToolUse(call_id, step.tool_name, step.input_args))
                case Fail():
                    await _pause(step.delay_s)
                    raise step.error
                case Hang():
                    await _until_aborted(abort)
        stop_reason = "tool_use" if calls else "end_turn"
        ending = ModelResponseComplete if self._stream else ModelResponse
        await notify(ending(text, request.reply_id, tuple(calls), stop_reason))
        message = Message(sender="agent", text=text, id=request.reply_id, tool_calls=calls or None)
        return ModelResult(messages=[message], usage=self._usage or _counted(request, text), stop_reason=stop_reason)

    async def _say(self, step: Say, request: PromptRequest, notify: Notify) -> None:
        if not self._stream:
            return
        for index, token in enumerate([step.text] if step.whole else tokens(step.text)):
            if index and self._tokens_per_s:
                await _pause(1 / self._tokens_per_s)
            await notify(TextDelta(token, request.reply_id))


def tokens(text: str) -> list[str]:
    """``text`` in pieces that end after the white space behind a word; joined they are ``text`` again."""
    return re.findall(r"\s*\S+\s*|\s+", text)


def _steps(reply: PlainReply) -> Sequence[Step]:
    if isinstance(reply, str):
        return (Say(reply),)
    return reply if isinstance(reply, Sequence) else (reply,)


def _told(request: PromptRequest) -> str:
    return repr(request.messages[-1].text) if request.messages else "no message at all"


def _counted(request: PromptRequest, text: str) -> TokenUsage:
    tokens_in = len(tokens(request.system_prompt)) + sum(len(tokens(message.text)) for message in request.messages)
    return TokenUsage(tokens_in=tokens_in, tokens_out=len(tokens(text)))


async def _pause(seconds: float) -> None:
    if seconds > 0:
        await asyncio.sleep(seconds)


async def _until_aborted(abort: AbortToken) -> None:
    await abort.race(asyncio.Event().wait())
