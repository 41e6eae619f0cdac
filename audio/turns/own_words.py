"""Recognising the agent's own words in what the microphone heard."""

from __future__ import annotations

from difflib import SequenceMatcher

from audio.turns.words import words

RECENT = 40
"""Echo is looked for among so many of the last words (in unspaced scripts: characters)."""

LIKENESS = 0.8
"""So much of what was heard must stand in one stretch of what was said."""

FEW = 2
"""Texts up to this many words are echo only if they are the very last words that were said."""


def is_echo(heard: str, said: str) -> bool:
    """Whether ``heard`` repeats what the agent has just said, word for word or nearly so.

    A listener who says a word back ("Tuesday?") is taken for an echo as well: like a nod, that is no turn.
    """
    echo, own = words(heard), words(said)[-RECENT:]
    if not echo or not own:
        return False
    if len(echo) <= FEW:
        last = own[-len(echo) - 1 :]
        return any(last[at : at + len(echo)] == echo for at in range(len(last) - len(echo) + 1))
    match = SequenceMatcher(None, echo, own, autojunk=False).find_longest_match()
    return match.size >= LIKENESS * len(echo)
