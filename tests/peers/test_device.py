"""The device room on a virtual sound card: real streams, real threads, a speaker that the microphone can hear.

Names like A3 are those of the list of field cases that a test answers.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from agents.base import clock
from audio.io.device import DeviceRoom, DeviceSettings
from audio.io.inventory import choose_device, list_devices
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.resample import resample
from audio.vad.base import SpeechProb
from audio.vad.silero import SileroVad
from tests.peers.pulse import RATE_HZ, Pulse
from tests.support.speech import spoken

pytestmark = pytest.mark.realtime

SETTINGS = DeviceSettings(input="vmic", output="vspk")

LOSSES = ("overruns", "underruns", "lost_samples", "lost_reference_samples", "dropped_frames", "filled_frames")
"""Figures of a room's health that count what was lost."""


class Listener:
    """A session that only listens; it owns no pause."""

    def __init__(self, room: DeviceRoom) -> None:
        self.room = room
        self.frames: list[Pcm] = []
        self.events: list[str] = []
        self.gaps_s: list[float] = []
        self._last = 0.0

    def on_frame(self, frame: Pcm, sample: int) -> None:
        now = clock.now()
        if self._last:
            self.gaps_s.append(now - self._last)
        self._last = now
        self.frames.append(frame)
        assert self.room.vad is not None
        self.events += [event.type for event in self.room.vad.process(frame) if not isinstance(event, SpeechProb)]

    def hears(self) -> bool:
        return any(frame.any() for frame in self.frames[-20:])


@asynccontextmanager
async def listening(settings: DeviceSettings = SETTINGS) -> AsyncIterator[tuple[DeviceRoom, Listener]]:
    room = DeviceRoom(settings, vad=SileroVad())
    listener = Listener(room)
    await room.open(listener.on_frame)
    try:
        await until(lambda: room.health.state == "ok" and listener.frames)
        yield room, listener
    finally:
        await room.close()


async def until(condition: object, limit_s: float = 15.0) -> float:
    begun = clock.now()
    async with asyncio.timeout(limit_s):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.02)
    return clock.now() - begun


def noise(seconds: float) -> Pcm:
    return (np.random.default_rng(1).standard_normal(round(seconds * RATE_HZ)) * 3000).astype(np.int16)


async def test_devices_are_listed_with_ids_that_last(pulse: Pulse) -> None:
    devices = list_devices()
    microphone = choose_device(devices, "VMIC", "input")
    assert microphone is not None and microphone.id == "ALSA/vmic"
    assert choose_device(devices, "ALSA/vmic", "input") == microphone
    default = choose_device(devices, "default", "output")
    assert default is not None and default.is_default_output
    assert choose_device(devices, "no such thing", "input") is None


async def test_speech_into_the_microphone_is_heard_and_speech_from_the_player_comes_out(pulse: Pulse) -> None:
    speech = spoken(3.0)
    async with listening() as (room, listener):
        child = pulse.say(resample(speech, CAPTURE_RATE_HZ, RATE_HZ), RATE_HZ)
        await until(lambda: "speech_end" in listener.events)
        child.wait(5)
        assert listener.events[0] == "speech_start"
        heard = np.concatenate(listener.frames)
        assert likeness(speech, heard, CAPTURE_RATE_HZ) > 0.85
        tape = pulse.folder / "speaker.raw"
        recorder = pulse.record_speaker(tape)
        await asyncio.sleep(0.5)
        out = resample(speech, CAPTURE_RATE_HZ, RATE_HZ)
        room.player.enqueue(out, RATE_HZ, room.player.generation)
        await until(lambda: room.player.idle)
        await asyncio.sleep(0.5)
        recorder.terminate()
        recorder.wait(5)
        assert likeness(out, np.fromfile(tape, "<i2"), RATE_HZ) > 0.85


async def test_the_device_does_not_hear_itself(pulse: Pulse) -> None:
    speech = resample(spoken(6.0), CAPTURE_RATE_HZ, RATE_HZ)
    with pulse.loopback():
        async with listening() as (room, listener):
            await asyncio.sleep(0.3)
            room.player.enqueue(speech, RATE_HZ, room.player.generation)
            await until(lambda: room.player.idle, 30)
            await asyncio.sleep(0.5)
            assert room.health.values["erle_db"] > 15
            assert "speech_real_start" not in listener.events


