"""A room in which the loudspeaker reaches the microphone: delay, room response, echo cancellation; and a voice that
says what it was given as sound."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from audio.dsp.echo import WebRtcEchoCanceller
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm, round_to_pcm, silence
from audio.resample import StreamResampler
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, TtsFactory

PLAY_RATE_HZ = 24_000


def room_response(seconds: float = 0.15, delay_s: float = 0.06, gain_db: float = -6.0) -> npt.NDArray[np.float32]:
    """A decaying impulse response at 16 kHz with a reverberation time of ``seconds`` (60 dB) after ``delay_s``."""
    rng = np.random.default_rng(7)
    t = np.arange(round(seconds * CAPTURE_RATE_HZ)) / CAPTURE_RATE_HZ
    tail = rng.normal(0, 0.3, t.size) * 10 ** (-3 * t / seconds)
    tail[0] = 1.0
    tail *= 10 ** (gain_db / 20) / np.sqrt(np.sum(tail**2))
    return np.concatenate((np.zeros(round(delay_s * CAPTURE_RATE_HZ)), tail)).astype(np.float32)


class EchoLoop:
    """Source and sink of a room: what is played comes back, ``cancelled`` or not, with a little noise of the room."""

    def __init__(self, *, cancelled: bool = True, noise: float = 8.0) -> None:
        self._response = room_response()
        self._ringing = np.zeros(self._response.size + FRAME_SAMPLES - 1, np.float32)
        self._down = StreamResampler(PLAY_RATE_HZ, CAPTURE_RATE_HZ, "LQ")
        self._played = silence(0)
        self._noise = noise
        self._rng = np.random.default_rng(3)
        self._canceller = WebRtcEchoCanceller(CAPTURE_RATE_HZ) if cancelled else None
        self.mic_energy = self.left_energy = 0.0

    def frame(self) -> Pcm:
        """What the microphone delivers."""
        far, self._played = self._played[:FRAME_SAMPLES], self._played[FRAME_SAMPLES:]
        if far.size < FRAME_SAMPLES:
            far = np.concatenate((silence(FRAME_SAMPLES - far.size), far))
        if far.any():
            self._ringing += np.convolve(far.astype(np.float32), self._response)
        mic = round_to_pcm(self._ringing[:FRAME_SAMPLES] + self._rng.normal(0, self._noise, FRAME_SAMPLES))
        self._ringing = np.concatenate((self._ringing[FRAME_SAMPLES:], np.zeros(FRAME_SAMPLES, np.float32)))
        if self._canceller is None:
            return mic
        clean = self._canceller.process(mic, [far])
        if np.abs(far).max(initial=0) > 300:
            self.mic_energy += float(np.sum(mic.astype(np.float64) ** 2))
            self.left_energy += float(np.sum(clean.astype(np.float64) ** 2))
        return clean

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """What the loudspeaker plays."""
        self._played = np.concatenate((self._played, self._down.push(played)))

    def close(self) -> None:
        """Nothing to release."""

    @property
    def erle_db(self) -> float:
        """How much of the echo was taken away, while there was some."""
        return 10 * float(np.log10((self.mic_energy + 1) / (self.left_energy + 1)))


async def synthesise(make: TtsFactory, sentence: str) -> Pcm:
    """``sentence`` as a voice of ``make`` says it in English, at ``PLAY_RATE_HZ``."""
    voice, chunks, done = make("en"), list[Pcm](), asyncio.Event()
    voice.events.on(AudioChunk, lambda event: chunks.append(event.pcm))
    voice.events.on(TtsDone, lambda _: done.set())
    await voice.open()
    voice.send_text(sentence)
    voice.flush()
    await done.wait()
    await voice.destroy()
    resampler = StreamResampler(voice.sample_rate_hz, PLAY_RATE_HZ)
    return np.concatenate((*map(resampler.push, chunks), resampler.flush()))


class CannedVoice(TtsAdapter):
    """Says the sentences it has recordings of."""

    def __init__(self, sounds: Mapping[str, Pcm]) -> None:
        super().__init__()
        self._sounds = sounds
        self._said = 0
        self._open = False

    @property
    def sample_rate_hz(self) -> int:
        return PLAY_RATE_HZ

    @property
    def is_ready(self) -> bool:
        return self._open

    async def open(self) -> None:
        self._open = True

    def send_text(self, text: str, *, flush: bool = False) -> None:
        piece, self._said = self._said, self._said + 1
        asyncio.get_running_loop().call_soon(self._say, text, piece)

    def _say(self, text: str, piece: int) -> None:
        said = [sound for sentence, sound in self._sounds.items() if sentence in text]
        assert said, f"there is no recording of {text!r}"
        self.events.emit(AudioChunk(np.concatenate(said), piece))
        self.events.emit(PieceDone(piece))

    def flush(self) -> None:
        asyncio.get_running_loop().call_soon(self.events.emit, TtsDone())

    async def destroy(self) -> None:
        self._open = False
