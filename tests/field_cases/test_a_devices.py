"""Field cases of sound devices as the daemon meets them; the room itself is tested in tests/audio/io."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appliance.daemon import device
from appliance.daemon.daemon import Daemon
from appliance.daemon.device import GREETING_LIMIT_S, run_device
from appliance.daemon.rooms import DEVICE
from audio.io.device import DeviceRoom, DeviceSettings
from audio.io.scripted import ScriptedBackend, ScriptedDevice
from audio.io.supervisor import SupervisorTimes
from tests.appliance.house import House, house, simulated


class Desk:
    """The scripted sound card of a daemon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.microphone = ScriptedDevice("mic", "input")
        self.speaker = ScriptedDevice("speaker", "output")
        self.rooms: list[DeviceRoom] = []
        monkeypatch.setattr(device, "open_room", self._open)

    async def _open(self, daemon: Daemon) -> DeviceRoom:
        backend = ScriptedBackend(self.microphone, self.speaker)
        times = SupervisorTimes(give_up_s=20)
        self.rooms.append(DeviceRoom(DeviceSettings(echo="off"), backend=backend, times=times))
        return self.rooms[-1]

    @property
    def sound(self) -> int:
        """Samples that were heard from the speaker."""
        return int(sum(np.count_nonzero(piece) for piece in self.speaker.played))


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(monkeypatch)


def status(home: House) -> dict[str, dict[str, Any]]:
    return {room["name"]: room["health"] for room in home.daemon.status()["rooms"]}


async def until(condition: Callable[[], Any], limit_s: float = 120.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.05)


async def test_case_a1_a_device_that_is_lost_for_good_is_started_afresh_while_the_page_goes_on(
    desk: Desk, tmp_path: Path
) -> None:
    async with house(tmp_path, simulated(), {DEVICE: run_device}) as home:
        await until(lambda: home.daemon.rooms.find(DEVICE))
        page = await home.enter("page")
        desk.microphone.stalls = -1
        desk.microphone.freeze()
        await until(lambda: status(home)[DEVICE]["state"] != "ok", 5)
        await until(lambda: desk.rooms[0].failed)
        assert "4" in await page.say("what is two plus two")
        desk.microphone.stalls = 0
        await until(lambda: len(desk.rooms) > 1 and status(home).get(DEVICE, {}).get("state") == "ok")
        assert home.daemon.rooms.find(DEVICE) is not None


async def test_case_a2_a_start_without_sound_card_is_a_start_and_the_greeting_comes_with_the_card(
    desk: Desk, tmp_path: Path
) -> None:
    desk.microphone.present = desk.speaker.present = False
    async with house(tmp_path, simulated(), {DEVICE: run_device}) as home:
        await until(lambda: home.daemon.rooms.find(DEVICE))
        assert status(home)[DEVICE]["state"] == "down"
        await asyncio.sleep(GREETING_LIMIT_S - 10)
        desk.microphone.present = desk.speaker.present = True
        await until(lambda: status(home)[DEVICE]["state"] == "ok")
        await until(lambda: desk.sound > 0, 10)
        assert len(desk.rooms) == 1


async def test_case_a5_a_room_that_nobody_can_hear_says_so_and_alerts_go_elsewhere(desk: Desk, tmp_path: Path) -> None:
    async with house(tmp_path, simulated(), {DEVICE: run_device}) as home:
        await until(lambda: desk.sound > 0, 20)
        await asyncio.sleep(5)
        page = await home.enter("page")
        await page.say("set a timer for one minute")
        page.room.told = type(page.room.told)("down", "the caller has gone without a word")
        before = desk.sound
        await asyncio.sleep(65)
        assert desk.sound > before
        assert not any("ringing" in heard for heard in page.heard)
        assert status(home)["page"]["state"] == "down"
