"""What the device room says about itself."""

from __future__ import annotations

from typing import Any

import pytest

from appliance.config.schema import GloveConfig
from appliance.daemon.device import greeting, listening


@pytest.mark.parametrize(
    ("sections", "told", "greeted"),
    [
        ({}, 'listening after "hey jarvis"', "I am listening."),
        ({"wake": {"mode": "open"}}, "always listening", "I am listening."),
        ({"wake": {"mode": "ptt"}}, "listening while glove ptt is down", "I am ready."),
        ({"turns": {"mode": "manual"}}, "listening while glove ptt is down", "I am ready."),
    ],
)
def test_it_says_what_makes_the_microphone_count(sections: dict[str, Any], told: str, greeted: str) -> None:
    config = GloveConfig(**sections)
    assert (listening(config), greeting(config)) == (told, greeted)
