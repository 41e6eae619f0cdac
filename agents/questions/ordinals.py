"""Ordinal words ("second", "zweites", "deuxième") as digits."""

from __future__ import annotations

from functools import lru_cache

from agents.base.language import primary

_MOST = 31
"""As many as a month has days, and more than a list that is read aloud has options."""


@lru_cache(maxsize=8)
def ordinal_table(language: str) -> dict[tuple[str, ...], int]:
    """Unicode CLDR's ordinal words of 1 to 31, in every inflection; empty for a language without any."""
    from unicode_rbnf import FormatPurpose, RbnfEngine

    try:
        engine = RbnfEngine.for_language(language)
    except ValueError:
        return {}
    table: dict[tuple[str, ...], int] = {}
    for value in range(1, _MOST + 1):
        for words in engine.format_number(value, purpose=FormatPurpose.ORDINAL).text_by_ruleset.values():
            plain = words.replace("\u00ad", "").replace("-", " ").lower()
            table.setdefault(tuple(plain.split()), value)
    return table


def with_digits(words: list[str], language: str) -> list[str]:
    """``words`` (lower case) with ordinals replaced by digits, the longest first."""
    table = ordinal_table(primary(language))
    result: list[str] = []
    position = 0
    while position < len(words):
        for length in (3, 2, 1):
            value = table.get(tuple(words[position : position + length]))
            if value is not None and position + length <= len(words):
                result.append(str(value))
                position += length
                break
        else:
            result.append(words[position])
            position += 1
    return result
