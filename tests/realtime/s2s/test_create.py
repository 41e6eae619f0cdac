"""An adapter from arguments, environment and defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError, GloveError
from realtime.s2s.contract import S2SAdapter, SessionConfig
from realtime.s2s.create import create_s2s_adapter
from realtime.s2s.gemini.adapter import GeminiLive
from realtime.s2s.gemini.messages import GeminiSettings
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.s2s.openai.messages import OpenAISettings
from realtime.s2s.turn_detection import ActivityDetection, SemanticVad, ServerVad
from realtime.testing import GeminiDialect, OpenAIDialect, ScriptedPeer, UntilGone, gemini, openai

OPENAI = {"OPENAI_API_KEY": "sk-from-env"}
GEMINI = {"GEMINI_API_KEY": "g-from-env"}


def made(provider: str | None = None, environ: dict[str, str] | None = None, **more: Any) -> S2SAdapter:
    told = environ or {}
    return create_s2s_adapter(provider, environ=told, credentials=Credentials((), told), **more)


@pytest.mark.parametrize(
    ("argument", "environ", "kind"),
    [
        (None, OPENAI, OpenAIRealtime),
        (None, GEMINI, GeminiLive),
        (None, OPENAI | GEMINI, OpenAIRealtime),
        (None, OPENAI | GEMINI | {"S2S_PROVIDER": "gemini"}, GeminiLive),
        ("openai", OPENAI | GEMINI | {"S2S_PROVIDER": "gemini"}, OpenAIRealtime),
    ],
)
def test_the_provider(argument: str | None, environ: dict[str, str], kind: type[S2SAdapter]) -> None:
    assert type(made(argument, environ)) is kind


@pytest.mark.parametrize(
    ("argument", "environ", "code", "words"),
    [
        (None, {}, "ERR_S2S_PROVIDER", "S2S_PROVIDER"),
        ("acme", OPENAI, "ERR_S2S_PROVIDER", "acme"),
        ("openai-webrtc", OPENAI, "ERR_S2S_PROVIDER", "browsers"),
        ("gemini", OPENAI, "ERR_CREDENTIALS_MISSING", "GEMINI_API_KEY"),
        (None, GEMINI | {"S2S_PROVIDER": "openai"}, "ERR_CREDENTIALS_MISSING", "OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named_at_once(argument: str | None, environ: dict[str, str], code: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made(argument, environ)
    assert caught.value.code == code and words in str(caught.value)


def test_keys_of_systemd_and_files_count_as_well(tmp_path: Path) -> None:
    (tmp_path / "gemini_api_key").write_text("g-systemd")
    assert type(made(None, {"CREDENTIALS_DIRECTORY": str(tmp_path)})) is GeminiLive


@pytest.mark.parametrize("name", ["model", "voice"])
def test_arguments_before_settings_before_environment_before_defaults(name: str) -> None:
    def value(**more: Any) -> Any:
        environ = OPENAI | ({f"S2S_{name.upper()}": "env"} if more.pop("env", False) else {})
        adapter = made("openai", environ, **more)
        assert isinstance(adapter, OpenAIRealtime)
        return getattr(adapter.settings, name)

    settings = OpenAISettings.model_validate({name: "settings"})
    assert value(env=True, settings=settings, **{name: "argument"}) == "argument"
    assert value(env=True, settings=settings) == "settings"
    assert value(env=True, settings=OpenAISettings(language="ja")) == "env"
    assert value() == getattr(OpenAISettings(), name)


def test_the_version_of_geminis_interface() -> None:
    def version(environ: dict[str, str], **more: Any) -> str:
        adapter = made("gemini", GEMINI | environ, **more)
        assert isinstance(adapter, GeminiLive)
        return adapter.settings.api_version

    assert version({}) == "v1beta"
    assert version({"S2S_API_VERSION": "v1alpha"}) == "v1alpha"
    assert version({"S2S_API_VERSION": "v1alpha"}, api_version="v2") == "v2"


@pytest.mark.parametrize(
    ("environ", "more", "wanted"),
    [
        ({}, {}, SemanticVad()),
        ({"S2S_TURN_DETECTION": "server_vad"}, {}, ServerVad()),
        ({"S2S_TURN_DETECTION": "semantic_vad"}, {}, SemanticVad()),
        ({"S2S_TURN_DETECTION": "manual"}, {}, None),
        ({"S2S_TURN_DETECTION": "nonsense"}, {}, SemanticVad()),
        ({"S2S_TURN_DETECTION": "server_vad"}, {"turn_detection": None}, None),
        ({"S2S_TURN_DETECTION": "server_vad"}, {"settings": OpenAISettings(turn_detection=None)}, None),
    ],
)
def test_turn_detection_where_none_is_a_value(environ: dict[str, str], more: Any, wanted: Any) -> None:
    adapter = made("openai", OPENAI | environ, **more)
    assert isinstance(adapter, OpenAIRealtime) and adapter.settings.turn_detection == wanted
    assert adapter.manual_turns == (wanted is None)


@pytest.mark.parametrize(
    ("provider", "more"),
    [
        ("openai", {"turn_detection": ActivityDetection()}),
        ("gemini", {"turn_detection": ServerVad()}),
        ("openai", {"settings": GeminiSettings()}),
        ("gemini", {"settings": OpenAISettings()}),
    ],
)
def test_settings_of_the_other_provider_are_refused(provider: str, more: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        made(provider, OPENAI | GEMINI, **more)
    assert caught.value.code == "ERR_S2S_SETTING"


@pytest.mark.parametrize("address", ["ws://example.org/v1", "http://192.168.1.2/v1", "ftp://example.org", "nonsense"])
def test_nothing_is_said_over_the_network_in_the_open(address: str) -> None:
    with pytest.raises(GloveError) as caught:
        made("openai", OPENAI, base_url=address)
    assert caught.value.code == "ERR_S2S_ADDRESS"


@pytest.mark.parametrize("address", ["ws://127.0.0.1:9/v1", "http://localhost:9/v1/", "ws://[::1]:9/v1"])
def test_a_server_on_this_machine_needs_neither_key_nor_tls(address: str) -> None:
    assert type(made("openai", {"S2S_BASE_URL": address})) is OpenAIRealtime


async def test_key_and_voice_reach_openai() -> None:
    peer = ScriptedPeer(OpenAIDialect("sk-argument"), [*openai.accept(), UntilGone()])
    async with peer.in_memory() as dialler:
        adapter = made("openai", OPENAI | {"S2S_VOICE": "cedar"}, api_key="sk-argument", dialler=dialler)
        await adapter.connect(SessionConfig())
        await adapter.disconnect()
    assert peer.sessions[0].received[0]["session"]["audio"]["output"]["voice"] == "cedar"


async def test_key_and_model_reach_gemini() -> None:
    peer = ScriptedPeer(GeminiDialect("g-from-env"), [*gemini.accept(), UntilGone()])
    async with peer.in_memory() as dialler:
        adapter = made("gemini", GEMINI | {"S2S_MODEL": "gemini-x"}, dialler=dialler)
        await adapter.connect(SessionConfig())
        await adapter.disconnect()
    assert peer.sessions[0].received[0]["setup"]["model"] == "models/gemini-x"
