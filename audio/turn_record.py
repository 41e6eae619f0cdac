"""What became of one turn of the user, and when: from the onset of speech to the last sample of the answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal

from audio.events import Metric
from audio.metric_names import MetricName
from audio.turns.timing import UtteranceTimes

Source = Literal["speech", "push_to_talk", "typed"]
"""How the turn came: spoken, spoken while the talk key was held, or typed."""

Outcome = Literal["complete", "cut", "unheard"]
"""Heard to its end; cut after its first sample; ended before it."""

WAITING = ("silence", "recognition", "hold", "agent", "sentence", "voice", "playout")
"""The stages between the end of the user's speech and the first audible sample; they join and add up to the latency."""

STAGES = ("speech", *WAITING, "answer")
"""All stages in order."""


@dataclass(frozen=True)
class Stage:
    """One stretch of a turn, in seconds on the media clock."""

    name: str
    start_s: float
    end_s: float

    @property
    def ms(self) -> float:
        """How long it took."""
        return 1000 * (self.end_s - self.start_s)


@dataclass(frozen=True)
class Pause:
    """The answer stood still because somebody spoke.

    Attributes:
        paused_s: since when.
        decided_s: when it went on, or was cut; None when it ended otherwise.
        cut: whether the user took the floor.
    """

    paused_s: float
    decided_s: float | None = None
    cut: bool = False


@dataclass(frozen=True)
class ToolRun:
    """A tool that the agent called for the turn. ``ended_s`` is None if the turn ended first."""

    name: str
    started_s: float
    ended_s: float | None = None
    status: str = ""


@dataclass(frozen=True)
class TurnRecord:
    """One turn, without any of its words. Times are seconds on the media clock; None for what did not happen.

    Attributes:
        number: counts the turns of a session, from 1.
        source: how it came.
        outcome: what became of its answer.
        heard: when what happened to the utterance.
        speech_end_s: the user's last sound; for a typed line, when it was sent.
        committed_s: the turn was taken.
        hold_reason: why it was waited for as long as it was.
        hold_ms: the hold.
        late_ms: how much later than the end of the hold the final text was there.
        prepared_s: the agent was asked ahead, with success.
        asked_s: the agent was asked.
        first_token_s: its first words.
        first_sentence_s: its first sentence was given to the voice.
        first_sound_s: the voice's first sound.
        audible_s: the first sample of the answer was played.
        ended_s: the last one was, or the turn was cut.
        pauses: interruptions and how they were decided.
        tools: tools that were called.
        corrections: how often the recogniser changed its mind after the turn was taken.
        continued: whether it continues one whose answer was never heard.
        fault: code of what went wrong; empty when nothing did.
        heard_words: words of the answer that were heard.
    """

    number: int
    source: Source
    outcome: Outcome
    speech_end_s: float
    committed_s: float
    ended_s: float
    heard: UtteranceTimes = field(default_factory=UtteranceTimes)
    hold_reason: str = ""
    hold_ms: int = 0
    late_ms: float = 0.0
    prepared_s: float | None = None
    asked_s: float | None = None
    first_token_s: float | None = None
    first_sentence_s: float | None = None
    first_sound_s: float | None = None
    audible_s: float | None = None
    pauses: tuple[Pause, ...] = ()
    tools: tuple[ToolRun, ...] = ()
    corrections: int = 0
    continued: bool = False
    fault: str = ""
    heard_words: int = 0

    @property
    def voice_to_voice_ms(self) -> float | None:
        """From the end of the user's speech to the first audible sample; None if there was none."""
        return None if self.audible_s is None else 1000 * (self.audible_s - self.speech_end_s)

    def stages(self) -> tuple[Stage, ...]:
        """The stretches that the turn came through, joined end to start, each at least of no length.

        A stage whose end was never reached ends the list. What is known not to be there (no voice detector, no words)
        has no length.
        """
        bounds = [self.speech_end_s, *self._bounds()]
        stages = [Stage(name, *span) for name, span in zip(WAITING, pairwise(bounds), strict=False)]
        if self.heard.onset_s is not None:
            stages.insert(0, Stage("speech", min(self.heard.onset_s, self.speech_end_s), self.speech_end_s))
        if self.audible_s is not None:
            stages.append(Stage("answer", self.audible_s, max(self.audible_s, self.ended_s)))
        return tuple(stages)

    def _bounds(self) -> list[float]:
        """Where each stage of ``WAITING`` ended, as far as the turn came; never before the one that precedes it."""
        reached = self.speech_end_s
        bounds: list[float] = []
        last = self.ended_s if self.audible_s is None else self.audible_s
        spoken = (self.first_token_s, self.first_sentence_s, self.first_sound_s)
        ends = [self.heard.vad_end_s or reached, self.heard.final_s or reached, self.committed_s]
        if self.audible_s is not None:
            # A sound that is no word (a cue, a failure) leaves out what words go through.
            ends += [last if end is None else end for end in spoken] + [last]
        else:
            ends += [end for end in spoken if end is not None]
        for end in ends:
            reached = min(max(reached, end), max(last, self.committed_s))
            bounds.append(reached)
        return bounds

    def to_data(self) -> dict[str, Any]:
        """The JSON form: milliseconds from the end of the user's speech, to 0.1 ms."""
        return {
            "turn": self.number,
            "source": self.source,
            "outcome": self.outcome,
            "hold": self.hold_reason,
            "hold_ms": self.hold_ms,
            "late_ms": self.late_ms,
            "stages": [[stage.name, self._ms(stage.start_s), self._ms(stage.end_s)] for stage in self.stages()],
            "marks": {name[:-2]: self._ms(at) for name, at in self._marks().items()},
            "pauses": [
                {"at_ms": self._ms(pause.paused_s), "decided_ms": self._ms(pause.decided_s), "cut": pause.cut}
                for pause in self.pauses
            ],
            "tools": [
                {
                    "name": run.name,
                    "at_ms": self._ms(run.started_s),
                    "end_ms": self._ms(run.ended_s),
                    "status": run.status,
                }
                for run in self.tools
            ],
            "corrections": self.corrections,
            "continued": self.continued,
            "fault": self.fault,
            "heard_words": self.heard_words,
        }

    def _marks(self) -> dict[str, float]:
        names = ("committed_s", "prepared_s", "asked_s", "first_token_s", "first_sentence_s", "first_sound_s")
        own = {name: getattr(self, name) for name in (*names, "audible_s", "ended_s")}
        return {name: at for name, at in {**asdict(self.heard), **own}.items() if at is not None}

    def _ms(self, at: float | None) -> float | None:
        return None if at is None else round(1000 * (at - self.speech_end_s), 1)


@dataclass(frozen=True)
class TurnMeasured(Metric):
    """The metric ``turn``: a turn is over. ``record`` is what ``data`` was made of."""

    name: MetricName = "turn"
    record: TurnRecord | None = None

    type: ClassVar[str] = "metric"

    def to_json(self) -> dict[str, Any]:
        """The wire form of a metric."""
        return {"t": round(self.t, 4), "type": self.type, "name": self.name, "ms": self.ms, "data": self.data}


def measured(record: TurnRecord, at: float) -> TurnMeasured:
    """The event for ``record``, at ``at`` seconds on the media clock."""
    total = record.voice_to_voice_ms
    return TurnMeasured(at, ms=None if total is None else round(total, 1), data=record.to_data(), record=record)