async def test_without_cancellation_that_works_the_microphone_rests_while_the_device_speaks(pulse: Pulse) -> None:
    speech = resample(spoken(2.0), CAPTURE_RATE_HZ, RATE_HZ)
    with pulse.loopback():
        async with listening(DeviceSettings(input="vmic", output="vspk", echo="half-duplex")) as (room, listener):
            room.player.enqueue(speech, RATE_HZ, room.player.generation)
            await until(lambda: room.player.idle, 30)
            await asyncio.sleep(0.5)
            assert listener.events == []
            assert room.health.values["gated_frames"] > 100


async def test_a_loop_that_stands_still_for_200_ms_costs_no_sound_no_reference_and_no_late_pause(pulse: Pulse) -> None:
    """The loop computes, which is worse than sleeping: the other threads have to fight for the interpreter.

    A machine that is busy with other things may lose sound by itself, so one good run in four is asked for.
    """
    faults: list[str] = []
    for _ in range(4):
        fault = await stand_still(pulse)
        if not fault:
            return
        faults.append(fault)
    pytest.fail("; ".join(faults))


async def stand_still(pulse: Pulse) -> str:
    tape = pulse.folder / "block.raw"
    async with listening() as (room, listener):
        room.pause_owner = lambda: True
        await asyncio.sleep(0.5)
        recorder = pulse.record_speaker(tape)
        await asyncio.sleep(0.3)
        t = np.arange(6 * RATE_HZ) / RATE_HZ
        room.player.enqueue((8000 * np.sin(2 * np.pi * 440 * t)).astype(np.int16), RATE_HZ, room.player.generation)
        await asyncio.sleep(0.5)
        before = dict(room.health.values)
        for _ in range(5):
            block(0.2)
            await asyncio.sleep(0.1)
        after = room.health.values
        # Speech begins while the loop stands still: the sound stops all the same.
        listener.events.clear()
        pulse.say(resample(spoken(), CAPTURE_RATE_HZ, RATE_HZ), RATE_HZ)
        deadline = clock.now() + 3
        while not room.player.paused and clock.now() < deadline:
            block(0.2)
        played = room.player.played
        assert not listener.events, "the loop stands still and cannot have heard of it"
        block(0.2)
        late = not room.player.paused or room.player.played != played
        await asyncio.sleep(0.3)
        late = late or listener.events[:1] != ["speech_start"]
        recorder.terminate()
        recorder.wait(5)
    lost = [name for name in LOSSES if after[name] != before[name]]
    jumps = clicks(np.fromfile(tape, "<i2"), 440, 8000)
    return f"lost: {lost}, clicks: {jumps}, late pause: {late}" if lost or jumps or late else ""


async def test_case_a3_a_suspended_microphone_is_noticed_and_heard_again_when_it_wakes(pulse: Pulse) -> None:
    async with listening() as (room, listener):
        await asyncio.sleep(0.5)
        pulse.suspend_microphone(True)
        try:
            assert await until(lambda: room.health.state == "degraded") < 1.5
        finally:
            pulse.suspend_microphone(False)
        await until(lambda: room.health.state == "ok")
        pulse.say(noise(1), RATE_HZ)
        assert await until(listener.hears) < 3


async def test_case_a3_an_unplugged_microphone_is_heard_again_when_it_is_plugged_in(pulse: Pulse) -> None:
    async with listening() as (room, listener):
        frames = len(listener.frames)
        pulse.unplug()
        await asyncio.sleep(1)
        assert len(listener.frames) > frames + 50, "the session's clock goes on"
        pulse.plug_in()
        begun = clock.now()
        while not listener.hears():
            pulse.say(noise(0.5), RATE_HZ)
            await asyncio.sleep(0.5)
            assert clock.now() - begun < 15
        assert room.failed is None


