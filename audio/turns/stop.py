"""Whether a text only says "stop"."""

from __future__ import annotations

from audio.turns.languages import LANGUAGES
from audio.turns.words import words

_STOPS = frozenset[str]().union(*(entry.stops for entry in LANGUAGES.values()))
_STOP_PHRASES = frozenset[str]().union(*(entry.stop_phrases for entry in LANGUAGES.values()))
_COURTESIES = frozenset[str]().union(*(entry.courtesies for entry in LANGUAGES.values()))
_LONGEST_STOP = 5


def says_stop(text: str) -> bool:
    """Whether ``text`` only says "stop", in English, German, Spanish, French or Japanese.

    At most five words, all of them stop words or courtesies.
    """
    said = words(text)
    if "".join(said) in _STOP_PHRASES or " ".join(said) in _STOP_PHRASES:
        return True
    return 0 < len(said) <= _LONGEST_STOP and bool(_STOPS & set(said)) and set(said) <= _STOPS | _COURTESIES
