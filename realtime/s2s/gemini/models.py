"""Which models of Gemini can hold a spoken conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from realtime.s2s.contract import S2SError
from realtime.s2s.gemini.adapter import API

log = structlog.get_logger(__name__)

_TIMEOUT_S = 15.0


@dataclass(frozen=True)
class LiveModel:
    """A model; ``name`` is without ``models/``."""

    name: str
    api_version: str
    display_name: str | None = None


class _Listed(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    name: str
    display_name: str | None = None
    supported_generation_methods: list[str] = Field(default_factory=list[str])


class _List(BaseModel):
    models: list[_Listed] = Field(default_factory=list[_Listed])


async def list_gemini_live_models(
    api_key: str,
    *,
    api_versions: Sequence[str] = ("v1beta", "v1alpha"),
    base_url: str = API,
    transport: Any = None,
) -> list[LiveModel]:
    """The models that a session can be opened with, in the order in which the versions are asked.

    Args:
        api_key: sent in a header.
        api_versions: asked one after the other; one that fails does not hide the others.
        base_url: of the interface.
        transport: of ``httpx``; the network when None.

    Raises:
        S2SError: ``ERR_S2S_CONNECTION``, no version answered.
    """
    import httpx

    found: list[LiveModel] = []
    answered = False
    async with httpx.AsyncClient(timeout=_TIMEOUT_S, transport=transport) as client:
        for version in api_versions:
            try:
                response = await client.get(
                    f"{base_url}/{version}/models", params={"pageSize": 200}, headers={"x-goog-api-key": api_key}
                )
                response.raise_for_status()
                listed = _List.model_validate_json(response.content)
            except (httpx.HTTPError, ValidationError) as fault:
                log.warning("models not listed", api_version=version, error=type(fault).__name__)
                continue
            answered = True
            found += [
                LiveModel(model.name.removeprefix("models/"), version, model.display_name)
                for model in listed.models
                if "bidiGenerateContent" in model.supported_generation_methods
            ]
    if not answered:
        raise S2SError("ERR_S2S_CONNECTION", "The models of Gemini could not be listed.", "Check GEMINI_API_KEY.")
    return found