@pytest.mark.parametrize("wanted", ["vmic", "default"])
async def test_case_a3_the_speaker_is_not_taken_for_the_microphone_that_was_unplugged(
    pulse: Pulse, wanted: str
) -> None:
    """The server moves the recording to the speaker's monitor without telling the sound library."""
    async with listening(DeviceSettings(input=wanted, output="vspk", echo="off")) as (room, listener):
        await asyncio.sleep(1.0)
        pulse.unplug()
        try:
            assert await until(lambda: room.health.state == "degraded") < 2
            listener.events.clear()
            speech = resample(spoken(3.0), CAPTURE_RATE_HZ, RATE_HZ)
            room.player.enqueue(speech, RATE_HZ, room.player.generation)
            await until(lambda: room.player.idle)
            assert listener.events == [] and not listener.hears()
            assert room.health.state == "degraded"
        finally:
            pulse.plug_in()
        begun = clock.now()
        while not (listener.hears() and room.health.state == "ok"):
            pulse.say(noise(0.5), RATE_HZ)
            await asyncio.sleep(0.5)
            assert clock.now() - begun < 20
        assert room.failed is None


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_case_a4_the_death_of_the_sound_server_is_survived(pulse: Pulse, how: signal.Signals) -> None:
    async with listening() as (room, listener):
        await asyncio.sleep(0.3)
        await asyncio.to_thread(pulse.kill, how)
        assert await until(lambda: room.health.state == "down") < 2
        await asyncio.sleep(1)
        await asyncio.to_thread(pulse.start)
        assert await until(lambda: room.health.state == "ok") < 5
        room.player.enqueue(noise(0.5), RATE_HZ, room.player.generation)
        await until(lambda: room.player.idle, 3)
        pulse.say(noise(2), RATE_HZ)
        assert await until(listener.hears) < 3
        assert room.failed is None


async def test_case_a2_a_machine_without_any_sound_device_waits_for_one(tmp_path: Path) -> None:
    """In a process of its own, with ALSA's plain configuration and no server."""
    script = (
        "import asyncio\n"
        "from audio.io.device import DeviceRoom\n"
        "async def main():\n"
        "    room = DeviceRoom()\n"
        "    frames = []\n"
        "    await room.open(lambda frame, sample: frames.append(sample))\n"
        "    await asyncio.sleep(1.5)\n"
        "    print(room.health.state, room.health.reason, len(frames) > 100)\n"
        "    await room.close()\n"
        "asyncio.run(main())\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("PULSE_SERVER", "ALSA_CONFIG_PATH")}
    environment |= {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(Path.cwd())}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    out, _ = await asyncio.wait_for(child.communicate(), 30)
    last = out.decode().strip().splitlines()[-1]
    if "down" not in last:
        pytest.skip("this machine has a sound device")
    assert last.startswith("down There is no microphone. ") and last.endswith(" True") and "no speaker" in last


def block(seconds: float) -> None:
    """Compute in Python for so long."""
    until_s = clock.perf_counter() + seconds
    total = 0
    while clock.perf_counter() < until_s:
        total += sum(range(100))


def likeness(wanted: Pcm, recording: Pcm, rate_hz: int) -> float:
    """How well half seconds of ``wanted`` are found in ``recording``: the median, for a busy machine loses some."""
    half = rate_hz // 2
    pieces = [wanted[at : at + half] for at in range(half, wanted.size - half, half)]
    return float(np.median([correlation(piece, recording) for piece in pieces]))


def correlation(wanted: Pcm, recording: Pcm) -> float:
    """How well ``wanted`` is found in ``recording``: normalised cross-correlation at the best place."""
    a, b = wanted.astype(float), recording.astype(float)
    size = 1 << int(np.ceil(np.log2(a.size + b.size)))
    product = np.fft.irfft(np.fft.rfft(b, size) * np.conj(np.fft.rfft(a, size)), size)[: b.size - a.size + 1]
    at = int(product.argmax())
    part = b[at : at + a.size]
    return float(product[at] / np.sqrt((a * a).sum() * (part * part).sum() + 1e-9))


def clicks(recording: Pcm, tone_hz: int, level: int) -> int:
    """Jumps inside a pure tone, other than where it begins and ends."""
    x = recording.astype(float)
    sounding = np.flatnonzero(np.abs(x) > level / 100)
    x = x[sounding[0] : sounding[-1] + 1]
    w = 2 * np.pi * tone_hz / RATE_HZ
    odd = np.abs(x[2:] - 2 * np.cos(w) * x[1:-1] + x[:-2])  # a sine obeys this recursion; a jump does not
    edges = round(0.01 * RATE_HZ)
    return int((odd[edges:-edges] > level / 20).sum())
