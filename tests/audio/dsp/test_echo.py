from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from audio.dsp.duplex import Duplex, EchoPath
from audio.dsp.echo import EchoCanceller, WebRtcEchoCanceller
from audio.dsp.levels import ErleMeter, LevelMeter, power, power_db
from audio.pcm import FRAME_SAMPLES, Pcm, round_to_pcm, silence

RNG = np.random.default_rng(4)


def far_end(seconds: float) -> Pcm:
    """Noise in bursts, like syllables, 48 kHz."""
    samples = round(seconds * 48_000)
    envelope = 0.5 + 0.5 * np.sin(2 * np.pi * 3 * np.arange(samples) / 48_000)
    smooth = np.convolve(RNG.standard_normal(samples), np.ones(6) / 6, "same")
    return round_to_pcm(smooth * envelope * 6000)


def room(far: Pcm, gain: float = 0.5, delay_ms: int = 60) -> Pcm:
    """What a microphone at 16 kHz hears of it: late, with a reverberating tail, over a little noise."""
    at_16 = far.astype(float).reshape(-1, 3).mean(axis=1)
    tail = RNG.standard_normal(1600) * np.exp(-np.arange(1600) / 300)
    tail[0] = 3
    echo = np.convolve(np.concatenate((np.zeros(delay_ms * 16), at_16)), tail / 4)[: at_16.size]
    return round_to_pcm(gain * echo + RNG.standard_normal(at_16.size) * 10)


