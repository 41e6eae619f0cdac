"""What a recording may come from after the sound server has moved it."""

from __future__ import annotations

import pytest

from audio.io.pulse import Origin, Source

DESK, HEADSET, MONITOR = Source("desk", False), Source("headset", False), Source("speaker.monitor", True)


def test_a_microphone_that_was_asked_for_by_name_is_that_one_or_none() -> None:
    origin = Origin("USB Mic")
    assert origin.allows(DESK)
    assert not origin.allows(HEADSET) and not origin.allows(MONITOR)
    assert origin.allows(DESK), "it has come back"


@pytest.mark.parametrize("device", ["default", "pulse", "pipewire"])
def test_the_default_follows_the_server_to_other_microphones_but_not_to_a_speaker(device: str) -> None:
    origin = Origin(device)
    assert origin.allows(DESK) and origin.allows(HEADSET)
    assert not origin.allows(MONITOR)


def test_somebody_who_asks_for_a_monitor_by_name_gets_it() -> None:
    assert Origin("what is played").allows(MONITOR)
