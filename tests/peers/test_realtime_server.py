"""The realtime server with real ears and a real voice: the vendor's SDK and our own adapter as its clients."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI

from agents.base.errors import GloveError
from appliance.commands.serve import serving
from appliance.config.schema import GloveConfig
from appliance.session.build import Parts, load_parts
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence, wire_bytes
from audio.resample import resample
from audio.tts.hibari import HibariVoice
from realtime.s2s import events
from realtime.s2s.contract import SessionConfig
from realtime.s2s.create import create_s2s_adapter
from realtime.s2s.openai.messages import OpenAISettings
from realtime.s2s.turn_detection import ServerVad
from realtime.testing.sdk_types import check_openai_server
from tests.peers.environments import environment
from tests.support.echo import PLAY_RATE_HZ, synthesise

pytestmark = pytest.mark.realtime

TOKEN = "a token of enough letters"
TURNS = (
    ("What is seven times six?", "42"),
    ("What is one hundred minus one?", "99"),
    ("How many minutes are in two hours?", "120"),
)
"""What is said, and the number that the answer holds."""

PATIENCE_S = 120.0


@dataclass
class Served:
    parts: Parts
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def read_back(self, pcm: Pcm) -> str:
        """What our recogniser hears in ``pcm``, 24 kHz."""
        stt = self.parts.stt
        assert stt is not None
        padded = np.concatenate((resample(pcm, 24_000, CAPTURE_RATE_HZ), silence(CAPTURE_RATE_HZ // 2)))
        return (await stt.recognise(padded, "en")).text


@asynccontextmanager
async def served(token: str | None = None, **sections: dict[str, Any]) -> AsyncIterator[Served]:
    config = GloveConfig(
        **{  # type: ignore[arg-type]
            "store": {"path": "memory"},
            "model": {"provider": "none"},
            "speech": {"language": "en", "stt": "whisper-base", "tts": "hibari", "partials": False},
            "serve": {"port": 0},
            **sections,
        }
    )
    try:
        parts = await load_parts(config, lasting_timers=False)
    except GloveError as fault:
        pytest.skip(f"no ears or no voice: {fault.message}")
    try:
        async with serving(parts, config.serve, token) as port:
            yield Served(parts, port)
    finally:
        await parts.close()


async def speech(text: str) -> Pcm:
    """``text`` spoken, 24 kHz, with silence around it."""
    said = resample(await synthesise(lambda _: HibariVoice(), text), PLAY_RATE_HZ, 24_000)
    return np.concatenate((silence(12_000), said, silence(36_000)))


@dataclass
class Heard:
    """What came back of one turn."""

    transcript: str = ""
    answer: str = ""
    kinds: list[str] = field(default_factory=list[str])
    sound: list[bytes] = field(default_factory=list[bytes])

    @property
    def pcm(self) -> Pcm:
        return np.frombuffer(b"".join(self.sound), "<i2").astype(np.int16)


async def append(connection: Any, pcm: Pcm) -> None:
    for at in range(0, pcm.size, 4800):
        await connection.input_audio_buffer.append(audio=base64.b64encode(wire_bytes(pcm[at : at + 4800])).decode())


async def turn(connection: Any, pcm: Pcm) -> Heard:
    """Speak, and take in the answer. Every event is one of the SDK's, without fields that it does not know."""
    heard = Heard()
    speaking = asyncio.create_task(append(connection, pcm))
    async for event in connection:
        check_openai_server(event.to_dict())
        assert event.type != "error", event
        heard.kinds.append(event.type)
        if event.type == "conversation.item.input_audio_transcription.completed":
            heard.transcript = event.transcript
        elif event.type == "response.output_audio.delta":
            heard.sound.append(base64.b64decode(event.delta))
        elif event.type == "response.output_audio_transcript.done":
            heard.answer = event.transcript
        elif event.type == "rate_limits.updated":
            break
    await speaking
    return heard


def plain(text: str) -> str:
    """``text`` in small letters without marks, numbers in digits where they are small."""
    words = dict(zip("one two three six seven hundred".split(), "1 2 3 6 7 100".split(), strict=True))
    bare = re.findall(r"\w+", text.lower().replace("×", " times ").replace("one hundred", "100"))
    return " ".join(words.get(word, word) for word in bare)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("detection", ["server_vad", "semantic_vad"])
async def test_the_sdk_holds_a_spoken_conversation_of_three_turns(detection: str) -> None:
    async with asyncio.timeout(PATIENCE_S * 3), served(TOKEN) as server:
        client = AsyncOpenAI(api_key=TOKEN, base_url=server.url)
        async with client, client.realtime.connect(model="glove") as connection:
            hearing: Any = {"turn_detection": {"type": detection}, "transcription": {"model": "glove"}}
            await connection.session.update(session={"type": "realtime", "audio": {"input": hearing}})
            for said, number in TURNS:
                heard = await turn(connection, await speech(said))
                assert plain(heard.transcript) == plain(said)
                assert re.search(rf"\b{number}\b", heard.answer), heard.answer
                assert re.search(rf"\b{number}\b", await server.read_back(heard.pcm))


@pytest.mark.timeout(600)
async def test_our_own_adapter_talks_with_it() -> None:
    async with asyncio.timeout(PATIENCE_S), served() as server:
        settings = OpenAISettings(turn_detection=ServerVad())
        adapter = create_s2s_adapter("openai", base_url=server.url, settings=settings)
        told: list[events.S2SEvent] = []
        sound: list[Pcm] = []
        over: asyncio.Queue[events.ResponseDone] = asyncio.Queue()
        adapter.events.on(events.S2SEvent, told.append)
        adapter.events.on(events.AgentAudio, lambda event: sound.append(event.pcm))
        adapter.events.on(events.ResponseDone, over.put_nowait)
        await adapter.connect(SessionConfig("Be brief."))
        adapter.send_audio(await speech(TURNS[0][0]))
        done = await over.get()
        await adapter.disconnect()
        assert done.status == "completed"
        finals = [event.text for event in told if isinstance(event, events.UserTranscript) and event.final]
        assert [plain(text) for text in finals] == [plain(TURNS[0][0])]
        assert "42" in await server.read_back(np.concatenate(sound))


@pytest.mark.timeout(600)
async def test_a_client_of_somebody_else_talks_with_it() -> None:
    python = await asyncio.to_thread(environment, "livekit-plugins-openai==1.8.9")
    script = Path(__file__).with_name("livekit_realtime.py")
    async with asyncio.timeout(PATIENCE_S), served(TOKEN) as server:
        pcm = wire_bytes(await speech(TURNS[0][0]))
        process = await asyncio.create_subprocess_exec(
            python, script, server.url, TOKEN, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate(pcm)
        told = json.loads(out.splitlines()[-1])
        assert told["errors"] == []
        assert plain(told["transcript"]) == plain(TURNS[0][0])
        assert "42" in told["answer"]
        sound = np.frombuffer(base64.b64decode(told["sound"]), "<i2").astype(np.int16)
        assert "42" in await server.read_back(sound)
