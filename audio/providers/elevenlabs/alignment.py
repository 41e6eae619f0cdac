"""Which piece of text a stretch of sound says, and when its words are spoken, from the times of its characters.

ElevenLabs names, with each chunk of sound, the characters that it says and when each begins, counted from the start of
the chunk. Characters are counted without white space: that is added and trimmed on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from audio.pcm import Pcm, ms_to_samples
from audio.tts.base import AudioChunk, PieceDone, TtsEvent, WordTiming


@dataclass(frozen=True)
class Character:
    """A character and when it is spoken, in milliseconds from the start of its chunk."""

    text: str
    start_ms: float
    end_ms: float


class PieceAlignment:
    """Follows one response. Pieces are numbered as they are added.

    Args:
        rate_hz: rate of the sound.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._lengths: deque[int] = deque()
        self._added = 0
        self._piece = 0
        self._done = 0
        self._left = 0
        self._samples = 0
        self._word = ""
        self._word_start = 0

    def add(self, text: str) -> None:
        """The next piece will say ``text``."""
        self._lengths.append(len("".join(text.split())))
        self._added += 1

    def take(self, pcm: Pcm, characters: Sequence[Character]) -> Iterator[TtsEvent]:
        """A chunk of sound and what it says; without ``characters`` it goes on with the piece before."""
        at = 0
        runs = [
            (piece, [character for _, character in run]) for piece, run in groupby(self._placed(characters), _first)
        ]
        for index, (piece, run) in enumerate(runs):
            yield from self._enter(piece)
            end = pcm.size
            if index + 1 < len(runs):
                end = min(pcm.size, max(at, ms_to_samples(runs[index + 1][1][0].start_ms, self._rate_hz)))
            ends = index + 1 < len(runs) or self._left <= 0
            words = self._words(run, self._samples - at, ends=ends)
            self._samples += end - at
            yield AudioChunk(pcm[at:end], self._current, tuple(words) or None)
            at = end
        if not runs and pcm.size:
            self._samples += pcm.size
            yield AudioChunk(pcm, self._current)

    def finish(self) -> Iterator[TtsEvent]:
        """All sound has come: every piece is done."""
        yield from self._finish_before(self._added)

    @property
    def _current(self) -> int | None:
        return self._piece if self._added else None

    def _placed(self, characters: Sequence[Character]) -> Iterator[tuple[int, Character]]:
        """Each character with the number of its piece; white space belongs to what precedes it."""
        piece, left = self._piece, self._left
        for character in characters:
            if not character.text.isspace() and character.text:
                while left <= 0 and self._lengths:
                    piece = self._added - len(self._lengths)
                    left = self._lengths.popleft()
                left -= 1
            yield piece, character
        self._left = left

    def _enter(self, piece: int) -> Iterator[TtsEvent]:
        if piece == self._piece:
            return
        self._piece, self._samples, self._word = piece, 0, ""
        yield from self._finish_before(piece)

    def _finish_before(self, piece: int) -> Iterator[TtsEvent]:
        while self._done < piece:
            yield PieceDone(self._done)
            self._done += 1

    def _words(self, run: Sequence[Character], offset: int, *, ends: bool) -> Iterator[WordTiming]:
        """The words that end in ``run``.

        Args:
            run: characters of one piece.
            offset: samples of the piece before the start of the chunk.
            ends: whether the last character ends a word.
        """
        for number, character in enumerate(run):
            if character.text.isspace() or not character.text:
                self._word = ""
                continue
            if not self._word:
                self._word_start = offset + ms_to_samples(character.start_ms, self._rate_hz)
            self._word += character.text
            if (number + 1 == len(run) and ends) or (number + 1 < len(run) and not run[number + 1].text.strip()):
                end = offset + ms_to_samples(character.end_ms, self._rate_hz)
                yield WordTiming(self._word, self._word_start, end)


def _first(pair: tuple[int, Character]) -> int:
    return pair[0]
