"""Measures turns: follows a session's events and tells the length of each step, and of each turn when it is over.

Nothing is measured by asking a clock of its own: every time comes with what happened, on the room's media clock. No
word of anybody is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from audio.events import (
    AgentSpeechStarted,
    AgentSpeechStopped,
    Discarded,
    Interrupted,
    Metric,
    PlaybackPaused,
    PlaybackResumed,
    ToolFinished,
    ToolUsed,
    UserTurnCorrected,
    VoiceEvent,
    VoiceFault,
)
from audio.metric_names import MetricName
from audio.turn_record import Pause, Source, ToolRun, TurnRecord, measured
from audio.turns.contract import Committed

MARKS = {"asked": "asked_s", "text": "first_token_s", "sentence": "first_sentence_s", "sound": "first_sound_s"}
"""What an answer goes through before it is heard, and where a record keeps it."""

DROPPED: dict[str, MetricName] = {"phantom": "stt_phantom_dropped", "far_field": "stt_far_field_dropped"}
"""Names of their own for reasons why something heard was no turn; the others share ``utterance_discarded``."""

SOURCES: dict[str, Source] = {"typed": "typed", "push_to_talk": "push_to_talk"}

MOST_KEPT = 64
"""Pauses, and tools, of one turn; more are not kept."""


class TurnMeter:
    """Measures the turns of one session.

    Args:
        emit: takes each metric.
    """

    def __init__(self, emit: Callable[[Metric], None]) -> None:
        self._emit = emit
        self._turns = 0
        self._record: TurnRecord | None = None
        self._paused_s: float | None = None
        self._likely_s: float | None = None
        self._cut = self._restarting = False

    def likely(self, at: float) -> None:
        """A turn is likely, and its answer is being prepared."""
        self._likely_s = at

    def turn(self, committed: Committed, at: float, *, continued: bool = False) -> None:
        """A turn of the user is taken; one that is still open ends.

        Args:
            committed: the turn.
            at: when, in seconds on the media clock.
            continued: whether it continues one whose answer was never heard.
        """
        self._close(at)
        self._turns += 1
        self._record = TurnRecord(
            number=self._turns,
            source=SOURCES.get(committed.reason, "speech"),
            outcome="unheard",
            speech_end_s=committed.speech_end_s,
            committed_s=at,
            ended_s=at,
            heard=committed.times,
            hold_reason=committed.reason,
            hold_ms=committed.hold_ms,
            late_ms=committed.late_ms,
            continued=continued,
        )
        if committed.reason != "typed":
            self._tell_utterance(committed, at)

    def _tell_utterance(self, committed: Committed, at: float) -> None:
        times, end_s = committed.times, committed.speech_end_s
        if times.onset_s is not None and times.confirmed_s is not None:
            self._tell(at, "vad_confirmed", times.confirmed_s - times.onset_s)
        if times.vad_end_s is not None:
            self._tell(at, "vad_end", max(0.0, times.vad_end_s - end_s))
        if times.dispatch_s is not None:
            self._tell(at, "stt_dispatch_ms", max(0.0, times.dispatch_s - end_s), source="silence")
        if times.vad_end_s is not None and times.final_s is not None:
            self._tell(at, "stt_final_ms", max(0.0, times.final_s - times.vad_end_s))
        remaining_ms = None if times.final_s is None else _ms(at - times.final_s)
        self._emit(
            Metric(
                at,
                "endpoint_hold",
                float(committed.hold_ms),
                {"reason": committed.reason, "waited": _ms(at - end_s), "remaining": remaining_ms},
            )
        )

    def reached(self, step: str, at: float) -> None:
        """The answer has come as far as ``step``; those that are no key of ``MARKS`` are not kept."""
        record, name = self._record, MARKS.get(step)
        if record is None or name is None or getattr(record, name) is not None:
            return
        self._record = record = replace(record, **{name: at})
        if step == "text" and record.asked_s is not None:
            self._tell(at, "front_ttft_ms", at - record.asked_s)
        elif step == "sound" and record.first_sentence_s is not None:
            self._tell(at, "tts_first_audio_ms", at - record.first_sentence_s)

    def restart(self) -> None:
        """The turn is about to be answered anew: the end of the answer in progress is not its end."""
        if self._record is not None:
            self._restarting = True
            self._record = replace(self._record, **dict.fromkeys([*MARKS.values(), "prepared_s"]))

    def reply_ended(self, at: float, *, over: bool) -> None:
        """A reply ended at ``at``. ``over``: the turn has nothing more to say."""
        self._paused_s = None
        if self._restarting:
            self._restarting = False
        elif over:
            self._close(at)

    def close(self, at: float) -> None:
        """The session ends; idempotent."""
        self._close(at)

    def note(self, event: VoiceEvent) -> None:
        """Take one event of the session."""
        match event:
            case AgentSpeechStarted():
                self._audible(event.t)
            case PlaybackPaused():
                self._paused_s = event.t
            case PlaybackResumed():
                self._decided(event.t, cut=False)
            case Interrupted():
                self._cut = True
                self._decided(event.t, cut=True, played_ms=event.played_ms)
            case AgentSpeechStopped():
                self._heard(event)
            case ToolUsed() | ToolFinished():
                self._tool(event)
            case Metric():
                self._prepared(event)
            case UserTurnCorrected() | Discarded() | VoiceFault():
                self._mishap(event)
            case _:
                pass

    def _audible(self, at: float) -> None:
        record, self._cut = self._record, False
        if record is not None and record.audible_s is None:
            self._record = replace(record, audible_s=at)
            self._tell(at, "time_to_first_audio_ms", at - record.committed_s)

    def _decided(self, at: float, *, cut: bool, played_ms: int = 0) -> None:
        """An interruption was decided, or the answer was cut without one."""
        paused_s, self._paused_s = self._paused_s, None
        if cut:
            decision = None if paused_s is None else _ms(at - paused_s)
            self._emit(
                Metric(at, "barge_in", decision, {"played_ms": played_ms, "by": "speech" if paused_s else "command"})
            )
        elif paused_s is not None:
            self._tell(at, "barge_in_retracted", at - paused_s)
        record = self._record
        if paused_s is not None and record is not None and len(record.pauses) < MOST_KEPT:
            self._record = replace(record, pauses=(*record.pauses, Pause(paused_s, at, cut)))

    def _heard(self, event: AgentSpeechStopped) -> None:
        if self._record is not None:
            words = self._record.heard_words + len(event.heard.split())
            self._record = replace(self._record, heard_words=words)

    def _tool(self, event: ToolUsed | ToolFinished) -> None:
        record = self._record
        if record is None:
            return
        if isinstance(event, ToolUsed):
            if len(record.tools) < MOST_KEPT:
                self._record = replace(record, tools=(*record.tools, ToolRun(event.name, event.t)))
            return
        runs = list(record.tools)
        open_ones = (n for n, run in enumerate(runs) if run.name == event.tool_name and run.ended_s is None)
        if (index := next(open_ones, None)) is not None:
            self._tell(event.t, "tool_ms", event.t - runs[index].started_s, status=event.status)
            runs[index] = replace(runs[index], ended_s=event.t, status=event.status)
            self._record = replace(record, tools=tuple(runs))

    def _prepared(self, metric: Metric) -> None:
        if metric.name == "prepared" and metric.data is not None and metric.data["used"] and self._record is not None:
            self._record = replace(self._record, prepared_s=self._likely_s)

    def _mishap(self, event: UserTurnCorrected | Discarded | VoiceFault) -> None:
        match event:
            case UserTurnCorrected():
                self._tell(event.t, "stt_correction")
                if self._record is not None:
                    self._record = replace(self._record, corrections=self._record.corrections + 1)
            case Discarded():
                name = DROPPED.get(event.reason)
                self._tell(event.t, name) if name else self._tell(event.t, "utterance_discarded", reason=event.reason)
            case VoiceFault():
                name = "vad_deaf_reset" if event.code == "ERR_VAD_STALLED" else "speech_failure"
                self._tell(event.t, name, code=event.code)
                if self._record is not None and name == "speech_failure":
                    self._record = replace(self._record, fault=event.code)

    def _close(self, at: float) -> None:
        record, self._record = self._record, None
        cut, self._cut = self._cut, False
        self._restarting = False
        if record is None:
            return
        if record.audible_s is not None:
            paused = sum(pause.decided_s - pause.paused_s for pause in record.pauses if pause.decided_s is not None)
            self._tell(at, "tts_playback_ms", max(0.0, at - record.audible_s - paused))
            record = replace(record, outcome="cut" if cut else "complete")
        self._emit(measured(replace(record, ended_s=at), at))

    def _tell(self, at: float, name: MetricName, seconds: float | None = None, **data: object) -> None:
        self._emit(Metric(at, name, None if seconds is None else _ms(seconds), data or None))


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)
