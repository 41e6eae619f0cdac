from __future__ import annotations

import asyncio

import numpy as np
import pytest

from audio.io.device import DeviceSettings
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES
from tests.audio.io.device_scene import Desk


async def test_frames_of_the_microphone_arrive_in_order_on_a_clock_of_samples() -> None:
    async with Desk() as desk:
        await asyncio.sleep(2)
        assert [sample for _, sample in desk.frames] == [FRAME_SAMPLES * (i + 1) for i in range(len(desk.frames))]
        assert len(desk.frames) > 190
        assert abs(desk.room.time_s - len(desk.frames) / 100) < 0.05
        assert desk.room.health.state == "ok"


async def test_everything_queued_is_played_once_and_in_order() -> None:
    async with Desk() as desk:
        pcm = desk.play(0.5)
        await asyncio.sleep(1)
        assert desk.sounded == pcm.tolist()
        assert desk.room.player.idle


async def test_the_reference_is_what_the_speaker_was_given_frame_by_frame() -> None:
    async with Desk() as desk:
        desk.play(1.0)
        await asyncio.sleep(2)
        taken = desk.canceller.references
        assert taken >= 100
        assert desk.room.health.values["lost_reference_samples"] == 0
        assert desk.room.health.values["late_reference_frames"] == 0


async def test_the_first_frame_of_speech_pauses_the_player_before_the_session_hears_of_it() -> None:
    async with Desk() as desk:
        desk.play(3.0)
        await asyncio.sleep(0.5)
        paused_when_heard: list[bool] = []
        desk.room.pause_owner = lambda: True
        hear = desk.on_frame

        def on_frame(frame: np.ndarray, sample: int) -> None:
            before = len(desk.heard)
            hear(frame, sample)
            if len(desk.heard) > before:
                paused_when_heard.append(desk.room.player.paused)

        desk.room._on_frame = on_frame
        desk.speak(0.3)
        await asyncio.sleep(0.2)
        assert desk.kinds == ["speech_start"]
        assert paused_when_heard == [True]
        played = len(desk.sounded)
        await asyncio.sleep(0.5)
        assert len(desk.sounded) == played


async def test_a_pause_that_the_session_does_not_want_ends_at_the_same_sample() -> None:
    async with Desk() as desk:
        pcm = desk.play(1.0)
        desk.room.pause_owner = lambda: False
        await asyncio.sleep(0.3)
        desk.speak(0.2)
        await asyncio.sleep(2)
        assert desk.sounded == pcm.tolist()
        assert not desk.room.player.paused


async def test_speech_that_nobody_listens_to_does_not_pause_the_player() -> None:
    async with Desk() as desk:
        desk.muted = True
        await asyncio.sleep(0.1)
        pcm = desk.play(1.0)
        desk.speak(0.5)
        await asyncio.sleep(1.3)
        assert desk.sounded == pcm.tolist()
        silence = np.flatnonzero(desk.played == 0)
        begun = int(np.flatnonzero(desk.played)[0])
        assert not any(begun < int(i) < begun + pcm.size for i in silence)
        assert desk.heard == []


async def test_events_are_stamped_with_the_count_of_the_frames_that_the_session_processed() -> None:
    async with Desk() as desk:
        await asyncio.sleep(1)
        desk.muted = True
        await asyncio.sleep(1)
        desk.muted = False
        await asyncio.sleep(0.1)
        desk.speak(1.0)
        begun = len(desk.frames)
        await asyncio.sleep(2.5)
        assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]
        start = desk.heard[0].sample / FRAME_SAMPLES
        assert begun - 100 - 6 <= start <= begun - 100 + 10


async def test_speech_that_began_while_muted_is_noticed_when_the_microphone_is_heard_again() -> None:
    async with Desk() as desk:
        desk.muted = True
        desk.speak(2.0)
        await asyncio.sleep(1)
        assert desk.heard == []
        desk.muted = False
        await asyncio.sleep(2)
        assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]
        assert desk.room.vad is not None and not desk.room.vad.is_speaking


async def test_what_was_found_before_a_reset_is_not_told_after_it() -> None:
    async with Desk() as desk:
        assert desk.room.vad is not None
        desk.speak(1.0)
        await desk.until(lambda: desk.kinds)
        desk.room.vad.reset()
        assert not desk.room.vad.is_speaking
        desk.heard.clear()
        await asyncio.sleep(2)
        assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]


async def test_ducking_reaches_the_detector() -> None:
    async with Desk() as desk:
        assert desk.room.vad is not None
        desk.room.vad.set_ducked(True)
        await asyncio.sleep(0.05)
        assert desk.vad.ducked


async def test_a_microphone_of_another_rate_is_resampled() -> None:
    desk = Desk()
    desk.microphone.rate_hz = 48_000
    async with desk:
        await asyncio.sleep(0.2)
        t = np.arange(48_000) / 48_000
        tone = (8000 * np.sin(2 * np.pi * 1000 * t)).astype(np.int16)
        desk.microphone.said.extend(tone.reshape(-1, 480))
        begun = len(desk.frames)
        await asyncio.sleep(1.3)
        heard = np.concatenate([frame for frame, _ in desk.frames[begun:]]).astype(float)[4000:12_000]
        spectrum = np.abs(np.fft.rfft(heard))
        assert abs(int(spectrum.argmax()) * CAPTURE_RATE_HZ / heard.size - 1000) < 5
        assert (len(desk.frames) - begun) / 1.3 == pytest.approx(100, rel=0.05)


async def test_a_room_may_be_opened_again() -> None:
    desk = Desk()
    for _ in range(3):
        async with desk:
            await asyncio.sleep(0.5)
            desk.speak(0.5)
            await asyncio.sleep(1.2)
            assert desk.kinds == ["speech_start", "speech_real_start", "speech_end"]
            assert 0 < desk.heard[0].sample < 2 * CAPTURE_RATE_HZ
            desk.heard.clear()
        assert desk.backend.open_streams == 0
    await desk.room.close()


async def test_a_room_of_one_direction_needs_no_echo_cancellation() -> None:
    async with Desk(settings=DeviceSettings(output="none")) as desk:
        await asyncio.sleep(1)
        assert desk.room.health.state == "ok"
        assert desk.hears()
        assert desk.speaker.opened == 0


async def test_half_duplex_hears_nothing_while_the_device_sounds_and_a_moment_after() -> None:
    async with Desk(settings=DeviceSettings(echo="half-duplex")) as desk:
        await asyncio.sleep(0.2)
        begun = len(desk.frames)
        desk.play(1.0)
        await asyncio.sleep(2)
        gated = [i for i, (frame, _) in enumerate(desk.frames[begun:]) if not frame.any()]
        assert 120 <= len(gated) <= 130
        assert gated == list(range(gated[0], gated[0] + len(gated)))
        assert desk.room.health.state == "ok"
        assert desk.hears()
