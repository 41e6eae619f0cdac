"""Which of several options was meant: by its label, its number, its place ("the second one"), or nearly its label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agents.base.language import primary
from agents.models.numberwords import number_table
from agents.models.utterance import readings
from agents.questions.ordinals import with_digits
from agents.questions.polar import Polarity, polarity, spoken_words

ALIKE = 0.78
"""Likeness (0…1) from which a label counts as said."""

AHEAD = 0.08
"""How much likelier than the next option an option must be."""

_LONGEST = 12
"""Whoever uses more words than this does not choose."""

_LAST = frozenset(
    "last letzte letzter letztes letzten dernier dernière último última 最後 最後の".split(),
)
_BESIDE_A_NUMBER = frozenset(
    """the number option answer choice one ones take please i want would like
    die der das den dem nummer option antwort nehme nehmen ich bitte möchte hätte gern gerne
    le la les l' numéro réponse choix je prends voudrais s'il te vous plaît
    el los las número opción respuesta quiero elijo por favor
    番 です をお願いします""".split()
)
_POLITE = frozenset("please thanks thank you bitte danke merci gracias".split())
_JAPANESE_PLACE = re.compile(r"([0-9]+|[一二三四五六七八九十]+)(?:番|つ目|番目|個目)")


@dataclass(frozen=True)
class Option:
    """One of several answers: what is said and shown, and what is sent back."""

    label: str
    value: str


def chosen(text: str, options: Sequence[Option], language: str) -> Option | None:
    """The option that ``text`` means, or None if none or more than one may be meant."""
    said = _comparable(text, language)
    if not said or not options:
        return None
    labels = [_comparable(option.label, language) or option.label.lower() for option in options]
    exact = [option for option, label in zip(options, labels, strict=True) if label == said]
    if len(exact) == 1:
        return exact[0]
    if len(said.split()) > _LONGEST or _declines(text, labels, language):
        return None
    place = _place(text, language, len(options))
    if place is not None:
        return options[place - 1]
    held = [option for option, label in zip(options, labels, strict=True) if f" {label} " in f" {said} "]
    if held:
        # Of "green" and "dark green" the longer one was said, unless both were.
        longest = max(held, key=lambda option: len(option.label))
        inside = all(option.label.lower() in longest.label.lower() for option in held)
        return longest if inside else None
    return _partly(said, options, labels) or _alike(said, options, labels)


def _comparable(text: str, language: str) -> str:
    """The words of ``text`` with numbers as digits."""
    return " ".join(_digits(" ".join(spoken_words(text, language)), language))


def _declines(text: str, labels: Sequence[str], language: str) -> bool:
    """Whether ``text`` says no ("not the red one") where no option is a no itself."""
    return polarity(text, language) is Polarity.NO and not any(
        polarity(label, language) is Polarity.NO for label in labels
    )


def _partly(said: str, options: Sequence[Option], labels: Sequence[str]) -> Option | None:
    """The option whose label has words that were said and that no other label has ("navy" of "navy blue")."""
    wanted = set(said.split()) - _BESIDE_A_NUMBER
    hits = [option for option, label in zip(options, labels, strict=True) if wanted & set(label.split())]
    return hits[0] if len(hits) == 1 else None


def _place(text: str, language: str, count: int) -> int | None:
    """The number of an option, where nothing but a number was said."""
    language = primary(language)
    if language == "ja" and (match := _JAPANESE_PLACE.search(text)) is not None:
        digits = match[1]
        number = int(digits) if digits.isdecimal() else number_table("ja").get((digits,))
        return number if number is not None and 1 <= number <= count else None
    said = spoken_words(text, language)
    if _LAST & set(said) and all(word in _LAST | _BESIDE_A_NUMBER for word in said):
        return count
    while said and said[-1] in _POLITE:
        said = said[:-1]
    if said and said[-1] in ("one", "ones") and len(said) > 1 and said[-2] not in ("number", "option", "choice"):
        said = said[:-1]
    found: list[int] = []
    for word in _digits(" ".join(with_digits(said, language)), language):
        if word.isdecimal():
            found.append(int(word))
        elif word not in _BESIDE_A_NUMBER and word not in ("st", "nd", "rd", "th"):
            return None
    return found[0] if len(found) == 1 and 1 <= found[0] <= count else None


def _digits(text: str, language: str) -> list[str]:
    """The words of ``text`` with numbers as digits."""
    found = readings(text, language)
    return found[0].text.lower().split() if found else []


def _alike(said: str, options: Sequence[Option], labels: Sequence[str]) -> Option | None:
    scores = sorted(
        ((max(_likeness(label, said), _part_likeness(label, said)), index) for index, label in enumerate(labels)),
        reverse=True,
    )
    best, index = scores[0]
    if best < ALIKE or (len(scores) > 1 and best - scores[1][0] < AHEAD):
        return None
    return options[index]


def _part_likeness(label: str, said: str) -> float:
    """How much like ``label`` the likeliest stretch of as many words is."""
    words, count = said.split(), len(label.split())
    stretches = (" ".join(words[start : start + count]) for start in range(max(1, len(words) - count + 1)))
    return max((_likeness(label, stretch) for stretch in stretches), default=0.0)


def _likeness(left: str, right: str) -> float:
    return SequenceMatcher(None, left.replace(" ", ""), right.replace(" ", "")).ratio()
