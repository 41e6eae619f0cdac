"""One answer: from a question to words, sound and calls, or to an end before that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Protocol

import structlog

from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.core.messages import TokenUsage
from agents.core.model import ToolSpec
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault, as_voice_error
from realtime.serving.codec import AnyFormat
from realtime.serving.contract import ClientCall, Engine, Question, TextPiece
from realtime.serving.items import Item, language_of, messages_of, new_id
from realtime.serving.limits import Limits
from realtime.serving.output import MessageOutput, tell_call
from realtime.serving.speaking import Speaking

log = structlog.get_logger(__name__)

CHARS_PER_TOKEN = 4
"""How ``max_output_tokens`` is counted: the mind's own tokens are known only when it has finished."""


class ResponseState(Enum):
    """How far an answer is."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class Plan:
    """What an answer shall be.

    Attributes:
        instructions: for the mind; empty for its own.
        items: what there is to answer.
        tools: the client's.
        own_tools: whether the mind may use its own.
        modality: whether it is spoken.
        sound: how the sound is sent.
        voice: as the client calls it.
        max_tokens: how long it may be; None for as long as it is.
        in_conversation: whether its items become part of the conversation.
        metadata: the client's.
    """

    instructions: str
    items: Sequence[Item]
    tools: tuple[ToolSpec, ...]
    own_tools: bool
    modality: Literal["audio", "text"]
    sound: AnyFormat
    voice: str
    max_tokens: int | None
    in_conversation: bool
    metadata: dict[str, str] | None


@dataclass(frozen=True)
class _Thought:
    """The mind has finished."""

    usage: TokenUsage


@dataclass(frozen=True)
class _Failed:
    """It could not."""

    fault: GloveError


_Event = TextPiece | ClientCall | TtsEvent | _Thought | _Failed


class Audience(Protocol):
    """Whom an answer is given to: its session."""

    def put(self, event: dict[str, Any]) -> None:
        """Send an event."""
        ...

    async def room(self) -> None:
        """Wait until more may be sent."""
        ...

    def keep(self, item: Item) -> None:
        """``item`` is part of the conversation now."""
        ...

    def kept(self, item: Item) -> None:
        """``item`` is whole."""
        ...

    def over(self, response: Response) -> None:
        """The answer has ended."""
        ...


class Response:
    """An answer. ``start`` has it made, ``cancel`` ends it at once: nothing is told of it afterwards.

    Args:
        plan: what it shall be.
        engine: thinks and speaks.
        audience: its session.
        limits: of the session.
    """

    def __init__(self, plan: Plan, engine: Engine, audience: Audience, limits: Limits) -> None:
        self.id = new_id("resp")
        self.plan = plan
        self.state = ResponseState.IN_PROGRESS
        self._engine = engine
        self._audience = audience
        self._limits = limits
        self._events: asyncio.Queue[_Event] = asyncio.Queue()
        self._items: list[Item] = []
        self._calls: list[ClientCall] = []
        self._message: MessageOutput | None = None
        self._speaking: Speaking | None = None
        self._language = engine.language
        self._usage: TokenUsage | None = None
        self._chars = 0
        self._written = False
        self._outcome: tuple[ResponseState, dict[str, Any] | None] = (ResponseState.COMPLETED, None)
        self._task: asyncio.Task[None] | None = None

    @property
    def active(self) -> bool:
        """Whether it is under way."""
        return self.state is ResponseState.IN_PROGRESS

    def start(self, scope: Scope) -> None:
        """Say that it begins, and make it as a child of ``scope``."""
        self._audience.put({"type": "response.created", "response": self.told()})
        self._task = scope.spawn(self._run(), "answer")

    def cancel(self, reason: Literal["client_cancelled", "turn_detected"]) -> None:
        """End it now. Idempotent."""
        self._end(ResponseState.CANCELLED, {"type": "cancelled", "reason": reason})
        if self._task is not None:
            self._task.cancel()

    def told(self) -> dict[str, Any]:
        """The answer as clients see it."""
        plan = self.plan
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": self.state.value,
            "status_details": None,
            "output": [item.told() for item in self._items],
            "conversation_id": "conv_session" if plan.in_conversation else None,
            "output_modalities": [plan.modality],
            "max_output_tokens": "inf" if plan.max_tokens is None else plan.max_tokens,
            "audio": {"output": {"format": plan.sound.model_dump(), "voice": plan.voice}},
            "usage": self._told_usage(),
            "metadata": plan.metadata,
        }

    def tell(self, kind: str, **fields: Any) -> None:
        """See ``Teller``."""
        self._audience.put({"type": f"response.{kind}", "response_id": self.id, **fields})

    def keep(self, item: Item) -> None:
        """See ``Teller``."""
        self._items.append(item)
        if self.plan.in_conversation:
            self._audience.keep(item)

    def kept(self, item: Item) -> None:
        """See ``Teller``."""
        if self.plan.in_conversation:
            self._audience.kept(item)

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(self._limits.answer_s) as patience:
                await self._answer(patience)
        except TimeoutError:
            self._fail(GloveError("ERR_SERVE_SLOW", "The answer took too long.", "Ask again."))
        except GloveError as fault:
            self._fail(fault)

    async def _answer(self, patience: asyncio.Timeout) -> None:
        items = list(self.plan.items)
        for item in items:
            await item.known.wait()
        self._language = language_of(items, self._engine.language)
        if items and items[-1].is_silent:
            # Nothing was said after all; whoever waits for an answer is told that there is none.
            self._end(ResponseState.COMPLETED)
            return
        thinking = asyncio.ensure_future(self._think(items))
        try:
            while self.active:
                await self._take(await self._events.get())
                patience.reschedule(asyncio.get_running_loop().time() + self._limits.answer_s)
                await self._audience.room()
        finally:
            thinking.cancel()
            await asyncio.wait({thinking})
            if self._speaking is not None:
                await self._speaking.close()

    async def _think(self, items: Sequence[Item]) -> None:
        plan = self.plan
        question = Question(plan.instructions, messages_of(items), plan.tools, plan.own_tools, self._language)
        try:
            usage = await self._engine.mind.answer(question, self._events.put_nowait)
        except GloveError as fault:
            self._events.put_nowait(_Failed(fault))
        except Exception as fault:
            log.exception("the mind failed")
            self._events.put_nowait(_Failed(GloveError("ERR_SERVE_MIND", "The answer failed.", "Ask again.", fault)))
        else:
            self._events.put_nowait(_Thought(usage))

    async def _take(self, event: _Event) -> None:
        match event:
            case TextPiece(text):
                await self._write(text)
            case ClientCall():
                self._calls.append(event)
            case AudioChunk():
                message, speaking = self._speech()
                message.play(speaking.sound(event))
            case PieceDone():
                self._speech()[1].spoken(event)
            case _Thought(usage):
                self._usage = usage
                self._all_written()
            case TtsDone():
                message, speaking = self._speech()
                message.play(speaking.rest())
                self._end(*self._outcome)
            case TtsFault(error):
                raise as_voice_error(error)
            case _Failed(fault):
                raise fault
            case _:
                pass

    async def _write(self, text: str) -> None:
        if not text or self._written:
            return
        if self._message is None:
            self._message = await self._begin_message()
        room = self._room_for_text()
        self._chars += min(room, len(text))
        self._message.write(text[:room])
        if self._speaking is not None:
            self._speaking.say(text[:room])
        if len(text) > room:
            self._outcome = ResponseState.INCOMPLETE, {"type": "incomplete", "reason": "max_output_tokens"}
            self._all_written()

    async def _begin_message(self) -> MessageOutput:
        plan = self.plan
        message = MessageOutput(self, len(self._items), plan.modality, plan.sound, self._language)
        self._message = message
        if plan.modality == "audio":
            self._speaking = Speaking(self._engine.voices, self._language, message.speech, self._events.put_nowait)
            await self._speaking.open()
        return message

    def _room_for_text(self) -> int:
        most = self._limits.text_chars
        if self.plan.max_tokens is not None:
            most = min(most, self.plan.max_tokens * CHARS_PER_TOKEN)
        return most - self._chars

    def _all_written(self) -> None:
        """There will be no more words; what was written is still to be spoken."""
        if self._written:
            return
        self._written = True
        if self._speaking is None:
            self._end(*self._outcome)
        else:
            self._speaking.end()

    def _speech(self) -> tuple[MessageOutput, Speaking]:
        assert self._message is not None and self._speaking is not None
        return self._message, self._speaking

    def _fail(self, fault: GloveError) -> None:
        log.warning("an answer failed", code=fault.code, error=fault.message)
        self._end(ResponseState.FAILED, {"type": "failed", "error": {"type": "server_error", "code": fault.code}})

    def _end(self, state: ResponseState, details: dict[str, Any] | None = None) -> None:
        """The one way out: everything that is open is closed, and told."""
        if not self.active:
            return
        whole = state is ResponseState.COMPLETED
        message, self._message = self._message, None
        if message is not None:
            message.end(whole=whole)
        if whole:
            for call in self._calls:
                item = Item("function_call", call_id=new_id("call"), name=call.name, arguments=call.arguments)
                tell_call(self, len(self._items), item)
        self.state = state
        self._audience.put({"type": "response.done", "response": {**self.told(), "status_details": details}})
        self._audience.over(self)

    def _told_usage(self) -> dict[str, Any] | None:
        if self.active:
            return None
        usage = self._usage or TokenUsage()
        cached = usage.cache_read_input_tokens
        return {
            "total_tokens": usage.tokens_in + usage.tokens_out,
            "input_tokens": usage.tokens_in,
            "output_tokens": usage.tokens_out,
            "input_token_details": {"text_tokens": usage.tokens_in, "audio_tokens": 0, "cached_tokens": cached},
            "output_token_details": {"text_tokens": usage.tokens_out, "audio_tokens": 0},
        }
