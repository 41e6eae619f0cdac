"""A scorer of finished turns behind HTTP: ``POST {"transcript", "context"}`` answered by ``{"probability"}``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from agents.base.errors import ConfigError


class _Answer(BaseModel):
    probability: float


class RemoteScorer:
    """Asks a server.

    Args:
        url: ``http:`` or ``https:`` address of the scorer.
        headers: sent along, for example an authorisation.
        transport: an httpx transport, for tests.

    Raises:
        ConfigError: ``ERR_TURN_SCORER`` when ``url`` is no such address.
    """

    def __init__(self, url: str, *, headers: dict[str, str] | None = None, transport: Any = None) -> None:
        import httpx

        if not url.startswith(("http://", "https://")):
            raise ConfigError(
                "ERR_TURN_SCORER",
                f"The turn scorer's address {url!r} is neither http nor https.",
                "Set turns.scorer_url to the whole address of the scorer.",
            )
        self._url = url
        self._client = httpx.AsyncClient(headers=headers, transport=transport)

    async def probability(self, text: str, context: tuple[tuple[str, str], ...]) -> float:
        """See ``TextScorer``. Raises httpx's and pydantic's errors; whoever asks sets the limit of time."""
        turns = [{"role": role, "content": content} for role, content in context]
        answer = await self._client.post(self._url, json={"transcript": text, "context": turns}, timeout=None)
        answer.raise_for_status()
        return _Answer.model_validate_json(answer.content).probability

    async def aclose(self) -> None:
        """Let go of the connections; idempotent."""
        await self._client.aclose()
