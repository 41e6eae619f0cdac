"""What the agent framework adds to a model call, beside a peer; what a conversation costs in memory and on disk.

    .venv/bin/python -m benchmarks.agent_loop [--markdown] [--without-peer] [--picture docs/images/agent-loop.png]

A scripted model answers at once, so that all time is the framework's. The peer, pydantic-ai, holds the same
conversation in the same run; it is installed once, into an environment of its own in the user's cache folder.

Limits: 1 ms per model call at p50; 100 kB per idle conversation; an append to 100,000 messages costs no more than
1.5 times one to an empty conversation; a conversation of 100,000 messages opens within 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs
import structlog
from pydantic import BaseModel

from agents.core.glove import Glove
from agents.core.messages import Message, TokenUsage
from agents.core.model import PromptRequest
from agents.core.store import StoreAdapter
from agents.core.tool import Tool, ToolContext
from agents.models.scripted import Call, Reply, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.stores.sqlite import SqliteStore
from benchmarks import agent_script as script

HERE = Path(__file__).resolve().parent
PEER = "pydantic-ai-slim==2.68.0"

CALL_LIMIT_MS = 1.0
IDLE_LIMIT_KB = 100.0
APPEND_LIMIT_RATIO = 1.5
OPEN_LIMIT_MS = 50.0

IDLE_CONVERSATIONS = 1000
HISTORIES = (0, 10_000, 100_000)
APPENDS = 300


@dataclass
class Report:
    """Rows of the table, and whether all limits are met."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list[tuple[str, str, str, str]])
    met: bool = True

    def add(self, name: str, value: float, unit: str, limit: float | None = None, note: str = "") -> None:
        """One measured value; with a limit its ratio is shown."""
        met = limit is None or value <= limit
        self.met = self.met and met
        ratio = "" if limit is None else f"{value / limit:.2f} of {limit:g} {unit}{'' if met else ', MISSED'}"
        self.rows.append((name, f"{value:.3g} {unit}", ratio, note))

    def print(self, *, markdown: bool) -> None:
        """The table, for people or for the document."""
        if markdown:
            print("| measured | value | of the limit | |\n|---|---|---|---|")
        for row in self.rows:
            print(f"| {' | '.join(row)} |" if markdown else "  ".join(row).rstrip())
        print("met" if self.met else "MISSED")


class TimerArgs(BaseModel):
    """What the tool of the script takes."""

    minutes: int
    label: str


async def _set_timer(_: TimerArgs, __: ToolContext) -> dict[str, str]:
    return script.TOOL_RESULT


SET_TIMER = Tool(script.TOOL, "Set a timer.", _set_timer, args=TimerArgs)


def _answer(request: PromptRequest) -> Reply:
    newest = request.messages[-1]
    if not newest.tool_results and "timer" in newest.text:
        return [Say(script.BEFORE_THE_TOOL), Call(script.TOOL, script.TOOL_ARGUMENTS)]
    return script.ANSWER


def scripted_model(*, streamed: bool = True) -> ScriptedModel:
    """A model that follows the script."""
    # Fixed usage: counting words is not the framework's work, and the history must not be summarised meanwhile.
    return ScriptedModel(_answer, stream=streamed, usage=TokenUsage(tokens_in=100, tokens_out=20))


def agent(store: StoreAdapter, model: ScriptedModel) -> Glove:
    """An agent with the tool of the script."""
    return Glove(model=model, system_prompt=script.SYSTEM_PROMPT, store=store).fold(SET_TIMER).build()


async def model_calls(make: Callable[[int], StoreAdapter], *, streamed: bool) -> list[tuple[float, float]]:
    """Milliseconds per model call, one entry per turn: by the clock, of the processor."""
    times_ms: list[tuple[float, float]] = []
    for number in range(script.CONVERSATIONS):
        store = make(number)
        glove = agent(store, scripted_model(streamed=streamed))

        async def say(text: str, glove: Glove = glove) -> None:
            assert (await glove.process_request(text)).text == script.ANSWER

        timed = await script.time_conversation(say)
        times_ms += timed if number else []
        await glove.close()
        await store.close()
    return times_ms


