"""How often a thinking pause costs somebody the floor, and how soon a finished turn is answered.

Each recording is heard twice by the real chain (voice detector, recogniser, turn engine) on virtual time, in which a
recognition takes what it declares:

* with each natural pause in turn (at least 100 ms in which the speaker is 18 dB below the loud parts, 0.5 s from the
  start and 0.4 s from the end of the speech) made 700 ms long by the recording's own quiet; a turn that is committed
  before the speech is over is a cut-off;
* as it is, followed by quiet: from the end of the speech (18 dB below the loud parts) to the commit.

Pauses that the transcript shows to be the end of a sentence are left out: there, a turn may end.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agents.base.clock import now, run_virtual
from agents.base.errors import GloveVoiceError
from audio.io.wavfile import read_wav
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm, silence
from audio.stt.base import SegmentStt
from audio.turns.contract import Committed
from audio.turns.engine import TurnEngine
from audio.turns.hold import TurnDetector
from audio.turns.transcriber import SegmentTranscriber
from audio.turns.words import words
from audio.vad.silero import SileroVad

Floats64 = npt.NDArray[np.float64]

PAUSE_S = 0.7
QUIET_AFTER_S = 4.0
LEAST_PAUSE_S = 0.1
QUIET_DB = 18


@dataclass(frozen=True)
class Clip:
    """A recording: 16 kHz, what it says, in which language, and where its speech begins and ends (seconds)."""

    name: str
    pcm: Pcm
    text: str
    language: str
    begins_s: float
    ends_s: float

    def quiet(self, seconds: float) -> Pcm:
        """The recording's own quiet: noise as loud as its quietest twentieth."""
        frames = _frames(self.pcm)
        levels = (frames**2).mean(axis=1)
        quietest = frames[np.argsort(levels)[: max(3, levels.size // 20)]]
        noise = np.random.default_rng(1).normal(0, max(1.0, float(quietest.std())), round(seconds * CAPTURE_RATE_HZ))
        return noise.astype(np.int16)


@dataclass
class Endpointing:
    """What came out: cut-offs by clip and place, and milliseconds from the end of speech to the commit."""

    pauses: int = 0
    cut: list[tuple[str, float, str]] = field(default_factory=list[tuple[str, float, str]])
    complete_ms: list[float] = field(default_factory=list[float])
    never: list[str] = field(default_factory=list[str])
    reasons: list[tuple[str, str, float]] = field(default_factory=list[tuple[str, str, float]])

    @property
    def cut_share(self) -> float:
        """Cut-offs by pauses, 0…1."""
        return len(self.cut) / max(1, self.pauses)

    def complete_p(self, percent: float) -> float:
        """Percentile of the milliseconds to a commit."""
        return float(np.percentile(self.complete_ms, percent))


class Listener:
    """A host without an agent: keeps the turns and when they came."""

    def __init__(self) -> None:
        self.turns: list[tuple[float, Committed]] = []

    def turn(self, committed: Committed) -> None:
        """Keep it."""
        self.turns.append((now(), committed))

    def agent_busy(self) -> bool:
        """Nobody answers."""
        return False

    def unintelligible(self, fault: GloveVoiceError) -> None:
        """A recogniser that fails would spoil the figures."""
        raise fault

    def __getattr__(self, name: str) -> object:
        """Everything else that a host is told does not matter here."""
        return lambda *_: None


def clips(folder: Path) -> list[Clip]:
    """The recordings of ``folder``, which holds a ``manifest.json``."""
    result: list[Clip] = []
    for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        pcm = read_wav(folder / entry["file"]).read(CAPTURE_RATE_HZ)
        begins_s, ends_s = _speech(pcm)
        result.append(Clip(entry["id"], pcm, entry["text"], entry["language"], begins_s, ends_s))
    return result


def pauses(clip: Clip) -> Iterator[tuple[float, float]]:
    """Beginnings and lengths of the natural pauses, in seconds."""
    loudness = levels(clip.pcm)
    quiet = loudness < np.percentile(loudness, 90) - QUIET_DB
    edges = np.flatnonzero(np.diff(np.concatenate(([0], quiet.view(np.int8), [0]))))
    for start, stop in zip(edges[::2] / 100, edges[1::2] / 100, strict=True):
        inside = start > clip.begins_s + 0.5 and stop < clip.ends_s - 0.4
        if inside and stop - start >= LEAST_PAUSE_S:
            yield float(start), float(stop - start)


def measure(clip: Clip, stt: SegmentStt, detector: TurnDetector, result: Endpointing) -> None:
    """Add what happens with ``clip`` to ``result``."""
    (at, first), *_ = _hear(np.concatenate((clip.pcm, clip.quiet(QUIET_AFTER_S))), stt, detector) or [(0.0, None)]
    if first is None:
        result.never.append(clip.name)
    elif at >= clip.ends_s:
        result.complete_ms.append(1000 * (at - clip.ends_s))
        result.reasons.append((clip.name, first.reason, round(1000 * (at - clip.ends_s))))
    for start, natural_s in pauses(clip):
        added_s = max(0.0, PAUSE_S - natural_s)
        cut = round((start + 0.02) * CAPTURE_RATE_HZ)
        head, rest = clip.pcm[:cut], clip.pcm[cut:]
        if _ends_sentence(clip, stt, head):
            continue
        parts = (head, clip.quiet(added_s), rest, clip.quiet(QUIET_AFTER_S))
        turns = _hear(np.concatenate(parts), stt, detector)
        result.pauses += 1
        if turns and turns[0][0] < clip.ends_s + added_s:
            result.cut.append((clip.name, start, f"{turns[0][1].text} [{turns[0][1].reason}]"))


def _hear(sound: Pcm, stt: SegmentStt, detector: TurnDetector) -> list[tuple[float, Committed]]:
    async def listen() -> list[tuple[float, Committed]]:
        host, vad = Listener(), SileroVad()
        transcriber = SegmentTranscriber(stt, pad_s=0.5)
        engine = TurnEngine(host, vad, transcriber, detector)  # type: ignore[arg-type]
        for end in range(FRAME_SAMPLES, sound.size + 1, FRAME_SAMPLES):
            await asyncio.sleep(FRAME_SAMPLES / CAPTURE_RATE_HZ)
            engine.process(sound[end - FRAME_SAMPLES : end], end)
        await engine.close()
        await transcriber.close()
        return host.turns

    return run_virtual(listen())


def _ends_sentence(clip: Clip, stt: SegmentStt, head: Pcm) -> bool:
    """Whether the transcript has a sentence end where ``head`` ends, by the number of words understood."""
    ends = {len(words(clip.text[: match.end()])) for match in re.finditer(r"[.?!。？！]", clip.text)}
    ends.add(len(words(clip.text)))
    understood = len(words(stt.transcribe(np.concatenate((head, silence(8_000)))).text))
    return any(abs(understood - end) <= 1 for end in ends)


def _frames(pcm: Pcm) -> Floats64:
    return pcm[: pcm.size // 160 * 160].reshape(-1, 160).astype(np.float64)


def levels(pcm: Pcm) -> Floats64:
    """Level of each 10 ms in dB, smoothed over 50 ms."""
    return np.convolve(10 * np.log10((_frames(pcm) ** 2).mean(axis=1) + 1), np.ones(5) / 5, "same")


def _speech(pcm: Pcm) -> tuple[float, float]:
    loudness = levels(pcm)
    loud = np.flatnonzero(loudness > np.percentile(loudness, 90) - QUIET_DB)
    return float(loud[0]) / 100, float(loud[-1] + 1) / 100
