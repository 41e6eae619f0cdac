"""Taking turns, measured from recordings against limits.

    .venv/bin/python benchmarks/turn_taking.py [--audio FOLDER] [--detectors combined,rules] [--details]

Endpointing: pauses of 700 ms inside a sentence cost the floor in at most 10 % of the cases, while complete turns are
committed within 700 ms at the median. Both must hold for ``combined``, the appliance's own detector; the others are
there to compare.

Barge-in: when somebody speaks over the agent it is silent within 150 ms of the labelled onset at the median and 250 ms
at the 95th percentile, and it is decided within 900 ms of that whether it stays so.

Echo: at least 30 dB are taken away on the linear case, and somebody 6 dB louder than the echo is heard for 90 % of what
they say (see ``benchmarks/echo.py``).

Exit 1 where a limit is missed, 2 where there are no recordings to measure with.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPO), str(REPO / "benchmarks")]

import barging_in
import echo
import endpointing

from agents.base.weights import WeightsStore
from audio.stt.base import SegmentStt
from audio.stt.moonshine import MoonshineStt
from audio.stt.whisper import WhisperStt
from audio.turns.combined import CombinedDetector
from audio.turns.hold import TurnDetector
from audio.turns.rules import RuleDetector
from audio.turns.smart_turn import SmartTurn

CUT_LIMIT = 0.10
COMPLETE_LIMIT_MS = 700.0
SILENT_P50_MS, SILENT_P95_MS = 150.0, 250.0
DECIDED_P95_MS = 900.0


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("GLOVE_SHARED", REPO.parent / "shared"))
    parser.add_argument("--audio", type=Path, default=shared / "audio", help="a folder with manifest.json")
    parser.add_argument("--detectors", default="combined,rules")
    parser.add_argument("--parts", default="endpointing,barge-in,echo")
    parser.add_argument("--details", action="store_true", help="every cut-off and every commit")
    arguments = parser.parse_args()
    if not (arguments.audio / "manifest.json").is_file():
        print(f"nothing is measured: there are no recordings in {arguments.audio}")
        return 2
    reports: dict[str, Callable[[], bool]] = {
        "endpointing": lambda: report_endpointing(arguments.audio, arguments.detectors.split(","), arguments.details),
        "barge-in": lambda: report_barge_in(arguments.audio, arguments.details),
        "echo": lambda: echo.report(asyncio.run(echo.own_voice())),
    }
    met = [reports[part]() for part in arguments.parts.split(",")]
    return 0 if all(met) else 1


def report_endpointing(folder: Path, names: list[str], details: bool) -> bool:
    """Print the endpointing figures; whether ``combined`` (if it is among ``names``) keeps within the limits."""
    store, met = WeightsStore(), True
    stt = WhisperStt.load(store, "whisper-base")
    recordings = endpointing.clips(folder)
    print("| detector | pauses | cut off | limit | ratio | complete p50 | p90 | limit | ratio | never |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        result = measured(recordings, stt, DETECTORS[name](store))
        p50 = result.complete_p(50)
        shares = result.cut_share / CUT_LIMIT, p50 / COMPLETE_LIMIT_MS
        print(
            f"| {name} | {result.pauses} | {result.cut_share:.1%} | {CUT_LIMIT:.0%} | {shares[0]:.2f} | {p50:.0f} ms "
            f"| {result.complete_p(90):.0f} ms | {COMPLETE_LIMIT_MS:.0f} ms | {shares[1]:.2f} | {len(result.never)} |"
        )
        if details:
            print(*result.cut, *result.reasons, *result.never, sep="\n")
        if name == "combined":
            met = max(shares) <= 1 and not result.never
    print("met" if met else "MISSED")
    return met


def report_barge_in(folder: Path, details: bool) -> bool:
    """Print the figures of barge-in; whether they keep within the limits."""
    store, result = WeightsStore(), barging_in.BargingIn()
    finals, partials = WhisperStt.load(store, "whisper-base"), MoonshineStt.load(store)
    for clip in endpointing.clips(folder):
        # As configured: the light recogniser knows English only.
        barging_in.measure(clip, finals, partials if clip.language == "en" else None, result)
    for onset in barging_in.onsets(folder):
        barging_in.measure_onset(onset, result)
    figures = {
        "silent p50": (result.silent_p(50), SILENT_P50_MS),
        "silent p95": (result.silent_p(95), SILENT_P95_MS),
        "silent after the first loud sound, p50": (result.loud_p(50), None),
        "silent after the first loud sound, p95": (result.loud_p(95), None),
        "decided p50": (result.decided_p(50), None),
        "decided p95": (result.decided_p(95), DECIDED_P95_MS),
    }
    print("| barge-in | measured | limit | ratio |\n|---|---|---|---|")
    for name, (ms, limit) in figures.items():
        print(f"| {name} | {ms:.0f} ms | {'' if limit is None else f'{limit:.0f} ms | {ms / limit:.2f}'} |")
    print(
        f"{len(result.silent_ms)} labelled onsets, {len(result.loud_ms)} recordings, "
        f"{len(result.missed)} did not take the floor"
    )
    if details:
        print(*result.missed, sep="\n")
    met = all(limit is None or ms <= limit for ms, limit in figures.values())
    print("met" if met else "MISSED")
    return met


def measured(recordings: list[endpointing.Clip], stt: SegmentStt, detector: TurnDetector) -> endpointing.Endpointing:
    """All recordings with one detector."""
    result = endpointing.Endpointing()
    for clip in recordings:
        endpointing.measure(clip, stt, detector, result)
    return result


DETECTORS: dict[str, Callable[[WeightsStore], TurnDetector]] = {
    "combined": lambda store: CombinedDetector(RuleDetector(), SmartTurn.load(store)),
    "rules": lambda _: RuleDetector(),
}

if __name__ == "__main__":
    raise SystemExit(main())
