"""The Wyoming server in the daemon, and this machine as its own client: real speech there and back."""

from __future__ import annotations

import asyncio
import re
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from wyoming.asr import Transcript
from wyoming.client import AsyncClient
from wyoming.handle import Handled
from wyoming.info import Describe, Info

from agents.base.errors import GloveError
from agents.base.weights import WeightsStore
from appliance.config.schema import GloveConfig
from appliance.daemon import service
from appliance.session.build import Parts, load_parts
from appliance.session.parts import build_recogniser, build_voices
from appliance.session.services import settled, stream_recogniser
from appliance.session.stock import wants_partials
from appliance.wyoming.feature import WYOMING, lent_by, run_wyoming
from appliance.wyoming.languages import understood
from appliance.wyoming.server import WyomingServer
from audio.pcm import CAPTURE_RATE_HZ, silence
from audio.providers.wyoming.link import Address
from audio.providers.wyoming.stt import WyomingSegmentStt, WyomingStt
from audio.providers.wyoming.tts import WyomingVoices
from audio.providers.wyoming.wake import WyomingWakeDetector
from audio.resample import resample
from audio.stt.conformance import check_segment_stt
from audio.stt.fallback import FallbackSegmentStt, FallbackStt
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.base import TtsAdapter
from audio.tts.conformance import CHECKS, check_tts
from audio.tts.fallback import FallbackTts
from audio.wake.base import WakeHeard
from tests.appliance.house import house, simulated
from tests.support.speech import spoken

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(180)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def here(port: int) -> str:
    return f"tcp://127.0.0.1:{port}"


async def lend(config: GloveConfig) -> tuple[Parts, WyomingServer, Address]:
    parts = await load_parts(config, lasting_timers=False)
    server = WyomingServer(await lent_by(parts))
    return parts, server, Address("127.0.0.1", await server.open(Address("127.0.0.1", 0)))


async def test_speech_goes_there_and_back() -> None:
    pcm = spoken()
    config = GloveConfig(  # type: ignore[call-arg]
        speech={"stt": "whisper-tiny.en", "partials": False},  # type: ignore[arg-type]
        model={"provider": "none"},  # type: ignore[arg-type]
        store={"path": "memory"},  # type: ignore[arg-type]
        turns={"detector": "rules"},  # type: ignore[arg-type]
    )
    try:
        WeightsStore().ensure("whisper-tiny.en")
    except GloveError as fault:
        pytest.skip(f"no recogniser: {fault.message}")
    parts, server, address = await lend(config)
    try:
        assert understood(parts) == ("en",), "the small model knows no other"
        await check_segment_stt(lambda: WyomingSegmentStt(address), pcm, "It was the best of times,")
        voice = WyomingVoices(address)("en")
        await voice.open()
        speech = await voice.render("The kitchen light is on.")
        await voice.destroy()
        sound = resample(speech.pcm, voice.sample_rate_hz, CAPTURE_RATE_HZ)
        heard = await WyomingSegmentStt(address).recognise(sound, "en")
        assert {"kitchen", "light"} <= set(re.findall(r"\w+", heard.text.lower())), heard.text
        assert len(await check_tts(WyomingVoices(address))) == len(CHECKS)
    finally:
        await server.close()
        await parts.close()


async def test_the_wake_word_is_heard_by_the_house_next_door() -> None:
    parts, server, address = await lend(simulated())
    detector = WyomingWakeDetector(address, "hey_jarvis")
    try:
        from audio.tts.hibari import HibariVoice

        voice = HibariVoice()
        await voice.open()
        speech = resample((await voice.render("Hey Jarvis.")).pcm, voice.sample_rate_hz, CAPTURE_RATE_HZ)
        await voice.destroy()
        async with asyncio.timeout(20):
            while not detector.listens:
                detector.process(speech[:0])
                await asyncio.sleep(0.02)
        sound = np.concatenate((silence(CAPTURE_RATE_HZ), speech, silence(CAPTURE_RATE_HZ)))
        hits: list[WakeHeard] = []
        for at in range(0, sound.size, 1280):
            hits += detector.process(sound[at : at + 1280])
            await asyncio.sleep(0.01)
        async with asyncio.timeout(20):
            while not hits:
                hits += detector.process(silence(160))
                await asyncio.sleep(0.02)
        assert [hit.phrase for hit in hits] == ["Hey Jarvis"]
    finally:
        detector.close()
        await server.close()
        await parts.close()


