"""How well, and how cheaply, speech is detected: Silero as wired here, and with each way of wiring it wrongly.

Sound is scored frame by frame against hand-made labels (the label at the middle of a frame counts). The gate has two
conditions: the area under the ROC curve, and agreement with a plain statement of what the network expects, which also
catches mistakes that cost little accuracy on these recordings. Run ``python -m benchmarks.vad --help``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base.clock import cpu_seconds
from audio.io.wavfile import read_wav
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.vad.silero_model import FRAME_SAMPLES, SileroStream, find_model, shared_session

AUC_GATE = 0.95
CORE_SHARE_GATE = 0.005
AGREEMENT_GATE = 0.01
"""Largest difference of any frame's probability from the plain statement."""
FRAME_S = FRAME_SAMPLES / CAPTURE_RATE_HZ

Bools = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Labelled:
    """A recording at 16 kHz and, for each whole frame, whether it is speech."""

    name: str
    pcm: Pcm
    speech: Bools


@dataclass(frozen=True)
class Wiring:
    """A way to use the network. The defaults are the right one; each other value is a mistake somebody made."""

    name: str = "as stated"
    context: bool = True
    context_is_zero: bool = False
    normalised: bool = True
    state_carried: bool = True
    reset_every_s: float | None = None
    rate_hz: int = CAPTURE_RATE_HZ
    gain: float = 1.0
    fails_auc: bool = True
    """Whether the mistake is known to cost enough accuracy for the first condition of the gate."""


MISTAKES = (
    Wiring("no context", context=False),
    Wiring("context of zeros", context_is_zero=True, fails_auc=False),
    Wiring("samples not normalised", normalised=False),
    Wiring("state not carried", state_carried=False),
    Wiring("reset every 5 s", reset_every_s=5.0),
    Wiring("told 8 kHz", rate_hz=8_000),
    Wiring("gain 0.3", gain=0.3),
    Wiring("gain 0.1", gain=0.1),
    Wiring("gain 0.03", gain=0.03),
)


