"""When a room is quiet, as far as steady noise, speech and a fan can tell."""

from __future__ import annotations

import numpy as np

from audio.dsp.levels import power
from audio.dsp.quiet import QuietGate
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm, silence
from tests.support.speech import spoken

RNG = np.random.default_rng(3)


def noise(seconds: float, level: float) -> Pcm:
    return RNG.normal(0, level, round(seconds * CAPTURE_RATE_HZ)).astype(np.int16)


def quiet(gate: QuietGate, sound: Pcm) -> list[bool]:
    """For every 10 ms of ``sound``."""
    return [gate.add(sound[at : at + FRAME_SAMPLES]) for at in range(0, sound.size - FRAME_SAMPLES + 1, FRAME_SAMPLES)]


def test_steady_noise_of_any_level_is_quiet_after_a_second() -> None:
    for level in (0.0, 3.0, 30.0, 1000.0):
        told = quiet(QuietGate(), noise(10.0, level))
        assert not any(told[:99]) and all(told[110:]), level


def test_speech_as_loud_as_the_noise_is_noticed_at_once_and_the_room_is_quiet_again_after_it() -> None:
    speech = spoken(3.0)
    powers = [power(speech[at : at + FRAME_SAMPLES]) for at in range(0, speech.size, FRAME_SAMPLES)]
    audible = next(index for index, each in enumerate(powers) if each > power(speech))
    told_at: list[int] = []
    for gain in (1.0, 0.1, 0.03):
        gate, voice = QuietGate(), speech * gain
        level = float(np.sqrt(np.mean(voice**2)))
        quiet(gate, noise(3.0, level))
        told = quiet(gate, (voice + noise(speech.size / CAPTURE_RATE_HZ, level)[: speech.size]).astype(np.int16))
        told_at.append(told.index(False))
        assert not told[-1]
        after = quiet(gate, noise(3.0, level))
        assert not after[100] and after[-1]
    assert max(told_at) < audible + 8, "within 80 ms"


def test_long_speech_never_becomes_the_floor() -> None:
    gate, speech = QuietGate(), spoken(6.0)
    quiet(gate, noise(3.0, 30.0))
    for _ in range(5):
        assert not any(quiet(gate, (speech + noise(6.1, 30.0)[: speech.size]).astype(np.int16))[60:])


def test_a_fan_that_is_switched_on_becomes_the_floor() -> None:
    gate = QuietGate()
    quiet(gate, noise(3.0, 30.0))
    told = quiet(gate, noise(15.0, 300.0))
    assert not any(told[10:700]) and all(told[1100:])


def test_digital_silence_is_quiet_and_a_whisper_after_it_is_not() -> None:
    gate = QuietGate()
    assert quiet(gate, silence(3 * CAPTURE_RATE_HZ))[-1]
    assert not quiet(gate, noise(0.1, 5.0))[-1]


def test_what_sounds_while_the_microphone_is_opened_is_not_the_room() -> None:
    """Somebody calls, more softly than they spoke before: the end of it must not wait for the next sound."""
    for loud in (np.concatenate((noise(0.5, 2000.0), noise(0.7, 1000.0))), noise(1.2, 1000.0)):
        gate = QuietGate()
        quiet(gate, loud)
        after = quiet(gate, noise(4.0, 30.0))
        assert not any(after[4:140]), "its end is heard out"
        assert after[-1]
