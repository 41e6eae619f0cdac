"""The words of LiveKit's protocol between an agent and a face in its room.

The agent sends each utterance as one byte stream, and calls ``CLEAR_BUFFER`` to cut the face short. The face calls
``PLAYBACK_STARTED`` and ``PLAYBACK_FINISHED``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

AUDIO_TOPIC = "lk.audio_stream"
CLEAR_BUFFER = "lk.clear_buffer"
PLAYBACK_STARTED = "lk.playback_started"
PLAYBACK_FINISHED = "lk.playback_finished"

ACCEPTED = "ok"
REJECTED = "reject"
"""Answers to calls. Receivers say the second to callers whom they do not expect."""


@dataclass(frozen=True)
class PlaybackReport:
    """The face has stopped playing. ``position_s``: seconds of the utterance it has played, None if it does not say."""

    position_s: float | None = None
    interrupted: bool = False


class _Payload(BaseModel):
    model_config = ConfigDict(strict=True)
    playback_position: float | None = None
    interrupted: bool = False


def read_report(payload: str) -> PlaybackReport:
    """The report in a call's payload. One that cannot be read says that playback has ended, and nothing else."""
    try:
        read = _Payload.model_validate_json(payload)
    except ValidationError:
        return PlaybackReport()
    position_s = read.playback_position
    usable = position_s is not None and 0.0 <= position_s < float("inf")
    return PlaybackReport(position_s if usable else None, read.interrupted)
