"""``glove room join`` says what to do when the running appliance was started without a LiveKit server."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import ConfigError, InputError
from appliance.commands import room as room_command
from appliance.daemon import control


@pytest.mark.parametrize("command", [room_command.join, room_command.leave])
def test_an_appliance_without_a_server_is_named_as_such(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(request: dict[str, Any]) -> dict[str, Any]:
        raise InputError("ERR_CONTROL_REQUEST", f"The daemon knows no request {request['do']!r}.")

    monkeypatch.setattr(control, "ask", ask)
    with pytest.raises(ConfigError, match="knows no LiveKit server") as told:
        command("kitchen")
    assert "livekit.url" in (told.value.remedy or "")
