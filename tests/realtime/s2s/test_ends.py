"""How sessions end, of either provider: every way is told once, with what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from audio.providers.socket import ConnectionRefused, LiveConnection, Target
from realtime.s2s import events
from realtime.s2s.contract import S2SError, SessionConfig
from realtime.s2s.gemini.adapter import GeminiLive
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.testing import (
    Close,
    Cut,
    Expect,
    GeminiDialect,
    OpenAIDialect,
    Refuse,
    Say,
    ScriptedPeer,
    Step,
    UntilGone,
    gemini,
    openai,
)
from tests.realtime.s2s.bench import Bench, tone


def bench_of(provider: str, *steps: Step, accept: bool = True) -> Bench:
    begin: Sequence[Step] = ()
    if provider == "openai":
        begin = openai.accept() if accept else ()
        peer = ScriptedPeer(OpenAIDialect(), [*begin, *steps])
        return Bench(peer, lambda dialler: OpenAIRealtime("secret-key", dialler=dialler))
    begin = gemini.accept() if accept else ()
    peer = ScriptedPeer(GeminiDialect(), [*begin, *steps])
    return Bench(peer, lambda dialler: GeminiLive("secret-key", dialler=dialler))


PROVIDERS = ("openai", "gemini")


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1008, 1011])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_end_that_nobody_wanted_is_worth_another_session(provider: str, code: int) -> None:
    """Case E30: whatever the code, an agent that is cut off says so."""
    step = Cut() if code == 1006 else Close(code, "bye, secret-key")
    async with bench_of(provider, step) as b:
        await b.connect()
        over = await b.seen(events.Disconnected)
        assert not b.adapter.is_connected
    assert over.code == code
    assert isinstance(over.fault, S2SError) and over.fault.code == "ERR_S2S_DISCONNECTED" and not over.fault.lasting
    assert "secret-key" not in f"{over.reason} {over.fault}"
    assert len(b.of(events.Disconnected)) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("status", "code", "lasting"),
    [
        (401, "ERR_S2S_AUTH", True),
        (403, "ERR_S2S_AUTH", True),
        (404, "ERR_S2S_REQUEST", True),
        (429, "ERR_S2S_LIMIT", False),
        (503, "ERR_S2S_CONNECTION", False),
    ],
)
async def test_a_refused_handshake_says_what_to_do(provider: str, status: int, code: str, lasting: bool) -> None:
    async with bench_of(provider, Refuse(status, "no secret-key"), accept=False) as b:
        with pytest.raises(S2SError) as caught:
            await b.connect()
    fault = caught.value
    assert (fault.code, fault.lasting) == (code, lasting)
    assert "secret-key" not in str(fault) and b.kinds() == []


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_provider_that_never_answers_is_given_up(provider: str) -> None:
    first = "session.update" if provider == "openai" else "setup"
    async with bench_of(provider, Expect(first), UntilGone(), accept=False) as b:
        with pytest.raises(S2SError) as caught:
            await b.connect()
        await b.idle()
    assert caught.value.code == "ERR_S2S_CONNECTION"


async def test_nobody_there() -> None:
    async def dialler(target: Target) -> LiveConnection:
        raise ConnectionRefused(None, "OSError")

    adapter = OpenAIRealtime("k", dialler=dialler)
    with pytest.raises(S2SError) as caught:
        await adapter.connect(SessionConfig())
    assert caught.value.code == "ERR_S2S_CONNECTION" and not caught.value.lasting
    with pytest.raises(RuntimeError):
        await adapter.connect(SessionConfig())


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("after_s", [0.01, 0.06, 0.5])
async def test_connecting_can_be_given_up_at_any_moment(provider: str, after_s: float) -> None:
    """What is disconnected while it is opened leaves nothing open, and tells nothing."""
    first = "session.update" if provider == "openai" else "setup"
    asked = after_s > 0.05
    async with bench_of(provider, *([Expect(first)] if asked else []), UntilGone(), accept=False) as b:
        connecting = b.start_connecting()
        await asyncio.sleep(after_s)
        await b.adapter.disconnect()
        with pytest.raises(S2SError):
            await connecting
    assert b.kinds() == [] and len(b.peer.sessions) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_cancelled_connecting_closes_what_it_has_opened(provider: str) -> None:
    first = "session.update" if provider == "openai" else "setup"
    async with bench_of(provider, Expect(first), UntilGone(), accept=False) as b:
        connecting = b.start_connecting()
        await asyncio.sleep(1)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        await asyncio.sleep(0.1)
        assert not b.peer.sessions[0].left, "the connection is closed"
    assert b.kinds() == []


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_listener_may_end_the_session_from_within_an_event(provider: str) -> None:
    says: Any = openai if provider == "openai" else gemini
    async with bench_of(provider, Say(says.answer("Bye.", tone(0.2, 24_000))), UntilGone()) as b:
        ends: list[asyncio.Task[None]] = []
        b.adapter.events.on(events.AgentAudio, lambda _: ends.append(asyncio.ensure_future(b.adapter.disconnect())))
        await b.connect()
        await b.seen(events.Disconnected)
        await b.idle()
        await asyncio.gather(*ends)
    assert b.kinds()[-1] == "disconnected" and b.kinds().count("disconnected") == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_connection_that_takes_nothing_drops_the_oldest_sound_and_counts_it(provider: str) -> None:
    async with bench_of(provider, UntilGone()) as b:
        await b.connect()
        rate_hz = b.adapter.input_format.rate_hz
        # Without a turn of the loop nothing leaves.
        b.adapter.send_audio(tone(40.0, rate_hz))
        assert b.adapter.dropped_samples == 10 * rate_hz
        await b.idle()
    assert b.peer.sessions[0].heard_samples == 30 * rate_hz
