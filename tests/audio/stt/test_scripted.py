"""A script for recognisers answers utterance by utterance, and says when it was asked for too much or too little."""

from __future__ import annotations

import numpy as np
import pytest

from audio.pcm import Pcm, silence
from audio.stt.scripted import ScriptedSegmentStt


def utterance(level: int, seconds: float = 0.5, padding: float = 0.0) -> Pcm:
    return np.concatenate((np.full(round(seconds * 16_000), level, np.int16), silence(round(padding * 16_000))))


def test_an_utterance_that_grows_keeps_its_text_and_the_next_one_gets_the_next() -> None:
    stt = ScriptedSegmentStt(["one", "two"])
    assert stt.unused == 2
    assert stt.transcribe(utterance(100, 0.5, padding=0.3)).text == "one"
    assert stt.transcribe(utterance(100, 0.9, padding=0.3)).text == "one"
    assert stt.unused == 1
    assert stt.transcribe(utterance(200)).text == "two"
    assert stt.unused == 0
    with pytest.raises(AssertionError, match="more utterances"):
        stt.transcribe(utterance(300))


def test_the_last_text_may_repeat() -> None:
    stt = ScriptedSegmentStt(["one", "more"], repeat_last=True)
    assert [stt.transcribe(utterance(level)).text for level in (100, 200, 300)] == ["one", "more", "more"]
