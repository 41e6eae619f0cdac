"""The names of what is measured, as they stand in files and on the wire; ``docs/metrics.md`` says what each means."""

from __future__ import annotations

from typing import Literal

MetricName = Literal[
    "turn",
    "vad_confirmed",
    "vad_end",
    "vad_deaf_reset",
    "stt_dispatch_ms",
    "stt_final_ms",
    "stt_correction",
    "stt_phantom_dropped",
    "stt_far_field_dropped",
    "utterance_discarded",
    "endpoint_hold",
    "prepared",
    "front_ttft_ms",
    "tool_ms",
    "tts_first_audio_ms",
    "time_to_first_audio_ms",
    "voice_to_voice",
    "tts_playback_ms",
    "barge_in",
    "barge_in_retracted",
    "speech_failure",
]
