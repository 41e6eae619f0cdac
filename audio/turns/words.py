"""Comparing what was said by its words: recognisers re-punctuate and re-capitalise the same speech for ever."""

from __future__ import annotations

import re
import unicodedata

from audio.turns.languages import HUMS, language

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


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


def is_backchannel(text: str, tag: str = "en") -> bool:
    """Whether ``text`` is only a listener's sign of life ("mhm", "yeah, okay"), at most three words long."""
    said, nods = words(text), language(tag).nods
    if "".join(said) in HUMS | nods:
        return True
    # Text without spaces is divided by its marks: うん、うん。
    parts = ["".join(words(part)) for part in re.split(r"[\W_]+", text) if words(part)]
    return any(0 < len(each) <= 3 and HUMS | nods >= set(each) for each in (said, parts))


def has_words(text: str) -> bool:
    """Whether ``text`` holds anything besides hums and sound captions such as "[coughs]" or "(laughter)"."""
    bare = re.sub(r"[\[(（【*♪][^\])）】*♪]*[\])）】*♪]", " ", text)
    said = words(bare)
    return "".join(said) not in HUMS and any(word not in HUMS for word in said)


def same_words(one: str, other: str) -> bool:
    """Whether two texts say the same, however they are punctuated, capitalised and spaced."""
    return words(one) == words(other)


def goes_on(before: str, after: str) -> bool:
    """Whether ``after`` begins with all the words of ``before`` (as long or longer)."""
    said = words(before)
    return words(after)[: len(said)] == said


def remainder(before: str, after: str) -> str:
    """What ``after`` says beyond the words of ``before``, as it is written but without punctuation at its start.

    ``after`` must begin with the words of ``before`` (``goes_on``).
    """
    skip = len(words(before))
    for match in _WORD.finditer(after):
        if skip <= 0:
            return after[match.start() :].strip()
        if len(words(match.group())) <= skip:
            skip -= len(words(match.group()))
            continue
        for at, char in enumerate(match.group(), match.start()):
            # Only text without spaces holds several words in one match, and then each character is one.
            if skip <= 0:
                return after[at:].strip()
            skip -= 1 if char in "'’" else len(words(char))
    return ""
