from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from audio.dsp.duplex import EchoPath
from audio.dsp.echo import EchoCanceller, WebRtcEchoCanceller
from audio.dsp.fallback import Duplex, Fallback
from audio.dsp.levels import ErleMeter, LevelMeter, power, power_db
from audio.pcm import FRAME_SAMPLES, Pcm, round_to_pcm, silence

RNG = np.random.default_rng(4)
TAIL = RNG.standard_normal(1600) * np.exp(-np.arange(1600) / 300)
TAIL[0] = 3


def far_end(seconds: float) -> Pcm:
    """Noise in bursts, like syllables, 48 kHz."""
    samples = round(seconds * 48_000)
    envelope = 0.5 + 0.5 * np.sin(2 * np.pi * 3 * np.arange(samples) / 48_000)
    smooth = np.convolve(RNG.standard_normal(samples), np.ones(6) / 6, "same")
    return round_to_pcm(smooth * envelope * 6000)


def room(far: Pcm, gain: float = 0.5, delay_ms: int = 60) -> Pcm:
    """What a microphone at 16 kHz hears of it: late, with a reverberating tail, over a little noise."""
    at_16 = far.astype(float).reshape(-1, 3).mean(axis=1)
    echo = np.convolve(np.concatenate((np.zeros(delay_ms * 16), at_16)), TAIL / 4)[: at_16.size]
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


class Weak(EchoCanceller):
    """Takes 20 dB away of soft sound, and 6 dB of loud sound: a loudspeaker that distorts."""

    helps_to_be_soft = True
    loudest = 2000

    def process(self, frame: Pcm, reference: Sequence[Pcm]) -> Pcm:
        loud = np.abs(reference[0].astype(int)).max() > self.loudest or not self.helps_to_be_soft
        return (frame // (2 if loud else 10)).astype(np.int16)

    def reset(self) -> None:
        pass


def played(path: EchoPath, far: Pcm) -> list[Duplex]:
    """Play ``far`` as loud as ``path`` wants it, through the room and back; the states on the way, one for each."""
    states = [path.duplex]
    for at in range(0, far.size - 48_000 + 1, 48_000):
        sound = round_to_pcm(far[at : at + 48_000] * path.gain)
        through(path, room(sound), sound)
        if path.duplex is not states[-1]:
            states.append(path.duplex)
    return states


def test_a_device_whose_echo_cannot_be_cancelled_speaks_softly_and_then_rests_its_microphone() -> None:
    canceller = Weak()
    canceller.helps_to_be_soft = False
    path = EchoPath("auto", canceller)
    assert played(path, far_end(10)) == [Duplex.FULL, Duplex.DUCKED, Duplex.HALF]
    assert path.gain == 1.0, "nobody can interrupt it, so it may as well be loud"
    assert "ERLE 6 dB" in path.reason and "microphone rests" in path.reason
    far = far_end(2)
    assert not through(path, room(far), far).any()
    quiet = room(silence(48_000), gain=0)
    assert through(path, quiet, silence(48_000))[-8000:].any(), "heard again when it is silent"


def test_where_it_helps_to_speak_softly_the_microphone_does_not_rest() -> None:
    path = EchoPath("auto", Weak())
    assert played(path, far_end(15)) == [Duplex.FULL, Duplex.DUCKED]
    assert path.gain == pytest.approx(0.25, abs=0.01)
    assert "more softly" in path.reason and path.erle_db is not None and path.erle_db > 15


def test_a_soft_device_tries_now_and_then_to_be_loud_again_and_ever_more_rarely() -> None:
    fallback, states = Fallback(), list[tuple[float, Duplex]]()
    for half_seconds in range(600):
        erle = 20.0 if fallback.state is Duplex.DUCKED else 5.0
        if fallback.judge(erle, 0.5):
            states.append((half_seconds / 2, fallback.state))
    loud = [at for at, state in states if state is Duplex.FULL]
    assert [round(b - a, -1) for a, b in pairwise([0, *loud])] == [20, 40, 80]


def test_a_device_that_works_well_again_is_full_duplex_again() -> None:
    canceller = Weak()
    canceller.helps_to_be_soft = False
    path = EchoPath("auto", canceller)
    through(path, room(silence(48_000), gain=0), silence(48_000))
    assert played(path, far_end(8))[-1] is Duplex.HALF
    canceller.helps_to_be_soft, canceller.loudest = True, 40_000
    assert played(path, far_end(6))[-1] is Duplex.FULL
    assert path.reason == ""


def test_while_cancellation_learns_the_room_or_finds_its_place_again_no_echo_is_heard() -> None:
    path = EchoPath("auto", WebRtcEchoCanceller())
    through(path, room(silence(48_000), gain=0), silence(48_000))
    far = far_end(4)
    for delay_ms in (60, 72):
        echo = room(far, delay_ms=delay_ms)
        heard = through(path, echo, far)
        assert power_db(power(echo)) - power_db(power(heard)) > 25
        path.slipped()


def test_somebody_who_is_louder_than_the_echo_is_heard_at_once_after_a_slip() -> None:
    path = EchoPath("auto", WebRtcEchoCanceller())
    through(path, room(silence(48_000), gain=0), silence(48_000))
    far = far_end(3)
    through(path, room(far), far)
    path.slipped()
    far, near = far_end(1), room(far_end(1), gain=2.5)
    heard = through(path, round_to_pcm(room(far, delay_ms=90).astype(float) + near), far).reshape(-1, FRAME_SAMPLES)
    loud = np.flatnonzero(np.abs(heard).max(axis=1) > 1500)
    assert loud[0] < 30 and loud.size > 20, "its syllables, from the first on"


def test_after_a_long_silence_the_first_word_is_not_heard_although_reference_and_echo_have_moved() -> None:
    path = EchoPath("auto", WebRtcEchoCanceller())
    far, quiet = far_end(4), silence(6 * 48_000)
    through(path, room(quiet, gain=0), quiet)
    through(path, room(far, delay_ms=60), far)
    through(path, room(quiet, gain=0), quiet)
    assert path.at_rest
    echo = room(far, delay_ms=85)
    heard = through(path, echo, far)
    assert power_db(power(echo)) - power_db(power(heard)) > 25
    assert power_db(power(echo[-16_000:])) - power_db(power(heard[-16_000:])) > 25


def test_after_a_long_silence_nothing_is_learnt_anew_where_nothing_has_moved() -> None:
    class Counting(WebRtcEchoCanceller):
        resets = 0

        def reset(self) -> None:
            super().reset()
            self.resets += 1

    canceller = Counting()
    path = EchoPath("auto", canceller)
    far, quiet = far_end(4), silence(6 * 48_000)
    for pcm, gain in ((quiet, 0), (far, 0.5), (quiet, 0), (far, 0.5)):
        through(path, room(pcm, gain=gain), pcm)
    assert canceller.resets == 1, "when it was made"


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
