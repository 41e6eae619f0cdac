"""A device that nobody talks to does next to nothing, and is there at once when somebody does."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from audio.io.device import DeviceSettings
from audio.io.wiring import SPEAKER_RESTS_S
from tests.audio.io.device_scene import Desk

SILENCE_S = SPEAKER_RESTS_S + 1


async def asleep(desk: Desk) -> None:
    """Let the session fall asleep, and the room become quiet."""
    assert desk.room.vad is not None
    desk.room.vad.set_resting(True)
    await asyncio.sleep(SILENCE_S)


async def test_the_speaker_is_not_kept_running_for_silence_once_nobody_listens() -> None:
    async with Desk() as desk:
        await asyncio.sleep(SILENCE_S)
        running = len(desk.speaker.played)
        await asyncio.sleep(1.0)
        assert len(desk.speaker.played) == pytest.approx(running + 100, abs=2), "somebody listens"
        await asleep(desk)
        resting = len(desk.speaker.played)
        await asyncio.sleep(5.0)
        assert len(desk.speaker.played) == resting
        assert desk.room.health.state == "ok" and desk.speaker.opened == 1
        assert desk.room.health.values["late_reference_frames"] == 0


async def test_what_is_said_into_the_rest_sounds_at_once_and_whole() -> None:
    async with Desk() as desk:
        await asleep(desk)
        desk.speaker.played.clear()
        pcm = desk.play(1.0)
        took = await desk.until(lambda: desk.speaker.played)
        assert took < 0.05
        await desk.until(lambda: desk.room.player.idle)
        await asyncio.sleep(0.1)
        assert desk.sounded == pcm.tolist()
        assert [health.state for _, health in desk.healths] == ["ok"], "resting is no change of health"


async def test_the_speaker_runs_again_as_soon_as_somebody_is_listened_to() -> None:
    async with Desk() as desk:
        await asleep(desk)
        resting = len(desk.speaker.played)
        assert desk.room.vad is not None
        desk.room.vad.set_resting(False)
        await asyncio.sleep(0.1)
        assert len(desk.speaker.played) > resting


async def test_a_speaker_that_went_away_meanwhile_is_found_missing_when_it_is_needed_and_found_again() -> None:
    async with Desk() as desk:
        await asleep(desk)
        desk.speaker.present = False
        desk.play(0.5)
        await desk.until(lambda: desk.room.health.state == "degraded", 5)
        desk.speaker.present = True
        await desk.until(lambda: desk.room.health.state == "ok", 5)
        await desk.until(lambda: desk.room.player.idle, 5)


async def test_a_room_without_wake_word_never_rests() -> None:
    async with Desk() as desk:
        await asyncio.sleep(200)
        assert len(desk.speaker.played) == pytest.approx(20_000, abs=20)


async def test_speech_out_of_the_rest_is_heard_with_its_beginning() -> None:
    async with Desk() as desk:
        desk.microphone.hum = 3
        await asleep(desk)
        desk.speak(1.0)
        await desk.until(lambda: "speech_end" in desk.kinds, 5)
        assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]
        loud = [sample for frame, sample in desk.frames if np.abs(frame).max() > 1000]
        assert desk.heard[0].sample - loud[0] < 0.1 * 16_000


async def test_a_room_that_is_opened_while_nobody_listens_rests_too() -> None:
    desk = Desk(settings=DeviceSettings(echo="aec"))
    assert desk.room.vad is not None
    desk.room.vad.set_resting(True)
    async with desk:
        await asyncio.sleep(SILENCE_S)
        resting = len(desk.speaker.played)
        await asyncio.sleep(1.0)
        assert len(desk.speaker.played) == resting
