"""What of a reply has been heard: from a count of played samples to text."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from audio.pcm import Pcm
from audio.speaking_rate import SpeakingRate
from audio.tts.base import WordTiming
from audio.word_ends import Loudness, word_ends

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_UNIT = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")
_WIDE_UNIT = re.compile(f"[{_WIDE}]")
_ALIGNED_WORDS = 300
"""Above this many words, spoken and written ones are matched by their share instead of one by one."""


@dataclass
class _Piece:
    text: str
    weight: int = 0
    samples: int = 0
    finished: bool = False
    words: list[WordTiming] = field(default_factory=lambda: [])
    loudness: Loudness | None = None
    marks: list[tuple[int, int]] | None = None


class HeardTracker:
    """Follows one reply: which text was handed to the voice, how much sound came of it, how much of that was played.

    All counts are samples at the rate of the sink. Pieces are spoken in the order of their index. What ``heard``
    returns never shrinks while ``played`` grows.

    Args:
        rate: how fast the voice speaks, for pieces whose end is not known yet; learns from those that are finished.
    """

    def __init__(self, rate: SpeakingRate | None = None) -> None:
        self._pieces: dict[int, _Piece] = {}
        self._loose: _Piece | None = None
        self._rate = rate or SpeakingRate()

    def add_piece(self, index: int, text: str) -> None:
        """Piece ``index`` is to be spoken; ``text`` is as written, with its spacing."""
        self._pieces[index] = _Piece(text, _text_weight(text))

    def add_audio(
        self,
        piece: int | None,
        samples: int,
        words: Sequence[WordTiming] | None = None,
        sound: tuple[Pcm, int] | None = None,
    ) -> None:
        """``samples`` more samples of ``piece`` wait to be played; ``words``: timings from the start of the piece.

        ``sound``: what they are, as the voice has made it, and its rate: without timings, words are looked for in it.
        A ``piece`` of None is for voices that do not say what they speak: all pieces then count as a single one, from
        whose start the timings are. Raises ``KeyError`` for a piece that was not added.
        """
        if piece is None:
            entry = self._loose = self._loose or _Piece("")
        else:
            entry = self._pieces[piece]
            for earlier in range(piece - 1, -1, -1):
                if earlier not in self._pieces or self._pieces[earlier].finished:
                    break
                self.finish_piece(earlier)
        entry.samples += samples
        entry.words.extend(words or ())
        if sound is not None and not entry.words:
            pcm, rate_hz = sound
            entry.loudness = entry.loudness or Loudness(rate_hz)
            entry.loudness.add(pcm)
        entry.marks = None

    def finish_piece(self, index: int) -> None:
        """All sound of piece ``index`` was added. Raises ``KeyError`` for a piece that was not added."""
        piece = self._pieces[index]
        if not piece.finished:
            piece.finished = True
            piece.marks = None
            self._rate.learn(piece.weight, piece.samples)

    def finish(self) -> None:
        """All sound was added."""
        for index in self._pieces:
            self.finish_piece(index)
        if self._loose is not None and not self._loose.finished:
            self._loose.finished = True
            self._rate.learn(sum(piece.weight for piece in self._pieces.values()), self._loose.samples)

    def heard(self, played: int) -> str:
        """The text whose sound lies within the first ``played`` samples, without white space at its end.

        Pieces that were played as a whole count as a whole, pieces without sound with what precedes them. Of the piece
        in the middle those words count that have ended: by their timings, else by what its sound shows, else by their
        share of the piece's length.
        """
        out: list[str] = []
        for piece in self._in_order():
            if not self._is_over(piece, played):
                out.append(piece.text[: self._position(piece, played)])
                break
            out.append(piece.text)
            played -= piece.samples
        return "".join(out).rstrip()

    def complete(self, played: int) -> bool:
        """Whether every piece was heard to its end."""
        for piece in self._in_order():
            if not self._is_over(piece, played):
                return False
            played -= piece.samples
        return True

    def _in_order(self) -> list[_Piece]:
        pieces = [self._pieces[index] for index in sorted(self._pieces)]
        if self._loose is None:
            return pieces
        self._loose.text = "".join(piece.text for piece in pieces)
        self._loose.weight = sum(piece.weight for piece in pieces)
        self._loose.marks = None
        return [self._loose]

    def _is_over(self, piece: _Piece, played: int) -> bool:
        return piece.finished and piece.samples <= max(played, 0)

    def _position(self, piece: _Piece, played: int) -> int:
        """How many characters of ``piece`` have been heard."""
        if piece.marks is None:
            piece.marks = _timed_marks(piece) if piece.words else _estimated_marks(piece, self._rate)
        at = bisect_right(piece.marks, played, key=lambda mark: mark[0])
        return piece.marks[at - 1][1] if at else 0


def _timed_marks(piece: _Piece) -> list[tuple[int, int]]:
    """Pairs of (samples, characters heard by then), ascending, from word timings.

    The spoken words are those of the text made ready for the voice, so they need not be the written ones: both are
    aligned, and a rewritten passage counts once its last spoken word has ended.
    """
    ends = [match.end() for match in re.finditer(r"\S+", piece.text)]
    if not ends:
        return []
    written = [_bare(word) for word in piece.text.split()]
    spoken = [_bare(timing.word) for timing in piece.words]
    if max(len(written), len(spoken)) > _ALIGNED_WORDS:
        pairs = [(len(spoken) * (i + 1) // len(written), i + 1) for i in range(len(written))]
    else:
        pairs = _align(written, spoken)
    return [(piece.words[s - 1].end, ends[w - 1]) for s, w in pairs if s and w]


def _align(written: list[str], spoken: list[str]) -> list[tuple[int, int]]:
    """Pairs (spoken words, written words) that stand for the same stretch from the beginning."""
    pairs: list[tuple[int, int]] = []
    for tag, w0, w1, s0, s1 in SequenceMatcher(None, written, spoken, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += [(s0 + i, w0 + i) for i in range(1, w1 - w0 + 1)]
        elif s1 > s0:
            pairs.append((s1, w1))
    return pairs


def _bare(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())


def _estimated_marks(piece: _Piece, rate: SpeakingRate) -> list[tuple[int, int]]:
    """The same without timings: each word, or wide character, takes time by its number of letters.

    Where the sound is known its words are looked for in it, and without that every word takes its share. A piece whose
    sound is not complete is taken to be as long as the speaking rate says; while that is not known, as long as it is
    so far times one and a half, which errs towards less heard.
    """
    if not piece.weight or not piece.samples:
        return []
    samples = piece.samples
    if not piece.finished:
        samples = max(samples + 1, rate.samples(piece.weight) or samples * 3 // 2)
    units = list(_UNIT.finditer(piece.text))
    weights = [_weight(unit.group()) for unit in units]
    ends = _ends_in_sound(piece, samples, weights) or _ends_by_share(samples, weights)
    return [(end, unit.end()) for end, unit in zip(ends, units, strict=True)]


def _ends_in_sound(piece: _Piece, samples: int, weights: list[int]) -> list[int] | None:
    """Where words end by the loudness of the piece, which is ``samples`` long in all; None if that cannot be said."""
    if piece.loudness is None:
        return None
    levels = piece.loudness.levels_db()
    if not levels.size:
        return None
    per_frame = piece.samples / levels.size
    frames = levels.size if piece.finished else max(levels.size, round(samples / per_frame))
    gaps = [
        unit.end() == len(piece.text) or not _WIDE_UNIT.match(piece.text, unit.end())
        for unit in _UNIT.finditer(piece.text)
    ]
    ends = word_ends(levels, weights, gaps, frames)
    return None if ends is None else [math.ceil(end * per_frame) for end in ends]


def _ends_by_share(samples: int, weights: list[int]) -> list[int]:
    total, before, ends = sum(weights), 0, list[int]()
    for weight in weights:
        before += weight
        ends.append(-(-before * samples // total))
    return ends


def _text_weight(text: str) -> int:
    return sum(_weight(match.group()) for match in _UNIT.finditer(text))


def _weight(unit: str) -> int:
    """Letters count one, digits three (they are spoken as words), other marks one (a pause)."""
    return sum(3 if c.isdigit() else 1 for c in unit) + 1
