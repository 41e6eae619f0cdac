"""The scripted realtime peers on real sockets: the vendors' own SDKs and the adapters as their clients."""

from __future__ import annotations

import asyncio
import base64
import datetime
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agents.base import clock
from realtime.s2s import events
from realtime.s2s.contract import S2SAdapter, SessionConfig
from realtime.s2s.create import create_s2s_adapter
from realtime.testing import (
    Close,
    Cut,
    Deaf,
    Expect,
    GeminiDialect,
    Hear,
    OpenAIDialect,
    Say,
    ScriptedPeer,
    Step,
    UntilGone,
    gemini,
    openai,
)
from tests.realtime.s2s.bench import tone

pytestmark = pytest.mark.realtime

SPEECH = tone(0.5, 24_000)
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for localhost that it has signed itself, and a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = clock.wall()
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    crt, pem = folder / "cert.pem", folder / "key.pem"
    crt.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, pem)
    return crt, context


async def test_the_openai_sdk_holds_a_conversation_with_the_peer() -> None:
    from openai import AsyncOpenAI

    script = [
        Say(openai.session_created()),
        Expect("session.update", {"session.instructions": "Be brief."}),
        Say(lambda session: openai.session_updated(session.last["session"])),
        Hear(24_000),
        Say(openai.user_turn("Weather?"), openai.tool_calls([("c1", "weather", '{"city": "Paris"}')])),
        *openai.store_items(),
        Expect("response.create"),
        Say(openai.answer("Rain.", SPEECH, "r2")),
        UntilGone(),
    ]
    peer = ScriptedPeer(OpenAIDialect("sk-x"), script)
    kinds: list[str] = []
    sound = b""
    async with asyncio.timeout(PATIENCE_S), peer.serve() as address:
        client = AsyncOpenAI(api_key="sk-x", base_url=address.replace("ws", "http") + "/v1")
        async with client, client.realtime.connect(model="gpt-realtime") as connection:
            await connection.session.update(session={"type": "realtime", "instructions": "Be brief."})
            await connection.input_audio_buffer.append(audio=base64.b64encode(bytes(48_000)).decode())
            async for event in connection:
                kinds.append(event.type)
                if event.type == "response.function_call_arguments.done":
                    assert (event.name, event.arguments) == ("weather", '{"city": "Paris"}')
                    await connection.conversation.item.create(
                        item={"type": "function_call_output", "call_id": event.call_id, "output": "rain"}
                    )
                    await connection.response.create()
                if event.type == "response.output_audio.delta":
                    sound += base64.b64decode(event.delta)
                if event.type == "response.done" and event.response.id == "r2":
                    break
    assert kinds[:2] == ["session.created", "session.updated"]
    assert "conversation.item.input_audio_transcription.completed" in kinds
    assert np.array_equal(np.frombuffer(sound, "<i2"), SPEECH)


