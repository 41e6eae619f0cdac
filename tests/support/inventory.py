"""What a running appliance holds: lengths of its containers, numbers of its objects, tasks, threads, files, memory.

Taken again and again in rooms at rest, it shows what grows for ever, whoever holds it.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

import psutil

FLOORS = ("agents.", "appliance.", "audio.", "avatars.", "realtime.")
"""Modules whose objects are counted."""

CONTAINERS = (list, dict, set, bytearray)
LEAST_SAMPLES = 2
"""So many inventories at each end must agree that something grows."""

SLACK = 12
"""A count may differ by so much between two moments of rest without growing."""


@dataclass(frozen=True)
class Inventory:
    """What there was at one moment.

    Attributes:
        counts: by name: ``module.Class`` (objects), ``module.Class.attribute`` (entries of a container in it, over all
            objects of the class), ``tasks``, ``threads``, ``files``.
        rss_kb: resident memory of the process.
    """

    counts: Mapping[str, int]
    rss_kb: int


def take_inventory() -> Inventory:
    """Count what there is now. Call it on a running loop."""
    gc.collect()
    counts: Counter[str] = Counter()
    for thing in gc.get_objects():
        kind = type(thing)
        if not str(kind.__module__).startswith(FLOORS):
            continue
        name = f"{kind.__module__}.{kind.__qualname__}"
        counts[name] += 1
        for attribute, value in _attributes(thing):
            length = _length(value)
            if length is not None:
                counts[f"{name}.{attribute}"] += length
    counts["tasks"] = len(asyncio.all_tasks())
    counts["threads"] = threading.active_count()
    counts["files"] = len(list(Path("/proc/self/fd").iterdir()))
    return Inventory(counts, psutil.Process().memory_info().rss // 1024)


def _attributes(thing: object) -> list[tuple[str, object]]:
    found = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, slot):
                found[slot] = getattr(thing, slot)
    return [(name, value) for name, value in found.items() if not name.startswith("__")]


def _length(value: object) -> int | None:
    if isinstance(value, asyncio.Queue):
        return value.qsize()
    if isinstance(value, CONTAINERS):
        return len(value)
    bounded = getattr(value, "maxlen", 0) is not None  # a full ring is no growth
    return len(value) if type(value).__name__ == "deque" and isinstance(value, Sized) and not bounded else None


def growing(samples: Sequence[Inventory], slack: int = SLACK) -> dict[str, list[int]]:
    """What there is more of in each of the last samples than in any of the first third, by more than ``slack`` and a
    tenth: what comes and goes does not grow."""
    third = len(samples) // 3
    if third < LEAST_SAMPLES:
        return {}
    grown: dict[str, list[int]] = {}
    for name in sorted({name for sample in samples for name in sample.counts}):
        counts = [sample.counts.get(name, 0) for sample in samples]
        early, late = max(counts[:third]), min(counts[-third:])
        if late > early + slack and late > 1.1 * early:
            grown[name] = counts
    return grown
