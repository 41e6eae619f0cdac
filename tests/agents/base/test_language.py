"""The right translation for whatever names a language."""

from __future__ import annotations

import pytest

from agents.base.language import primary, translated

VARIANTS = {"en": "yes", "de": "ja"}


@pytest.mark.parametrize("tag", ["de", "DE", "de-AT", "de-Latn-CH", "de_DE"])
def test_the_region_makes_no_other_language(tag: str) -> None:
    assert primary(tag) == "de"
    assert translated(VARIANTS, tag) == "ja"


@pytest.mark.parametrize("tag", [None, "", "sv", "den", "-"])
def test_what_is_not_known_is_answered_in_english(tag: str | None) -> None:
    assert translated(VARIANTS, tag) == "yes"
