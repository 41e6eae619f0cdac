"""Whether a tool may run: the store remembers, the user is asked once per tool and input, silence means no."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import structlog

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.base.language import translated
from agents.core.display import DisplayManager, QuestionClosed, Unanswered
from agents.core.store import StoreAdapter
from agents.core.tool import Tool

log = structlog.get_logger(__name__)

RENDERER = "permission_request"
ANSWER_LIMIT_S = 30.0
"""Seconds the user has to answer; after that the call, and only that call, is denied."""


@dataclass(frozen=True)
class Verdict:
    """The answer to one question of permission.

    When it is no, ``reason`` is for a model, and ``speech`` for the user where no model phrases the answer.
    """

    allowed: bool
    reason: str = ""
    speech: str | None = None


ALLOWED = Verdict(True)

_SAID = ""
"""Whoever gives a question up has told the user so; nothing is left to say."""

_LEFT_ALONE = {
    "en": "All right, I will leave it.",
    "de": "Gut, ich lasse es.",
    "fr": "D'accord, je laisse cela.",
    "es": "De acuerdo, lo dejo.",
    "ja": "わかりました、やめておきます。",
}


class Permissions:
    """The gate in front of tools.

    The gate sees the model's raw input, before validation. An answer given by the user is remembered for this tool with
    this input; a question that was withdrawn or not answered denies this one call and is not remembered.
    """

    def __init__(self, store: StoreAdapter, answer_limit_s: float = ANSWER_LIMIT_S) -> None:
        self._store = store
        self._answer_limit_s = answer_limit_s

    async def check(
        self, tool: Tool[Any], raw_input: Any, display: DisplayManager, abort: AbortToken, language: str = "en"
    ) -> Verdict:
        """Decide about one call. ``language``: what the user is spoken to in, if the answer is no.

        Raises ``Aborted`` when the turn is aborted while the question is open.
        """
        verdict = await self._decide(tool, raw_input, display, abort)
        if verdict.allowed or verdict.speech is not None:
            return verdict
        return replace(verdict, speech=translated(_LEFT_ALONE, language))

    async def _decide(self, tool: Tool[Any], raw_input: Any, display: DisplayManager, abort: AbortToken) -> Verdict:
        gate = tool.requires_permission
        required = gate(raw_input) if callable(gate) else gate
        if not required or "permissions" not in self._store.supports:
            return ALLOWED
        status = await self._store.get_permission(tool.name, raw_input)
        if status == "granted":
            return ALLOWED
        if status == "denied":
            return Verdict(False, f"Permission for {tool.name} was denied earlier.")
        return await self._ask(tool, raw_input, display, abort)

    async def _ask(self, tool: Tool[Any], raw_input: Any, display: DisplayManager, abort: AbortToken) -> Verdict:
        question = {"renderer": RENDERER, "toolName": tool.name, "toolInput": raw_input}
        try:
            answer = await display.ask(RENDERER, question, abort=abort, timeout_s=self._answer_limit_s)
        except Aborted:
            abort.check()
            return Verdict(False, f"The question for permission to run {tool.name} was withdrawn.")
        except Unanswered:
            log.info("permission not answered", tool=tool.name, limit_s=self._answer_limit_s)
            return Verdict(False, f"Nobody answered the question for permission to run {tool.name}.", _SAID)
        except QuestionClosed as closed:
            log.info("permission question closed", tool=tool.name, error=closed.code)
            # Whoever will not answer is told what comes of it; of any other end the room has told already.
            speech = None if closed.code == "ERR_SLOT_REJECTED" else _SAID
            return Verdict(False, f"The question for permission to run {tool.name} was refused. {closed}", speech)
        except GloveError as refusal:
            log.info("permission question refused", tool=tool.name, error=refusal.code)
            return Verdict(False, f"The question for permission to run {tool.name} was refused.")
        await self._store.set_permission(tool.name, "granted" if answer.value else "denied", raw_input)
        if answer.value:
            return ALLOWED
        words = f" They said: {answer.said!r}." if answer.said else ""
        return Verdict(False, f"The user denied permission to run {tool.name}.{words}")
