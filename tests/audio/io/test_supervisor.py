"""Devices that fail. Names like A3 are those of the list of field cases that each test answers."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import clock
from agents.base.clock import run_virtual
from audio.io.device import DeviceRoom, DeviceSettings
from audio.io.scripted import ScriptedBackend
from audio.io.supervisor import SupervisorTimes
from tests.audio.io.device_scene import Desk


async def test_case_a1_capture_that_fails_is_opened_again_within_two_seconds_and_health_says_so_meanwhile() -> None:
    async with Desk() as desk:
        await asyncio.sleep(15)
        desk.microphone.busy = True
        desk.microphone.present = False
        await asyncio.sleep(0.3)
        desk.microphone.present = True
        await asyncio.sleep(3)
        assert desk.room.health.state == "degraded"
        assert "busy" in desk.room.health.reason
        desk.microphone.busy = False
        assert await desk.until(desk.hears) <= 2.0
        await asyncio.sleep(0.2)
        assert desk.room.health.state == "ok"


async def test_case_a1_a_microphone_that_cannot_be_brought_back_ends_the_room_rather_than_leave_it_deaf() -> None:
    async with Desk(times=SupervisorTimes(give_up_s=20)) as desk:
        failures: list[str] = []
        desk.room.on_failed = lambda fault: failures.append(fault.code)
        await asyncio.sleep(1)
        desk.microphone.stalls = -1
        desk.microphone.freeze()
        took = await desk.until(lambda: failures)
        assert failures == ["ERR_MIC_LOST"]
        assert 20 <= took < 40
        assert desk.room.health.state == "down"


async def test_a_microphone_that_never_worked_is_no_reason_to_end_anything() -> None:
    desk = Desk()
    desk.microphone.stalls = -1
    async with desk:
        await asyncio.sleep(60)
        assert desk.room.failed is None
        assert desk.room.health.state == "degraded"


@pytest.mark.parametrize("which", ["microphone", "speaker"])
async def test_case_a2_a_device_that_is_missing_at_the_start_is_found_when_it_comes(which: str) -> None:
    desk = Desk()
    device = desk.microphone if which == "microphone" else desk.speaker
    device.present = False
    desk.backend = ScriptedBackend(desk.microphone, desk.speaker)
    desk.room = DeviceRoom(DeviceSettings(echo="aec"), vad=desk.vad, backend=desk.backend, canceller=desk.canceller)
    async with desk:
        await asyncio.sleep(30)
        assert desk.room.health.state == "degraded"
        assert desk.room.health.reason == f"There is no {which}. Plug one in, it is found by itself."
        assert len(desk.frames) > 2900, "the session's clock goes on"
        device.present = True
        assert await desk.until(lambda: desk.room.health.state == "ok") <= 2.0
        desk.play(0.2)
        await asyncio.sleep(0.5)
        assert len(desk.sounded) == 9600
        assert desk.hears()


async def test_case_a2_no_sound_device_at_all() -> None:
    desk = Desk()
    desk.microphone.present = desk.speaker.present = False
    desk.backend = ScriptedBackend(desk.microphone, desk.speaker)
    desk.room = DeviceRoom(DeviceSettings(echo="aec"), vad=desk.vad, backend=desk.backend, canceller=desk.canceller)
    async with desk:
        await asyncio.sleep(60)
        assert desk.room.health.state == "down"
        assert 30 <= desk.backend.restarts <= 60  # one of them costs a tenth of a second of a core
        desk.microphone.present = desk.speaker.present = True
        assert await desk.until(lambda: desk.room.health.state == "ok") <= 3.0


@pytest.mark.parametrize("which", ["microphone", "speaker"])
async def test_case_a3_a_stream_that_stops_calling_is_noticed_within_a_second_and_opened_anew(which: str) -> None:
    async with Desk() as desk:
        device = desk.microphone if which == "microphone" else desk.speaker
        await asyncio.sleep(15)
        device.freeze()
        assert await desk.until(lambda: desk.room.health.state != "ok") < 1.0
        assert which in desk.room.health.reason
        assert await desk.until(lambda: desk.room.health.state == "ok") < 0.5
        assert desk.room.health.values["reopened"] == 1
        assert desk.backend.open_streams == 2


async def test_case_a3_a_stream_that_is_over_is_opened_anew_every_time() -> None:
    async with Desk() as desk:
        for _ in range(5):
            await asyncio.sleep(2)
            before = desk.microphone.opened
            desk.microphone.present = False
            await asyncio.sleep(0.05)
            desk.microphone.present = True
            await desk.until(lambda: desk.microphone.opened > before, 2)  # noqa: B023
            assert await desk.until(desk.hears) < 2.0
            assert desk.backend.open_streams <= 2


async def test_case_a4_when_new_streams_stall_too_the_sound_system_is_started_anew() -> None:
    async with Desk() as desk:
        await asyncio.sleep(15)
        desk.microphone.freeze()
        desk.microphone.stalls = -1
        desk.microphone.cured_by_restart = True
        assert await desk.until(lambda: desk.backend.restarts == 1) < 10
        await asyncio.sleep(0.5)
        assert desk.microphone.opened == 4, "stream, device, sound system"
        assert desk.hears()
        await asyncio.sleep(15)
        assert desk.room.failed is None
        assert desk.backend.restarts == 1


async def test_a_restart_of_the_sound_system_waits_for_the_end_of_what_is_being_said() -> None:
    async with Desk() as desk:
        await asyncio.sleep(15)
        pcm = desk.play(3.0)
        desk.microphone.present = False
        await asyncio.sleep(2)
        assert desk.backend.restarts == 0
        await asyncio.sleep(3)
        assert desk.backend.restarts >= 1
        assert desk.sounded == pcm.tolist()


async def test_sound_goes_on_at_the_same_sample_when_the_speaker_comes_back() -> None:
    async with Desk() as desk:
        pcm = desk.play(3.0)
        await asyncio.sleep(1)
        desk.speaker.present = False
        await asyncio.sleep(4)
        assert not desk.room.player.idle
        desk.speaker.present = True
        await asyncio.sleep(6)
        assert desk.sounded == pcm.tolist()


@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from(["mute", "unmute", "unplug", "plug", "freeze", "thaw", "wait"]), max_size=12))
def test_case_a6_whatever_was_muted_and_unplugged_in_between_the_device_hears_again(steps: list[str]) -> None:
    async def scene() -> None:
        async with Desk() as desk:
            microphone = desk.microphone
            for step in steps:
                match step:
                    case "mute" | "unmute":
                        desk.muted = step == "mute"
                    case "unplug" | "plug":
                        microphone.present = step == "plug"
                    case "freeze" | "thaw":
                        (microphone.freeze if step == "freeze" else microphone.thaw)()
                    case _:
                        await asyncio.sleep(2)
                await asyncio.sleep(0.2)
            desk.muted, microphone.present = False, True
            await asyncio.sleep(4)
            desk.heard.clear()
            desk.speak(1.0)
            await asyncio.sleep(2.5)
            assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]

    run_virtual(scene())


async def test_an_utterance_that_was_cut_off_by_an_unplugged_microphone_ends() -> None:
    async with Desk() as desk:
        desk.speak(30.0)
        await asyncio.sleep(2)
        desk.microphone.present = False
        await asyncio.sleep(2)
        assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]


async def test_a_source_that_turns_to_digital_silence_is_opened_anew() -> None:
    async with Desk() as desk:
        await asyncio.sleep(1)
        desk.microphone.hum = 0
        await asyncio.sleep(6)
        assert desk.microphone.opened == 2
        desk.microphone.hum = 3
        await asyncio.sleep(15)
        assert desk.microphone.opened == 2


async def test_a_source_that_is_silent_by_nature_is_left_alone_once_that_is_known() -> None:
    async with Desk() as desk:
        desk.microphone.hum = 0
        for _ in range(4):
            desk.speak(0.5)
            await asyncio.sleep(7)
        assert desk.microphone.opened <= 3
        assert desk.kinds.count("speech_end") == 4
        assert desk.backend.restarts == 0


class StuckBackend(ScriptedBackend):
    """The second stream of the microphone hangs while it is being opened; in threads, like a real sound system."""

    on_loop = False

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()
        self.asked = 0

    def devices(self) -> list[object]:  # type: ignore[override]
        self.asked += 1
        self.release.wait(20)
        return []


@pytest.mark.realtime
async def test_a_sound_system_that_hangs_does_not_hang_the_room() -> None:
    backend = StuckBackend()
    room = DeviceRoom(DeviceSettings(echo="off"), backend=backend, times=SupervisorTimes(call_s=0.1))
    begun = clock.now()
    await room.open(lambda frame, sample: None)
    await asyncio.sleep(0.5)
    assert backend.asked > 1
    assert room.health.state == "down"
    await room.close()
    assert clock.now() - begun < 3
    backend.release.set()
