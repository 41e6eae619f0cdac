"""Conversations with files: what was opened is closed, however early a conversation ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from audio.io.files import StereoSink, WavSource
from audio.io.wavfile import read_wav
from audio.io.wavwriter import StereoWavWriter
from audio.pcm import silence


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "user.wav"
    with StereoWavWriter(path, 16_000) as writer:
        writer.write(silence(16_000), silence(16_000))
    return path


def is_open(path: Path) -> bool:
    return str(path) in {os.path.realpath(descriptor) for descriptor in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("frames", [0, 1, 200])
def test_the_recording_is_let_go(recording: Path, tmp_path: Path, frames: int) -> None:
    source, sink = WavSource(read_wav(recording)), StereoSink(tmp_path / "out.wav", recording)
    for _ in range(frames):
        sink.write(silence(240), source.frame())
    source.close()
    sink.close()
    assert source.frame() is None
    assert not is_open(recording)
    assert not is_open(tmp_path / "out.wav")
