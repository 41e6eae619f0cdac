"""What the turn engine works with: its phases, limits, results, and whom it works for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from agents.base.errors import GloveVoiceError
from audio.turns.barge_in import BargeInTimes
from audio.turns.timing import UtteranceTimes


class Phase(Enum):
    """Where the user is in an utterance."""

    QUIET = "quiet"
    TENTATIVE = "tentative"
    SPEAKING = "speaking"
    TRAILING = "trailing"
    HOLDING = "holding"
    RESUMING = "resuming"
    HELD = "held"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.QUIET: frozenset({Phase.TENTATIVE, Phase.HELD}),
    Phase.TENTATIVE: frozenset({Phase.SPEAKING, Phase.QUIET}),
    Phase.SPEAKING: frozenset({Phase.TRAILING, Phase.HOLDING, Phase.QUIET}),
    Phase.TRAILING: frozenset({Phase.SPEAKING, Phase.HOLDING, Phase.QUIET}),
    Phase.HOLDING: frozenset({Phase.RESUMING, Phase.HELD, Phase.QUIET}),
    Phase.RESUMING: frozenset({Phase.SPEAKING, Phase.HOLDING, Phase.QUIET}),
    Phase.HELD: frozenset({Phase.HOLDING, Phase.QUIET}),
}
"""What may follow what: tentative speech is confirmed or taken back, a silence trails off into a hold, speech resumes
inside a hold, a talk key holds the utterance open, and a commit (or reset) leads back to quiet from anywhere."""


@dataclass(frozen=True)
class TurnSettings:
    """Limits of the engine.

    Attributes:
        gated: whether the recogniser hears confirmed speech only; otherwise tentative speech is recognised too, however
            short it turns out to be.
        preroll_ms: audio kept from before the speech began.
        voiced_probability: frames at or above it count as voice.
        speculate_ms: silence after which recognition of the final starts.
        max_turn_s: a turn of this length is committed even if the voice never stops.
        noise_s: after voice of this length the recogniser is asked whether it holds words; if not, it was noise.
        pad_ms: silence behind the audio of an utterance when it is recognised; recognisers lose or invent words at
            an end without any.
        preemptive: whether the session is told of turns that are likely, before they are committed.
        far_field_ratio: part of the loudness of the turns before below which a voice belongs to another table; 0 takes
            everybody's.
        hears_all: whether a streaming recogniser hears all sound and not only confirmed speech, so that what the voice
            detector misses is not lost. A service then hears, and bills, the whole room.
        barge_in: limits of interruption.
    """

    gated: bool = True
    preroll_ms: int = 800
    voiced_probability: float = 0.35
    speculate_ms: int = 200
    max_turn_s: float = 60.0
    noise_s: float = 15.0
    pad_ms: int = 500
    far_field_ratio: float = 0.25
    hears_all: bool = False
    preemptive: bool = False
    barge_in: BargeInTimes = field(default_factory=BargeInTimes)


@dataclass(frozen=True)
class Committed:
    """A turn of the user.

    Attributes:
        text: what was said.
        language: BCP-47 primary tag.
        speech_end_s: end of the speech on the media clock.
        reason: why the hold was as long as it was.
        hold_ms: the hold.
        late_ms: how much later than the end of the hold the text was there.
        times: when what happened to the utterance; turns are the same whenever they were said.
    """

    text: str
    language: str
    speech_end_s: float
    reason: str
    hold_ms: int = 0
    late_ms: float = 0.0
    times: UtteranceTimes = field(default=UtteranceTimes(), compare=False)


class TurnHost(Protocol):
    """What the engine needs from, and tells, the session it works for. All calls are synchronous."""

    def agent_busy(self) -> bool:
        """Whether the agent is speaking, pausing, or about to speak."""
        ...

    def pause_agent(self) -> None:
        """Let the agent's sound stand still."""
        ...

    def resume_agent(self) -> None:
        """Go on at the same sample."""
        ...

    def user_started(self) -> None:
        """Speech is established."""
        ...

    def false_start(self) -> None:
        """What might have become speech was none; ``user_started`` was never called for it."""
        ...

    def user_stopped(self, speech_end_s: float) -> None:
        """Silence is established after confirmed speech."""
        ...

    def user_partial(self, text: str) -> None:
        """What the utterance seems to say."""
        ...

    def cut_agent(self) -> None:
        """The user takes the floor."""
        ...

    def turn_likely(self, turn: Committed) -> None:
        """``turn`` will be committed unless the user speaks on."""
        ...

    def turn_unlikely(self) -> None:
        """What was likely is so no longer."""
        ...

    def turn(self, committed: Committed) -> None:
        """A turn is committed."""
        ...

    def corrected(self, sent: str, actual: str) -> None:
        """The recogniser has changed its mind about a turn committed as ``sent``."""
        ...

    def discarded(self, reason: str) -> None:
        """An utterance is dropped."""
        ...

    def unintelligible(self, fault: GloveVoiceError) -> None:
        """Speech was heard but could not be recognised."""
        ...

    def present(self) -> None:
        """There is evidence that somebody speaks, although it became no turn."""
        ...

    def detector_stalled(self) -> None:
        """The voice detector had stopped answering and was started anew."""
        ...
