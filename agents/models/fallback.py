"""When the model cannot be reached, the appliance answers by itself, says so once, and goes on trying."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import Enum, auto
from typing import cast

import structlog

from agents.base import clock
from agents.base.abort import AbortToken
from agents.base.backoff import Backoff
from agents.base.errors import GloveError
from agents.base.language import translated
from agents.core.events import AgentEvent, ModelProgress, ModelResponse, ModelResponseComplete, TextDelta
from agents.core.messages import Message, ModelResult
from agents.core.model import ModelAdapter, Notify, PromptRequest

log = structlog.get_logger(__name__)

FIRST_TOKEN_S = 8.0
"""How long a model may be silent before it counts as unreachable, in seconds."""

NOTICE_EVERY_S = 30.0
"""Shortest time between two notices, whatever happens in between, in seconds."""

TROUBLE = ("ERR_MODEL_UNREACHABLE", "ERR_MODEL_RATE_LIMIT", "ERR_MODEL_AUTH")
"""Faults that are not the fault of the question."""

_NOTICES = {
    "ERR_MODEL_UNREACHABLE": {
        "en": "I cannot reach my language model, so I answer by myself.",
        "de": "Ich erreiche mein Sprachmodell nicht, deshalb antworte ich selbst.",
        "es": "No puedo conectar con mi modelo de lenguaje, así que respondo por mi cuenta.",
        "fr": "Je n'arrive pas à joindre mon modèle de langage, je réponds donc seul.",
        "it": "Non riesco a raggiungere il mio modello linguistico, quindi rispondo da solo.",
        "pt": "Não consigo contactar o meu modelo de linguagem, por isso respondo sozinho.",
        "ja": "言語モデルに接続できないので、自分だけでお答えします。",
    },
    "ERR_MODEL_RATE_LIMIT": {
        "en": "My language model takes no more questions right now, so I answer by myself.",
        "de": "Mein Sprachmodell nimmt gerade keine Fragen mehr an, deshalb antworte ich selbst.",
        "es": "Mi modelo de lenguaje no acepta más preguntas ahora, así que respondo por mi cuenta.",
        "fr": "Mon modèle de langage n'accepte plus de questions pour l'instant, je réponds donc seul.",
        "it": "Il mio modello linguistico ora non accetta altre domande, quindi rispondo da solo.",
        "pt": "O meu modelo de linguagem não aceita mais perguntas agora, por isso respondo sozinho.",
        "ja": "言語モデルが今は混み合っているので、自分だけでお答えします。",
    },
    "ERR_MODEL_AUTH": {
        "en": "My language model does not accept my key, so I answer by myself.",
        "de": "Mein Sprachmodell nimmt meinen Schlüssel nicht an, deshalb antworte ich selbst.",
        "es": "Mi modelo de lenguaje no acepta mi clave, así que respondo por mi cuenta.",
        "fr": "Mon modèle de langage refuse ma clé, je réponds donc seul.",
        "it": "Il mio modello linguistico non accetta la mia chiave, quindi rispondo da solo.",
        "pt": "O meu modelo de linguagem não aceita a minha chave, por isso respondo sozinho.",
        "ja": "言語モデルに鍵が受け付けられないので、自分だけでお答えします。",
    },
}


class Health(Enum):
    """How things stand with the primary model."""

    GOOD = auto()
    TROUBLED = auto()
    TRYING = auto()


_MOVES = {
    Health.GOOD: {Health.TROUBLED},
    Health.TROUBLED: {Health.TRYING, Health.GOOD},
    Health.TRYING: {Health.GOOD, Health.TROUBLED},
}


class FallbackModel:
    """A ``ModelAdapter`` that asks ``primary`` and lets ``fallback`` answer where that has trouble.

    The fallback answers only if the primary has said nothing yet; two answers are never mixed. After trouble the
    primary is left alone for a while, then one request tries it again. The first answer of the fallback in a time of
    trouble begins with a sentence that says so.

    Args:
        primary: the model in force.
        fallback: answers without it.
        first_token_s: how long the primary may be silent, in seconds; signs of work count.
        backoff: how long the primary is left alone after each failure.
        on_change: told when the health changes, with the fault behind it or None.
    """

    def __init__(
        self,
        primary: ModelAdapter,
        fallback: ModelAdapter,
        *,
        first_token_s: float = FIRST_TOKEN_S,
        backoff: Backoff | None = None,
        on_change: Callable[[Health, GloveError | None], None] | None = None,
    ) -> None:
        self._primary = primary
        self._fallback = fallback
        self._first_token_s = first_token_s
        self._backoff = backoff or Backoff(first_s=5.0, cap_s=300.0)
        self._on_change = on_change
        self._health = Health.GOOD
        self._fault: GloveError | None = None
        self._retry_at = 0.0
        self._notice_due = True
        self._noticed_at: float | None = None

    @property
    def name(self) -> str:
        """The name of the primary, which is the model in force."""
        return self._primary.name

    @property
    def primary(self) -> ModelAdapter:
        """The model in force."""
        return self._primary

    @property
    def fallback(self) -> ModelAdapter:
        """Who answers in times of trouble."""
        return self._fallback

    @property
    def health(self) -> Health:
        """How things stand with the primary."""
        return self._health

    @property
    def fault(self) -> GloveError | None:
        """What the trouble is; None in good health."""
        return self._fault

    async def warm(self) -> None:
        """Load what the models need before the first question. Raises what they raise."""
        for model in (self._primary, self._fallback):
            await _if_there(model, "warm")

    async def close(self) -> None:
        """Close both models' connections; idempotent."""
        for model in (self._primary, self._fallback):
            await _if_there(model, "close")

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request``.

        Raises what the primary raises once it has begun to answer, or for a fault of the request itself; what the
        fallback raises; and ``Aborted``.
        """
        abort.check()
        if not self._may_try():
            return await self._alone(request, notify, abort)
        gate = _Gate(notify)
        try:
            result = await self._try(request, gate, abort)
        except GloveError as fault:
            if fault.code not in TROUBLE:
                self._give_way(None)
                raise
            if gate.begun:
                # It answers, or did a moment ago: the next question may ask it again.
                self._give_way(None)
                raise
            self._give_way(fault)
            return await self._alone(request, notify, abort)
        except BaseException:
            self._unfinished()
            raise
        self._give_way(None)
        return result

    def _may_try(self) -> bool:
        """Whether this request asks the primary. After trouble, one at a time may, when it is time again."""
        if self._health is Health.GOOD:
            return True
        if self._health is Health.TRYING or clock.now() < self._retry_at:
            return False
        self._move(Health.TRYING)
        return True

    async def _try(self, request: PromptRequest, gate: _Gate, abort: AbortToken) -> ModelResult:
        limit = gate.limit = asyncio.timeout(self._first_token_s)
        try:
            async with limit:
                return await self._primary.prompt(request, gate.notify, abort)
        except TimeoutError:
            if not limit.expired():
                raise
            raise GloveError(
                "ERR_MODEL_UNREACHABLE",
                f"The model was silent for {self._first_token_s:g} seconds.",
                "Check the network, or choose a faster model.",
            ) from None
        finally:
            gate.close()

    async def _alone(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        notice = self._notice(request.language or "en")
        if not notice:
            return await self._fallback.prompt(request, notify, abort)
        preface = _Preface(notice, notify, request.reply_id)
        return preface.applied(await self._fallback.prompt(request, preface.notify, abort))

    def _notice(self, language: str) -> str:
        """The sentence about the trouble, once per time of trouble and not too often; else empty."""
        now = clock.now()
        if not self._notice_due or (self._noticed_at is not None and now - self._noticed_at < NOTICE_EVERY_S):
            return ""
        self._notice_due, self._noticed_at = False, now
        variants = _NOTICES.get(self._fault.code if self._fault is not None else "", _NOTICES[TROUBLE[0]])
        return translated(variants, language)

    def _give_way(self, fault: GloveError | None) -> None:
        """The primary has answered (None), or could not."""
        if fault is None:
            self._backoff.reset()
            self._notice_due = True
            if self._health is not Health.GOOD:
                self._move(Health.GOOD)
            return
        delay_s = self._backoff.next_delay()
        self._retry_at = clock.now() + delay_s
        log.warning("answering without the model", model=self.name, code=fault.code, again_in_s=round(delay_s, 1))
        if self._health is not Health.TROUBLED:
            self._move(Health.TROUBLED, fault)

    def _unfinished(self) -> None:
        """A try was given up by the user: nothing is known, the next request may try again."""
        if self._health is Health.TRYING:
            self._move(Health.TROUBLED, self._fault)

    def _move(self, health: Health, fault: GloveError | None = None) -> None:
        if health not in _MOVES[self._health]:
            raise RuntimeError(f"a model cannot go from {self._health} to {health}")
        self._health = health
        self._fault = self._fault if health is Health.TRYING else fault
        if self._on_change is not None:
            self._on_change(health, self._fault)


class _Gate:
    """Lets the primary's events through until it has been given up, and notices the first."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._open = True
        self.begun = False
        self.limit: asyncio.Timeout | None = None

    async def notify(self, event: AgentEvent) -> None:
        """Pass ``event`` on, if this answer still counts."""
        if not self._open or (self.limit is not None and self.limit.expired()):
            return
        if self.limit is not None:
            self.limit.reschedule(None)
            self.limit = None
        self.begun = self.begun or not isinstance(event, ModelProgress)
        await self._notify(event)

    def close(self) -> None:
        """Let nothing more through."""
        self._open = False


