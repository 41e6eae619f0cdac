"""The wake word networks, on the appliance's own voice: the one speaker that every clone of this project has."""

from __future__ import annotations

import numpy as np
import pytest

from agents.base.clock import cpu_seconds
from agents.base.errors import GloveVoiceError
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.resample import StreamResampler
from audio.tts.hibari import HibariVoice
from audio.wake.micro import MicroWakeDetector
from tests.support.echo import PLAY_RATE_HZ, synthesise

SECOND = silence(CAPTURE_RATE_HZ)


async def say(sentence: str) -> Pcm:
    sound = await synthesise(lambda _: HibariVoice(), sentence)
    resampler = StreamResampler(PLAY_RATE_HZ, CAPTURE_RATE_HZ)
    return np.concatenate((SECOND, resampler.push(sound), resampler.flush(), SECOND))


async def test_the_phrase_is_heard_soon_after_it_ends_and_nothing_else_is() -> None:
    detector = MicroWakeDetector()
    assert detector.phrases == ("Hey Jarvis",)
    hits = detector.process(await say("Hey Jarvis, what time is it?"))
    assert [hit.phrase for hit in hits] == ["Hey Jarvis"]
    assert CAPTURE_RATE_HZ * 1.4 < hits[0].sample < CAPTURE_RATE_HZ * 2.2
    assert detector.process(await say("Hey James, it is a nice day in Jersey.")) == []
    detector.close()


async def test_the_size_of_the_chunks_changes_nothing() -> None:
    sound = await say("Hey Jarvis.")
    samples: list[int] = []
    for size in (sound.size, 160, 441, 4096):
        detector = MicroWakeDetector()
        chunks = [sound[at : at + size] for at in range(0, sound.size, size)]
        samples += [hit.sample for chunk in chunks for hit in detector.process(chunk)]
        detector.close()
    assert len(samples) == 4 and len(set(samples)) == 1


async def test_it_hears_again_after_the_refractory_time_and_after_a_reset() -> None:
    sound = await say("Hey Jarvis.")
    detector = MicroWakeDetector()
    first = detector.process(sound)
    detector.reset()
    second = detector.process(sound)
    assert len(first) == len(second) == 1
    assert second[0].sample == first[0].sample + sound.size, "sample indexes go on"
    detector.close()


async def test_once_per_phrase_however_long_the_score_stays_up() -> None:
    sound = await say("Hey Jarvis.")
    eager = MicroWakeDetector(cutoff=0.2, refractory_s=2.0)
    assert len(eager.process(sound)) == 1
    patient = MicroWakeDetector(cutoff=0.2, refractory_s=0.0)
    assert len(patient.process(sound)) > 1, "the refractory time is what makes it one"
    eager.close()
    patient.close()


async def test_what_listens_to_playback_is_excited_sooner() -> None:
    sound = await say("Hey Jarvis.")
    detector = MicroWakeDetector()
    own = detector.for_playback()
    assert own.process(sound)[0].sample <= detector.process(sound)[0].sample
    own.close()
    detector.close()


def test_several_phrases_share_one_detector() -> None:
    detector = MicroWakeDetector(("hey_jarvis", "okay_nabu", "alexa", "hey_mycroft"))
    assert detector.phrases == ("Hey Jarvis", "Okay Nabu", "Alexa", "Hey Mycroft")
    assert detector.process(SECOND) == []
    detector.close()
    detector.close()
    assert detector.process(SECOND) == []


@pytest.mark.parametrize("words", [(), ("hey_hal",)])
def test_unknown_phrases_are_refused_with_the_known_ones(words: tuple[str, ...]) -> None:
    with pytest.raises(GloveVoiceError, match="No such wake word") as caught:
        MicroWakeDetector(words)  # type: ignore[arg-type]
    assert "hey_jarvis" in caught.value.remedy


def test_it_costs_little_of_a_core() -> None:
    """The quickest of several seconds, so that other load does not count."""
    detector, rng = MicroWakeDetector(), np.random.default_rng(1)
    best = 1.0
    for _ in range(8):
        second = rng.normal(0, 30, CAPTURE_RATE_HZ).astype(np.int16)
        start = cpu_seconds()
        for at in range(0, second.size, 800):
            detector.process(second[at : at + 800])
        best = min(best, cpu_seconds() - start)
    assert best < 0.02
    detector.close()
