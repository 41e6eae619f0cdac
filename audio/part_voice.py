"""One model response on its way through a voice: sentences in, sound out, and which sound is which text."""

from __future__ import annotations

import asyncio
from typing import Protocol

import numpy as np

from agents.base.errors import GloveVoiceError
from audio.pcm import Pcm
from audio.reply_parts import Part
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, TtsFault, WordTiming, as_voice_error
from audio.tts.local import has_words

PIECES_AHEAD = 3
"""How many sentences a voice may have waiting."""

OPEN_TIMEOUT_S = 10.0
"""Longest time a voice may take to get ready."""

SILENT_VOICE_S = 15.0
"""Longest time a voice may take between two signs of life."""


class Sounding(Protocol):
    """The reply that the part belongs to."""

    void: bool

    @property
    def rate_hz(self) -> int:
        """The player's rate."""
        ...

    def queue_sound(self, part: Part, pcm: Pcm, rate_hz: int) -> int:
        """Hand sound of ``part`` to the player; returns the samples added at the player's rate."""
        ...


class PartVoice:
    """The voice session of one part: listens to the adapter and keeps the part's tracker in step.

    Args:
        reply: takes the sound.
        part: what is spoken.
    """

    def __init__(self, reply: Sounding, part: Part) -> None:
        self._reply = reply
        self._part = part
        self._voice: TtsAdapter | None = None
        self._pieces: list[int] = []
        self._pieces_done = 0
        self._owes_sound = False
        self._alive = asyncio.Event()
        self._done = False

    async def open(self, voice: TtsAdapter) -> None:
        """Listen to ``voice`` and get it ready. Raises ``GloveVoiceError``."""
        self._voice = voice
        voice.events.on(AudioChunk, self._sound)
        voice.events.on(PieceDone, self._piece_done)
        voice.events.on(TtsDone, self._finished)
        voice.events.on(TtsFault, self._failed)
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                await voice.open()
        except TimeoutError as fault:
            raise GloveVoiceError("ERR_TTS_CONNECTION", "The voice did not get ready in time.", cause=fault) from fault

    async def send(self, index: int, spoken: str) -> None:
        """Give a sentence to the voice; waits while it still has enough to do, so that a long text needs no room."""
        assert self._voice is not None
        while self._voice.reports_pieces and len(self._pieces) - self._pieces_done >= PIECES_AHEAD:
            await self._sign_of_life()
        self._check()
        self._pieces.append(index)
        self._owes_sound = self._owes_sound or (has_words(spoken) and self._part.offset is None)
        self._voice.send_text(spoken)

    async def finish(self) -> None:
        """Wait until the voice has made all sound. Raises what the voice failed with."""
        assert self._voice is not None
        self._check()
        self._voice.flush()
        while not self._done:
            await self._sign_of_life()
        self._check()
        if self._owes_sound and not self._reply.void:
            raise GloveVoiceError("ERR_TTS_SYNTHESIS", "The voice made no sound of the words that it was given.")

    async def _sign_of_life(self) -> None:
        self._check()
        self._alive.clear()
        try:
            async with asyncio.timeout(SILENT_VOICE_S):
                await self._alive.wait()
        except TimeoutError as fault:
            raise GloveVoiceError("ERR_TTS_CONNECTION", "The voice fell silent.", cause=fault) from fault

    def _check(self) -> None:
        if self._part.fault is not None:
            raise self._part.fault

    def _sound(self, event: AudioChunk) -> None:
        assert self._voice is not None
        self._alive.set()
        if self._reply.void:
            return
        if event.pcm.dtype != np.int16 or event.pcm.ndim != 1:
            self._failed(TtsFault(GloveVoiceError("ERR_TTS_SYNTHESIS", "The voice's sound is not 16-bit mono.")))
            return
        rate = self._voice.sample_rate_hz
        added = self._reply.queue_sound(self._part, event.pcm, rate)
        self._owes_sound = self._owes_sound and not event.pcm.size
        index = self._piece(event.piece)
        scale = self._reply.rate_hz / rate
        words = None
        if event.words is not None:
            words = tuple(
                WordTiming(word.word, round(word.start * scale), round(word.end * scale)) for word in event.words
            )
        self._part.tracker.add_audio(index, added, words, (event.pcm, rate))

    def _piece_done(self, event: PieceDone) -> None:
        self._alive.set()
        index = self._piece(event.piece)
        if index is not None:
            self._pieces_done += 1
            self._part.tracker.finish_piece(index)

    def _piece(self, number: int | None) -> int | None:
        """The sentence that the voice calls ``number``; None if it was never sent."""
        return self._pieces[number] if number is not None and 0 <= number < len(self._pieces) else None

    def _finished(self, _: TtsDone) -> None:
        self._part.tracker.finish()
        self._done = True
        self._alive.set()

    def _failed(self, event: TtsFault) -> None:
        self._part.fault = as_voice_error(event.error)
        self._done = True
        self._alive.set()
