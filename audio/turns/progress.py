"""What is known of the utterance in progress by all who have a hand in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from audio.pcm import CAPTURE_RATE_HZ
from audio.turns.timing import UtteranceClock


@dataclass
class Progress:
    """One utterance on the media clock (16 kHz samples); ``clear`` between utterances.

    Attributes:
        sample: the end of what was heard. Goes on from utterance to utterance.
        last_voice: where voice was heard last; 0 for none.
        over_agent: whether it began over the agent.
        by_key: whether it is spoken with the talk key held.
        worded: whether words were understood in it, or looked for.
        times: when what happened to it.
    """

    sample: int = 0
    last_voice: int = 0
    over_agent: bool = False
    by_key: bool = False
    worded: bool = False
    times: UtteranceClock = field(default_factory=UtteranceClock)

    @property
    def silent_ms(self) -> float:
        """How long no voice was heard."""
        return (self.sample - self.last_voice) * 1000 / CAPTURE_RATE_HZ

    @property
    def end_s(self) -> float:
        """Where the speech ends, in seconds; where hearing ends if there was no voice."""
        return (self.last_voice or self.sample) / CAPTURE_RATE_HZ

    def clear(self) -> None:
        """The utterance is over."""
        self.last_voice = 0
        self.over_agent = self.by_key = self.worded = False
        self.times.clear()
