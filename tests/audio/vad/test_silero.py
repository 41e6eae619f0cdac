from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm, silence
from audio.vad.base import SpeechProb, SpeechRealStart, VadEvent
from audio.vad.segment import SegmentSettings
from audio.vad.silero import FAULTS_BEFORE_REBUILD, SileroVad
from audio.vad.silero_model import SileroStream, find_model, shared_session
from tests.audio.babble import babble, noise


@pytest.fixture(scope="module")
def model() -> Path:
    return find_model()


def feed(vad: SileroVad, pcm: Pcm, chunk: int = 160) -> list[VadEvent]:
    return [event for i in range(0, pcm.size, chunk) for event in vad.process(pcm[i : i + chunk])]


def probabilities(events: list[VadEvent]) -> list[float]:
    return [event.probability for event in events if isinstance(event, SpeechProb)]


def names(events: list[VadEvent]) -> list[str]:
    return [event.type for event in events if not isinstance(event, SpeechProb)]


def test_a_voice_is_heard_and_its_silence_ends_it(model: Path) -> None:
    vad = SileroVad(model)
    said = np.concatenate((silence(8_000), babble(1.5), silence(16_000)))
    assert names(feed(vad, said)) == ["speech_start", "speech_real_start", "speech_end"]


def test_loud_noise_is_not_a_voice(model: Path) -> None:
    assert max(probabilities(feed(SileroVad(model), noise(3.0, 0.1)))[5:]) < 0.35


def test_a_quiet_voice_is_still_a_voice(model: Path) -> None:
    assert "speech_real_start" in names(feed(SileroVad(model), np.concatenate((silence(8_000), babble(2.0, 0.1)))))


@pytest.mark.parametrize("chunk", [128, 320, 512, 700, 48_000])
def test_the_way_sound_is_delivered_changes_nothing(model: Path, chunk: int) -> None:
    said = np.concatenate((silence(3_000), babble(0.8)))
    assert feed(SileroVad(model), said, chunk) == feed(SileroVad(model), said, 160)


def test_events_say_where_in_the_stream_they_happened_also_after_a_reset(model: Path) -> None:
    vad = SileroVad(model)
    first = feed(vad, silence(1000))
    assert [event.sample for event in first] == [512]
    vad.reset()
    assert [event.sample for event in feed(vad, silence(1024), 512)] == [1512, 2024]


def test_a_reset_stream_answers_like_a_fresh_one(model: Path) -> None:
    vad = SileroVad(model)
    feed(vad, np.concatenate((babble(1.0), silence(100))))
    assert vad.is_speaking
    vad.reset()
    assert not vad.is_speaking
    assert probabilities(feed(vad, babble(0.5))) == probabilities(feed(SileroVad(model), babble(0.5)))


def test_streams_share_the_network_but_nothing_they_heard(model: Path) -> None:
    alone = probabilities(feed(SileroVad(model), babble(0.6)))
    first, second = SileroVad(model), SileroVad(model)
    mixed: list[float] = []
    for i in range(0, 9_600, 160):
        mixed += probabilities(first.process(babble(0.6)[i : i + 160]))
        second.process(noise(0.6)[i : i + 160])
    assert mixed == alone
    assert shared_session(model) is shared_session(model)


def test_the_bar_is_lower_while_the_agent_speaks(model: Path) -> None:
    vad = SileroVad(model, SegmentSettings(positive=1.0, negative=0.9))
    assert names(feed(vad, babble(0.5))) == []
    vad.set_ducked(True)
    assert "speech_start" in names(feed(vad, babble(0.5)))


def test_it_confirms_its_starts() -> None:
    assert SileroVad.supports_real_start
    assert SpeechRealStart.type == "speech_real_start"


def test_nothing_and_a_closed_detector_are_harmless(model: Path) -> None:
    vad = SileroVad(model)
    assert vad.process(silence(0)) == []
    vad.close()
    vad.close()
    assert feed(vad, babble(0.2)) == []
    vad.reset()
    assert not vad.is_speaking


class _Failing:
    """A session that fails, or answers nonsense, as often as told; otherwise it is the real one."""

    def __init__(self, real: Any, failures: int) -> None:
        self.real = real
        self.failures = failures

    def io_binding(self) -> Any:
        return self.real.io_binding()

    def run_with_iobinding(self, binding: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("no memory")
        self.real.run_with_iobinding(binding)


def test_a_failed_frame_is_counted_and_the_next_ones_are_heard(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = _Failing(shared_session(model), 2)
    monkeypatch.setattr("audio.vad.silero.shared_session", lambda path, fresh=False: failing)
    vad = SileroVad(model)
    events = feed(vad, np.concatenate((silence(1024), babble(1.0))))
    assert vad.faults == 2
    assert "speech_real_start" in names(events)


def test_a_network_that_keeps_failing_is_loaded_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [_Failing(shared_session(model), 10**9), shared_session(model)]
    asked: list[bool] = []

    def session(path: Path, fresh: bool = False) -> Any:
        asked.append(fresh)
        return sessions[min(len(asked), len(sessions)) - 1]

    monkeypatch.setattr("audio.vad.silero.shared_session", session)
    vad = SileroVad(model)
    feed(vad, silence(512 * FAULTS_BEFORE_REBUILD))
    assert asked == [False, True]
    assert "speech_real_start" in names(feed(vad, babble(1.0)))


def test_a_network_that_cannot_be_loaded_again_does_not_bring_the_stream_down(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = _Failing(shared_session(model), 10**9)

    def session(path: Path, fresh: bool = False) -> Any:
        if fresh:
            raise GloveVoiceError("ERR_VAD_MODEL", "gone")
        return failing

    monkeypatch.setattr("audio.vad.silero.shared_session", session)
    vad = SileroVad(model)
    assert feed(vad, silence(512 * 3 * FAULTS_BEFORE_REBUILD)) == []
    assert vad.faults == 3 * FAULTS_BEFORE_REBUILD


def test_an_answer_that_is_no_probability_is_a_fault(model: Path) -> None:
    stream = SileroStream(shared_session(model))
    stream._states[0].fill(np.nan)
    with pytest.raises(ArithmeticError):
        stream.probability(silence(512))
    stream.reset()
    assert 0.0 <= stream.probability(silence(512)) <= 1.0


def test_weights_that_are_none_are_named(tmp_path: Path) -> None:
    path = tmp_path / "silero_vad.onnx"
    path.write_bytes(b"not a network")
    with pytest.raises(GloveVoiceError, match=str(path)) as raised:
        SileroVad(path)
    assert raised.value.code == "ERR_VAD_MODEL"
    assert raised.value.remedy
