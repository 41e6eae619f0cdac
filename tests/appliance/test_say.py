"""``glove say``: what is spoken, where it goes, and what cannot be."""

from __future__ import annotations

import io
import subprocess
import sys
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from appliance.commands.say import spoken_sentences
from tests.appliance.conftest import Ended, glove_process

Glove = Callable[..., Ended]


@pytest.fixture(autouse=True)
def simulated_voice() -> None:
    """Every word is a tone of 220 ms followed by 30 ms of silence."""
    Path("glove.toml").write_text('[speech]\ntts = "simulated"\n')


def sound_of(path: Path | io.BytesIO) -> tuple[int, np.ndarray]:
    with wave.open(str(path) if isinstance(path, Path) else path) as recording:
        assert (recording.getnchannels(), recording.getsampwidth()) == (1, 2)
        return recording.getframerate(), np.frombuffer(recording.readframes(recording.getnframes()), "<i2")


def test_every_word_is_in_the_file(glove: Glove) -> None:
    ended = glove("say", "One two three.", "--out", "o.wav")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    rate, pcm = sound_of(Path("o.wav"))
    assert len(pcm) / rate == pytest.approx(0.75, abs=0.05)


def test_a_long_text_is_spoken_to_its_end_without_waiting(glove: Glove) -> None:
    words = 2_000
    ended = glove("say", "word. " * words, "--out", "o.wav")
    assert ended.code == 0, ended.err
    rate, pcm = sound_of(Path("o.wav"))
    assert len(pcm) / rate == pytest.approx(words * 0.25, rel=0.01)


def test_text_from_standard_input_and_sound_to_standard_output() -> None:
    child = glove_process("say", "-", "--out", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False)
    out, _ = child.communicate(b"One two.", timeout=60)
    assert child.returncode == 0
    rate, pcm = sound_of(io.BytesIO(out))
    assert len(pcm) / rate == pytest.approx(0.5, abs=0.05)


def test_a_reader_of_the_sound_that_goes_away_is_no_drama() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = glove_process("say", "-", "--out", "-", text=False, **pipes)
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    child.stdout.close()
    child.stdin.write(b"word " * 300)
    child.stdin.close()
    assert child.stderr.read() == b""
    assert child.wait(timeout=60) == 1


def test_text_that_is_not_utf8_is_refused() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = glove_process("say", "-", "--out", "o.wav", text=False, **pipes)
    _, err = child.communicate(b"\xff\xfe\x00", timeout=60)
    assert child.returncode == 2
    assert b"not UTF-8" in err
    assert not Path("o.wav").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line(glove: Glove) -> None:
    ended = glove("say", "One two three.", "--out", "/dev/full")
    assert ended.code == 1
    assert len(ended.err_lines) == 1
    assert "No space left" in ended.err


def test_without_a_loudspeaker_a_file_is_suggested(glove: Glove, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", NoDevice)
    ended = glove("say", "Hello.")
    assert ended.code == 1
    assert ended.err_lines == [
        "glove: There is no loudspeaker to play on. Write a file instead: --out FILE.wav",
    ]


class NoDevice:
    """A machine without any sound device, as sounddevice shows it."""

    class PortAudioError(Exception):
        """What it raises."""

    @staticmethod
    def OutputStream(**_: object) -> None:
        raise NoDevice.PortAudioError("Error querying device -1")


def test_what_is_spoken_is_made_for_the_ear() -> None:
    text = "# Today\n\nIt is **warm**: see [the page](https://example.org/a). 🙂\n\n```\ncode\n```\nBye."
    spoken = " ".join(spoken_sentences(text, "en"))
    assert "warm" in spoken
    assert "the page" in spoken
    assert "Bye." in spoken
    assert not any(mark in spoken for mark in "#*[]`🙂")
    assert "example.org" not in spoken
