"""Draws measured turns: each with its stages on a line of time, and how long each stage takes over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.base.errors import InputError
from appliance.commands.drawing import library
from appliance.commands.turn_lines import TurnLine, Turns
from appliance.measured.metrics import spread
from audio.turn_record import STAGES, WAITING

COLORS = {
    "speech": "#a9bcc2",
    "silence": "#8aa0a8",
    "recognition": "#7fb2d9",
    "hold": "#c3b8c9",
    "agent": "#d08c4a",
    "sentence": "#b7a33c",
    "voice": "#4f9d93",
    "playout": "#9a97d0",
    "answer": "#7fae7a",
}
"""The colours of the page's strips."""

CUT = "crimson"
MOST_TURNS = 40
"""So many of the last turns have a line; the lengths are taken over all."""

TOTAL, BARGE_IN, TOOL = "voice to voice", "barge-in decision", "tool"


def draw_stages(turns: Turns, out: Path) -> None:
    """Write the picture of ``turns`` to the PNG ``out``.

    Raises:
        InputError: ``ERR_OUTPUT``: the picture cannot be written.
        ConfigError: ``ERR_PLOT_PACKAGE``: the drawing library is not installed.
    """
    plt = library()
    shown = turns.lines[-MOST_TURNS:]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, 2.2 + 0.24 * max(12, len(shown))), width_ratios=(3, 2), layout="constrained"
    )
    try:
        _timelines(left, shown)
        _distributions(right, lengths(turns.lines))
        figure.savefig(out, dpi=110, format="png")
    except OSError as fault:
        raise InputError("ERR_OUTPUT", f"{out} cannot be written.", cause=fault) from fault
    finally:
        plt.close(figure)


def lengths(lines: Sequence[TurnLine]) -> dict[str, list[float]]:
    """The lengths in milliseconds of each stage, of the whole latency, of decisions about interruptions and of tools.

    What never happened is left out.
    """
    found: dict[str, list[float]] = {name: [] for name in (TOTAL, *STAGES, BARGE_IN, TOOL)}
    for line in lines:
        if line.ms is not None:
            found[TOTAL].append(line.ms)
        for name, start, end in line.data.stages:
            found.setdefault(name, []).append(end - start)
        found[BARGE_IN] += [each.decided_ms - each.at_ms for each in line.data.pauses if each.decided_ms is not None]
        found[TOOL] += [each.end_ms - each.at_ms for each in line.data.tools if each.end_ms is not None]
    return {name: values for name, values in found.items() if values}


def _timelines(axes: Any, lines: Sequence[TurnLine]) -> None:
    latest = max([line.ms or 0.0 for line in lines] + [_waited(line) for line in lines])
    axes.set_xlim(-500, max(1000.0, 1.25 * latest))
    for row, line in enumerate(lines):
        for name, start, end in line.data.stages:
            axes.barh(row, end - start, left=start, height=0.7, color=COLORS.get(name, "gray"), linewidth=0)
        for tool in line.data.tools:
            axes.hlines(row + 0.42, tool.at_ms, tool.end_ms or line.ms or tool.at_ms, color="#444444", linewidth=1.5)
        for pause in line.data.pauses:
            axes.plot(pause.at_ms, row, marker="|", color=CUT if pause.cut else "black", clip_on=True)
    labels = [f"{line.room} {line.data.turn}{_mark(line.data.outcome)}".strip() for line in lines]
    axes.set_yticks(range(len(lines)), labels, fontsize=7)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.axvline(0, color="#444444", linewidth=0.8)
    axes.set_xlabel("milliseconds after the user's last sound")
    axes.spines[["top", "right"]].set_visible(False)
    handles = [axes.barh(0, 0, color=color) for color in COLORS.values()]
    axes.legend(handles, list(COLORS), ncols=5, fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)


def _waited(line: TurnLine) -> float:
    return max([end for name, _, end in line.data.stages if name in WAITING], default=0.0)


def _mark(outcome: str) -> str:
    return {"cut": " (cut)", "unheard": " (unheard)"}.get(outcome, "")


def _distributions(axes: Any, found: dict[str, list[float]]) -> None:
    names = [name for name in found if name not in ("speech", "answer")]  # how long people talk is no latency
    positions = range(len(names))
    boxes = axes.boxplot(
        [found[name] for name in names],
        positions=list(positions),
        orientation="horizontal",
        whis=(5, 95),
        widths=0.55,
        patch_artist=True,
        showfliers=True,
        flierprops={"markersize": 2},
        medianprops={"color": "black"},
    )
    for name, box in zip(names, boxes["boxes"], strict=True):
        box.set_facecolor(COLORS.get(name, "#dddddd"))
    for position, name in zip(positions, names, strict=True):
        figures = spread(found[name])
        label = f"p50 {figures['p50_ms']:.0f}   p95 {figures['p95_ms']:.0f} ms   n {figures['count']}"
        axes.text(1.0, position - 0.36, label, fontsize=7, ha="right", transform=axes.get_yaxis_transform())
    axes.set_yticks(list(positions), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.8)
    axes.set_xlim(left=0)
    axes.set_xlabel("milliseconds")
    axes.spines[["top", "right"]].set_visible(False)
