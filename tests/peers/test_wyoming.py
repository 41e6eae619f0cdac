"""Programs of Home Assistant's world: its wake word service here, its satellite and a bench against our server."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from wyoming.client import AsyncClient
from wyoming.info import Describe
from wyoming.pipeline import RunPipeline
from wyoming.satellite import RunSatellite

from agents.base.errors import GloveError
from agents.base.weights import WeightsStore
from appliance.config.schema import GloveConfig
from appliance.session.build import load_parts
from appliance.wyoming.feature import lent_by
from appliance.wyoming.server import WyomingServer
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence, wire_bytes
from audio.providers.wyoming.link import Address
from audio.providers.wyoming.wake import WyomingWakeDetector
from audio.resample import resample
from audio.tts.hibari import HibariVoice
from audio.wake.base import WakeHeard
from tests.peers.environments import environment

pytestmark = [pytest.mark.realtime, pytest.mark.network, pytest.mark.timeout(420)]

SECOND = silence(CAPTURE_RATE_HZ)


async def said(text: str) -> Pcm:
    """``text`` in the appliance's own voice, with silence around it."""
    voice = HibariVoice()
    await voice.open()
    speech = await voice.render(text)
    await voice.destroy()
    return np.concatenate((SECOND, SECOND, resample(speech.pcm, voice.sample_rate_hz, CAPTURE_RATE_HZ), SECOND, SECOND))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running(*command: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program that is ended at the end."""
    devnull = asyncio.subprocess.DEVNULL
    program = await asyncio.create_subprocess_exec(*command, stdin=devnull, stdout=devnull, stderr=devnull)
    try:
        yield program
    finally:
        if program.returncode is None:
            program.terminate()
        await program.wait()


async def answers(port: int) -> None:
    """Wait for a program to listen."""
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return


@asynccontextmanager
async def our_server() -> AsyncIterator[int]:
    """Our own server over the models of this machine; its port."""
    try:
        WeightsStore().ensure("whisper-tiny.en")
    except GloveError as fault:
        pytest.skip(f"no recogniser: {fault.message}")
    config = GloveConfig(
        speech={"stt": "whisper-tiny.en", "partials": False},  # type: ignore[arg-type]
        model={"provider": "none"},  # type: ignore[arg-type]
        store={"path": "memory"},  # type: ignore[arg-type]
        turns={"detector": "rules"},  # type: ignore[arg-type]
    )
    parts = await load_parts(config, lasting_timers=False)
    server = WyomingServer(await lent_by(parts))
    try:
        yield await server.open(Address("127.0.0.1", 0))
    finally:
        await server.close()
        await parts.close()


async def test_openwakeword_hears_our_microphone_each_time() -> None:
    python = environment("wyoming-openwakeword==1.8.2", "numpy<2")
    port, sound = free_port(), await said("Hey Jarvis.")
    async with running(str(python), "-m", "wyoming_openwakeword", "--uri", f"tcp://127.0.0.1:{port}"):
        await answers(port)
        detector = WyomingWakeDetector(Address("127.0.0.1", port), "hey_jarvis")
        heard: list[WakeHeard] = []
        try:
            async with asyncio.timeout(30):
                while not detector.listens:
                    detector.process(SECOND[:0])
                    await asyncio.sleep(0.05)
            for _ in range(2):
                for at in range(0, sound.size, 1280):
                    heard += detector.process(sound[at : at + 1280])
                    await asyncio.sleep(0.08)
        finally:
            detector.close()
        assert [hit.phrase for hit in heard] == ["Hey Jarvis"] * 2
        assert 2.3 < heard[0].sample / CAPTURE_RATE_HZ < 4.5
        assert 0.8 < (heard[1].sample - heard[0].sample) / sound.size < 1.2


async def test_a_satellite_wakes_by_our_wake_word_service(tmp_path: Path) -> None:
    python = environment("wyoming-satellite==1.0.0")
    microphone = tmp_path / "microphone.raw"
    microphone.write_bytes(wire_bytes(await said("Hey Jarvis.")))
    port, program = free_port(), Path(__file__).with_name("microphone.py")
    async with our_server() as ours:
        satellite = [
            *(str(python), "-m", "wyoming_satellite", "--uri", f"tcp://127.0.0.1:{port}", "--no-zeroconf"),
            *("--wake-uri", f"tcp://127.0.0.1:{ours}", "--wake-word-name", "hey_jarvis"),
            *("--mic-command", f"{sys.executable} {program} {microphone}", "--snd-command", "cat"),
        ]
        async with running(*satellite):
            await answers(port)
            async with AsyncClient.from_uri(f"tcp://127.0.0.1:{port}", read_timeout=40) as home:
                await home.write_event(Describe().event())
                await home.read_event()
                await home.write_event(RunSatellite().event())
                event = await home.read_event()
                assert event is not None and RunPipeline.is_type(event.type), event


async def test_a_bench_of_others_finds_no_fault(tmp_path: Path) -> None:
    bench = environment("wyoming-bench==2026.10.0").with_name("wyoming-bench")

    async def run(*arguments: str) -> str:
        pipe = asyncio.subprocess.PIPE
        program = await asyncio.create_subprocess_exec(
            str(bench), *arguments, stdout=pipe, stderr=asyncio.subprocess.STDOUT, cwd=tmp_path
        )
        async with asyncio.timeout(120):
            out, _ = await program.communicate()
        assert program.returncode == 0, out.decode()
        return out.decode()

    async with our_server() as port:
        ours = f"127.0.0.1:{port}"
        told = await run("info", ours)
        assert "synthesize streaming" in told and "asr  glove" in told
        spoken = await run("tts", ours, "--rounds", "1", "--warmup", "0", "--texts", "Good morning. How are you?")
        assert spoken.count("ok=1 fail=0") == 2, spoken  # in one go, and as a stream
        await run("generate-corpus", ours, "--out", "corpus", "--texts", "The kitchen light is on.")
        heard = await run(
            "stt", ours, "--corpus", "corpus", "--mode", "non_streaming", "--rounds", "1", "--warmup", "0"
        )
        assert "ok=1 fail=0" in heard, heard