class _Preface:
    """Puts a sentence before an answer, in its events and in its message alike."""

    def __init__(self, notice: str, notify: Notify, reply_id: str) -> None:
        self._notice = notice
        self._notify = notify
        self._reply_id = reply_id
        self._said = False

    async def notify(self, event: AgentEvent) -> None:
        """Pass ``event`` on, with the sentence before the first words."""
        if isinstance(event, ModelResponse):
            await self._notify(replace(event, text=self._with(event.text)))
            return
        if not self._said and not isinstance(event, ModelProgress):
            self._said = True
            await self._notify(TextDelta(f"{self._notice} ", self._reply_id))
        if isinstance(event, ModelResponseComplete):
            event = replace(event, text=self._with(event.text))
        await self._notify(event)

    def applied(self, result: ModelResult) -> ModelResult:
        """``result`` with the sentence in its first agent message."""
        messages = list(result.messages) or [Message(sender="agent", id=self._reply_id)]
        first = messages[0]
        messages[0] = first.model_copy(update={"text": self._with(first.text)})
        return result.model_copy(update={"messages": messages})

    def _with(self, text: str) -> str:
        return f"{self._notice} {text}".rstrip()


async def _if_there(model: ModelAdapter, method: str) -> None:
    """Call an optional coroutine method without arguments."""
    found = cast("Callable[[], Awaitable[object]] | None", getattr(model, method, None))
    if found is not None:
        await found()
