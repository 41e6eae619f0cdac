"""Both adapters keep the contract, and the suite finds those that do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from audio.providers.socket import ConnectionEnded, LiveConnection, Target
from realtime.s2s.conformance import (
    CHECKS,
    CallsTool,
    EndsAnswer,
    ProviderDoes,
    Speaks,
    WritesDown,
    run_s2s_conformance,
)
from realtime.s2s.contract import S2SAdapter
from realtime.s2s.events import Interrupted
from realtime.s2s.gemini.adapter import GeminiLive
from realtime.s2s.gemini.messages import GeminiSettings
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.s2s.openai.messages import OpenAISettings
from realtime.testing import GeminiDialect, OpenAIDialect, gemini, openai
from realtime.testing.channel import MemoryChannel
from realtime.testing.dialect import Dialect, Told


class Provider:
    """One connection in memory; ``accept`` answers what a client begins with."""

    def __init__(self, dialect: Dialect) -> None:
        self.sent: list[str] = []
        self._dialect = dialect
        self._reading: asyncio.Task[None] | None = None

    async def dial(self, target: Target) -> LiveConnection:
        self._channel = MemoryChannel()
        self._reading = asyncio.create_task(self._read())
        await asyncio.sleep(0.05)
        return self._channel.client

    async def say(self, told: Told | Sequence[Told]) -> None:
        for message in [told] if isinstance(told, dict) else told:
            await self._channel.send(self._dialect.encode(message))

    async def close(self, code: int, reason: str) -> None:
        await self._channel.close(code, reason)

    async def stop(self) -> None:
        if self._reading is not None:
            await self._reading

    def answer(self, told: Told) -> list[Told]:
        raise NotImplementedError

    def frames(self, does: ProviderDoes) -> Sequence[Told]:
        raise NotImplementedError

    async def _read(self) -> None:
        try:
            while True:
                message = await self._channel.receive()
                told = self._dialect.decode(message)
                self.sent.append(json.dumps(told))
                await self.say(self.answer(told))
        except ConnectionEnded:
            return


class OpenAIProvider(Provider):
    def __init__(self) -> None:
        super().__init__(OpenAIDialect())
        self._number = 0
        self._open = False

    def answer(self, told: Told) -> list[Told]:
        if told["type"] == "session.update":
            return [openai.session_created(), openai.session_updated(told["session"])]
        if told["type"] == "conversation.item.create" and "id" in told["item"]:
            return [{"type": "conversation.item.added", "previous_item_id": None, "item": told["item"]}]
        return []

    def frames(self, does: ProviderDoes) -> Sequence[Told]:
        match does:
            case CallsTool(call_id, name, arguments):
                return openai.tool_calls([(call_id, name, arguments)])
            case WritesDown(text):
                return openai.user_turn(text)
            case Speaks(pcm):
                begin = [] if self._open else [openai.response_created(f"r{self._number}")]
                self._open = True
                return [*begin, *openai.speech(pcm, f"r{self._number}", f"i{self._number}")]
            case EndsAnswer():
                self._open = False
                self._number += 1
                return [openai.response_done(f"r{self._number - 1}", "cancelled")]


class GeminiProvider(Provider):
    def __init__(self) -> None:
        super().__init__(GeminiDialect())

    def answer(self, told: Told) -> list[Told]:
        return [gemini.setup_complete()] if "setup" in told else []

    def frames(self, does: ProviderDoes) -> Sequence[Told]:
        match does:
            case CallsTool(call_id, name, arguments):
                return [gemini.tool_calls([(call_id, name, json.loads(arguments))])]
            case WritesDown(text):
                half = len(text) // 2
                return [gemini.transcript(text[:half], finished=False), gemini.transcript(text[half:])]
            case Speaks(pcm):
                return gemini.speech(pcm)
            case EndsAnswer():
                return [gemini.interrupted(), gemini.turn_complete()]


class Bench:
    def __init__(self, adapter: S2SAdapter, provider: Provider) -> None:
        self.adapter = adapter
        self._provider = provider

    @property
    def sent(self) -> list[str]:
        return self._provider.sent

    async def provider(self, does: ProviderDoes) -> None:
        await self._provider.say(self._provider.frames(does))

    async def close(self, code: int, reason: str) -> None:
        await self._provider.close(code, reason)


def benches(make: Callable[[Any], S2SAdapter], kind: type[Provider]) -> Any:
    @asynccontextmanager
    async def bench() -> AsyncIterator[Bench]:
        provider = kind()
        yield Bench(make(provider.dial), provider)
        await provider.stop()

    return bench


MADE: dict[str, tuple[Callable[[Any], S2SAdapter], type[Provider]]] = {
    "openai": (lambda dial: OpenAIRealtime("k", dialler=dial), OpenAIProvider),
    "openai, manual": (
        lambda dial: OpenAIRealtime("k", OpenAISettings(turn_detection=None), dialler=dial),
        OpenAIProvider,
    ),
    "gemini": (lambda dial: GeminiLive("k", dialler=dial), GeminiProvider),
    "gemini, manual": (
        lambda dial: GeminiLive("k", GeminiSettings(activity_detection=None), dialler=dial),
        GeminiProvider,
    ),
}


@pytest.mark.parametrize("name", MADE)
async def test_it_keeps_the_contract(name: str) -> None:
    results = await run_s2s_conformance(benches(*MADE[name]))
    assert [result for result in results if not result.passed] == []
    assert len(results) == len(CHECKS) >= 9


class SilentInterrupt(OpenAIRealtime):
    def interrupt(self) -> None:
        if self._speaking:
            super().interrupt()


class NoHistory(GeminiLive):
    async def _begin(self, config: Any) -> Any:
        from dataclasses import replace

        return await super()._begin(replace(config, history=()))


class EndsTwice(OpenAIRealtime):
    async def disconnect(self) -> None:
        from realtime.s2s.events import Disconnected

        await super().disconnect()
        self.events.emit(Disconnected())


class StopsFirst(GeminiLive):
    def _silence_agent(self) -> None:
        self._spoken()
        self.events.emit(Interrupted())


@pytest.mark.parametrize(
    ("broken", "provider", "found"),
    [
        (SilentInterrupt, OpenAIProvider, {"always_says_that_it_is_interrupted"}),
        (NoHistory, GeminiProvider, {"replays_a_history_before_it_stands"}),
        (EndsTwice, OpenAIProvider, {"says_once_that_it_is_over", "tells_why_the_provider_has_gone"}),
        (StopsFirst, GeminiProvider, {"stops_an_answer_in_order"}),
    ],
)
async def test_the_suite_finds_what_is_broken(broken: Any, provider: type[Provider], found: set[str]) -> None:
    results = await run_s2s_conformance(benches(lambda dial: broken("k", dialler=dial), provider))
    failed = {result.name: result.error for result in results if not result.passed}
    assert set(failed) == found
    assert all(failed.values())
