"""The whole appliance in a process of its own, on a virtual microphone and speaker."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.base.clock import blocking_sleep, perf_counter
from agents.stores.sqlite import list_conversations
from appliance.commands.transcripts import transcript
from appliance.daemon.control import ask
from audio.pcm import Pcm
from audio.tts.hibari import HibariVoice
from tests.peers.pulse import RATE_HZ, Pulse

ROOT = Path(__file__).resolve().parents[2]


class Appliance:
    """``glove run`` and the commands that talk to it."""

    def __init__(self, pulse: Pulse, folder: Path) -> None:
        self.pulse = pulse
        self.folder = folder
        self.environment = {
            **os.environ,
            "PULSE_SERVER": pulse.environment["PULSE_SERVER"],
            "ALSA_CONFIG_PATH": pulse.environment["ALSA_CONFIG_PATH"],
            "XDG_RUNTIME_DIR": str(folder / "runtime"),
            "PYTHONPATH": str(ROOT),
            "GLOVE_STORE__PATH": str(folder / "glove.db"),
            "GLOVE_MODEL__PROVIDER": "none",
            "GLOVE_PAGE__ENABLED": "false",
            "GLOVE_DEVICE__INPUT": "vmic",
            "GLOVE_DEVICE__OUTPUT": "vspk",
        }
        (folder / "runtime").mkdir(mode=0o700)
        self.recording = folder / "speaker.raw"
        self.recorder = pulse.record_speaker(self.recording)
        self.out = (folder / "out").open("w+")
        program = [sys.executable, "-c", "from appliance.entry import main; main()", "run"]
        self.process = subprocess.Popen(
            program, env=self.environment, cwd=folder, stdout=self.out, stderr=subprocess.STDOUT
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request to the daemon, as the commands do."""
        return ask(request, self.folder / "runtime" / "glove")

    def state(self) -> str:
        """How the room is."""
        return self.ask(do="status")["status"]["rooms"][0]["health"]["state"]

    def said(self) -> str:
        """What is in the conversations so far."""

        async def read() -> str:
            path = self.folder / "glove.db"
            known = await list_conversations(path) if path.exists() else []
            return "\n".join([line for entry in known for line in await transcript(path, entry.session_id)])

        return asyncio.run(read())

    def sound_s(self) -> float:
        """Seconds of sound that came out of the speaker so far."""
        raw = self.recording.read_bytes()
        sound = np.abs(np.frombuffer(raw[: len(raw) // 2 * 2], "<i2").astype(np.int32))
        window = RATE_HZ // 100
        return float((sound[: sound.size // window * window].reshape(-1, window).max(axis=1) > 300).sum()) / 100

    def until(self, condition: Callable[[], bool], what: str, limit_s: float = 60.0) -> None:
        deadline = perf_counter() + limit_s
        while not condition():
            if self.process.poll() is not None or perf_counter() > deadline:
                self.out.seek(0)
                raise AssertionError(f"{what}: not within {limit_s} s\n{self.out.read()}")
            blocking_sleep(0.2)

    def say(self, text: str) -> None:
        """Say ``text`` into the microphone, in the appliance's own voice."""

        async def render() -> tuple[Pcm, int]:
            voice = HibariVoice()
            await voice.open()
            speech = await voice.render(text)
            await voice.destroy()
            return speech.pcm, voice.sample_rate_hz

        self.pulse.say(*asyncio.run(render())).wait(30)

    def answers(self, question: str, answer: str) -> bool:
        """Ask ``question``, and once more if it was not heard on a machine that does other things too."""
        for _ in range(3):
            self.until(lambda: self.ask(do="status")["status"]["rooms"][0]["mode"] == "listening", "silence")
            self.say(question)
            deadline = perf_counter() + 20.0
            while perf_counter() < deadline:
                if answer in self.said():
                    return True
                blocking_sleep(0.2)
        return False

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(15)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.recorder.kill()
        self.recorder.wait()
        self.out.close()


@pytest.fixture
def appliance(pulse: Pulse, tmp_path: Path) -> Iterator[Appliance]:
    running = Appliance(pulse, tmp_path)
    yield running
    running.close()


def test_it_greets_hears_its_name_answers_and_survives_an_unplugged_microphone(appliance: Appliance) -> None:
    appliance.until(lambda: appliance.sound_s() > 0.4, "greeting")
    appliance.until(lambda: appliance.state() == "ok", "health")
    before = appliance.sound_s()
    assert appliance.answers("Hey Jarvis. What is seven times eight?", "56")
    appliance.until(lambda: appliance.sound_s() > before + 0.5, "its sound")
    appliance.pulse.unplug(nothing_else=True)
    appliance.until(lambda: appliance.state() == "degraded", "unplugged")
    before = appliance.sound_s()
    appliance.ask(do="notify", text="The washing is done.")  # the speaker is still there
    appliance.until(lambda: "The washing is done." in appliance.said(), "message")
    assert appliance.sound_s() > before + 0.5
    appliance.pulse.plug_in()
    appliance.until(lambda: appliance.state() == "ok", "plugged in again")
    assert appliance.answers("Hey Jarvis. What is five plus six?", "11")
    asked = perf_counter()
    assert appliance.stop() == 0
    assert perf_counter() - asked < 5.0
