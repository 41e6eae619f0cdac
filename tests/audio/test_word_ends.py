"""Words found in the sound of voices that do not say when they speak them."""

import numpy as np
import pytest

from audio.heard import HeardTracker
from audio.pcm import Pcm, silence
from audio.tts.hibari import HibariEngine
from audio.word_ends import Loudness, word_ends

RATE_HZ = 24_000
SENTENCES = (
    "Certainly, there are several pleasant options available near your hotel this evening.",
    "First you could walk along the river path toward old market square before sunset begins today.",
    "The kettle is on; shall I remind you when it boils, or would you rather have coffee?",
    "Strictly speaking, I would not do that without asking the landlord first.",
)


def tone(seconds: float) -> Pcm:
    return (9000 * np.sin(np.arange(round(seconds * RATE_HZ)) / 20)).astype(np.int16)


def pause(seconds: float) -> Pcm:
    return silence(round(seconds * RATE_HZ))


def tracker_of(text: str, *sound: Pcm, finished: bool = True) -> HeardTracker:
    tracker = HeardTracker()
    tracker.add_piece(0, text)
    whole = np.concatenate(sound)
    for start in range(0, whole.size, 2400):
        part = whole[start : start + 2400]
        tracker.add_audio(0, part.size, sound=(part, RATE_HZ))
    if finished:
        tracker.finish_piece(0)
    return tracker


@pytest.mark.parametrize("text", SENTENCES)
def test_a_voice_that_speaks_word_by_word_is_followed_exactly(text: str) -> None:
    words = text.split()
    tracker = tracker_of(text, *[part for _ in words for part in (tone(0.22), pause(0.03))])
    for count in range(1, len(words)):
        spoken = round(count * 0.25 * RATE_HZ)
        assert tracker.heard(spoken - round(0.02 * RATE_HZ)) == " ".join(words[:count])
        assert tracker.heard(spoken + round(0.15 * RATE_HZ)) == " ".join(words[:count])


def test_a_pause_belongs_to_no_word() -> None:
    tracker = tracker_of("aaaaaaa bbbbbbb, ccccccc ddddddd.", tone(1.0), pause(1.0), tone(1.0))
    assert tracker.heard(round(1.02 * RATE_HZ)) == "aaaaaaa bbbbbbb,"
    assert tracker.heard(round(2.2 * RATE_HZ)) == "aaaaaaa bbbbbbb,"
    assert tracker.heard(round(2.6 * RATE_HZ)) == "aaaaaaa bbbbbbb, ccccccc"


def test_a_word_ends_in_the_dip_that_is_near_to_where_it_should() -> None:
    tracker = tracker_of("aaaaaa bbbbbb cccccc", tone(0.30), pause(0.02), tone(0.45), pause(0.02), tone(0.30))
    assert tracker.heard(round(0.29 * RATE_HZ)) == ""
    assert tracker.heard(round(0.33 * RATE_HZ)) == "aaaaaa"
    assert tracker.heard(round(0.75 * RATE_HZ)) == "aaaaaa"
    assert tracker.heard(round(0.80 * RATE_HZ)) == "aaaaaa bbbbbb"


def test_sound_that_is_to_come_has_its_words_too() -> None:
    tracker = tracker_of("aaaaaa bbbbbb cccccc dddddd", tone(0.5), finished=False)
    heard = tracker.heard(round(0.5 * RATE_HZ))
    assert heard in ("aaaaaa", "aaaaaa bbbbbb")


def test_silence_and_no_sound_say_nothing() -> None:
    assert word_ends(Loudness(RATE_HZ).levels_db(), [1, 1], [True, True], 0) is None
    assert tracker_of("aaaa bbbb", pause(1.0)).heard(round(0.5 * RATE_HZ)) == "aaaa"


def test_what_would_take_too_long_is_not_looked_for() -> None:
    levels = np.zeros(30_000)
    assert word_ends(levels, [5] * 400, [True] * 400, levels.size) is None


def test_a_real_voice_is_followed_better_than_by_its_letters() -> None:
    engine = HibariEngine()
    wrong_in_sound = wrong_by_letters = moments = 0
    for text in SENTENCES:
        speech = engine.synthesize(text)
        in_sound, by_letters = tracker_of(text, speech.pcm), HeardTracker()
        by_letters.add_piece(0, text)
        by_letters.add_audio(0, speech.pcm.size)
        by_letters.finish_piece(0)
        for played in range(0, speech.pcm.size, RATE_HZ // 50):
            heard = sum(word.end <= played for word in speech.words or ())
            moments += 1
            wrong_in_sound += abs(len(in_sound.heard(played).split()) - heard)
            wrong_by_letters += abs(len(by_letters.heard(played).split()) - heard)
    assert wrong_in_sound < 0.8 * wrong_by_letters
    assert wrong_in_sound / moments < 0.6
