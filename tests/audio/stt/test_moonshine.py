from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from agents.base.errors import GloveVoiceError
from agents.base.weights import WeightsStore
from audio.pcm import Pcm, silence
from audio.stt.moonshine import MoonshineStt, _read_vocabulary


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def test_speech_is_understood(moonshine: MoonshineStt, beckett: Pcm) -> None:
    heard = moonshine.transcribe(beckett)
    assert words(heard.text) == words("Ever tried, ever failed, no matter, try again, fail again, fail better")
    assert heard.score is not None and heard.score > -0.7


def test_an_unfinished_sentence_is_read_as_far_as_it_goes(moonshine: MoonshineStt, two_cities: Pcm) -> None:
    assert words(moonshine.transcribe(two_cities[: 3 * 16_000]).text)[:6] == words("it was the best of times")


def test_more_than_thirty_seconds_are_heard_to_the_end(moonshine: MoonshineStt, two_cities: Pcm) -> None:
    text = " ".join(words(moonshine.transcribe(two_cities).text))
    assert text.startswith("it was the best of times") and text.endswith("comparison only")


@pytest.mark.parametrize(
    "pcm",
    [
        silence(0),
        np.ones(3, np.int16),
        silence(16_000),
        np.random.default_rng(3).normal(0, 1000, 48_000).astype(np.int16),
        np.random.default_rng(4).normal(0, 300, 4_000).astype(np.int16),
    ],
    ids=["nothing", "few samples", "zeros", "noise", "short noise"],
)
def test_where_nobody_speaks_nothing_is_heard(moonshine: MoonshineStt, pcm: Pcm) -> None:
    assert moonshine.transcribe(pcm).text == ""


def test_several_threads_hear_the_same(moonshine: MoonshineStt, beckett: Pcm) -> None:
    expected = moonshine.transcribe(beckett[:48_000]).text
    with ThreadPoolExecutor(3) as pool:
        texts = list(pool.map(lambda _: moonshine.transcribe(beckett[:48_000]).text, range(3)))
    assert texts == [expected] * 3


def test_broken_folders_and_closed_recognisers_are_errors(tmp_path: Path, weights: WeightsStore) -> None:
    with pytest.raises(GloveVoiceError) as error:
        MoonshineStt(tmp_path)
    assert error.value.code == "ERR_STT_LOAD"
    closed = MoonshineStt.load(weights)
    closed.close()
    with pytest.raises(GloveVoiceError) as error:
        closed.transcribe(silence(16_000))
    assert error.value.code == "ERR_STT_CLOSED"


def test_tokens_of_128_bytes_and_more_are_read() -> None:
    long = b"x" * 300
    assert _read_vocabulary(b"\x00\x02ab" + bytes([128 | (300 & 127), 300 >> 7]) + long) == [b"", b"ab", long]
