from __future__ import annotations

import os
import signal
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from agents.base.errors import GloveError
from audio.io.wavfile import read_wav
from audio.io.wavwriter import StereoWavWriter
from audio.pcm import Pcm, silence


def ramp(samples: int, start: int = 0) -> Pcm:
    return np.arange(start, start + samples).astype(np.int16)


def sides(path: Path) -> tuple[list[int], list[int]]:
    with wave.open(str(path)) as recording:
        assert recording.getnchannels() == 2
        data = np.frombuffer(recording.readframes(recording.getnframes()), "<i2").reshape(-1, 2)
    return data[:, 0].tolist(), data[:, 1].tolist()


def test_left_and_right_are_kept_apart_and_aligned(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    with StereoWavWriter(path, 24_000) as writer:
        for i in range(100):
            writer.write(ramp(240, i * 240), -ramp(240, i * 240))
        assert writer.frames == 24_000
    left, right = sides(path)
    assert left == list(range(24_000))
    assert right == [-x for x in range(24_000)]
    with read_wav(path) as audio:
        assert (audio.rate_hz, audio.channels, audio.truncated) == (24_000, 2, False)


def test_a_file_is_playable_before_anything_was_written_to_it(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    writer = StereoWavWriter(path, 24_000)
    assert sides(path) == ([], [])
    writer.close()
    writer.close()
    assert sides(path) == ([], [])


def test_listeners_can_follow_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    writer = StereoWavWriter(path, 24_000)
    for i in range(100):
        writer.write(ramp(240, i * 240), silence(240))
        behind = (i + 1) * 240 - len(sides(path)[0])
        assert 0 <= behind < 24_000 * 0.26
    writer.flush()
    assert len(sides(path)[0]) == 24_000
    writer.close()


def test_an_older_longer_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    path.write_bytes(b"x" * 100_000)
    with StereoWavWriter(path, 24_000) as writer:
        writer.write(ramp(10), ramp(10))
    assert path.stat().st_size == 44 + 40


def test_sides_of_different_length_are_refused(tmp_path: Path) -> None:
    with StereoWavWriter(tmp_path / "out.wav", 24_000) as writer, pytest.raises(ValueError, match="left has 2"):
        writer.write(ramp(2), ramp(3))


def test_a_closed_file_takes_nothing(tmp_path: Path) -> None:
    writer = StereoWavWriter(tmp_path / "out.wav", 24_000)
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(ramp(2), ramp(2))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(GloveError, match="none") as raised:
        StereoWavWriter(tmp_path / "none" / "out.wav", 24_000)
    assert raised.value.code == "ERR_WAV_WRITE"


_WRITE = """
import sys
from pathlib import Path
import numpy as np
from audio.io.wavwriter import StereoWavWriter
writer = StereoWavWriter(Path(sys.argv[1]), 24000)
"""

_UNTIL_KILLED = (
    _WRITE
    + """
n = 0
while True:
    block = (np.arange(n, n + 240) % 30000).astype(np.int16)
    writer.write(block, block)
    n += 240
    if n == 48000:
        print("going", flush=True)
"""
)

_DISK_FULL = (
    _WRITE
    + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100_001, 100_001))
from agents.base.errors import GloveError
try:
    for n in range(100):
        writer.write(np.full(2400, n, np.int16), np.full(2400, n, np.int16))
except GloveError as error:
    print(error.code, "|", error.message, "|", error.remedy)
writer.close()
"""
)


def test_a_killed_process_leaves_a_recording_that_plays(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    with subprocess.Popen([sys.executable, "-c", _UNTIL_KILLED, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    left, right = sides(path)
    assert len(left) >= 48_000 - 6_000
    assert left == right == [i % 30_000 for i in range(len(left))]


def test_a_full_disk_is_told_and_leaves_a_recording_of_what_fitted(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    done = subprocess.run(
        [sys.executable, "-c", _DISK_FULL, str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    code, message, remedy = done.stdout.strip().split(" | ")
    assert code == "ERR_DISK_FULL"
    assert str(path) in message
    assert remedy
    left, right = sides(path)
    assert left == right
    assert left == [i // 2400 for i in range(len(left))]
    assert len(left) == (100_001 - 44) // 4