async def idle_kilobytes(folder: Path | None) -> float:
    """Resident kilobytes that one conversation holds after the script, in memory or in a folder of files."""
    model = scripted_model()
    first = agent(MemoryStore(), model)
    await first.process_request(script.question(1))
    model.requests.clear()
    kept: list[Any] = [first]
    disk = None if folder is None else SqliteStore(folder / "talk.db")
    gc.collect()
    before = _resident_bytes()
    for number in range(IDLE_CONVERSATIONS):
        store = MemoryStore() if disk is None else disk.beside(f"talk {number}")
        glove = agent(store, model)
        for turn in range(script.TURNS):
            await glove.process_request(script.question(turn))
        # The double remembers all requests; a real model does not.
        model.requests.clear()
        kept.append(glove)
    gc.collect()
    used = (_resident_bytes() - before) / IDLE_CONVERSATIONS / 1000
    if disk is not None:
        await disk.close()
    return used


async def appends_ms(store: StoreAdapter) -> float:
    """The median time of an append of two messages, in milliseconds."""
    times_ms: list[float] = []
    for number in range(APPENDS):
        pair = [Message(sender="user", text=script.question(0)), Message(sender="agent", text=script.ANSWER, id="r")]
        pair[1].id = f"r{number}"
        began = time.perf_counter()
        await store.append_messages(pair)
        times_ms.append((time.perf_counter() - began) * 1000)
    return statistics.median(times_ms)


async def fill(store: StoreAdapter, count: int) -> None:
    """Give ``store`` a history of ``count`` messages, with a summary a hundred messages before its end."""
    for start in range(0, count, 1000):
        await store.append_messages(
            [
                Message(sender="user", text=script.ANSWER, is_compaction=number == count - 100)
                for number in range(start, start + 1000)
            ]
        )


async def opening_ms(path: Path) -> float:
    """The median time from nothing to what the model must see, in milliseconds."""
    times_ms: list[float] = []
    for _ in range(9):
        began = time.perf_counter()
        store = SqliteStore(path, "talk")
        seen = await store.get_visible_messages()
        await store.get_token_count()
        times_ms.append((time.perf_counter() - began) * 1000)
        assert seen[0].is_compaction
        await store.close()
    return statistics.median(times_ms)


def peer_python() -> Path | str:
    """The interpreter of the peer's environment, made when it is missing, or why there is none."""
    uv = shutil.which("uv")
    if uv is None:
        return "the peer is left out: the uv command, which would install it, is not there"
    home = platformdirs.user_cache_path("glove", appauthor=False) / "benchmarks" / PEER.replace("==", "-")
    python = home / "bin" / "python"
    ready = home / "ready"
    if not ready.exists():
        for command in (
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)],
            [uv, "pip", "install", "--quiet", "--python", str(python), PEER],
        ):
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            if ended.returncode:
                return f"the peer is left out: {PEER} could not be installed: {ended.stderr.strip()[-300:]}"
        ready.touch()
    return python


def peer_times_ms(python: Path, mode: str) -> tuple[str, list[tuple[float, float]]]:
    """The peer's version and its milliseconds per model call; ``mode`` is ``whole`` or ``streamed``."""
    ended = subprocess.run(
        [str(python), str(HERE / "agent_peer.py"), mode], check=True, capture_output=True, text=True, cwd=HERE
    )
    told = json.loads(ended.stdout.splitlines()[-1])
    return told["version"], told["times_ms"]


