"""The suite for voice detectors, on all of ours; and it finds what is wrong with broken ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from audio.pcm import Pcm
from audio.vad.base import SpeechEnd, SpeechStart, VadAdapter, VadEvent
from audio.vad.conformance import CHECKS, check_vad
from audio.vad.energy import EnergySettings, EnergyVad
from audio.vad.resting import RestingVad
from audio.vad.silero import SileroVad
from audio.vad.silero_model import find_model
from tests.audio.babble import babble


@pytest.fixture(scope="module")
def model() -> Path:
    return find_model()


def test_energy_conforms() -> None:
    assert len(check_vad(lambda: EnergyVad(EnergySettings(adaptive=False)), babble(2.0))) == len(CHECKS)
    check_vad(EnergyVad, babble(2.0))


def test_silero_conforms(model: Path) -> None:
    check_vad(lambda: SileroVad(model), babble(2.0))


def test_a_detector_that_may_rest_conforms(model: Path) -> None:
    check_vad(lambda: RestingVad(SileroVad(model)), babble(2.0))


class Broken(EnergyVad):
    """An energy detector with a fault."""

    fault: Callable[[list[VadEvent]], list[VadEvent]]

    def process(self, pcm: Pcm) -> list[VadEvent]:
        return self.fault(super().process(pcm))


def broken(fault: Callable[[list[VadEvent]], list[VadEvent]]) -> VadAdapter:
    vad = Broken()
    vad.fault = fault
    return vad


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (lambda events: [e for e in events if not isinstance(e, SpeechStart)], "may not follow"),
        (lambda events: [e.later(-(10**6)) for e in events], "stamped in order"),
        (lambda events: [], "speech is noticed"),
        (lambda events: [e for e in events if not isinstance(e, SpeechEnd)] * 2, "may not follow"),
    ],
)
def test_what_is_wrong_is_named(fault: Callable[[list[VadEvent]], list[VadEvent]], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_vad(lambda: broken(fault), babble(2.0))


def test_a_reset_that_forgets_nothing_is_found() -> None:
    class Deaf(EnergyVad):
        def reset(self) -> None:
            """Do nothing."""

    with pytest.raises(AssertionError, match="nobody speaks after reset"):
        check_vad(Deaf, babble(2.0))
