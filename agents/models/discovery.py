"""Model servers on this machine: found by what they say about themselves, and offered, never used unasked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import structlog

from agents.base.clock import real_time_work

log = structlog.get_logger(__name__)

TIMEOUT_S = 0.5
"""How long a server on this machine may take to introduce itself, in seconds."""

_LONGEST_ANSWER = 1_000_000


@dataclass(frozen=True)
class Offer:
    """A model server that could be used.

    Attributes:
        provider: id for ``create_adapter`` and for ``model.provider``.
        base_url: its address.
        models: ids of the models that it has, at least one.
        server: what it is, for people.
    """

    provider: str
    base_url: str
    models: tuple[str, ...]
    server: str


@dataclass(frozen=True)
class Signature:
    """How one kind of server is recognised.

    Attributes:
        server: what it is called.
        provider: the provider to use it as.
        port: where it listens on the loopback interface.
        path: what is asked, with GET; the only request that is ever sent.
        api: where its Chat Completions are.
        models: the ids of its models out of the answer, or None if some other program answered.
    """

    server: str
    provider: str
    port: int
    path: str
    api: str
    models: Callable[[dict[str, Any]], list[str] | None]


async def find_local_servers(
    signatures: Sequence[Signature] | None = None, timeout_s: float = TIMEOUT_S
) -> list[Offer]:
    """Ask the usual ports of this machine, all at once, who is there.

    Each gets one GET request that says nothing about anybody. A port where nobody or somebody else answers, or where no
    model is loaded, is no offer.

    Args:
        signatures: what to look for; ``SIGNATURES`` when None.
        timeout_s: how long each may take.

    Returns:
        The servers found, in the order of ``signatures``.
    """
    import httpx

    limits = httpx.Timeout(timeout_s)
    # Straight to the loopback interface: a proxy would be another machine.
    async with httpx.AsyncClient(timeout=limits, trust_env=False, follow_redirects=False) as client:
        wanted = SIGNATURES if signatures is None else signatures
        with real_time_work():
            found = await asyncio.gather(*(_ask(client, signature, timeout_s) for signature in wanted))
    return [offer for offer in found if offer is not None]


async def _ask(client: Any, signature: Signature, timeout_s: float) -> Offer | None:
    import httpx

    root = f"http://127.0.0.1:{signature.port}"
    try:
        async with asyncio.timeout(timeout_s):
            answer = await _get(client, f"{root}{signature.path}")
    except (httpx.HTTPError, OSError, TimeoutError, ValueError) as nobody:
        log.debug("no model server", server=signature.server, port=signature.port, why=type(nobody).__name__)
        return None
    models = signature.models(answer)
    if not models:
        log.debug("no model offered", server=signature.server, port=signature.port, recognised=models is not None)
        return None
    return Offer(signature.provider, f"{root}{signature.api}", tuple(models), signature.server)


async def _get(client: Any, url: str) -> dict[str, Any]:
    """The JSON object at ``url``. Raises ``ValueError`` for anything else."""
    body = bytearray()
    async with client.stream("GET", url, headers={"accept": "application/json"}) as response:
        if response.status_code != 200:
            raise ValueError(f"status {response.status_code}")
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _LONGEST_ANSWER:
                raise ValueError("too long")
    value = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return cast("dict[str, Any]", value)


def _rows(answer: dict[str, Any], field: str) -> list[dict[str, Any]] | None:
    rows = answer.get(field)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in cast("list[Any]", rows)):
        return None
    return cast("list[dict[str, Any]]", rows)


def _ollama(answer: dict[str, Any]) -> list[str] | None:
    """Ollama lists its models with their digests; its imitators leave those empty."""
    rows = _rows(answer, "models")
    if rows is None or not all(row.get("digest") for row in rows):
        return None
    return [str(row["name"]) for row in rows if row.get("name")]


def _lmstudio(answer: dict[str, Any]) -> list[str] | None:
    """LM Studio's own list says of each model what type it is and whether it is loaded."""
    rows = _rows(answer, "data")
    if rows is None or not all({"id", "type", "state"} <= row.keys() for row in rows):
        return None
    return [str(row["id"]) for row in rows if row["type"] in ("llm", "vlm")]


def _llama_server(answer: dict[str, Any]) -> list[str] | None:
    """llama.cpp's server signs each model of its list."""
    rows = _rows(answer, "data")
    if not rows or any(row.get("owned_by") != "llamacpp" for row in rows):
        return None
    return [str(row["id"]) for row in rows if row.get("id")]


SIGNATURES: tuple[Signature, ...] = (
    Signature("Ollama", "ollama", 11434, "/api/tags", "/v1", _ollama),
    Signature("LM Studio", "lmstudio", 1234, "/api/v0/models", "/v1", _lmstudio),
    Signature("llama-server", "openai-compat", 8080, "/v1/models", "/v1", _llama_server),
)
"""The servers that are looked for."""
