"""Turns validation errors of the configuration into one sentence each: the key, where it was set, what was expected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agents.base.errors import ConfigError

_SECRET = re.compile(r"(^|[._-])(api_?key|key|token|secret|password|passwd|credentials?)$", re.IGNORECASE)

_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text in quotes",
    "tuple": "a list of texts",
    "model": "a section of keys",
}


def describe(fault: ValidationError, origins: Mapping[str, str], known: Sequence[str]) -> list[ConfigError]:
    """One ``ConfigError`` per problem. Values of keys that may hold a secret are never repeated."""
    return [_one(details, origins, known) for details in fault.errors(include_url=False)]


def unknown_key(key: str, origin: str, known: Sequence[str]) -> ConfigError:
    """The error for a key that does not exist, with the nearest known one; secrets are pointed to their place."""
    if _SECRET.search(key):
        return ConfigError(
            "ERR_CONFIG_SECRET",
            f"{key} ({origin}): secrets do not belong in the configuration.",
            "Put it in the environment (for example ANTHROPIC_API_KEY), a systemd credential, "
            "or credentials.toml with mode 0600.",
        )
    near = nearest(key, known)
    return ConfigError(
        "ERR_CONFIG_UNKNOWN_KEY",
        f"Unknown configuration key {key} ({origin}).",
        f"Did you mean {near}?" if near else "`glove config show` lists every key.",
    )


def nearest(key: str, known: Sequence[str]) -> str | None:
    """The known key that resembles ``key`` most: by its whole name, else by its last part in any section."""
    if "." not in key:
        sections = sorted({name.partition(".")[0] for name in known})
        near = difflib.get_close_matches(key, sections, n=1, cutoff=0.6)
        if near:
            return f"[{near[0]}]"
    whole = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if whole:
        return whole[0]
    by_name = {name.partition(".")[2]: name for name in reversed(known)}
    last = difflib.get_close_matches(key.rpartition(".")[2], list(by_name), n=1, cutoff=0.7)
    return by_name[last[0]] if last else None


def _one(details: ErrorDetails, origins: Mapping[str, str], known: Sequence[str]) -> ConfigError:
    parts = [str(part) for part in details["loc"]]
    key = ".".join(parts[:2])
    origin = origins.get(key) or origins.get(parts[0]) or "configuration"
    if details["type"] == "extra_forbidden":
        return unknown_key(".".join(parts), origin, known)
    expected = _expected(details)
    given = "" if _SECRET.search(key) or "://" in str(details["input"]) else f", not {_shown(details['input'])}"
    return ConfigError("ERR_CONFIG_VALUE", f"{key} ({origin}): expected {expected}{given}.")


def _expected(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "literal_error":
        return "one of " + str(context["expected"]).replace("'", '"').replace(" or ", ", ")
    if kind == "value_error":
        return str(context["error"])
    bounds = {
        "greater_than_equal": ("at least", "ge"),
        "less_than_equal": ("at most", "le"),
        "greater_than": ("more than", "gt"),
        "less_than": ("less than", "lt"),
    }
    if kind in bounds:
        words, limit = bounds[kind]
        return f"{words} {context[limit]}"
    if kind == "too_short":
        return "at least one entry"
    return _EXPECTED.get(kind.partition("_")[0], details["msg"])


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "…"