@pytest.mark.parametrize("version", [None, "v1beta"])
async def test_the_genai_sdk_holds_a_conversation_with_the_peer(
    version: str | None, certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    from google import genai
    from google.genai import types

    path, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    script = [
        Expect("setup", {"setup.systemInstruction.parts.0.text": "Be brief."}),
        Say(gemini.setup_complete()),
        Expect("clientContent", {"clientContent.turns.0.parts.0.text": "Weather?"}),
        Say(gemini.tool_calls([("f1", "weather", {"city_name": "Paris"})])),
        Expect("toolResponse", {"toolResponse.functionResponses.0.id": "f1"}),
        Say(gemini.answer("Rain.", SPEECH)),
        Hear(16_000),
        Say(gemini.transcript("Stop."), gemini.interrupted(), gemini.go_away(5), gemini.resumption("h1")),
        Say(gemini.turn_complete()),
        UntilGone(),
    ]
    peer = ScriptedPeer(GeminiDialect("g-x"), script)
    sound, told = b"", list[Any]()
    async with asyncio.timeout(PATIENCE_S), peer.serve(context) as address:
        options = types.HttpOptions(base_url=address.replace("wss", "https"), api_version=version)
        client = genai.Client(api_key="g-x", http_options=options)
        config: Any = {
            "response_modalities": ["AUDIO"],
            "system_instruction": "Be brief.",
            "session_resumption": {},
            "output_audio_transcription": {},
            "realtime_input_config": {"automatic_activity_detection": {"silence_duration_ms": 450}},
            "tools": [{"function_declarations": [{"name": "weather", "parameters": {"type": "OBJECT"}}]}],
        }
        async with client.aio.live.connect(model="gemini-live-x", config=config) as session:
            await session.send_client_content(turns={"role": "user", "parts": [{"text": "Weather?"}]})
            async for message in session.receive():
                sound += message.data or b""
                if message.tool_call and message.tool_call.function_calls:
                    assert message.tool_call.function_calls[0].args == {"city_name": "Paris"}
                    await session.send_tool_response(
                        function_responses=[types.FunctionResponse(id="f1", name="weather", response={"ok": 1})]
                    )
            await session.send_realtime_input(audio=types.Blob(data=bytes(32_000), mime_type="audio/pcm;rate=16000"))
            async for message in session.receive():
                told += [message.go_away and message.go_away.time_left]
                told += [message.session_resumption_update and message.session_resumption_update.new_handle]
    assert np.array_equal(np.frombuffer(sound, "<i2"), SPEECH)
    assert [one for one in told if one] == ["5s", "h1"]


def adapter_of(provider: str, address: str) -> S2SAdapter:
    return create_s2s_adapter(provider, api_key="k", base_url=address)


def peer_of(provider: str, *steps: Step) -> ScriptedPeer:
    if provider == "openai":
        return ScriptedPeer(OpenAIDialect("k"), [*openai.accept(), *steps])
    return ScriptedPeer(GeminiDialect("k"), [*gemini.accept(), *steps])


def answer_of(provider: str) -> Sequence[Any]:
    return openai.answer("Hello.", SPEECH) if provider == "openai" else gemini.answer("Hello.", SPEECH)


@pytest.mark.parametrize("provider", ["openai", "gemini"])
async def test_an_adapter_talks_over_a_real_socket(provider: str) -> None:
    peer = peer_of(provider, Hear(8000), Say(answer_of(provider)), UntilGone())
    async with asyncio.timeout(PATIENCE_S), peer.serve() as address:
        adapter = adapter_of(provider, address)
        done = asyncio.get_running_loop().create_future()
        sound: list[Any] = []
        adapter.events.on(events.AgentAudio, lambda event: sound.append(event.pcm))
        adapter.events.on(events.ResponseDone, done.set_result)
        await adapter.connect(SessionConfig())
        adapter.send_audio(tone(0.5, adapter.input_format.rate_hz))
        await done
        await adapter.disconnect()
        await peer.sessions[0].gone()
    assert np.array_equal(np.concatenate(sound), SPEECH)


@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize("step", [Close(1001, "restart"), Close(1011, "trouble"), Cut()], ids=repr)
async def test_an_end_of_a_real_socket_is_told(provider: str, step: Step) -> None:
    peer = peer_of(provider, step)
    async with asyncio.timeout(PATIENCE_S), peer.serve() as address:
        adapter = adapter_of(provider, address)
        over: asyncio.Future[events.Disconnected] = asyncio.get_running_loop().create_future()
        adapter.events.on(events.Disconnected, over.set_result)
        await adapter.connect(SessionConfig())
        told = await over
        await adapter.disconnect()
    assert told.code == (step.code if isinstance(step, Close) else 1006)
    assert told.fault is not None and told.fault.code == "ERR_S2S_DISCONNECTED"


@pytest.mark.parametrize("provider", ["openai", "gemini"])
async def test_a_deaf_server_does_not_keep_a_session_from_closing(provider: str) -> None:
    peer = peer_of(provider, Deaf())
    async with asyncio.timeout(PATIENCE_S), peer.serve() as address:
        adapter = adapter_of(provider, address)
        await adapter.connect(SessionConfig())
        await adapter.disconnect()
        assert not adapter.is_connected
