"""Cuts a stream of text into sentences as early as speech may begin.

Where a sentence ends is decided from the text alone, never from how it happened to be split into tokens. Most ends are
certain with the character after the terminator; a few abbreviations wait for the next word. A long stretch without an
end is cut at a clause, at last at a length, so that the voice never waits for a full stop that does not come.
"""

from __future__ import annotations

import re

from audio.abbreviations import Abbreviations, abbreviations

_WIDE_TERMINATORS = "。！？｡"
_TERMINATORS = frozenset(".!?…‽؟۔।॥" + _WIDE_TERMINATORS)
_CLOSERS = frozenset("\"'”’»›)]}」』）】》〉］*_~`")
_WIDE_CLOSERS = frozenset("」』）】》〉］")
_QUOTATIVE = frozenset("とっはがをにのもでなや、，")
"""After a closing bracket these go on with the Japanese sentence that contains the quotation."""
_OPENERS = "\"'“‘„«‹([{「『（【*_~`-–—¿¡"
_NEWLINES = frozenset("\n\x85\u2028\u2029")
_CLAUSE_MARKS = frozenset(",;:،؛—–")
_WIDE_CLAUSE_MARKS = frozenset("、，；：")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_ROMAN = re.compile(r"[IVXLC]{1,7}")
_WIDE_FROM = "\u2e80"
_WIDE_WEIGHT = 3
"""A Chinese, Japanese or Korean character takes about as long to say as three Latin ones."""
_MAX_BLANK = 200
"""White space before a sentence beyond this is dropped."""