def through(path: EchoPath, microphone: Pcm, far: Pcm) -> Pcm:
    out = [
        path.process(microphone[i * 160 : (i + 1) * 160], [far[i * 480 : (i + 1) * 480]])
        for i in range(microphone.size // 160)
    ]
    return np.concatenate(out)


def test_the_echo_of_what_was_played_is_taken_away() -> None:
    far = far_end(8)
    path = EchoPath("auto", WebRtcEchoCanceller())
    heard, microphone = through(path, room(far), far), room(far)
    last = slice(5 * 16_000, None)
    assert power_db(power(microphone[last])) - power_db(power(heard[last])) > 20
    assert path.erle_db is not None and path.erle_db > 20
    assert path.duplex is Duplex.FULL and path.reason == ""


def test_a_voice_that_was_not_played_stays() -> None:
    far = silence(48_000 * 4)
    near = room(far_end(4), gain=1.0)
    heard = through(EchoPath("aec", WebRtcEchoCanceller()), near, far)
    assert abs(power_db(power(heard[16_000:])) - power_db(power(near[16_000:]))) < 3


def test_where_cancellation_fails_the_microphone_rests_while_the_device_sounds() -> None:
    class Poor(EchoCanceller):
        """Takes 6 dB away."""

        def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
            return (frame // 2).astype(np.int16)

        def reset(self) -> None:
            pass

    path = EchoPath("auto", Poor())
    far = far_end(4)
    heard = through(path, room(far), far)
    assert path.duplex is Duplex.HALF
    assert path.erle_db == pytest.approx(6, abs=0.5)
    assert "does not work well enough" in path.reason
    assert not heard[-16_000:].any()
    quiet = room(silence(48_000), gain=0)
    assert through(path, quiet, silence(48_000))[-8000:].any(), "heard again when it is silent"


def test_a_device_that_works_well_again_is_full_duplex_again() -> None:
    class Switchable(EchoCanceller):
        works = False

        def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
            return silence(frame.size) if self.works else frame

        def reset(self) -> None:
            pass

    canceller = Switchable()
    path = EchoPath("auto", canceller)
    far = far_end(5)
    through(path, room(silence(48_000), gain=0), silence(48_000))
    through(path, room(far), far)
    assert path.duplex is Duplex.HALF
    canceller.works = True
    through(path, room(far), far)
    assert path.duplex is Duplex.FULL


def test_while_cancellation_learns_the_room_or_finds_its_place_again_the_microphone_rests() -> None:
    path = EchoPath("auto", WebRtcEchoCanceller())
    far = far_end(3)
    for delay_ms in (60, 72):
        echo = room(far, delay_ms=delay_ms)
        heard = through(path, echo, far).reshape(-1, FRAME_SAMPLES)
        opened = int(heard.any(axis=1).argmax())
        assert 49 <= opened < 130, "not before there is proof, and then at once"
        assert power_db(power(echo[opened * FRAME_SAMPLES :])) - power_db(power(heard[opened:].ravel())) > 15
        path.slipped()


def test_after_a_long_silence_the_first_word_is_cancelled_although_reference_and_echo_have_moved() -> None:
    path = EchoPath("aec", WebRtcEchoCanceller())
    far, quiet = far_end(4), silence(6 * 48_000)
    through(path, room(far, delay_ms=60), far)
    through(path, room(quiet, gain=0), quiet)
    assert path.at_rest
    echo = room(far, delay_ms=85)
    heard = through(path, echo, far)
    first = slice(0, 8000)  # half a second
    assert power_db(power(echo[first])) - power_db(power(heard[first])) > 15


def test_a_user_who_speaks_all_the_time_is_heard_in_the_end_although_there_is_no_proof() -> None:
    path = EchoPath("auto", WebRtcEchoCanceller())
    far, near = far_end(4), room(far_end(4), gain=2.0)
    heard = through(path, round_to_pcm(room(far).astype(float) + near), far).reshape(-1, FRAME_SAMPLES)
    assert heard[260:].any()


def test_with_headphones_there_is_nothing_to_learn() -> None:
    path = EchoPath("auto", WebRtcEchoCanceller())
    quiet = room(silence(48_000), gain=0)
    through(path, quiet, silence(48_000))
    far = far_end(2)
    heard = through(path, room(far, gain=0), far).reshape(-1, FRAME_SAMPLES)
    assert heard[110:].any(axis=1).all()


def test_without_a_canceller_the_microphone_rests_and_health_says_why() -> None:
    path = EchoPath("auto", None)
    far = far_end(1)
    assert not through(path, room(far), far).any()
    assert "no echo cancellation" in path.reason
    assert EchoPath("half-duplex", None).reason == ""


def test_switched_off_nothing_is_changed() -> None:
    far = far_end(1)
    microphone = room(far)
    assert through(EchoPath("off", None), microphone, far).tolist() == microphone.tolist()


def test_a_silent_device_costs_no_cancellation() -> None:
    class Counting(EchoCanceller):
        calls = 0

        def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
            self.calls += 1
            return frame

        def reset(self) -> None:
            pass

    canceller = Counting()
    path = EchoPath("auto", canceller)
    microphone, quiet = room(silence(48_000 * 2), gain=0), silence(48_000 * 2)
    through(path, microphone, quiet)
    assert canceller.calls == 0
    through(path, microphone[:160], far_end(0.01))
    through(path, microphone, quiet)
    assert canceller.calls == 201


def test_only_frames_of_exactly_ten_milliseconds_are_accepted() -> None:
    canceller = WebRtcEchoCanceller()
    with pytest.raises(ValueError, match="10 ms"):
        canceller.process(silence(320), [])
    with pytest.raises(ValueError, match="10 ms"):
        canceller.process(silence(FRAME_SAMPLES), [silence(960)])
    with pytest.raises(ValueError, match="44100"):
        WebRtcEchoCanceller(44_100)


def test_a_frame_that_cannot_be_processed_is_heard_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    canceller = WebRtcEchoCanceller()

    class Broken:
        def process_stream(self, frame: object) -> None:
            raise RuntimeError("broken")

    canceller._module = Broken()
    frame = room(far_end(0.01))[:160]
    for _ in range(8):
        assert canceller.process(frame, []).tolist() == frame.tolist()
    assert canceller.faults == 8
    assert not isinstance(canceller._module, Broken), "made anew"


def test_headphones_and_a_user_who_speaks_say_nothing_about_cancellation() -> None:
    meter = ErleMeter()
    for _ in range(500):
        meter.rest(100.0)
    for _ in range(1000):
        meter.add(150.0, 150.0)
    assert meter.db is None, "hardly any echo"
    for window in range(8):
        for _ in range(50):
            meter.add(1e6, 1e3 if window % 2 else 1e6)  # every other half second the user speaks too
    assert meter.db is not None and meter.db > 20


def test_the_level_rises_at_once_and_falls_slowly() -> None:
    meter = LevelMeter(fall_db=1.0)
    assert meter.db == -96.0
    meter.add(power(np.full(160, 32767, np.int16)))
    assert meter.db == pytest.approx(0.0, abs=0.01)
    for _ in range(20):
        meter.add(0.0)
    assert meter.db == pytest.approx(-20, abs=0.1)
