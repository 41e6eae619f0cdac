"""The English voice of the device: hibari, a small neural voice that lies complete in its package.

The engine is put together here from the parts of the package (letter to sound, network, signal processing), always
from the packaged model. The package's own constructor is not used: it would fetch other voices from the network.

The network decides how long each phoneme lasts before it makes any sound. These durations are read out and give word
timings that are exact to one of its frames (25 ms).
"""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import structlog

from agents.base.clock import infer
from agents.base.errors import ConfigError, GloveVoiceError
from audio.onnx import open_session
from audio.pcm import Floats, Pcm, float_to_pcm, silence
from audio.tts.base import WordTiming
from audio.tts.local import SentenceTts, Speech
from audio.tts.trim import sounding, trim_silence

RATE_HZ = 24_000
VOICE = "heart"
SYNTHESIS_COST_S = 0.06
"""Declared duration of one sentence on the virtual clock."""
LOADING_COST_S = 1.0
MAX_PHONEMES = 300
"""Longest phoneme string given to the network at once; about 20 s of speech and 30 MB of memory."""

_GAIN = 1.8
_PEAK = 0.95
_OUTPUTS = ("lh", "theta", "ln", "lr", "phi", "f0")
_DURATIONS = "/Clip_output_0"
_EARLY = RATE_HZ * 30 // 1000
"""Sound precedes the network's durations by 30 ms (median of 69 onsets after pauses; half of them within 20 ms)."""
_PAUSE_MARKS = frozenset(';:,.!?—…"()“” ')
_LONG_NUMBER = re.compile(r"\d{13,}")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Group:
    """Phonemes between two spaces, and the index of the word they belong to."""

    phonemes: str
    word: int


