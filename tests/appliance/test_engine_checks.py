"""What the doctor and the configuration say of a realtime model: its key, and whether it takes a session."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable

import pytest

from appliance.commands import checks
from appliance.config.schema import GloveConfig
from appliance.session.realtime_engine import engine_secrets
from realtime.testing import Expect, GeminiDialect, OpenAIDialect, Say, ScriptedPeer, UntilGone, gemini, openai
from tests.appliance.conftest import Ended

Glove = Callable[..., Ended]
SECRET = "sk-a-secret-of-mine"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "S2S_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def config(kind: str, url: str = "", **s2s: str) -> GloveConfig:
    return GloveConfig(engine={"kind": kind}, s2s={"url": url, **s2s})  # type: ignore[arg-type]


def test_the_cascade_has_nothing_to_reach() -> None:
    assert checks.engine(GloveConfig()).state == "ok"


@pytest.mark.parametrize("kind", ["openai", "gemini"])
def test_a_missing_key_is_a_fault_that_names_it(kind: str) -> None:
    finding = checks.engine(config(kind))
    assert finding.state == "fault" and f"{kind.upper()}_API_KEY" in (finding.remedy or "")


def test_a_setting_of_another_provider_is_a_fault() -> None:
    finding = checks.engine(config("gemini", turn_detection="semantic_vad"))
    assert finding.state == "fault" and "s2s.turn_detection" in (finding.remedy or "")


@pytest.mark.realtime
@pytest.mark.parametrize("kind", ["openai", "gemini"])
async def test_a_service_that_takes_a_session_is_well(kind: str) -> None:
    steps = openai.accept() if kind == "openai" else gemini.accept()
    peer = ScriptedPeer(OpenAIDialect() if kind == "openai" else GeminiDialect(), [*steps, UntilGone()])
    async with peer.serve() as address:
        finding = await asyncio.to_thread(checks.engine, config(kind, f"{address}/v1" if kind == "openai" else address))
        assert finding.state == "ok" and address in finding.message
        await peer.sessions[0].gone()


@pytest.mark.realtime
async def test_a_service_that_refuses_the_model_is_a_fault() -> None:
    refusal = openai.error("No such model.", "model_not_found")
    script = [Say(openai.session_created()), Expect("session.update"), Say(refusal), UntilGone()]
    peer = ScriptedPeer(OpenAIDialect(), script)
    async with peer.serve() as address:
        finding = await asyncio.to_thread(checks.engine, config("openai", f"{address}/v1"))
        assert finding.state == "fault" and "No such model" in finding.message


@pytest.mark.realtime
async def test_a_service_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "REACHED_S", 0.2)
    peer = ScriptedPeer(OpenAIDialect(), [Expect("session.update"), UntilGone()])
    async with peer.serve() as address:
        finding = await asyncio.to_thread(checks.engine, config("openai", f"{address}/v1"))
    assert finding.state == "warning" and "0.2 s" in finding.message


def test_nobody_there_is_a_warning_because_the_cascade_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        finding = checks.engine(config("openai", f"ws://127.0.0.1:{taken.getsockname()[1]}/v1"))
    assert finding.state == "warning" and "cascade" in finding.message and finding.remedy


def test_a_service_on_this_machine_needs_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_secrets(GloveConfig()) == ()
    assert engine_secrets(config("openai")) == ("openai_api_key",)
    assert engine_secrets(config("gemini", "wss://example.org")) == ("gemini_api_key",)
    assert engine_secrets(config("openai", "ws://127.0.0.1:8790/v1")) == ()
    monkeypatch.setenv("S2S_BASE_URL", "ws://localhost:8790/v1")
    assert engine_secrets(config("openai")) == ()


def test_the_configuration_says_whether_the_key_is_there_and_never_shows_it(
    glove: Glove, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOVE_ENGINE__KIND", "gemini")
    assert json.loads(glove("config", "show", "--json").out)["secrets"]["gemini_api_key"] == "not set"
    monkeypatch.setenv("GEMINI_API_KEY", SECRET)
    ended = glove("config", "show")
    assert "gemini_api_key set" in ended.out and SECRET not in ended.out + ended.err
