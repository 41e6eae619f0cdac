"""Conversations with files: a WAV file as the user, a stereo WAV file as the record of both sides."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from audio.io.wavfile import WavAudio, read_wav
from audio.io.wavwriter import StereoWavWriter
from audio.pcm import CAPTURE_RATE_HZ, FRAME_MS, FRAME_SAMPLES, FrameCutter, Pcm, silence
from audio.resample import StreamResampler


class WavSource:
    """A recording as the user: 10 ms frames at 16 kHz, mixed to mono.

    Args:
        audio: the opened recording.
    """

    def __init__(self, audio: WavAudio) -> None:
        self._audio = audio
        self._frames = _frames(audio, CAPTURE_RATE_HZ, FRAME_SAMPLES)

    def frame(self) -> Pcm | None:
        """See ``audio.io.pump.Source``."""
        return next(self._frames, None)

    def close(self) -> None:
        """See ``audio.io.pump.Source``."""
        self._frames.close()
        self._audio.close()


class StereoSink:
    """Writes left what the user said, right what was played, both at ``rate_hz``.

    The left side comes straight from the recording at the sink's own rate, not through the 16 kHz that the recogniser
    hears; without a recording it is what was captured.

    Args:
        path: WAV file to write.
        user: path of the user's recording, or None for a live user.
        rate_hz: rate of the file and of the player.
    """

    def __init__(self, path: Path, user: Path | None, rate_hz: int = 24_000) -> None:
        self._size = rate_hz * FRAME_MS // 1000
        self._recording = None if user is None else read_wav(user)
        self._user = None if self._recording is None else _frames(self._recording, rate_hz, self._size)
        self._upsampler = StreamResampler(CAPTURE_RATE_HZ, rate_hz)
        self._writer = StereoWavWriter(path, rate_hz)
        self._live = silence(0)
        self._closed = False

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """See ``audio.io.pump.Sink``."""
        self._writer.write(self._left(user), played)

    def _left(self, user: Pcm | None) -> Pcm:
        if self._user is not None:
            return silence(self._size) if user is None else next(self._user, silence(self._size))
        if user is not None:
            self._live = np.concatenate((self._live, self._upsampler.push(user)))
        left, self._live = self._live[: self._size], self._live[self._size :]
        return np.concatenate((left, silence(self._size - left.size)))

    def close(self) -> None:
        """See ``audio.io.pump.Sink``."""
        if not self._closed:
            self._closed = True
            if self._recording is not None:
                self._recording.close()
            self._writer.close()


def _frames(audio: WavAudio, rate_hz: int, size: int) -> Generator[Pcm]:
    """The recording in frames of ``size`` samples at ``rate_hz``."""
    cutter = FrameCutter(size)
    for block in audio.blocks(rate_hz):
        yield from cutter.push(block)
    rest = cutter.flush()
    if rest is not None:
        yield rest
