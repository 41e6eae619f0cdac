"""The speech of a realtime model on its way through the player: what was played of each stretch, and which words."""

from __future__ import annotations

from dataclasses import dataclass, field

from audio.heard import HeardTracker
from audio.io.player import Player
from audio.speaking_rate import SpeakingRate
from realtime.s2s.events import AgentAudio

MOST_QUEUED_S = 600.0
"""Speech that waits to be played beyond this is dropped: no answer is that long."""


@dataclass
class Stretch:
    """One stretch of speech (``item_id``), as the provider names it.

    Attributes:
        item_id: the provider's name.
        start: samples of the sink that were queued before it in the same generation.
        samples: of the sink, so far.
        sent_ms: what the provider has sent.
        whole: its words, once the provider has told all of them.
        ended: whether the provider has sent all of its sound.
        closed: whether no more words of it come.
    """

    item_id: str
    start: int
    tracker: HeardTracker
    samples: int = 0
    sent_ms: float = 0.0
    pieces: list[str] = field(default_factory=list[str])
    whole: str | None = None
    ended: bool = False
    closed: bool = False

    @property
    def text(self) -> str:
        """All words that are known."""
        return "".join(self.pieces) if self.whole is None else self.whole

    def add_words(self, text: str) -> None:
        """More words."""
        self.tracker.add_piece(len(self.pieces), text)
        self.pieces.append(text)


@dataclass(frozen=True)
class HeardWords:
    """What was heard of a stretch: ``text`` of ``whole``."""

    item_id: str
    text: str
    whole: str
    complete: bool


class AgentSpeech:
    """Queues speech in a player and knows what of it was heard.

    The player is the truth: ``played`` counts samples of its current generation, and every stretch knows where in the
    generation it lies.

    Args:
        player: of the room.
    """

    def __init__(self, player: Player) -> None:
        self._player = player
        self._stretches: list[Stretch] = []
        self._generation = -1
        self._queued = 0
        self._rate = SpeakingRate()

    @property
    def busy(self) -> bool:
        """Whether speech is being played, or will be."""
        return bool(self._stretches)

    @property
    def has_sound(self) -> bool:
        """Whether anything was queued that is not over."""
        return any(stretch.samples for stretch in self._stretches)

    @property
    def played_samples(self) -> int:
        """Samples of the sink that were played since speech began."""
        return self._player.played if self._player.generation == self._generation else self._queued

    def add_sound(self, event: AgentAudio) -> None:
        """Sound of a stretch, to be played after everything before it."""
        player = self._player
        if not self.has_sound:
            self._generation, self._queued = player.next_generation(), 0
            for stretch in self._stretches:
                stretch.start = 0
        stretch = self._stretch(event.item_id)
        if player.queued_s > MOST_QUEUED_S:
            return
        added = player.enqueue(event.pcm, event.rate_hz, self._generation)
        if stretch.samples == 0:
            stretch.start = self._queued
        stretch.sent_ms += event.pcm.size * 1000 / event.rate_hz
        self._count(stretch, added, event)

    def add_words(self, item_id: str, text: str) -> None:
        """Words of a stretch, which need not come with their sound."""
        self._stretch(item_id).add_words(text)

    def all_words(self, item_id: str, text: str) -> None:
        """The provider has told all words of a stretch."""
        stretch = self._stretch(item_id)
        stretch.whole = text
        if not stretch.pieces:
            stretch.add_words(text)

    def ended(self) -> None:
        """The provider has sent all sound of what is known so far."""
        if self._stretches:
            added = self._player.finish(self._generation)
            last = next((each for each in reversed(self._stretches) if each.samples), self._stretches[-1])
            last.samples += added
            self._queued += added
        for stretch in self._stretches:
            if not stretch.ended:
                stretch.ended = True
                stretch.tracker.finish()

    def closed(self) -> None:
        """The provider says nothing more about what is known so far."""
        self.ended()
        for stretch in self._stretches:
            stretch.closed = True

    def heard_ms(self, item_id: str) -> float | None:
        """Milliseconds of a stretch that were played, or None if it is over or unknown."""
        stretch = next((each for each in self._stretches if each.item_id == item_id), None)
        if stretch is None:
            return None
        played = self._played_of(stretch)
        if stretch.ended and played >= stretch.samples:
            return stretch.sent_ms
        return min(played * 1000 / self._player.rate_hz, stretch.sent_ms)

    def over(self) -> list[HeardWords]:
        """The stretches that were played to their end, oldest first; they are forgotten."""
        gone: list[Stretch] = []
        while self._stretches and self._is_over(self._stretches[0]) and self._stretches[0].closed:
            gone.append(self._stretches.pop(0))
        return [HeardWords(each.item_id, each.text.strip(), each.text.strip(), True) for each in gone]

    def cut(self) -> list[HeardWords]:
        """Play nothing more. What was heard of each stretch, oldest first."""
        played = self.played_samples
        if self._stretches and self._player.generation == self._generation:
            # Silence first: to find the words in the sound takes milliseconds.
            self._player.next_generation()
        self._queued = played
        heard = [self._heard(stretch) for stretch in self._stretches]
        self._stretches.clear()
        return heard

    def texts(self) -> list[tuple[str, str]]:
        """All stretches that are not over, with the words that are known of them."""
        return [(stretch.item_id, stretch.text.strip()) for stretch in self._stretches]

    def saying(self) -> str:
        """The words of what is being said."""
        return " ".join(stretch.text.strip() for stretch in self._stretches).strip()

    def heard_text(self) -> str:
        """The words that were heard of what is being said."""
        return " ".join(heard.text for heard in map(self._heard, self._stretches) if heard.text)

    def _heard(self, stretch: Stretch) -> HeardWords:
        whole = stretch.text.strip()
        if self._is_over(stretch) and stretch.samples:
            return HeardWords(stretch.item_id, whole, whole, True)
        text = stretch.tracker.heard(self._played_of(stretch)).strip() if stretch.samples else ""
        return HeardWords(stretch.item_id, text, whole, False)

    def _is_over(self, stretch: Stretch) -> bool:
        return stretch.ended and self._played_of(stretch) >= stretch.samples

    def _played_of(self, stretch: Stretch) -> int:
        return max(0, min(self.played_samples - stretch.start, stretch.samples))

    def _stretch(self, item_id: str) -> Stretch:
        if self._stretches and self._stretches[-1].item_id == item_id:
            return self._stretches[-1]
        known = next((each for each in self._stretches if each.item_id == item_id), None)
        if known is None:
            known = Stretch(item_id, self._queued, HeardTracker(self._rate))
            self._stretches.append(known)
        return known

    def _count(self, stretch: Stretch, added: int, event: AgentAudio) -> None:
        stretch.samples += added
        self._queued += added
        # Words are looked for in the sound itself; a stretch without words yet has one piece that is empty.
        stretch.tracker.add_audio(None, added, sound=(event.pcm, event.rate_hz))