async def test_the_daemon_lends_what_it_has_and_answers_lines(tmp_path: Path) -> None:
    port = free_port()
    config = simulated(wyoming={"listen": here(port), "handle": True})
    async with house(tmp_path, config, {WYOMING: run_wyoming}) as home:
        async with asyncio.timeout(30):
            while WYOMING not in home.daemon.facts:
                await asyncio.sleep(0.02)
        assert home.said == [f"Wyoming: {here(port)}"]
        async with AsyncClient.from_uri(here(port), read_timeout=20) as client:
            await client.write_event(Describe().event())
            told = await client.read_event()
            assert told is not None
            info = Info.from_event(told)
            assert info.asr and info.tts and info.handle and len(info.wake[0].models) == 4
            await client.write_event(Transcript("what is two plus two").event())
            answered = await client.read_event()
            assert answered is not None
            reply = Handled.from_event(answered)
            assert "4" in (reply.text or ""), answered
            assert reply.context and reply.context["conversation_id"]
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_port_in_use_costs_the_server_and_nothing_else(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        config = simulated(wyoming={"listen": here(other.getsockname()[1])})
        async with house(tmp_path, config, {WYOMING: run_wyoming}) as home:
            async with asyncio.timeout(30):
                while not home.said:
                    await asyncio.sleep(0.02)
            assert home.said[0].startswith("Wyoming: off. wyoming.listen:")
            other.close()
            async with asyncio.timeout(30):
                while WYOMING not in home.daemon.facts:
                    await asyncio.sleep(0.02)


def test_it_is_off_unless_somebody_wants_it() -> None:
    assert WYOMING not in service.features(GloveConfig())
    wanted = GloveConfig(wyoming={"listen": here(10300)})  # type: ignore[arg-type]
    assert WYOMING in service.features(wanted)


@pytest.mark.parametrize("listen", ["tcp://0.0.0.0:10300", "tcp://192.168.1.5:10300", "tcp://box.local:10300"])
def test_an_open_door_needs_a_list_of_guests(listen: str) -> None:
    with pytest.raises(ValueError, match="allow"):
        GloveConfig(wyoming={"listen": listen})  # type: ignore[arg-type]
    GloveConfig(wyoming={"listen": listen, "allow": "192.168.1.0/24, ::1"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "section",
    [
        {"wyoming": {"listen": "0.0.0.0:10300"}},
        {"wyoming": {"allow": ["kitchen"]}},
        {"stt": {"provider": "wyoming"}},
        {"tts": {"provider": "wyoming", "url": "http://localhost:1"}},
        {"wake": {"provider": "wyoming", "url": "tcp://localhost"}},
    ],
)
def test_an_address_that_is_none_is_refused(section: dict[str, dict[str, object]]) -> None:
    with pytest.raises(ValueError):
        GloveConfig(**section)  # type: ignore[arg-type]


def with_service(port: int, **stt: object) -> GloveConfig:
    return simulated(
        stt={"provider": "wyoming", "url": here(port), **stt},
        tts={"provider": "wyoming", "url": here(port)},
    )


async def test_a_service_is_asked_at_the_start_whether_it_hears_while_one_speaks(tmp_path: Path) -> None:
    local = ScriptedSegmentStt(["here"])
    away = await settled(with_service(free_port()))
    assert away.stt.streaming == "off" and stream_recogniser(away, local) is None
    assert isinstance(build_recogniser(away), FallbackSegmentStt)
    assert isinstance(build_voices(away), FallbackTts)
    told = await settled(with_service(free_port(), streaming="on"))
    assert isinstance(stream_recogniser(told, local), FallbackStt)
    assert isinstance(stream_recogniser(told, None), WyomingStt)
    assert not wants_partials(told)
    parts, server, address = await lend(simulated())
    try:
        assert (await settled(with_service(address.port))).stt.streaming == "off", "as our own server says"
        alone = await settled(with_service(address.port, fallback="none"))
        assert isinstance(build_recogniser(alone), WyomingSegmentStt)
    finally:
        await server.close()
        await parts.close()


async def test_the_daemon_speaks_with_the_voice_of_another(tmp_path: Path) -> None:
    parts = await load_parts(simulated(), lasting_timers=False)
    asked: list[str] = []

    def voices(language: str) -> TtsAdapter:
        asked.append(language)
        return parts.voices(language)

    server = WyomingServer(replace(await lent_by(parts), voices=voices))
    port = await server.open(Address("127.0.0.1", 0))
    try:
        async with house(tmp_path, with_service(port)) as home:
            room = await home.enter("device")
            assert "4" in await room.say("what is two plus two")
        assert asked == ["en"]
    finally:
        await server.close()
        await parts.close()
