"""Languages of people: what a language tag says first, and which of several translations it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

DEFAULT = "en"
"""Taken where no language is known, and where there is no translation."""


def primary(tag: str | None) -> str:
    """The primary subtag of a BCP-47 ``tag`` (or of a locale, ``de_DE``) in lower case; ``en`` without a tag."""
    return (tag or DEFAULT).replace("_", "-").split("-")[0].lower()


def translated(variants: Mapping[str, T], tag: str | None) -> T:
    """Of ``variants``, keyed by primary subtag, the one in the language of ``tag``; else the English one."""
    return variants.get(primary(tag), variants[DEFAULT])
