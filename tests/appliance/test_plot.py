"""Drawing a conversation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agents.base.errors import InputError
from appliance.commands.plot import draw
from audio.io.wavwriter import StereoWavWriter

EVENTS = [
    {"t": 0.5, "type": "user_turn", "text": "What time is it?"},
    {"t": 0.6, "type": "agent_speech_started"},
    {"t": 0.8, "type": "playback_paused"},
    {"t": 0.9, "type": "interrupted", "heard": "It is", "played_ms": 300},
    {"t": 0.9, "type": "agent_speech_stopped", "heard": "It is"},
]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(json.dumps(event) for event in EVENTS), encoding="utf-8")
    return path


def test_a_conversation_becomes_a_picture(events: Path, tmp_path: Path) -> None:
    writer = StereoWavWriter(tmp_path / "talk.wav", 24_000)
    tone = (8000 * np.sin(np.arange(24_000) / 10)).astype(np.int16)
    writer.write(tone, np.zeros(24_000, np.int16))
    writer.close()
    draw(events, tmp_path / "with.png", tmp_path / "talk.wav")
    draw(events, tmp_path / "without.png")
    pictures = [(tmp_path / name).read_bytes() for name in ("with.png", "without.png")]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert pictures[0] != pictures[1], "the sound is drawn"


@pytest.mark.parametrize("content", ["no json", '{"type": "user_turn"}', "[1]"])
def test_what_holds_no_events_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        draw(path, tmp_path / "x.png")
    assert refused.value.code == "ERR_EVENTS"


def test_a_recording_of_one_side_is_refused(events: Path, tmp_path: Path) -> None:
    (tmp_path / "talk.wav").write_bytes(b"RIFF")
    with pytest.raises(InputError):
        draw(events, tmp_path / "x.png", tmp_path / "talk.wav")


def test_an_empty_stretch_is_refused(events: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        draw(events, tmp_path / "x.png", None, 5.0, 1.0)