def draw(path: Path, calls: dict[str, list[float]], appends: dict[str, list[float]]) -> None:
    """A picture: time per model call, ours and the peer's, and what an append costs as the history grows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=(3, 2))
    names = list(calls)[::-1]
    medians = [statistics.median(calls[name]) for name in names]
    colours = ["#888888" if name.startswith("pydantic") else "#2a6f97" for name in names]
    left.barh(names, medians, color=colours)
    for place, median in enumerate(medians):
        left.text(median, place, f" {median:.2f}", va="center")
    left.axvline(CALL_LIMIT_MS, color="#c1121f", linewidth=1, label="limit")
    left.set_xlabel("framework's processor milliseconds per model call, p50")
    left.margins(x=0.12)
    left.legend(loc="upper right", frameon=False)
    for name, costs in appends.items():
        right.plot(range(len(HISTORIES)), costs, marker="o", label=name)
    right.set_xticks(range(len(HISTORIES)), [f"{count:,}" for count in HISTORIES])
    right.set_ylim(bottom=0)
    right.set_xlabel("messages in the conversation")
    right.set_ylabel("milliseconds per append")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def measure_calls(report: Report, folder: Path, *, with_peer: bool) -> dict[str, list[float]]:
    """Time per model call, ours and the peer's, in the same run; returns the processor's milliseconds by name."""
    python = peer_python() if with_peer else "the peer is left out"
    if isinstance(python, str):
        print(python)
    processor: dict[str, list[float]] = {}
    for mode in ("whole", "streamed"):
        streamed = mode == "streamed"
        ours = {
            f"in memory, {mode}": asyncio.run(model_calls(lambda _: MemoryStore(), streamed=streamed)),
            f"SQLite, {mode}": asyncio.run(
                model_calls(
                    lambda number, mode=mode: SqliteStore(folder / f"{mode} {number}.db", "t"), streamed=streamed
                )
            ),
        }
        peer = peer_times_ms(python, mode) if isinstance(python, Path) else None
        for name, times_ms in ours.items():
            clock_ms, processor_ms = (statistics.median(column) for column in zip(*times_ms, strict=True))
            processor[name] = [worked for _, worked in times_ms]
            note = f"processor {processor_ms:.2f} ms"
            if peer is not None:
                peer_clock_ms, peer_ms = (statistics.median(column) for column in zip(*peer[1], strict=True))
                note += f"; pydantic-ai {peer[0]}: {peer_clock_ms:.2f} ms, processor {peer_ms:.2f} ms"
                note += f", {peer_ms / processor_ms:.1f} times ours"
            report.add(f"model call, {name}, p50", clock_ms, "ms", CALL_LIMIT_MS, note)
        if peer is not None:
            processor[f"pydantic-ai {peer[0]}, {mode}"] = [worked for _, worked in peer[1]]
    return processor


def measure_idle(report: Report) -> None:
    """Memory of idle conversations, each kind in a process of its own."""
    for name in ("in memory", "SQLite"):
        ended = subprocess.run(
            [sys.executable, "-m", "benchmarks.agent_loop", "--idle", name],
            check=True, capture_output=True, text=True, cwd=HERE.parent,
        )  # fmt: skip
        kilobytes = float(ended.stdout.split()[-1])
        note = f"{IDLE_CONVERSATIONS} agents, each after {script.TURNS} turns"
        report.add(f"idle conversation, {name}", kilobytes, "kB", IDLE_LIMIT_KB, note)


async def measure_appends(report: Report, folder: Path) -> dict[str, list[float]]:
    """What an append costs as the history grows, and how fast the longest one opens."""
    path = folder / "long.db"
    appends: dict[str, list[float]] = {"in memory": [], "SQLite": []}
    for count in HISTORIES:
        for name, store in (("in memory", MemoryStore()), ("SQLite", SqliteStore(folder / f"{count}.db", "talk"))):
            await fill(store, count)
            appends[name].append(await appends_ms(store))
            await store.close()
    for name, costs in appends.items():
        note = ", ".join(f"{cost:.3f} ms at {count:,}" for count, cost in zip(HISTORIES, costs, strict=True))
        report.add(
            f"append at {HISTORIES[-1]:,} messages, {name}", costs[-1] / costs[0], "times", APPEND_LIMIT_RATIO, note
        )
    longest = SqliteStore(path, "talk")
    await fill(longest, HISTORIES[-1])
    await longest.close()
    report.add(f"opening {HISTORIES[-1]:,} messages", await opening_ms(path), "ms", OPEN_LIMIT_MS)
    return appends


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Measure, print the table, exit 1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    parser.add_argument("--without-peer", action="store_true", help="install and measure nothing else")
    parser.add_argument("--picture", type=Path, help="draw the result into this file")
    parser.add_argument("--idle", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if arguments.idle:
            print(asyncio.run(idle_kilobytes(None if arguments.idle == "in memory" else folder)))
            return 0
        report = Report()
        calls = measure_calls(report, folder, with_peer=not arguments.without_peer)
        measure_idle(report)
        appends = asyncio.run(measure_appends(report, folder))
    report.print(markdown=arguments.markdown)
    if arguments.picture:
        draw(arguments.picture, calls, appends)
    return 0 if report.met else 1


if __name__ == "__main__":
    sys.exit(main())
