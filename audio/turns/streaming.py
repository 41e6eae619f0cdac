"""The text of the utterance in progress, from a recogniser that hears the stream and never stops.

Its partials are what a turn is made of: a final comes late, and only because it was asked for. So a turn is taken from
the words understood so far that were not taken before; then the recogniser is flushed, and its final is compared with
what was taken. A few more characters are the end of the same sentence; anything else is a correction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from agents.base import clock
from agents.base.errors import GloveVoiceError
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.stt.base import StreamingStt, SttClosed, SttFault, SttFinal, SttPartial, Transcript
from audio.stt.pieces import join_texts
from audio.turns.languages import language
from audio.turns.transcriber import Transcriber
from audio.turns.words import goes_on, has_words, remainder, same_words, words

log = structlog.get_logger(__name__)


class StreamingTranscriber(Transcriber):
    """Follows a streaming recogniser.

    Args:
        stt: the recogniser; its own reconnection is its business.
        timeout_s: longest wait for a final where no partial was understood, and for one that was asked for.
        hears_all: whether ``hear`` feeds the recogniser, and not what is appended.

    Attributes:
        on_correction: called with what was taken and what the recogniser made of it afterwards.
    """

    def __init__(self, stt: StreamingStt, *, timeout_s: float = 3.0, hears_all: bool = False) -> None:
        self.on_correction: Callable[[str, str], None] | None = None
        self.hears_all = hears_all
        self._stt = stt
        self._timeout_s = timeout_s
        self._total = 0
        self._finals: list[str] = []
        self._partial_text = ""
        self._taken = ""
        self._in_flight: str | None = None
        self._awaited_until = float("inf")
        self._language = "en"
        self._asked = False
        self._arrived = asyncio.Event()  # a final, or a fault
        self._fault: GloveVoiceError | None = None
        self._off = [
            stt.events.on(SttPartial, self._partial),
            stt.events.on(SttFinal, self._final),
            stt.events.on(SttFault, lambda event: self._failed(event.error)),
            stt.events.on(SttClosed, lambda _: self._failed(None)),
        ]

    @property
    def seconds(self) -> float:
        """See ``Transcriber``."""
        return self._total / CAPTURE_RATE_HZ

    @property
    def live(self) -> str:
        """What was understood and not taken yet."""
        return join_texts([*self._finals, self._fresh()], self._language)

    async def open(self) -> None:
        """See ``Transcriber``."""
        await self._stt.connect()

    def append(self, pcm: Pcm) -> None:
        """See ``Transcriber``."""
        self._total += pcm.size
        if not self.hears_all:
            self._stt.send_audio(pcm)

    def hear(self, pcm: Pcm) -> None:
        """See ``Transcriber``."""
        if self.hears_all:
            self._stt.send_audio(pcm)

    def voiced(self) -> None:
        """See ``Transcriber``. Speech that goes on is understood as it flows."""
        self._asked = False

    def speculate(self) -> None:
        """Nothing to do: the stream is recognised as it flows, and a flush would split the sentence."""

    async def final(self) -> Transcript:
        """What was understood so far; only where that is nothing, the recogniser is asked for it and awaited."""
        if not self.live:
            self._ask()
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._arrived.wait()
            except TimeoutError as fault:
                self._fault = GloveVoiceError("ERR_STT_TIMEOUT", "The speech recogniser did not answer.", cause=fault)
            if self._fault is not None and not self.live:
                raise self._fault
        return Transcript(self.live, self._language)

    def take(self, text: str) -> None:
        """See ``Transcriber``."""
        if self._fresh():
            self._hand_over(self._partial_text)

    def disown(self) -> None:
        """What the recogniser understood so far belongs to nobody; what it goes on to understand may."""
        self._taken, self._in_flight, self._awaited_until = self._partial_text, "", float("inf")
        self._finals = []

    def clear(self) -> None:
        """See ``Transcriber``. What the recogniser still holds is taken: it never becomes a turn of its own."""
        if self._fresh() or (self._in_flight == "" and self._awaited_until == float("inf")):
            self._hand_over("")
        self._total = 0
        self._finals = []
        self._asked = False
        self._fault = None

    async def close(self) -> None:
        """See ``Transcriber``."""
        for off in self._off:
            off()
        await self._stt.disconnect()

    def _hand_over(self, sent: str) -> None:
        """The words understood so far are done with; only a flush makes the recogniser forget them."""
        self._taken, self._in_flight = self._partial_text, sent
        self._awaited_until = clock.now() + self._timeout_s
        self._stt.flush_utterance()

    def _echoes(self) -> bool:
        """Whether the final of a flush is still to come; not for ever, or who repeats themselves would be ignored."""
        return self._in_flight is not None and clock.now() < self._awaited_until

    def _fresh(self) -> str:
        """The words of the partial that were not taken.

        A partial that says just what was taken is the echo of a flush that is under way; afterwards, somebody repeats
        themselves ("Hello? … Hello?").
        """
        now, taken = self._partial_text, self._taken
        if not taken or not words(now):
            return now if words(now) else ""
        if same_words(taken, now):
            return "" if self._echoes() else now
        if goes_on(taken, now):
            return remainder(taken, now)
        if goes_on(now, taken):
            return ""
        self._taken = ""
        return now

    def _ask(self) -> None:
        if self._asked:
            return
        self._asked = True
        if not self._stt.is_connected:
            self._failed(None)
        if self._fault is None:
            self._arrived.clear()
            self._stt.flush_utterance()

    def _partial(self, event: SttPartial) -> None:
        self._recovered()
        self._partial_text = event.text.strip()
        if self.on_partial is not None and self.live:
            self.on_partial(self.live, self._language)

    def _final(self, event: SttFinal) -> None:
        self._recovered()
        text = event.text.strip() or self._partial_text
        self._language = event.language
        self._partial_text = ""
        if self._echoes():
            sent, self._in_flight = self._in_flight, None
            self._taken = text
            self._compare(sent or "", text)
            return
        self._in_flight, self._partial_text = None, text
        fresh = self._fresh()
        self._partial_text = self._taken = ""
        self._arrived.set()
        if not fresh:
            return
        self._finals.append(fresh)
        if self._total == 0 and self.on_unasked is not None:
            self.on_unasked(fresh)
        elif self.on_partial is not None:
            self.on_partial(self.live, self._language)

    def _compare(self, sent: str, actual: str) -> None:
        """``actual`` came for a turn that was taken as ``sent`` (empty: it was dropped)."""
        if not sent or not has_words(actual) or same_words(sent, actual):
            return
        if goes_on(sent, actual) and len(remainder(sent, actual)) < language(self._language).tail_chars:
            log.info("a turn was taken without its last word", characters=len(remainder(sent, actual)))
        elif self.on_correction is not None:
            self.on_correction(sent, actual)

    def _failed(self, error: Exception | None) -> None:
        """What was fed is lost; ``error`` None if the stream just ended."""
        if isinstance(error, GloveVoiceError):
            self._fault = error
        elif error is not None or self._fault is None:
            why = f": {error}" if error else "."
            self._fault = GloveVoiceError("ERR_STT_CONNECTION", f"The speech recogniser is lost{why}", cause=error)
        self._in_flight = None
        self._arrived.set()

    def _recovered(self) -> None:
        """The recogniser shows that it goes on; nothing that failed before counts."""
        if self._fault is not None:
            self._fault = None
            self._arrived.clear()
