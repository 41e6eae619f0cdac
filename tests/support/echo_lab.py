"""A loudspeaker, a room, a microphone and two clocks, as arrays: what comes of it through reference, echo path and
voice detector. Everything is scripted, nothing depends on the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from audio.dsp.duplex import EchoMode, EchoPath
from audio.dsp.echo import WebRtcEchoCanceller
from audio.dsp.reference import Reference
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm, round_to_pcm
from audio.resample import resample
from audio.vad.base import SpeechProb, SpeechStart
from audio.vad.silero import SileroVad
from tests.support.echo import room_response

SINK_RATE_HZ = 48_000
SINK_SAMPLES = SINK_RATE_HZ // 100
AHEAD_S = 0.04
"""The sink asks so long before a sample is heard."""

Sound = npt.NDArray[np.float64]


@dataclass
class EchoLab:
    """A device in a room.

    Attributes:
        delay_s: of the room, from loudspeaker to microphone.
        gain_db: how loud the echo is.
        ppm: by how much the loudspeaker's clock is faster.
        distort: what the loudspeaker does to what it plays.
        agc: whether the microphone has a gain control of its own.
        late: seconds by which the sink's call number *k* comes late; what it gives is heard in time all the same.
        lost: which of the sink's blocks the reference is never told of.
        slips: (call, frames): before that call the sink ran dry and stood still.
        mode: of the echo path.
    """

    delay_s: float = 0.06
    gain_db: float = -6.0
    ppm: float = 0.0
    distort: Callable[[Sound], Sound] | None = None
    agc: bool = False
    late: Callable[[int], float] = lambda _: 0.0
    lost: Callable[[int], bool] = lambda _: False
    slips: Sequence[tuple[int, int]] = ()
    mode: EchoMode = "auto"

    def run(self, far: Pcm, near: Pcm | None = None) -> Heard:
        """``far`` (48 kHz) is played while somebody says ``near`` (16 kHz, as loud as it arrives)."""
        microphone = self._microphone(far, near)
        reference, path = Reference(SINK_RATE_HZ), EchoPath(self.mode, WebRtcEchoCanceller())
        heard = Heard(microphone, path, reference)
        vad = SileroVad()
        vad.set_ducked(True)
        call, slips = 0, 0
        period_s = 0.01 / (1 + self.ppm * 1e-6)
        for tick in range(microphone.size // FRAME_SAMPLES):
            now = (tick + 1) / 100
            while (called := call * period_s - AHEAD_S + self.late(call)) <= now:
                self._play(reference, far, call, called)
                call += 1
            reference.drift.captured(FRAME_SAMPLES, CAPTURE_RATE_HZ, now)
            frames = reference.take()
            if reference.slips != slips:
                slips = reference.slips
                path.slipped()
            clean = path.process(microphone[tick * FRAME_SAMPLES :][:FRAME_SAMPLES], frames)
            heard.add(clean, vad)
        return heard

    def _play(self, reference: Reference, far: Pcm, call: int, at_s: float) -> None:
        block = far[call * SINK_SAMPLES :][:SINK_SAMPLES]
        if block.size < SINK_SAMPLES:
            block = np.zeros(SINK_SAMPLES, np.int16)
        if any(call == slip for slip, _ in self.slips):
            reference.gap()
        if not self.lost(call):
            reference.played(block)
        reference.drift.played(SINK_SAMPLES, at_s)

    def _microphone(self, far: Pcm, near: Pcm | None) -> Pcm:
        sound = far.astype(np.float64)
        for call, frames in sorted(self.slips, reverse=True):
            at = call * SINK_SAMPLES
            sound = np.concatenate((sound[:at], np.zeros(frames * SINK_SAMPLES), sound[at:]))
        if self.distort is not None:
            sound = self.distort(sound)
        at_16 = resample(round_to_pcm(sound[: far.size]), SINK_RATE_HZ, CAPTURE_RATE_HZ).astype(np.float64)
        ticks = np.arange(int((at_16.size - 4) / (1 + abs(self.ppm) * 1e-6)), dtype=np.float64)
        times = ticks * (1 + self.ppm * 1e-6)
        echo = np.convolve(at_other_times(at_16, times), room_response(delay_s=self.delay_s, gain_db=self.gain_db))
        mixed = echo[: times.size] + np.random.default_rng(5).normal(0, 8, times.size)
        if near is not None:
            mixed[: near.size] += near[: times.size]
        return round_to_pcm(automatic_gain(mixed) if self.agc else mixed)


@dataclass
class Heard:
    """What came of it.

    Attributes:
        microphone: what it delivered, 16 kHz.
        path, reference: as they were at the end.
        starts: when the voice detector found somebody, in seconds.
        probabilities: (second, probability) of each of its frames.
        speaking: for each of them, whether it lies in a segment of speech.
    """

    microphone: Pcm
    path: EchoPath
    reference: Reference
    starts: list[float] = field(default_factory=list[float])
    probabilities: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    speaking: list[bool] = field(default_factory=list[bool])
    _clean: list[Pcm] = field(default_factory=list[Pcm])

    def add(self, clean: Pcm, vad: SileroVad) -> None:
        """One more frame."""
        self._clean.append(clean)
        for event in vad.process(clean):
            if isinstance(event, SpeechProb):
                self.probabilities.append((event.sample / CAPTURE_RATE_HZ, event.probability))
                self.speaking.append(vad.is_speaking)
            elif isinstance(event, SpeechStart):
                self.starts.append(event.sample / CAPTURE_RATE_HZ)

    @property
    def clean(self) -> Pcm:
        """What the appliance heard."""
        return np.concatenate(self._clean)

    def erle_db(self, begin_s: float = 0.0, end_s: float | None = None) -> float:
        """By how many dB the echo was weakened between two moments."""
        part = slice(round(begin_s * CAPTURE_RATE_HZ), None if end_s is None else round(end_s * CAPTURE_RATE_HZ))
        clean = self.clean[part].astype(np.float64)
        before = self.microphone[part][: clean.size].astype(np.float64)
        return float(10 * np.log10((np.sum(before**2) + 1) / (np.sum(clean**2) + 1)))

    def voiced(self, threshold: float = 0.5) -> float:
        """The share of frames that the detector takes for a voice."""
        return float(np.mean([probability >= threshold for _, probability in self.probabilities]))


@dataclass(frozen=True)
class Recall:
    """Of the moments at which a voice alone is one, the shares that are found over the echo.

    Attributes:
        heard: those that lie in a segment of speech, so that the appliance listens.
        clear: those at which the detector is as sure as without echo (a probability of a half).
    """

    heard: float
    clear: float


def recall(heard: Heard, near: Pcm) -> Recall:
    """How much of ``near`` is found in what was heard."""
    alone = Heard(near, heard.path, heard.reference)
    vad = SileroVad()
    hum = round_to_pcm(near + np.random.default_rng(6).normal(0, 8, near.size))
    for at in range(0, hum.size - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        alone.add(hum[at : at + FRAME_SAMPLES], vad)
    voiced = [i for i, (_, clear) in enumerate(alone.probabilities[: len(heard.probabilities)]) if clear >= 0.5]
    return Recall(
        float(np.mean([heard.speaking[i] for i in voiced])),
        float(np.mean([heard.probabilities[i][1] >= 0.5 for i in voiced])),
    )


def as_loud_as(near: Pcm, far: Pcm, echo_db: float, gain_db: float = -6.0) -> Pcm:
    """``near`` so loud that the echo of ``far``, played with ``gain_db``, is ``echo_db`` louder than it."""
    wanted = loudness(far) * 10 ** ((gain_db - echo_db) / 20)
    return round_to_pcm(near * (wanted / loudness(near)))


def loudness(pcm: Pcm) -> float:
    """Root mean square of what is not a pause."""
    sound = pcm[np.abs(pcm.astype(np.int32)) > 50].astype(np.float64)
    return float(np.sqrt(np.mean(sound**2)))


def at_other_times(x: Sound, times: Sound) -> Sound:
    """``x`` at fractional positions, by cubics."""
    whole = times.astype(np.intp)
    t = times - whole
    before, here, after, beyond = x[np.maximum(whole - 1, 0)], x[whole], x[whole + 1], x[whole + 2]
    bend = before - 2.5 * here + 2 * after - 0.5 * beyond
    twist = (beyond - before) / 2 + 1.5 * (here - after)
    return here + t * ((after - before) / 2 + t * (bend + t * twist))


def automatic_gain(x: Sound, target: float = 3000.0) -> Sound:
    """Brings the level towards ``target``: down within 50 ms, up within a second, between a quarter and four times."""
    out, gain = x.copy(), 1.0
    for at in range(0, x.size, FRAME_SAMPLES):
        block = x[at : at + FRAME_SAMPLES]
        level = float(np.sqrt(np.mean(block**2)))
        if level > 100:
            wanted = min(4.0, max(0.25, target / level))
            gain += (wanted - gain) * (0.2 if wanted < gain else 0.01)
        out[at : at + FRAME_SAMPLES] = block * gain
    return out
