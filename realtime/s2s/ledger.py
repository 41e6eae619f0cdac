"""What was sent to the player, and how much of it the user has heard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.base import clock
from realtime.s2s.contract import HeardMs
from realtime.s2s.events import HeardSpeech


@dataclass
class _Stretch:
    item_id: str
    first_at: float
    sent_ms: float = 0.0


class SpeechLedger:
    """The stretches of the agent's speech that may still be playing, oldest first.

    The player is asked how much of each was heard. Where it does not know, speech is taken to play from the moment at
    which its first samples came, each stretch after the one before, without a pause.

    Args:
        player: gives the player's count, or None if there is no player to ask.
    """

    def __init__(self, player: Callable[[], HeardMs | None]) -> None:
        self._player = player
        self._stretches: list[_Stretch] = []

    def sent(self, item_id: str, milliseconds: float) -> None:
        """So many more milliseconds of ``item_id`` went to the player."""
        if not self._stretches or self._stretches[-1].item_id != item_id:
            self._forget_the_heard()
            self._stretches.append(_Stretch(item_id, clock.now()))
        self._stretches[-1].sent_ms += milliseconds

    def interrupted(self) -> tuple[HeardSpeech, ...]:
        """What was not heard to its end; then nothing is left."""
        unheard = tuple(heard for heard in self._heard() if heard.heard_ms < heard.sent_ms)
        self._stretches.clear()
        return unheard

    def _forget_the_heard(self) -> None:
        whole = {heard.item_id for heard in self._heard() if heard.heard_ms >= heard.sent_ms}
        self._stretches = [stretch for stretch in self._stretches if stretch.item_id not in whole]

    def _heard(self) -> list[HeardSpeech]:
        player, now, free_at = self._player(), clock.now(), 0.0
        heard: list[HeardSpeech] = []
        for stretch in self._stretches:
            began_at = max(stretch.first_at, free_at)
            free_at = began_at + stretch.sent_ms / 1000
            told_ms = player(stretch.item_id) if player is not None else None
            played_ms = (now - began_at) * 1000 if told_ms is None else told_ms
            heard.append(HeardSpeech(stretch.item_id, min(max(played_ms, 0.0), stretch.sent_ms), stretch.sent_ms))
        return heard
