"""The long runs behind ``scripts/soak``."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from agents.base.clock import run_virtual
from agents.testing import sweep
from tests.agents.models import test_cuts as stream_cuts
from tests.audio.test_cuts import TIMED, TOOL_TURN_MS
from tests.support.chaos import conversation
from tests.support.cuts import device, page, wav_file
from tests.support.cuts import sweep as sweep_cuts
from tests.support.long_day import live
from tests.support.self_voice import self_voice
from tests.support.sessions import LIMIT_KB, residue
from tests.support.sweeps import INTERFERENCES, turn


def say(line: str) -> None:
    """Print ``line`` at once."""
    print(line, flush=True)


def household(hours: float) -> bool:
    """Whether a day in a household misses nothing and leaves nothing growing."""
    day = live(hours, tell=say)
    grown = day.grown()
    say(f"household, {hours:g} h: {day.episodes.total()} episodes of {len(day.episodes)} kinds")
    say(f"  faults: {len(day.faults)}; growing: {grown or 'nothing'}; {day.kb_per_hour():.0f} kB per hour")
    return not day.faults and not grown


def sessions(count: float) -> bool:
    """Whether sessions leave nothing behind."""
    left = residue(int(count))
    say(f"{count:g} sessions: {left.kb_per_session:.1f} kB each (limit {LIMIT_KB:g})")
    say(f"  growing: {left.grown() or 'nothing'}")
    return left.kb_per_session < LIMIT_KB and not left.grown()


def conversations(count: float) -> bool:
    """Whether random conversations come to rest."""
    for seed in range(int(count)):
        run_virtual(conversation(seed))
        if seed % 50 == 49:
            say(f"{seed + 1} of {count:g} conversations came to rest")
    return True


def turns(_: float) -> bool:
    """Whether history stays whole whatever happens at whichever step of a turn."""
    for on_disk in (False, True):
        for interference in INTERFERENCES:
            tried = sweep(lambda place, what=interference, disk=on_disk: turn(what, place, on_disk=disk))
            say(f"{interference}, {'on disk' if on_disk else 'in memory'}: {tried} places, history whole")
    good = True
    for sink in (wav_file, device, page):
        with TemporaryDirectory() as folder:
            wrong = run_virtual(sweep_cuts(sink, TIMED, Path(folder), TOOL_TURN_MS, with_tool=True))
        say(f"a turn with a tool, cut at every 10 ms, {sink.__name__}: {wrong or 'history is what was heard'}")
        good = good and not wrong
    return good


def streams(_: float) -> bool:
    """Whether a stream that is cut anywhere is a whole reply or a broken one."""
    for name in stream_cuts.NAMES:
        for polite in (False, True):
            whole, broken = asyncio.run(stream_cuts.sweep(name, 1, polite=polite))
            say(f"{name}, cut at every byte: {whole} replies whole, {broken} broken, none in between")
    return True


def voice(seconds: float) -> bool:
    """Whether the appliance takes its own voice for nobody."""
    quiet = True
    for cancelled in (True, False):
        result = run_virtual(self_voice(seconds, cancelled=cancelled))
        say(f"own voice, {'with' if cancelled else 'without'} echo cancellation: {result}")
        quiet = quiet and not (result.turns or result.wakes or result.interruptions)
    return quiet


RUNS: dict[str, tuple[Callable[[float], bool], float]] = {
    "turns": (turns, 0),
    "conversations": (conversations, 1000),
    "streams": (streams, 0),
    "voice": (voice, 600),
    "sessions": (sessions, 500),
    "household": (household, 24),
}
"""By name: what runs, and how much of it."""


def main(arguments: list[str]) -> int:
    """Run what is named, or everything; returns the exit code."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    names = arguments[:1] or list(RUNS)
    if names[0] not in RUNS or len(arguments) > 2:
        say(f"usage: scripts/soak [{' | '.join(RUNS)}] [amount]")
        return 2
    good = True
    for name in names:
        run, amount = RUNS[name]
        good = run(float(arguments[1]) if len(arguments) == 2 else amount) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
