"""Comparing what was said by its words: recognisers re-punctuate and re-capitalise the same speech for ever."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

_HUMS = frozenset(
    "mhm mm mmm hm hmm hmmm uh um uhm er erm ah aha uhuh uh-huh mm-hmm mmhmm huh oh ooh hä äh ähm öh tja euh eh ehm "
    "ん うん ふん へえ はい ええ ああ".split()
)
"""Sounds that a listener makes; never a turn of their own while the agent speaks."""

_NODS: dict[str, frozenset[str]] = {
    "en": frozenset("yeah yep yup okay ok right sure cool nice great wow really exactly indeed i see got it".split()),
    "de": frozenset("ja jo okay ok genau gut schön klar stimmt richtig ach so aha alles verstehe ich".split()),
    "es": frozenset("sí si vale claro bien ya okay ok exacto entiendo".split()),
    "fr": frozenset("oui ouais d'accord bien okay ok voilà ah bon je vois".split()),
    "ja": frozenset(("そう", "なるほど", "そうですね", "そうです", "はい", "うん")),
}
"""Words with which a listener says "go on"."""


def words(text: str) -> tuple[str, ...]:
    """The words of ``text``: case-folded, without punctuation; Japanese and Chinese text by characters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    result: list[str] = []
    for match in _WORD.finditer(folded):
        word = match.group().replace("’", "'")
        if any(_is_unspaced(char) for char in word):
            result.extend(word)
        else:
            result.append(word)
    return tuple(result)


def _is_unspaced(char: str) -> bool:
    code = ord(char)
    return 0x3040 <= code <= 0x30FF or 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF


def is_backchannel(text: str, language: str = "en") -> bool:
    """Whether ``text`` is only a listener's sign of life ("mhm", "yeah, okay"), at most three words long."""
    said = words(text)
    joined = "".join(said)
    if joined in _HUMS or joined in _NODS.get(language, frozenset()):
        return True
    nods = _NODS.get(language, _NODS["en"])
    return 0 < len(said) <= 3 and all(word in _HUMS or word in nods for word in said)


def has_words(text: str) -> bool:
    """Whether ``text`` holds anything besides hums and sound captions such as "[coughs]" or "(laughter)"."""
    bare = re.sub(r"[\[(*♪][^\])*♪]*[\])*♪]", " ", text)
    return any(word not in _HUMS for word in words(bare))
