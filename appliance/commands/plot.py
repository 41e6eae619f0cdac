"""``glove plot``: draws a recorded conversation, both voices and what the appliance made of them, or measured turns."""

from __future__ import annotations

import json
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from agents.base.errors import InputError
from appliance.commands.drawing import library

USER, AGENT, EDGE, PAUSE, CUT = "#2a6f97", "#c05621", "#444444", "darkgoldenrod", "crimson"
LONGEST_TEXT = 60
LETTER = 0.0057
"""Width of a letter as a share of the picture."""

Levels = npt.NDArray[np.float64]
"""Peak level of each 10 ms, 0…1, shape (n,)."""


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(plot)
    return command


def plot(
    events: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines of glove talk --events, log.events or metrics.file.")
    ],
    out: Annotated[Path, typer.Option(metavar="PNG", help="Picture to write.")],
    sound: Annotated[Path | None, typer.Option(metavar="WAV", help="The recording of both sides, drawn too.")] = None,
    start: Annotated[float, typer.Option("--from", metavar="S", min=0.0, help="Begin at this second.")] = 0.0,
    end: Annotated[
        float | None, typer.Option("--to", metavar="S", help="End at this second; without it at the last.")
    ] = None,
    stages: Annotated[bool, typer.Option("--stages", help="Draw the stages of each turn, from events too.")] = False,
) -> int:
    """Draw a conversation (the user above, the appliance below, turns, pauses and cuts), or the stages of turns."""
    from appliance.commands.stage_plot import draw_stages
    from appliance.commands.turn_lines import holds_metrics, read_turns

    if not stages and not holds_metrics(events):
        draw(events, out, sound, start, end)
        return 0
    if sound is not None or start or end is not None:
        raise InputError("ERR_USAGE", "The stages of turns are drawn without --sound, --from and --to.")
    draw_stages(read_turns(events), out)
    return 0


def draw(
    events: Path,
    out: Path,
    sound: Path | None = None,
    start_s: float = 0.0,
    end_s: float | None = None,
    spans: Sequence[tuple[float, float, str]] = (),
) -> None:
    """Write the picture.

    Args:
        events: JSON lines.
        out: PNG to write.
        sound: stereo recording (left the user), or None for the events alone.
        start_s: first second.
        end_s: last second; to the end when None.
        spans: (from, to, name) of what else shall be shown.

    Raises:
        InputError: a file cannot be used.
        ConfigError: the drawing library is not installed.
    """
    lines = _read_events(events)
    left, right = _read_levels(sound) if sound is not None else (np.zeros(0), np.zeros(0))
    end_s = end_s or max([left.size / 100, *(float(line["t"]) for line in lines)], default=1.0)
    if end_s <= start_s:
        raise InputError("ERR_USAGE", "--to must be later than --from.")
    plt = library()
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(11, 4.6), sharex=True, layout="constrained")
    _wave(upper, left, USER, "user")
    _wave(lower, right, AGENT, "appliance")
    marks = _Marks(upper, lower, end_s - start_s)
    for line in lines:
        if start_s <= line["t"] <= end_s:
            marks.add(line)
    for first, last, name in spans:
        upper.axvspan(first, last, color=PAUSE, alpha=0.2, linewidth=0)
        upper.text(first, -0.95, f" {name}", fontsize=8, color=PAUSE, clip_on=True)
    lower.set_xlim(start_s, end_s)
    lower.set_xlabel("seconds")
    try:
        figure.savefig(out, dpi=110, format="png")
    except OSError as fault:
        raise InputError("ERR_OUTPUT", f"{out} cannot be written.", cause=fault) from fault
    finally:
        plt.close(figure)


def _read_events(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        if not all("t" in line and "type" in line for line in lines):
            raise ValueError("a line without t or type")
    except OSError as fault:
        raise InputError("ERR_EVENTS", f"{path} cannot be read.", cause=fault) from fault
    except (ValueError, TypeError) as fault:
        raise InputError("ERR_EVENTS", f"{path} does not hold the events of a conversation.", cause=fault) from fault
    return lines


def _read_levels(path: Path) -> tuple[Levels, Levels]:
    try:
        with wave.open(str(path)) as file:
            if file.getnchannels() != 2 or file.getsampwidth() != 2:
                raise InputError("ERR_WAV_FORMAT", f"{path} is not a recording of both sides (16-bit stereo).")
            window = file.getframerate() // 100
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    except (OSError, EOFError, wave.Error) as fault:
        raise InputError("ERR_WAV_FORMAT", f"{path} cannot be read as a WAV file.", cause=fault) from fault
    frames = samples[: samples.shape[0] // window * window].reshape(-1, window, 2).astype(np.float64)
    peaks = np.abs(frames).max(axis=1) / 32768
    return peaks[:, 0], peaks[:, 1]


def _wave(axes: Any, levels: Levels, color: str, name: str) -> None:
    axes.fill_between(np.arange(levels.size) / 100, -levels, levels, color=color, linewidth=0)
    axes.set_ylabel(name)
    axes.set_yticks([])
    axes.set_ylim(-1.0, 1.25)
    axes.spines[["top", "right", "left"]].set_visible(False)


class _Marks:
    """Draws events: what the user said where it was committed, what was heard of a reply where that began."""

    def __init__(self, upper: Any, lower: Any, span_s: float) -> None:
        self._upper = upper
        self._lower = lower
        self._span_s = span_s
        self._started: float | None = None
        self._paused = float("-inf")
        self._user, self._agent = _Rows(upper, span_s), _Rows(lower, span_s)

    def add(self, line: dict[str, Any]) -> None:
        """Draw one event; those without a picture are ignored."""
        at = line["t"]
        match line["type"]:
            case "user_turn":
                self._upper.axvline(at, color=EDGE, linewidth=0.8)
                self._user.write(at, line["text"])
            case "agent_speech_started":
                self._started = at
                self._lower.axvline(at, color=EDGE, linewidth=0.8)
            case "agent_speech_stopped":
                self._lower.axvline(at, color=EDGE, linewidth=0.8, linestyle=":")
                if self._started is not None and line.get("heard"):
                    self._agent.write(self._started, line["heard"])
                self._started = None
            case "interrupted":
                self._lower.axvline(at, color=CUT, linewidth=1.2)
                self._lower.text(at, -0.95, " cut", fontsize=8, color=CUT, clip_on=True)
            case "playback_paused":
                self._lower.axvline(at, color=PAUSE, linewidth=1.0, linestyle=":")
                if at - self._paused > 8 * LETTER * self._span_s:
                    self._lower.text(at, -0.95, "paused ", fontsize=8, color=PAUSE, ha="right", clip_on=True)
                self._paused = at
            case _:
                return


class _Rows:
    """Texts in a few rows, so that neighbours do not cover each other."""

    def __init__(self, axes: Any, span_s: float) -> None:
        self._axes = axes
        self._letter_s = span_s * LETTER
        self._free_from = [float("-inf")] * 4

    def write(self, at: float, text: str) -> None:
        """Write ``text`` to the right of ``at`` in the first row that is free there."""
        row = min(range(len(self._free_from)), key=lambda row: (max(at, self._free_from[row]), row))
        self._free_from[row] = at + self._letter_s * (len(_short(text)) + 2)
        self._axes.text(at, 1.22 - 0.18 * row, f" {_short(text)}", fontsize=8, va="top", clip_on=True)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"… {text[-LONGEST_TEXT:]}"
