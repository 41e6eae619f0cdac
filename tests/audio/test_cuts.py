"""A reply may be cut at any moment, through any sink: history is what was heard, and nothing sounds afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from audio.tts.scripted import ScriptedVoice
from tests.support.cuts import Sink, device, page, sweep, wav_file

FROM_TOKEN_TO_END_MS = range(0, 2200, 10)
TOOL_TURN_MS = range(0, 2800, 10)
TIMED = ScriptedVoice(chunk_ms=70, word_timings=True)
"""Words of 250 ms; at 6 words and a first sound after 0.12 s the reply is over within two seconds."""


@pytest.mark.parametrize("sink", [wav_file, device, page])
async def test_case_c20_c22_cut_at_every_ten_milliseconds_history_is_what_was_heard(sink: Sink, tmp_path: Path) -> None:
    assert await sweep(sink, TIMED, tmp_path, FROM_TOKEN_TO_END_MS) == []


@pytest.mark.parametrize("sink", [wav_file, device, page])
async def test_case_c22_the_same_in_a_turn_with_a_tool(sink: Sink, tmp_path: Path) -> None:
    """Here at every 70 ms; ``scripts/soak turns`` cuts at every ten."""
    assert await sweep(sink, TIMED, tmp_path, TOOL_TURN_MS[::7], with_tool=True) == []


async def test_the_same_with_a_slow_voice_that_makes_sound_just_in_time(tmp_path: Path) -> None:
    voice = ScriptedVoice(first_audio_s=0.3, open_s=0.2, speed=1.5, chunk_ms=50)
    assert await sweep(wav_file, voice, tmp_path, range(0, 3000, 10)) == []
