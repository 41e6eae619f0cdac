"""Wherever a turn is interrupted, history stays whole and the next request works: a tenth of all places.

``scripts/soak`` visits every one.
"""

from __future__ import annotations

import pytest

from agents.testing import sweep
from tests.support.sweeps import INTERFERENCES, Interference, turn


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("interference", INTERFERENCES)
def test_wherever_a_turn_is_interrupted_history_stays_whole(interference: Interference, on_disk: bool) -> None:
    every = 1 if interference == "store fails" else 10
    first = 1 + INTERFERENCES.index(interference) * 2
    tried = sweep(lambda place: turn(interference, place, on_disk=on_disk), every=every, first=first)
    assert tried > 15
