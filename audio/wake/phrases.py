"""Wake phrases and stop words in transcripts: taking the one off, recognising the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from audio.turns.stop import says_stop
from audio.turns.words import words

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

CERTAIN = 0.85
"""Likeness (0…1) from which the beginning of a sentence counts as the wake phrase when nobody has heard it."""

HEARD = 0.6
"""The same when the detector has just heard it: then recognisers' "Hey, Charles" can mean nothing else."""

HEARD_LATER = 0.75
"""The same behind other words, which the room said before the phrase."""

LOOK_AHEAD = 6
"""How many words may stand before a phrase that was heard."""


def strip_wake_phrase(text: str, phrases: Sequence[str], *, heard: bool) -> str:
    """``text`` without the wake phrase at its beginning, however it is spelled, and without what stood before it.

    Args:
        text: a transcript.
        phrases: the phrases that may have been said.
        heard: whether the detector heard one of them in this utterance.
    """
    spans = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    said = [_letters(text[start:end]) for start, end in spans]
    best, cut = 0.0, 0
    for phrase in phrases:
        wanted = _letters(phrase)
        count = len(phrase.split())
        for first in range(min(len(said), LOOK_AHEAD if heard else 1)):
            for length in range(1, count + 2):
                if first + length > len(said):
                    break
                likeness = SequenceMatcher(None, wanted, "".join(said[first : first + length])).ratio()
                least = (HEARD_LATER if first else HEARD) if heard else CERTAIN
                if likeness >= least and likeness > best:
                    best, cut = likeness, spans[first + length - 1][1]
    if not cut:
        return text.strip()
    rest = text[cut:].lstrip(" \t\n,.;:!?…—–-、。！？")
    return rest[:1].upper() + rest[1:]


def _letters(text: str) -> str:
    return "".join(words(text)).replace("'", "")


def is_stop(text: str, phrases: Sequence[str]) -> bool:
    """Whether ``text`` only says "stop" (see ``says_stop``), or is a wake phrase.

    A wake phrase of ``phrases`` before the stop word is allowed, and alone it means: be quiet and listen.
    """
    bare = strip_wake_phrase(text, phrases, heard=False)
    if not bare:
        return bool(phrases) and bool(words(text))
    return says_stop(bare)
