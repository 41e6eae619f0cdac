"""How well and how fast the on-device recognisers hear: word errors and speed against stock faster-whisper.

Usage: python benchmarks/speech_to_text.py [--audio DIR] [--models tiny.en,base] [--threads N] [--markdown]

The recordings are the English clips of ``DIR/manifest.json``. Word errors are counted with Whisper's own English
normaliser. Speed is a ratio within one run: each clip goes through ours and then through the stock recogniser with the
same weights, int8, the same threads and a beam of 1, so that other load on the machine strikes both; the better of two
rounds counts. The limit is for the typical utterance, the median over the clips; the ratio of the total times, in which
a few long clips weigh most, is printed beside it. Exits with 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from agents.base.clock import perf_counter
from agents.base.weights import WeightsStore
from audio.pcm import CAPTURE_RATE_HZ, Pcm, pcm_to_float
from audio.stt.moonshine import MoonshineStt
from audio.stt.whisper import WhisperStt

MOST_WER = 0.04
LEAST_RATIO = 4.0
ROUNDS = 2


@dataclass(frozen=True)
class Clip:
    """A recording at 16 kHz and what is said in it."""

    pcm: Pcm
    text: str


@dataclass(frozen=True)
class Row:
    """Figures of one recogniser over all clips.

    Attributes:
        name: as shown.
        wer: word error rate, 0…1.
        median_ms: of one clip.
        rtf: seconds of computing per second of audio.
        ratio: how many times faster than the stock recogniser of the same size on the median clip; None where there
            is none.
        total_ratio: the same for all clips together.
        is_judged: whether the limits apply.
    """

    name: str
    wer: float
    median_ms: float
    rtf: float
    ratio: float | None
    total_ratio: float | None
    is_judged: bool

    @property
    def is_met(self) -> bool:
        """Whether the row keeps the limits."""
        return not self.is_judged or (self.wer <= MOST_WER and (self.ratio or 0.0) >= LEAST_RATIO)


def load_clips(folder: Path) -> list[Clip]:
    """The English clips of ``folder/manifest.json``."""
    clips: list[Clip] = []
    for item in json.loads((folder / "manifest.json").read_text("utf-8")):
        if item["language"] == "en":
            with wave.open(str(folder / item["file"])) as file:
                assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (CAPTURE_RATE_HZ, 1, 2)
                pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)
            clips.append(Clip(pcm, item["text"]))
    return clips


def word_error_rate(clips: list[Clip], texts: list[str]) -> float:
    """WER of ``texts`` over all clips, normalised."""
    import jiwer
    from whisper_normalizer.english import EnglishTextNormalizer

    normal = EnglishTextNormalizer()
    return jiwer.wer([normal(clip.text) for clip in clips], [normal(text) for text in texts])


def compare(clips: list[Clip], recognisers: dict[str, Callable[[Pcm], str]]) -> dict[str, tuple[float, list[float]]]:
    """WER and the seconds of each clip, by recogniser; the recognisers take turns clip by clip."""
    texts: dict[str, list[str]] = {name: [] for name in recognisers}
    seconds: dict[str, list[float]] = {name: [] for name in recognisers}
    for recognise in recognisers.values():
        recognise(clips[0].pcm)
    for clip in clips:
        rounds: dict[str, list[float]] = {name: [] for name in recognisers}
        for _ in range(ROUNDS):
            for name, recognise in recognisers.items():
                started = perf_counter()
                text = recognise(clip.pcm)
                rounds[name].append(perf_counter() - started)
                texts[name] += [text] if len(rounds[name]) == 1 else []
        for name, measured in rounds.items():
            seconds[name].append(min(measured))
    return {name: (word_error_rate(clips, texts[name]), seconds[name]) for name in recognisers}


def whisper_rows(store: WeightsStore, clips: list[Clip], size: str, threads: int) -> list[Row]:
    """Ours and stock faster-whisper with the weights of ``size``."""
    from faster_whisper import WhisperModel

    folder = store.ensure(f"whisper-{size}")
    ours = WhisperStt.load(store, f"whisper-{size}", threads=threads, language="en")
    stock = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)

    def recognise_stock(pcm: Pcm) -> str:
        segments, _ = stock.transcribe(pcm_to_float(pcm), beam_size=1, language="en")
        return "".join(segment.text for segment in segments)

    figures = compare(clips, {"ours": lambda pcm: ours.transcribe(pcm).text, "stock": recognise_stock})
    return [
        _row(f"Whisper {size}", clips, figures["ours"], figures["stock"][1]),
        _row(f"stock faster-whisper {size}", clips, figures["stock"]),
    ]


def moonshine_rows(store: WeightsStore, clips: list[Clip], threads: int) -> list[Row]:
    """Moonshine, which makes the partials."""
    moonshine = MoonshineStt.load(store, threads=threads)
    figures = compare(clips, {"ours": lambda pcm: moonshine.transcribe(pcm).text})
    return [_row("Moonshine tiny-en (partials)", clips, figures["ours"])]


def _row(name: str, clips: list[Clip], figures: tuple[float, list[float]], stock_s: list[float] | None = None) -> Row:
    """Figures of a recogniser, compared and judged if the times of a stock one are given."""
    wer, seconds = figures
    audio_s = sum(clip.pcm.size for clip in clips) / CAPTURE_RATE_HZ
    ratio = total_ratio = None
    if stock_s is not None:
        ratio = statistics.median(stock / ours for stock, ours in zip(stock_s, seconds, strict=True))
        total_ratio = sum(stock_s) / sum(seconds)
    median_ms = statistics.median(seconds) * 1000
    return Row(name, wer, median_ms, sum(seconds) / audio_s, ratio, total_ratio, stock_s is not None)


def print_rows(rows: list[Row], markdown: bool) -> None:
    """The figures as a table, with the limits."""
    head = ["recogniser", f"WER (limit {MOST_WER:.0%})", "ms per clip", "RTF"]
    head += [f"times stock (limit {LEAST_RATIO:g})", "in total", ""]
    cells = [
        [
            row.name,
            f"{row.wer:.1%}",
            f"{row.median_ms:.0f}",
            f"{row.rtf:.3f}",
            "" if row.ratio is None else f"{row.ratio:.1f}",
            "" if row.total_ratio is None else f"{row.total_ratio:.1f}",
            ("met" if row.is_met else "MISSED") if row.is_judged else "",
        ]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]
    if markdown:
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in cells if markdown else [head, *cells]:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("| " + " | ".join(line) + " |" if markdown else "  ".join(padded).rstrip())


def main() -> int:
    """Run the benchmark; 0 when all limits are met, 1 when one is missed, 2 without recordings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--audio", type=Path, default=REPO.parent / "shared" / "audio", help="folder of recordings")
    parser.add_argument("--models", default="tiny.en,base", help="sizes of Whisper, separated by commas")
    parser.add_argument("--threads", type=int, default=1, help="threads of every recogniser")
    parser.add_argument("--markdown", action="store_true", help="print the table for the documentation")
    options = parser.parse_args()
    if not (options.audio / "manifest.json").is_file():
        print(f"no recordings in {options.audio}: give their folder with --audio", file=sys.stderr)
        return 2
    clips = load_clips(options.audio)
    store = WeightsStore()
    rows = [row for size in options.models.split(",") for row in whisper_rows(store, clips, size, options.threads)]
    rows += moonshine_rows(store, clips, options.threads)
    print_rows(rows, options.markdown)
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
