"""Messages checked with the types that vendors ship in their SDKs."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from realtime.testing.dialect import Told, Violation

_SESSION_FACTS = frozenset({"id", "object", "expires_at"})
"""What servers say of a session beyond what clients may ask for."""


def check_openai_client(told: Told) -> None:
    """Raise ``Violation`` unless ``told`` is a message of a client of OpenAI's."""
    import openai.types.realtime as sdk

    _check_by_type(told, _by_type(sdk.RealtimeClientEvent), frozenset())


def check_openai_server(told: Told) -> None:
    """Raise ``Violation`` unless ``told`` is a message of OpenAI's server."""
    import openai.types.realtime as sdk

    _check_by_type(told, _by_type(sdk.RealtimeServerEvent), _SESSION_FACTS)


def check_gemini_client(told: Told) -> None:
    """Raise ``Violation`` unless ``told`` is a message of a client of Gemini's. Needs ``google-genai``."""
    types = _genai()
    if types is None:
        return
    setup = told.get("setup")
    if isinstance(setup, Mapping) and "realtimeInputConfig" in setup:
        # The SDK writes this one itself: its type of a setup has no field for it.
        rest = dict(cast("Told", setup))
        _check(rest.pop("realtimeInputConfig"), types.RealtimeInputConfig)
        told = {**told, "setup": rest}
    _check(told, types.LiveClientMessage)


def check_gemini_server(told: Told) -> None:
    """Raise ``Violation`` unless ``told`` is a message of Gemini's server. Needs ``google-genai``."""
    types = _genai()
    if types is not None:
        _check(told, types.LiveServerMessage)


@cache
def _genai() -> Any:
    """The SDK's types, None where it is not installed: it is needed for nothing but checking."""
    try:
        from google.genai import types
    except ImportError:
        return None
    return types


@cache
def _by_type(union: Any) -> Mapping[str, type[BaseModel]]:
    members: tuple[type[BaseModel], ...] = typing.get_args(typing.get_args(union)[0])
    return {str(typing.get_args(member.model_fields["type"].annotation)[0]): member for member in members}


def _check_by_type(told: Told, known: Mapping[str, type[BaseModel]], allowed: frozenset[str]) -> None:
    kind = str(told.get("type"))
    if kind not in known:
        raise Violation(f"there is no message of type {kind!r}")
    extra = sorted(set(_extras(_check(told, known[kind]))) - allowed)
    if extra:
        raise Violation(f"{kind} has unknown fields: {extra}")


def _check(told: Told, kind: type[BaseModel]) -> BaseModel:
    try:
        return kind.model_validate(dict(told))
    except ValidationError as fault:
        wrong = [f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors()[:4]]
        raise Violation(f"not a {kind.__name__}: {wrong}") from None


def _extras(value: object) -> list[str]:
    """Names of fields that the types do not know. The SDK's models take them in silently."""
    if isinstance(value, BaseModel):
        inner = [name for field in type(value).model_fields for name in _extras(getattr(value, field))]
        return [*(value.model_extra or {}), *inner]
    if isinstance(value, list):
        return [name for one in cast("Sequence[object]", value) for name in _extras(one)]
    return []
