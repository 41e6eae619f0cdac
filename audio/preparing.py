"""Preparing the answer to a turn that the user has most likely finished, while it is waited whether they go on.

The model is asked ahead; nothing is spoken, stored or done before the turn is committed, and only if the same words
are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import structlog

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.base.scope import Scope

log = structlog.get_logger(__name__)

LONGEST_S = 10.0
"""How long a prepared answer waits for its turn."""


@runtime_checkable
class Foreseeing(Protocol):
    """An agent whose model can be asked ahead; ``agents.core.glove.Glove`` is one."""

    async def rehearse(self, request: str, abort: AbortToken, *, language: str | None = None) -> bool:
        """Ask ahead. Returns, once that is settled, whether the call was the one that ``request`` needed."""
        ...


class Preparation:
    """At most one answer ahead of its turn.

    Args:
        agent: is asked; one that cannot be asked ahead prepares nothing.
        scope: owns what is under way.
        report: called with whether a prepared answer was used, once for each.
    """

    def __init__(self, agent: object, scope: Scope, report: Callable[[bool], None]) -> None:
        self._agent = agent if isinstance(agent, Foreseeing) else None
        self._scope = scope
        self._report = report
        self._words: tuple[str, str] | None = None
        self._token: AbortToken | None = None
        self._expiry: asyncio.TimerHandle | None = None

    def begin(self, text: str, language: str) -> None:
        """``text`` will most likely be the turn."""
        if self._agent is None or self._words == (text, language):
            return
        self.drop()
        self._words, self._token = (text, language), AbortToken()
        self._expiry = asyncio.get_running_loop().call_later(LONGEST_S, self.drop)
        self._scope.spawn(self._ask(self._agent, text, language, self._token), "prepare")

    def drop(self) -> None:
        """The user went on: what was prepared is thrown away."""
        token = self._release()
        if token is not None:
            token.abort("the user went on")

    def commit(self, text: str, language: str) -> AbortToken | None:
        """The turn is committed. Returns what ends the answer that was prepared for it, if there is one."""
        if self._words != (text, language):
            self.drop()
        return self._release()

    def _release(self) -> AbortToken | None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        token, self._token, self._words = self._token, None, None
        return token

    async def _ask(self, agent: Foreseeing, text: str, language: str, token: AbortToken) -> None:
        try:
            used = await agent.rehearse(text, token, language=language)
        except Aborted:
            used = False
        except GloveError as fault:
            log.info("an answer could not be prepared; it is asked for when it counts", code=fault.code)
            used = False
        self._report(used)
