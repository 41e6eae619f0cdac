"""Sound as words."""

from __future__ import annotations

import numpy as np

from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.stt.base import Transcript
from audio.stt.pieces import join_texts, split_at_quiet
from realtime.serving.contract import Engine

PAD_S = 0.5
"""Silence behind the sound: recognisers lose or invent words at an end without any."""


async def recognised(engine: Engine, pcm: Pcm, language: str | None) -> Transcript:
    """The words in 16 kHz ``pcm``; ``language`` is a hint. Raises ``GloveVoiceError``."""
    longest = int((engine.stt.max_seconds - PAD_S) * CAPTURE_RATE_HZ)
    pad = silence(round(PAD_S * CAPTURE_RATE_HZ))
    texts: list[str] = []
    async with engine.hearing:
        for piece in split_at_quiet(pcm, longest):
            heard = await engine.stt.recognise(np.concatenate((piece, pad)), language)
            texts.append(heard.text)
            language = language or heard.language
    spoken = language or engine.language
    return Transcript(join_texts(texts, spoken), spoken)
