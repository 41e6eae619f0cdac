"""Session after session against fakes: what each leaves behind in memory."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass

import numpy as np
import psutil

from agents.base.clock import run_virtual
from agents.models.scripted import Call, Say, ScriptedModel
from tests.support.inventory import Inventory, growing, take_inventory
from tests.support.session import Session

LIMIT_KB = 50.0
"""Most that a session may leave behind."""


@dataclass(frozen=True)
class Residue:
    """What sessions left behind.

    Attributes:
        kb_per_session: slope of the resident memory, by least squares, after the first quarter of the sessions.
        samples: inventories between sessions.
    """

    kb_per_session: float
    samples: tuple[Inventory, ...]

    def grown(self) -> dict[str, list[int]]:
        """What there is more and more of."""
        return growing(self.samples)


def residue(sessions: int, looks: int = 20) -> Residue:
    """Live through so many sessions on one loop, each with an answer, an interruption and a tool that is not there."""
    return run_virtual(_residue(sessions, max(1, sessions // looks)))


async def _residue(sessions: int, every: int) -> Residue:
    samples: list[Inventory] = []
    resident_kb: list[float] = []
    for count in range(sessions):
        await _session()
        if count % every == 0:
            gc.collect()
            samples.append(take_inventory())
            resident_kb.append(psutil.Process().memory_info().rss / 1024)
    settled = resident_kb[len(resident_kb) // 4 :]
    slope = float(np.polyfit(np.arange(len(settled)) * every, settled, 1)[0])
    return Residue(slope, tuple(samples[1:]))


async def _session() -> None:
    model = ScriptedModel(["One two three.", [Say("Let me see. "), Call("nothing")], "Four five six seven eight."])
    async with Session(model, partials=False) as session:
        await session.say("Hello there.", 0.6)
        await session.settle()
        session.voice.say_to_agent("What else?")
        await session.until(lambda: "Four" in str(session.of("agent_text")))
        await asyncio.sleep(0.3)
        session.voice.interrupt()
        await session.settle()
