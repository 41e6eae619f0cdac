"""Where the time between the end of the user's speech and the first sample of the answer went."""

from __future__ import annotations

from audio.events import Metric
from audio.reply import Reply
from audio.turns.contract import Committed


def voice_to_voice(reply: Reply, committed: Committed, committed_at: float, at: float) -> Metric | None:
    """The latency of ``reply`` by stages, in milliseconds; None if its first sound is no words.

    Args:
        reply: the answer, of which the first sample is being played.
        committed: the turn that it answers.
        committed_at: when that was committed, in seconds on the media clock.
        at: when the first sample was played.
    """
    marks = reply.marks
    if not {"text", "sentence", "sound"} <= set(marks):
        return None
    stages = {
        "wait": committed_at - committed.speech_end_s,
        "agent": marks["text"] - committed_at,
        "sentence": marks["sentence"] - marks["text"],
        "voice": marks["sound"] - marks["sentence"],
        "playout": at - marks["sound"],
    }
    data: dict[str, object] = {f"{name}_ms": round(1000 * value, 1) for name, value in stages.items()}
    data |= {"hold": committed.reason, "hold_ms": committed.hold_ms, "late_ms": committed.late_ms}
    return Metric(at, "voice_to_voice", round(1000 * (at - committed.speech_end_s), 1), data)