class PlainStreams:
    """The network used by the book, in the plainest way: what ``SileroStream`` must agree with. Or wrongly, as told.

    Several recordings run side by side, as a batch.
    """

    def __init__(self, session: Any, count: int, wiring: Wiring) -> None:
        self._session = session
        self._wiring = wiring
        self._state = np.zeros((2, count, 128), np.float32)
        # Who tells the network 8 kHz also gives it frames and contexts of half the size.
        self._context = np.zeros((count, 64 * wiring.rate_hz // CAPTURE_RATE_HZ), np.float32)
        self._frames = 0

    def probabilities(self, frames: npt.NDArray[np.int16]) -> npt.NDArray[np.float32]:
        """The probability of speech in the next 512 samples of each recording, of frames of shape (count, 512)."""
        wiring = self._wiring
        if wiring.reset_every_s and self._frames % round(wiring.reset_every_s / FRAME_S) == 0:
            self._state = np.zeros_like(self._state)
            self._context = np.zeros_like(self._context)
        self._frames += 1
        heard = np.rint(frames * wiring.gain).astype(np.float32) * np.float32(1 / 32768 if wiring.normalised else 1)
        return [self._infer(part) for part in np.split(heard, CAPTURE_RATE_HZ // wiring.rate_hz, axis=1)][-1]

    def _infer(self, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        wiring = self._wiring
        before = np.zeros_like(self._context) if wiring.context_is_zero else self._context
        heard = np.concatenate((before, x), axis=1) if wiring.context else x
        self._context = x[:, -self._context.shape[1] :]
        feeds = {"input": heard, "state": self._state, "sr": np.array(wiring.rate_hz, np.int64)}
        output, state = self._session.run(None, feeds)
        if wiring.state_carried:
            self._state = state
        return np.asarray(output[:, 0], np.float32)


def plain_probabilities(session: Any, recordings: Sequence[Labelled], wiring: Wiring | None = None) -> Probabilities:
    """One probability per whole frame of all recordings, one after the other, by ``PlainStreams``."""
    longest = max(recording.speech.size for recording in recordings)
    frames = np.zeros((longest, len(recordings), FRAME_SAMPLES), np.int16)
    for i, recording in enumerate(recordings):
        count = recording.speech.size
        frames[:count, i] = recording.pcm[: count * FRAME_SAMPLES].reshape(count, FRAME_SAMPLES)
    streams = PlainStreams(session, len(recordings), wiring or Wiring())
    rows = np.stack([streams.probabilities(row) for row in frames])
    return np.concatenate([rows[: recording.speech.size, i] for i, recording in enumerate(recordings)]).astype(float)


def product_probabilities(session: Any, recordings: Sequence[Labelled]) -> Probabilities:
    """The same by ``SileroStream``, as the appliance runs it."""
    scores: list[float] = []
    for recording in recordings:
        stream = SileroStream(session)
        scores += [stream.probability(frame) for frame in _frames(recording)]
    return np.array(scores)


def _frames(recording: Labelled) -> list[Pcm]:
    count = recording.speech.size
    return np.split(recording.pcm[: count * FRAME_SAMPLES], count)


def frame_labels(text: str, frames: int) -> Bools:
    """Labels from a line ``name,start,end,speech,start,end,speech,…`` (seconds, 1 or 0)."""
    fields = text.strip().split(",")[1:]
    middles = (np.arange(frames) + 0.5) * FRAME_S
    speech = np.zeros(frames, np.bool_)
    for start, end, flag in zip(fields[0::3], fields[1::3], fields[2::3], strict=True):
        speech |= (int(flag) == 1) & (middles >= float(start)) & (middles < float(end))
    return speech


def load(folder: Path) -> list[Labelled]:
    """Every ``vad/NN.wav`` of ``folder`` with its ``vad/NN.scv``."""
    recordings: list[Labelled] = []
    for labels in sorted((folder / "vad").glob("*.scv")):
        with read_wav(labels.with_suffix(".wav")) as audio:
            pcm = audio.read(CAPTURE_RATE_HZ)
        speech = frame_labels(labels.read_text(encoding="utf-8"), pcm.size // FRAME_SAMPLES)
        recordings.append(Labelled(labels.stem, pcm, speech))
    return recordings


def roc_auc(speech: Bools, scores: Probabilities) -> float:
    """Area under the ROC curve: how often a frame of speech scores above one without, ties counting half."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positives = int(speech.sum())
    negatives = speech.size - positives
    return float((ranks[speech].sum() - positives * (positives + 1) / 2) / (positives * negatives))


@dataclass(frozen=True)
class Score:
    """What the gate looks at."""

    name: str
    auc: float
    disagreement: float

    @property
    def passes(self) -> bool:
        """Whether both conditions of the gate hold."""
        return self.auc >= AUC_GATE and self.disagreement <= AGREEMENT_GATE


class Bench:
    """The recordings and what the plain statement says about them."""

    def __init__(self, session: Any, recordings: Sequence[Labelled]) -> None:
        self.session = session
        self.recordings = recordings
        self._speech = np.concatenate([recording.speech for recording in recordings])
        self._plain = plain_probabilities(session, recordings)

    def _score(self, name: str, scores: Probabilities) -> Score:
        return Score(name, roc_auc(self._speech, scores), float(np.abs(scores - self._plain).max()))

    def product(self) -> Score:
        """Silero as the appliance uses it."""
        return self._score("this appliance", product_probabilities(self.session, self.recordings))

    def mistake(self, wiring: Wiring) -> Score:
        """Silero used wrongly."""
        return self._score(wiring.name, plain_probabilities(self.session, self.recordings, wiring))

    def core_share(self, seconds: float = 0.5) -> float:
        """Share of one core that a continuous stream takes.

        Processor time of the quickest ``seconds`` of all recordings: what else the machine does is not counted.
        """
        step = round(seconds / FRAME_S)
        stream, best = SileroStream(self.session), np.inf
        for recording in self.recordings:
            frames = _frames(recording)
            for first in range(0, len(frames) - step + 1, step):
                start = cpu_seconds()
                for frame in frames[first : first + step]:
                    stream.probability(frame)
                best = min(best, (cpu_seconds() - start) / (step * FRAME_S))
        return float(best)


def table(scores: Iterable[Score], markdown: bool) -> list[str]:
    """The lines of the table."""
    row = "| {:<24} | {:>7} | {:>12} | {:<6} |" if markdown else "{:<24}  {:>7}  {:>12}  {:<6}"
    lines = [row.format("Silero v6, wired", "ROC-AUC", "disagreement", "gate")]
    if markdown:
        lines.append("|---|---|---|---|")
    for score in scores:
        verdict = "passes" if score.passes else "fails"
        lines.append(row.format(score.name, f"{score.auc:.3f}", f"{score.disagreement:.4f}", verdict))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 0 when the gate is met and catches every mistake, 1 otherwise, 2 without recordings."""
    default = Path(__file__).resolve().parents[2] / "shared" / "audio"
    parser = argparse.ArgumentParser(description="Accuracy and cost of speech detection on labelled recordings.")
    parser.add_argument("--audio", type=Path, default=default, help="folder with vad/NN.wav and vad/NN.scv")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args(arguments)
    recordings = load(options.audio)
    if not recordings:
        print(f"no labelled recordings in {options.audio}", file=sys.stderr)
        return 2
    bench = Bench(shared_session(find_model()), recordings)
    product = bench.product()
    mistakes = [bench.mistake(wiring) for wiring in MISTAKES]
    share = bench.core_share()
    frames = sum(recording.speech.size for recording in recordings)
    print(
        f"{len(recordings)} recordings, {frames * FRAME_S:.0f} s, gate: AUC >= {AUC_GATE}, "
        f"disagreement <= {AGREEMENT_GATE}\n"
    )
    print("\n".join(table([product, *mistakes], options.markdown)))
    print(
        f"\nOne stream: {share * FRAME_S * 1e6:.0f} us per 32 ms frame, {share:.2%} of a core, "
        f"{share / CORE_SHARE_GATE:.2f} of the limit of {CORE_SHARE_GATE:.1%}."
    )
    missed = [score.name for score in mistakes if score.passes]
    if missed:
        print(f"The gate does not catch: {', '.join(missed)}.")
    return int(not product.passes or bool(missed) or share > CORE_SHARE_GATE)


if __name__ == "__main__":
    sys.exit(main())