class HibariEngine:
    """The loaded voice, shared by all sessions. Thread-safe; blocking: call it off the loop.

    Raises:
        GloveVoiceError: ``ERR_TTS_CONNECTION`` from the constructor when the package is missing or broken.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hibari")
        self.model_path = packaged_model()
        try:
            self._load()
        except Exception as fault:
            raise GloveVoiceError(
                "ERR_TTS_CONNECTION",
                f"The English voice cannot be loaded: {fault}",
                "Install the package hibari-tts again.",
                fault,
            ) from fault

    def _load(self) -> None:
        from hibari import dsp
        from hibari.g2p import G2P

        model = self.model_path.read_bytes() + _extra_output(_DURATIONS)
        self._session = open_session(model, shapes_vary=True)
        self._vocabulary: dict[str, int] = json.loads((self.model_path.parent / "vocab.json").read_text("utf-8"))
        self._g2p: Any = G2P()
        self._dsp: Any = dsp

    def synthesize(self, text: str) -> Speech:
        """Speak ``text`` (English). The same text always gives the same samples; unpronounceable text gives none."""
        words = _LONG_NUMBER.sub(lambda match: " ".join(match.group()), text).split()
        chunks: list[Pcm] = []
        spans: dict[int, tuple[int, int]] = {}
        offset = 0
        with self._lock:
            for run in _runs(self._phonemes(words)):
                if not any(c not in _PAUSE_MARKS for group in run for c in group.phonemes):
                    continue
                pcm, ends = self._speak([group.phonemes for group in run])
                for group, span in zip(run, ends, strict=True):
                    if span is not None:
                        start = spans.get(group.word, (span[0] + offset, 0))[0]
                        spans[group.word] = (start, span[1] + offset)
                chunks.append(pcm)
                offset += pcm.size
        timings = tuple(WordTiming(words[word], start, end) for word, (start, end) in sorted(spans.items()))
        return Speech(np.concatenate([silence(0), *chunks]), timings)

    def _phonemes(self, words: list[str]) -> list[_Group]:
        """The phoneme groups of ``words`` in order, each with the word it belongs to."""
        groups = self._spell(" ".join(words)).split()
        if len(groups) == len(words):
            return [_Group(phonemes, word) for word, phonemes in enumerate(groups)]
        # Numbers, times and units become several groups: count how many each word makes when it stands alone.
        alone = [self._spell(word).split() for word in words]
        if sum(map(len, alone)) == len(groups):
            owners = [word for word, own in enumerate(alone) for _ in own]
        else:
            owners = _share([sum(map(len, own)) for own in alone], [len(group) for group in groups])
        return [_Group(phonemes, owner) for phonemes, owner in zip(groups, owners, strict=True)]

    def _spell(self, text: str) -> str:
        """Phonemes of ``text``; where the package fails on a word, that word is left out."""
        try:
            return str(self._g2p(text))
        except (IndexError, KeyError, ValueError, TypeError) as fault:
            words = text.split()
            log.warning("no pronunciation", words=len(words), error=repr(fault))
            if len(words) < 2:
                return ""
            return " ".join(filter(None, (self._spell(word) for word in words)))

    def _speak(self, groups: list[str]) -> tuple[Pcm, list[tuple[int, int] | None]]:
        """Sound of ``groups`` and, in samples, the span of each that is more than a pause."""
        symbols = [c for c in " ".join(groups) if c in self._vocabulary]
        ids = np.asarray([[0, *(self._vocabulary[c] for c in symbols), 0]], np.int64)
        feed = {"ids": ids, "speed": np.ones(1, np.float32)}
        *spectrum, durations = self._session.run([*_OUTPUTS, _DURATIONS], feed)
        wave: Floats = self._dsp.synth(*(part[0] for part in spectrum), np.random.default_rng(0))
        pcm, cut = trim_silence(_to_level(wave), RATE_HZ)
        edges = np.concatenate(([0.0], np.cumsum(durations)))
        edges = np.clip(edges * (wave.size / edges[-1]) - cut - _EARLY, 0, pcm.size)
        return pcm, [span and (span[0], _fallen_silent(pcm, *span)) for span in self._spans(groups, edges)]

    def _spans(self, groups: list[str], edges: npt.NDArray[np.floating]) -> list[tuple[int, int] | None]:
        """Start and end of each group, given the edges of all symbols, the first of which is the pad in front."""
        spans: list[tuple[int, int] | None] = []
        at = 1
        for group in groups:
            known = [c for c in group if c in self._vocabulary]
            spoken = [at + i for i, c in enumerate(known) if c not in _PAUSE_MARKS]
            spans.append((int(edges[spoken[0]]), int(edges[spoken[-1] + 1])) if spoken else None)
            at += len(known) + 1
        return spans


def _fallen_silent(pcm: Pcm, start: int, end: int) -> int:
    """The end of the sound between ``start`` and ``end``: the network lets last sounds last into the pause."""
    _, last = sounding(pcm[start:end], RATE_HZ)
    return start + last if last else end


_loading = threading.Lock()
_shared: list[HibariEngine] = []


def shared_engine() -> HibariEngine:
    """The one engine of this process, loaded by the first caller (about 0.6 s). Thread-safe, blocking."""
    with _loading:
        if not _shared:
            _shared.append(HibariEngine())
        return _shared[0]


def packaged_model() -> Path:
    """The model file inside the installed package. Raises ``GloveVoiceError`` when the package is not installed."""
    spec = find_spec("hibari")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    path = Path(folders[0]) / "assets" / "hibari.onnx" if folders else None
    if path is None or not path.is_file():
        raise GloveVoiceError(
            "ERR_TTS_CONNECTION", "The English voice is not installed.", "Install the package hibari-tts."
        )
    return path


class HibariVoice(SentenceTts):
    """Speaks English with the shared engine; 24 kHz.

    Args:
        voice: must be ``heart``, the voice in the package. Raises ``ConfigError`` (``ERR_TTS_VOICE``) otherwise.
        engine: use this engine instead of the shared one.
        lead_s: see ``SentenceTts``.
    """

    def __init__(self, voice: str = VOICE, *, engine: HibariEngine | None = None, lead_s: float | None = 30.0) -> None:
        super().__init__(lead_s=lead_s)
        if voice != VOICE:
            raise ConfigError("ERR_TTS_VOICE", f"There is no English voice {voice!r}.", f"Use {VOICE!r}.")
        self._engine = engine

    @property
    def sample_rate_hz(self) -> int:
        """24000."""
        return RATE_HZ

    async def prepare(self) -> None:
        """Load the shared engine. Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``)."""
        if self._engine is None:
            self._engine = _shared[0] if _shared else await infer(shared_engine, cost_s=LOADING_COST_S)

    async def render(self, text: str) -> Speech:
        """The sound of one sentence."""
        engine = self._engine
        if engine is None:
            raise RuntimeError("the voice was not opened")
        return await infer(lambda: engine.synthesize(text), cost_s=SYNTHESIS_COST_S, executor=engine.executor)


def _to_level(wave: Floats) -> Pcm:
    """A fixed gain brings the voice to about -20 dBFS; a rare peak lowers its whole sentence instead of clipping."""
    peak = float(np.max(np.abs(wave), initial=0.0))
    return float_to_pcm(wave * min(_GAIN, _PEAK / peak) if peak > 0 else wave)


def _runs(groups: list[_Group]) -> list[list[_Group]]:
    """Cut ``groups`` so that no run exceeds ``MAX_PHONEMES``, after a pause mark where the second half has one."""
    runs: list[list[_Group]] = []
    run: list[_Group] = []
    length = 0
    for group in groups:
        size = len(group.phonemes) + 1
        if run and length + size > MAX_PHONEMES:
            marks = [i for i in range(len(run) // 2, len(run)) if run[i].phonemes[-1] in _PAUSE_MARKS]
            cut = marks[-1] + 1 if marks else len(run)
            runs.append(run[:cut])
            run = run[cut:]
            length = sum(len(kept.phonemes) + 1 for kept in run)
        run.append(group)
        length += size
    return [*runs, run] if run else runs


def _share(wanted: list[int], sizes: list[int]) -> list[int]:
    """Deal groups of ``sizes`` out to words in proportion to ``wanted``; returns the word of each group."""
    shares = np.cumsum(wanted, dtype=np.float64)
    total = shares[-1] if len(shares) else 0.0
    if total <= 0:
        return [0] * len(sizes)
    middles = (np.cumsum(sizes) - np.asarray(sizes) / 2) / max(1, sum(sizes)) * total
    return [int(word) for word in np.minimum(np.searchsorted(shares, middles), len(wanted) - 1)]


def _extra_output(name: str) -> bytes:
    """Bytes that, appended to an ONNX model, make the inner value ``name`` one of its outputs.

    Protocol buffers merge when they are joined: these are a ``ModelProto`` whose graph (field 7) has one output
    (field 12) with a name (field 1).
    """
    data = name.encode()
    for field in (1, 12, 7):
        data = bytes((field << 3 | 2, len(data))) + data
    return data
