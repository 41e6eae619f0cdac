"""What the turn engine knows of who is speaking: how long they pause, and how far away they are."""

from __future__ import annotations

from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.turns.far_field import FarField
from audio.turns.pace import Pace


class Speaker:
    """Follows the utterances by sample index on the media clock (16 kHz).

    Args:
        far_field_ratio: see ``FarField``.
    """

    def __init__(self, far_field_ratio: float) -> None:
        self.pace = Pace()
        self.near = FarField(far_field_ratio)
        self._began = 0
        self._ended: int | None = None

    def began(self, sample: int) -> None:
        """The first, tentative frame of speech."""
        self._began = sample

    def confirmed(self, *, answered: bool) -> None:
        """It is speech. ``answered``: the agent took its turn meanwhile, so the silence before was no pause."""
        if self._ended is not None and not answered:
            self.pace.paused((self._began - self._ended) * 1000 / CAPTURE_RATE_HZ, self._began / CAPTURE_RATE_HZ)
        self._ended = None

    def ended(self, last_voice: int) -> None:
        """Silence is established; ``last_voice``: where the voice was last heard."""
        self._ended = last_voice

    def heard(self, frame: Pcm) -> None:
        """A frame of the utterance."""
        self.near.hear(frame)

    def hold_ms(self, ms: int, sample: int) -> int:
        """The hold ``ms`` as long as this speaker needs it."""
        return self.pace.scaled(ms, sample / CAPTURE_RATE_HZ)

    def is_far(self, sample: int) -> bool:
        """Whether the utterance comes from another table."""
        return self.near.rejects(sample / CAPTURE_RATE_HZ)

    def turned_away(self, sample: int) -> None:
        """The utterance was dropped for that; its pauses are not the user's."""
        self._ended = None
        self.near.rejected(sample / CAPTURE_RATE_HZ)

    def took_turn(self, sample: int) -> None:
        """The utterance was committed."""
        self.near.accepted(sample / CAPTURE_RATE_HZ)

    def over(self) -> None:
        """The utterance is over, committed or not."""
        self.near.clear()
