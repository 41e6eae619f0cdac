"""Draws a recorded conversation: both voices, and what the appliance made of them.

.venv/bin/python benchmarks/plot.py OUT.wav EVENTS.jsonl PICTURE.png [--from S] [--to S]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import recording
from matplotlib.axes import Axes

USER, AGENT, EDGE = "#2a6f97", "#c05621", "#444444"


def draw(sound: Path, log: Path, picture: Path, start_s: float = 0.0, end_s: float | None = None) -> None:
    """Write ``picture`` (PNG) of the stretch between ``start_s`` and ``end_s``."""
    audio, lines = recording.load(sound), recording.events(log)
    end_s = end_s or audio.seconds
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(11, 4.6), sharex=True, layout="constrained")
    _wave(upper, audio.left, audio.rate_hz, USER, "user")
    _wave(lower, audio.right, audio.rate_hz, AGENT, "appliance")
    _mark(upper, lower, [line for line in lines if start_s <= line["t"] <= end_s])
    lower.set_xlim(start_s, end_s)
    lower.set_xlabel("seconds")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def _wave(axes: Axes, track: Any, rate_hz: int, color: str, name: str) -> None:
    window = rate_hz // 100
    peaks = np.abs(track[: track.size // window * window].reshape(-1, window).astype(np.int32)).max(axis=1) / 32768
    times = np.arange(peaks.size) / 100
    axes.fill_between(times, -peaks, peaks, color=color, linewidth=0)
    axes.set_ylabel(name)
    axes.set_yticks([])
    axes.set_ylim(-1.0, 1.25)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _mark(upper: Axes, lower: Axes, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        at = line["t"]
        match line["type"]:
            case "user_turn":
                upper.axvline(at, color=EDGE, linewidth=0.8)
                upper.text(at, 1.2, f" {_short(line['text'])}", fontsize=8, va="top")
            case "agent_speech_started" | "agent_speech_stopped":
                lower.axvline(at, color=EDGE, linewidth=0.8)
                if heard := line.get("heard"):
                    lower.text(at, 1.2, f"{_short(heard)} ", fontsize=8, va="top", ha="right")
            case "interrupted":
                lower.axvline(at, color="crimson", linewidth=1.2)
                lower.text(at, -0.95, " cut", fontsize=8, color="crimson")
            case "playback_paused":
                lower.axvline(at, color="darkgoldenrod", linewidth=1.0, linestyle=":")
                lower.text(at, -0.95, "paused ", fontsize=8, color="darkgoldenrod", ha="right")
            case _:
                pass


def _short(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else f"… {text[-longest:]}"


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sound", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--from", dest="start", type=float, default=0.0)
    parser.add_argument("--to", dest="end", type=float)
    arguments = parser.parse_args()
    draw(arguments.sound, arguments.log, arguments.picture, arguments.start, arguments.end)


if __name__ == "__main__":
    main()