class SentenceBuffer:
    """Collects tokens and returns whole sentences, verbatim.

    A sentence keeps its terminators, its closing quotes and brackets, and one character of the white space after it;
    further white space opens the next one. Joined together, the sentences are the text.

    Args:
        language: BCP-47 tag; chooses the abbreviations (``audio.abbreviations``).
        max_chars: length at which a sentence is cut in any case; wide characters count three.
        clause_chars: length from which a sentence is cut at the next comma, semicolon, colon or dash.
        first_clause_chars: the same for the first sentence after construction, ``flush`` or ``reset``.
    """

    def __init__(
        self, language: str = "en", *, max_chars: int = 200, clause_chars: int = 120, first_clause_chars: int = 60
    ) -> None:
        self._abbreviations: Abbreviations = abbreviations(language)
        self._max = max_chars
        self._clause = clause_chars
        self._first_clause = first_clause_chars
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._text = ""
        self._first = True
        self._restart(0)

    def push(self, token: str) -> list[str]:
        """Add ``token``; returns the sentences that are certainly complete now, in order."""
        self._text += token
        out: list[str] = []
        while self._at < len(self._text):
            end = self._step(self._text[self._at])
            if end is None:
                self._at += 1
            else:
                out.append(self._text[self._start : end])
                self._first = False
                self._restart(end)
        if self._start:
            self._shift(self._start)
        return out

    def flush(self) -> str:
        """The rest without the white space at its end ("" if there is none); the buffer is then as new."""
        rest = self._text[self._start :].rstrip()
        self.reset()
        return rest

    def _restart(self, start: int) -> None:
        self._start = self._at = start
        self._blank = True
        self._weight = 0
        self._clause_end = -1
        self._space_end = -1
        self._drop_run()

    def _drop_run(self) -> None:
        self._run = self._run_end = self._spaced = -1

    def _shift(self, count: int) -> None:
        """Drop the first ``count`` characters of the text, which lie before the sentence."""
        self._text = self._text[count:]
        self._start -= count
        self._at -= count
        for name in ("_clause_end", "_space_end", "_run", "_run_end", "_spaced"):
            value: int = getattr(self, name)
            setattr(self, name, value - count if value >= 0 else -1)

    def _step(self, c: str) -> int | None:
        """Take note of the character at ``_at``; returns where the sentence ends if that is certain now."""
        if self._blank and c.isspace():
            if self._at - self._start >= _MAX_BLANK:
                self._start += 1
            return None
        self._blank = False
        if c in _NEWLINES:
            return self._at + 1 if self._spaced < 0 else self._spaced
        if self._run >= 0:
            end = self._after_terminator(c)
            if end is not None:
                return end
        if self._run < 0 and c in _TERMINATORS:
            self._run = self._at
            self._run_end = self._at + 1
        return self._too_long(c)

    def _after_terminator(self, c: str) -> int | None:
        if self._spaced >= 0:
            if c.isspace():
                return None
            if self._closes_before(c):
                return self._spaced
            self._drop_run()
            return None
        if c in _TERMINATORS or c in _CLOSERS:
            self._run_end = self._at + 1
            return None
        if c.isspace():
            verdict = self._closes_at_space()
            if verdict:
                return self._at + 1
            if verdict is None:
                self._spaced = self._at + 1
            else:
                self._drop_run()
            return None
        if self._closes_directly(c):
            return self._at
        self._drop_run()
        return None

    def _word(self) -> str:
        """The word before the terminator, without opening quotes and brackets."""
        begin = self._run
        floor = max(self._start, self._run - 40)
        while begin > floor and not self._text[begin - 1].isspace():
            begin -= 1
        return self._text[begin : self._run].lstrip(_OPENERS)

    def _word_before(self, word: str) -> str:
        before = self._text[max(self._start, self._run - len(word) - 40) : self._run - len(word)].split()
        return before[-1] if before else ""

    def _closes_at_space(self) -> bool | None:
        """Whether white space after the terminator run ends the sentence; None: the next word decides."""
        run = [c for c in self._text[self._run : self._run_end] if c in _TERMINATORS]
        if run != ["."]:
            return True
        known, word = self._abbreviations, self._word()
        lower = word.lower()
        if lower in known.never:
            return False
        if lower in known.number or lower in known.final:
            return None
        if word.isdigit():
            is_marker = not self._text[self._start : self._run - len(word)].strip()
            return not (is_marker or (known.ordinal_stop and len(word) <= 2))
        if len(word) == 1 and word.isalpha() and word < _WIDE_FROM:
            return self._closes_after_letter(word)
        if _ACRONYM.fullmatch(word):
            return None
        if known.ordinal_stop and _ROMAN.fullmatch(word):
            return None
        return True

    def _closes_after_letter(self, letter: str) -> bool:
        """Initials ("J. K. Rowling"), list marks ("a. first") and spaced abbreviations ("z. B.") do not close."""
        before = self._word_before(letter)
        if letter.isupper():
            return letter in self._abbreviations.pronouns and before[:1].islower()
        return bool(before) and not self._abbreviations.ordinal_stop and not before.endswith(".")

    def _closes_before(self, c: str) -> bool:
        """Whether an undecided abbreviation closes its sentence, given the first character of the next word."""
        word = self._word()
        lower = word.lower()
        if lower in self._abbreviations.number and lower not in self._abbreviations.final:
            return not c.isdigit()
        if word.isupper() and _ACRONYM.fullmatch(word):
            return not (c.isalnum() or c in _TERMINATORS)
        return c.isupper() or c in _OPENERS or c >= _WIDE_FROM

    def _closes_directly(self, c: str) -> bool:
        """Whether the sentence ends although the next character follows without a space."""
        run = self._text[self._run : self._run_end]
        if any(mark in _WIDE_TERMINATORS for mark in run):
            return not (run[-1] in _WIDE_CLOSERS and c in _QUOTATIVE)
        word = self._word()
        if "://" in word or "@" in word or "/" in word or word.startswith("www."):
            return False
        before = self._text[self._run - 1] if self._run > self._start else ""
        if not c.isalpha() or not before.isalpha():
            return False
        if c >= _WIDE_FROM and run[0] != "…":
            return True
        if "!" in run or "?" in run:
            return True
        return c.isupper() and before.islower() and len(word) > 1 and "." not in word and "_" not in word

    def _too_long(self, c: str) -> int | None:
        """Cut a sentence that has become long: at a clause when there is one, else at a space, else anywhere."""
        wide = c >= _WIDE_FROM
        self._weight += _WIDE_WEIGHT if wide else 1
        limit = self._first_clause if self._first else self._clause
        if c in _WIDE_CLAUSE_MARKS or (c.isspace() and self._text[self._at - 1] in _CLAUSE_MARKS):
            if self._weight >= limit:
                return self._at + 1
            if self._weight >= self._max // 4:
                self._clause_end = self._at + 1
        elif c.isspace() and self._weight >= self._max // 4:
            self._space_end = self._at + 1
        if self._weight < self._max:
            return None
        if self._clause_end > 0:
            return self._clause_end
        if self._space_end > 0:
            return self._space_end
        return self._at + 1
