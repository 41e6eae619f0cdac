"""``glove listen``: which stretches are written down, and what becomes of recordings that are none."""

from __future__ import annotations

import json
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from appliance.commands.stretches import LONGEST_S, stretches
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.vad.base import SpeechEnd, SpeechRealStart, SpeechStart, VadAdapter, VadEvent, VadMisfire
from tests.appliance.conftest import Ended

Glove = Callable[..., Ended]
SECOND = CAPTURE_RATE_HZ


class LevelVad(VadAdapter):
    """Speech is what is not silent; a segment ends after half a second without any, a short one is taken back."""

    supports_real_start = True

    def __init__(self) -> None:
        self._sample = 0
        self._began: int | None = None
        self._last = 0
        self._real = False

    @property
    def is_speaking(self) -> bool:
        return self._began is not None

    def process(self, pcm: Pcm) -> list[VadEvent]:
        events: list[VadEvent] = []
        for at in range(0, pcm.size, 160):
            frame = pcm[at : at + 160]
            self._sample += frame.size
            if frame.any():
                self._last = self._sample
                if self._began is None:
                    self._began, self._real = self._sample, False
                    events.append(SpeechStart(self._sample))
                elif not self._real and self._sample - self._began >= SECOND // 4:
                    self._real = True
                    events.append(SpeechRealStart(self._sample))
            elif self._began is not None and self._sample - self._last >= SECOND // 2:
                events.append(SpeechEnd(self._sample, self._last) if self._real else VadMisfire(self._sample))
                self._began = None
        return events

    def reset(self) -> None:
        self._began = None


def speech(seconds: float, value: int = 1000) -> Pcm:
    return np.full(round(seconds * SECOND), value, np.int16)


def cut(pcm: Pcm, block: int = 5000) -> list[tuple[float, float, int]]:
    """(start, end, number of loud samples) of each stretch."""
    blocks = [pcm[at : at + block] for at in range(0, pcm.size, block)]
    return [
        (round(s.start_s, 2), round(s.end_s, 2), int(np.count_nonzero(s.pcm)))
        for s in stretches(blocks, LevelVad(), 200)
    ]


@pytest.mark.parametrize("block", [160, 4800, 16_000, 1_000_000])
def test_each_utterance_is_one_stretch_with_its_preroll(block: int) -> None:
    pcm = np.concatenate((silence(SECOND), speech(1), silence(2 * SECOND), speech(2), silence(SECOND)))
    assert cut(pcm, block) == [(0.81, 2.5, SECOND), (3.81, 6.5, 2 * SECOND)]


def test_speech_that_touches_both_ends_is_whole() -> None:
    assert cut(speech(1.5)) == [(0.0, 1.5, 24_000)]


def test_a_click_is_left_out() -> None:
    pcm = np.concatenate((silence(SECOND), speech(0.1), silence(SECOND), speech(1), silence(SECOND)))
    assert [stretch[2] for stretch in cut(pcm)] == [SECOND]
    assert cut(np.concatenate((silence(SECOND), speech(0.1), silence(2 * SECOND)))) == []


def test_utterances_close_together_share_no_sound() -> None:
    pcm = np.concatenate((speech(1), silence(SECOND * 6 // 10), speech(1), silence(SECOND)))
    first, second = cut(pcm)
    assert first[2] + second[2] == 2 * SECOND
    assert second[0] >= first[1]


def test_speech_without_a_pause_is_cut_but_not_lost() -> None:
    pcm = speech(2.5 * LONGEST_S)
    found = cut(pcm, 160_000)
    assert len(found) == 3
    assert sum(stretch[2] for stretch in found) == pcm.size
    assert max(end - start for start, end, _ in found) <= LONGEST_S + 1


def test_silence_and_nothing_give_no_stretch() -> None:
    assert cut(silence(10 * SECOND)) == []
    assert cut(silence(0)) == []


def write_wav(name: str, pcm: Pcm) -> Path:
    with wave.open(name, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(CAPTURE_RATE_HZ)
        out.writeframes(pcm.tobytes())
    return Path(name)


@pytest.fixture
def simulated_ears() -> None:
    Path("glove.toml").write_text(
        '[speech]\nstt = "simulated"\n[turns]\nvad = "energy"\n[simulated]\ntranscript = "It works."\n'
    )


def tone(seconds: float) -> Pcm:
    at = np.arange(round(seconds * SECOND))
    return np.rint(8000 * np.sin(2 * np.pi * 300 * at / SECOND)).astype(np.int16)


@pytest.mark.usefixtures("simulated_ears")
def test_one_recording_is_one_line(glove: Glove) -> None:
    pcm = np.concatenate((silence(SECOND), tone(1), silence(2 * SECOND)))
    ended = glove("listen", write_wav("a.wav", pcm))
    assert (ended.code, ended.out) == (0, "It works.\n")


@pytest.mark.usefixtures("simulated_ears")
def test_silence_is_an_empty_line(glove: Glove) -> None:
    ended = glove("listen", write_wav("a.wav", silence(3 * SECOND)))
    assert (ended.code, ended.out) == (0, "\n")


@pytest.mark.usefixtures("simulated_ears")
def test_json_tells_when(glove: Glove) -> None:
    pcm = np.concatenate((silence(SECOND), tone(1), silence(2 * SECOND), tone(1), silence(2 * SECOND)))
    told = json.loads(glove("listen", "--json", write_wav("a.wav", pcm)).out)
    assert (told["file"], told["text"]) == ("a.wav", "It works. It works.")
    first, second = told["segments"]
    assert first["start"] <= 1.0 <= 2.0 <= first["end"] <= second["start"]
    assert first["language"] == "en"


@pytest.mark.usefixtures("simulated_ears")
def test_one_bad_recording_does_not_stop_the_others(glove: Glove) -> None:
    good = write_wav("good.wav", np.concatenate((silence(SECOND), tone(1), silence(SECOND))))
    Path("bad.wav").write_text("no sound")
    ended = glove("listen", "bad.wav", good, "none.wav")
    assert ended.code == 2
    assert ended.out == "good.wav: It works.\n"
    assert [line.split(" ")[0] for line in ended.err_lines] == ["glove:", "glove:"]
    assert "bad.wav" in ended.err_lines[0]
    assert "none.wav" in ended.err_lines[1]


@pytest.mark.usefixtures("simulated_ears")
def test_a_recording_cut_short_is_written_down_and_said_so(glove: Glove) -> None:
    path = write_wav("a.wav", np.concatenate((silence(SECOND), tone(1), silence(4 * SECOND))))
    path.write_bytes(path.read_bytes()[: -2 * 2 * SECOND])
    ended = glove("listen", path)
    assert (ended.code, ended.out) == (0, "It works.\n")
    assert "less than its header promises" in ended.err
