"""The machine of attention by itself: its table, and that no state lasts for ever."""

from __future__ import annotations

import asyncio
import random

import pytest

from audio.wake.attention import TRANSITIONS, Attending, Attention, AttentionMachine, AttentionMode, AttentionSettings


class World:
    """A session in which something may be going on."""

    def __init__(self, mode: AttentionMode) -> None:
        self.something = False
        self.moves: list[tuple[Attention, Attention]] = []
        self.machine = AttentionMachine(
            AttentionSettings(mode=mode, stalled_s=10.0),
            lambda: self.something,
            lambda before, after: self.moves.append((before, after)),
            self.stalled,
        )

    def stalled(self) -> bool:
        self.something = False
        return False


@pytest.mark.parametrize("mode", ["wake", "open", "ptt"])
@pytest.mark.parametrize("seed", range(20))
async def test_whatever_happens_it_comes_to_rest(mode: AttentionMode, seed: int) -> None:
    world, rng = World(mode), random.Random(seed)
    machine = world.machine
    for _ in range(60):
        world.something = rng.random() < 0.6
        happen = rng.choice([machine.speech, machine.turn, machine.sleep, machine.settle, machine.reply])
        happen()
        if mode == "wake" and rng.random() < 0.2:
            machine.wake()
        if rng.random() < 0.2:
            machine.reply(urgent=True)
        await asyncio.sleep(rng.choice((0.0, 0.5, 3.0)))
    world.something = rng.random() < 0.5
    await asyncio.sleep(40.0)
    assert machine.state is (Attention.AWAKE if mode == "open" else Attention.ASLEEP)
    assert all(after in TRANSITIONS[before] for before, after in world.moves)
    machine.close()


async def test_an_illegal_move_raises() -> None:
    machine = World("wake").machine
    with pytest.raises(RuntimeError, match="asleep → follow_up"):
        machine._move(Attention.FOLLOW_UP)


async def test_closing_forgets() -> None:
    world = World("wake")
    world.machine.wake()
    world.machine.close()
    world.machine.close()
    moves = len(world.moves)
    await asyncio.sleep(60.0)
    assert world.machine.state is Attention.ASLEEP and len(world.moves) == moves


def test_the_mode_that_needs_a_detector_asks_for_it() -> None:
    with pytest.raises(ValueError, match="detector"):
        Attending(AttentionSettings())
