"""The speech gate: a recogniser hears confirmed speech with a pre-roll, and never the noise in between."""

from __future__ import annotations

from collections import deque
from enum import Enum

from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples


class _State(Enum):
    CLOSED = "closed"
    PENDING = "pending"
    OPEN = "open"


class SpeechGate:
    """Holds sound back until speech is confirmed, then lets it through with what preceded it.

    While closed it keeps the last ``preroll_ms`` (in whole chunks, at most one chunk more). ``hold`` keeps everything
    from a tentative start on; ``open`` hands it out and ``cancel`` falls back to the pre-roll. A start that is neither
    confirmed nor taken back within ``max_pending_ms``, pre-roll included, opens the gate: rather too much than deaf.

    Args:
        preroll_ms: sound kept from before the start, in milliseconds.
        max_pending_ms: longest undecided stretch, in milliseconds.
        rate_hz: rate of the chunks.
    """

    def __init__(
        self, preroll_ms: float = 800, max_pending_ms: float = 5000, *, rate_hz: int = CAPTURE_RATE_HZ
    ) -> None:
        self._preroll = ms_to_samples(preroll_ms, rate_hz)
        self._max_pending = ms_to_samples(max_pending_ms, rate_hz)
        self._state = _State.CLOSED
        self._chunks: deque[Pcm] = deque()
        self._buffered = 0

    @property
    def is_open(self) -> bool:
        """Whether chunks pass through."""
        return self._state is _State.OPEN

    @property
    def is_pending(self) -> bool:
        """Whether a tentative start awaits its confirmation."""
        return self._state is _State.PENDING

    @property
    def buffered(self) -> int:
        """Samples held back."""
        return self._buffered

    @property
    def held(self) -> list[Pcm]:
        """What is held back, in order; it stays."""
        return list(self._chunks)

    def feed(self, chunk: Pcm) -> list[Pcm]:
        """Offer a chunk; returns what the recogniser may hear now, in order. Chunks are kept, not copied or split."""
        if self._state is _State.OPEN:
            return [chunk]
        if chunk.size:
            self._chunks.append(chunk)
            self._buffered += chunk.size
        if self._state is _State.CLOSED:
            self._trim()
            return []
        return self.open() if self._buffered >= self._max_pending else []

    def hold(self) -> None:
        """A tentative start: keep everything from here on. Without effect unless closed."""
        if self._state is _State.CLOSED:
            self._state = _State.PENDING

    def open(self) -> list[Pcm]:
        """Speech is confirmed: returns pre-roll and held sound in order, and lets later chunks pass."""
        chunks = list(self._chunks)
        self._clear()
        self._state = _State.OPEN
        return chunks

    def cancel(self) -> None:
        """The start was none: keep only the pre-roll, which may precede real speech. Without effect while open."""
        if self._state is not _State.OPEN:
            self._state = _State.CLOSED
            self._trim()

    def close(self) -> None:
        """Speech is over: close and forget everything."""
        self._state = _State.CLOSED
        self._clear()

    def reset(self) -> None:
        """The same as ``close``."""
        self.close()

    def _trim(self) -> None:
        while len(self._chunks) > 1 and self._buffered - self._chunks[0].size >= self._preroll:
            self._buffered -= self._chunks.popleft().size

    def _clear(self) -> None:
        self._chunks.clear()
        self._buffered = 0
