"""Comparing what was said by its words: recognisers re-punctuate and re-capitalise the same speech for ever."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from audio.turns.languages import HUMS, language

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words(text: str) -> tuple[str, ...]:
    """The words of ``text``: case-folded, without punctuation; Japanese and Chinese text by characters."""
    return tuple(word for _, word in _placed(_folded(text)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _placed(folded: str) -> Iterator[tuple[int, str]]:
    """The words of folded text, each with where it begins."""
    for match in _WORD.finditer(folded):
        word = match.group().replace("’", "'")
        if any(_is_unspaced(char) for char in word):
            yield from enumerate(word, match.start())
        else:
            yield match.start(), word


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
    # Words are counted in folded text, in which a sign and its marks are one character and a ligature is several.
    spelt = [(at, char) for at, sign in _signs(after) for char in _folded(sign)]
    begins = [start for start, _ in _placed("".join(char for _, char in spelt))]
    said = len(words(before))
    while said < len(begins):
        at = spelt[begins[said]][0]
        if begins[said] == 0 or spelt[begins[said] - 1][0] != at:
            return after[at:].strip()
        said += 1  # half of what is one sign: "㍿" are four words
    return ""


def _signs(text: str) -> Iterator[tuple[int, str]]:
    """``text`` in the least parts that are folded independently of each other, each with where it begins."""
    start = 0
    for at in range(1, len(text)):
        sign, char = text[start:at], text[at]
        if _folds_apart(sign, char):
            yield start, sign
            start = at
    if text:
        yield start, text[start:]


def _folds_apart(one: str, other: str) -> bool:
    if one.isascii() and other.isascii():
        return True
    before, behind = (unicodedata.normalize("NFKC", part) for part in (one, other))
    is_mark = unicodedata.combining(behind[0]) > 0
    return not is_mark and unicodedata.normalize("NFKC", one + other) == before + behind
