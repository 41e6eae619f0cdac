"""Faults of microphones, detectors and clocks that resemble those of the list of field cases, and are not in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.models.scripted import ScriptedModel
from audio.io import portaudio
from audio.pcm import Pcm, silence
from audio.vad.base import SpeechEnd, SpeechStart, VadEvent
from audio.vad.energy import EnergyVad
from audio.vad.segment import SegmentMachine
from tests.support.household import household
from tests.support.session import LevelVad, Session

NAN = float("nan")


class NanVad(LevelVad):
    """Answers with what is no number after ``sane`` frames."""

    def __init__(self, sane: int) -> None:
        super().__init__()
        self.sane = sane

    def process(self, pcm: Pcm) -> list[VadEvent]:
        events: list[VadEvent] = []
        self.rest = np.concatenate((self.rest, pcm))
        while self.rest.size >= 512:
            frame, self.rest = self.rest[:512], self.rest[512:]
            self.samples += 512
            self.sane -= 1
            probability = NAN if self.sane < 0 else 0.95 if np.abs(frame).max() > 300 else 0.02
            events += self.machine.feed(probability, self.samples)
        return events

    def rebuild(self) -> None:
        self.sane = 1_000_000
        self.reset()


def test_a_probability_that_is_no_number_counts_as_silence() -> None:
    machine = SegmentMachine()
    kinds = [type(event) for at in range(20) for event in machine.feed(0.9, 512 * (at + 1))]
    kinds += [type(event) for at in range(20, 60) for event in machine.feed(NAN, 512 * (at + 1))]
    assert kinds.count(SpeechStart) == kinds.count(SpeechEnd) == 1 and not machine.is_speaking


async def test_a_detector_that_goes_mad_in_mid_sentence_loses_neither_the_sentence_nor_its_ears() -> None:
    vad = NanVad(sane=20)
    async with Session(ScriptedModel(lambda _: "Yes."), vad=vad) as session:
        session.living.speak("Hello there.", 1.0)
        await session.until(lambda: session.of("user_turn"), 10)
        await session.settle()
        await session.say("And again.")
        await session.until(lambda: len(session.of("user_turn")) == 2, 10)
        assert "ERR_VAD_STALLED" in [error.code for error in session.of("error")]


def voice(level: int) -> Pcm:
    time_s = np.arange(16_000) / 16_000
    return (level * np.sin(2 * np.pi * 150 * time_s) * (0.6 + 0.4 * np.sin(2 * np.pi * 4 * time_s))).astype(np.int16)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda pcm: np.clip(pcm.astype(np.int32) * 8, -32768, 32767).astype(np.int16),
        lambda pcm: np.clip(pcm.astype(np.int32) + 6000, -32768, 32767).astype(np.int16),
        lambda pcm: (-pcm.astype(np.int32)).clip(-32768, 32767).astype(np.int16),
    ],
    ids=["clipping", "an offset of its zero", "turned round"],
)
def test_a_microphone_that_clips_or_whose_zero_is_elsewhere_is_still_heard(spoil: Any) -> None:
    vad = EnergyVad()
    quiet = np.random.default_rng(1).integers(-20, 20, 32_000).astype(np.int16)
    events = [event for part in (quiet, voice(6000), quiet, quiet) for event in vad.process(spoil(part))]
    kinds = [type(event) for event in events]
    assert kinds.count(SpeechStart) == 1 and kinds.count(SpeechEnd) == 1, kinds


async def test_sample_indexes_that_jump_back_or_far_ahead_leave_the_session_hearing() -> None:
    async with Session(ScriptedModel(lambda _: "Yes."), partials=False) as session:
        listening = session.voice._listening
        assert listening is not None
        session.room.input_open = False
        for sample in (-160, 0, 160, 10**12, 320, -(10**9), 480):
            listening.frame(silence(160), sample)
        session.room.input_open = True
        await asyncio.sleep(2.0)
        await session.say("Hello there.")
        await session.until(lambda: session.of("user_turn"), 20)


async def test_frames_without_a_sample_are_harmless() -> None:
    async with Session(ScriptedModel(lambda _: "Yes."), partials=False) as session:
        listening = session.voice._listening
        assert listening is not None
        for _ in range(10):
            listening.frame(silence(0), 1600)
        await session.say("Hello there.")
        await session.until(lambda: session.of("user_turn"), 10)


async def test_a_microphone_that_comes_back_at_44_100_hz_keeps_the_time_and_loses_nothing(tmp_path: Path) -> None:
    async with household(tmp_path) as home:
        await home.ask("what is two plus two?")
        await home.rest()
        home.microphone.present = False
        home.microphone.said.clear()
        await home.until(lambda: not home.works, 10)
        home.microphone.rate_hz = 44_100
        home.microphone.present = True
        await home.until(lambda: home.works, 30)
        session = home.daemon.rooms.find("device")
        assert session is not None
        await asyncio.sleep(1.0)  # its clock had run ahead of a microphone that was away for less than a gap
        before = session.room.time_s
        await asyncio.sleep(20.0)
        assert session.room.time_s - before == pytest.approx(20.0, abs=0.03), "its clock counts the same seconds"
        assert session.room.health.values["lost_samples"] == 0


async def test_a_press_of_the_talk_key_while_muted_while_ringing_and_while_asleep(tmp_path: Path) -> None:
    async with household(tmp_path) as home:
        home.device.mute()
        assert not home.device.ptt_down()
        home.device.ptt_up()
        home.device.unmute()
        await home.ask("set a timer for ten seconds")
        await home.rest()
        await home.until(lambda: home.ringing, 20)
        assert home.device.ptt_down()
        await home.say("stop", 0.6)
        home.device.ptt_up()
        await home.until(lambda: not home.ringing, 20)
        await home.rest()


async def test_the_wake_word_twice_in_one_breath_is_one_turn(tmp_path: Path) -> None:
    async with household(tmp_path) as home:
        home.microphone.call()
        home.microphone.speak("", 0.1)
        await home.ask("what is two plus two?")
        await home.rest()
        assert len(home.turns()) == 1 and "4" in home.heard, home.turns()


async def test_a_mute_while_a_timer_rings_lets_it_ring_and_the_next_word_stops_it(tmp_path: Path) -> None:
    async with household(tmp_path) as home:
        await home.ask("set a timer for ten seconds")
        await home.rest()
        await home.until(lambda: home.ringing, 20)
        home.device.mute()
        await asyncio.sleep(20.0)
        assert home.ringing
        home.device.unmute()
        home.events.clear()
        await home.until(lambda: home.of("agent_speech_started"), 20)
        await home.say("Stop.", 0.5)
        await home.until(lambda: not home.ringing, 10)
        await home.rest()


class StereoCard(SimpleNamespace):
    """What ``sounddevice`` offers of a card that takes two channels and no fewer; ``tick`` captures 10 ms."""

    PortAudioError = OSError

    def query_hostapis(self) -> list[dict[str, Any]]:
        return [{"name": "ALSA", "default_input_device": 0, "default_output_device": -1}]

    def query_devices(self, index: int | None = None) -> Any:
        card = {"name": "card", "hostapi": 0, "index": 0, "default_samplerate": 48_000.0}
        card |= {"max_input_channels": 2, "max_output_channels": 0}
        return [card] if index is None else card

    def RawInputStream(self, *, channels: int, callback: Any, **_: Any) -> Any:
        if channels != 2:
            raise OSError("invalid number of channels")
        self.tick = lambda block: callback(block.tobytes(), len(block), None, SimpleNamespace(input_overflow=False))
        nothing = lambda **_: None  # noqa: E731
        return SimpleNamespace(active=True, start=nothing, stop=nothing, abort=nothing, close=nothing)


@pytest.mark.parametrize("alive", [0, 1], ids=["left", "right"])
def test_a_stereo_microphone_of_which_one_channel_is_dead_is_heard_in_full(
    alive: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = StereoCard()
    monkeypatch.setattr(portaudio, "_sounddevice", lambda: card)
    monkeypatch.setattr(portaudio, "_pulse_sockets", lambda: ())
    captured: list[Pcm] = []
    backend = portaudio.PortAudioBackend()
    stream = backend.open_input(backend.devices()[0], 16_000, 0.05, lambda pcm, _: captured.append(pcm), lambda: None)
    spoken = np.concatenate((silence(16_000), voice(6000), silence(16_000)))
    both = np.zeros((spoken.size, 2), np.int16)
    both[:, alive] = spoken
    for start in range(0, spoken.size, 160):
        card.tick(both[start : start + 160])
    stream.close()
    assert np.array_equal(np.concatenate(captured), spoken)
