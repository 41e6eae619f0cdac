"""What every speech-to-speech adapter must do, as checks that anybody can run against their own.

A *bench* is an asynchronous context that gives an adapter which is not connected, and a provider. The suite asks the
provider for things in its own words, and the bench translates them into the frames of the real wire; the adapter never
sees the words::

    @asynccontextmanager
    async def bench():
        provider = MyFakeProvider()
        yield MyBench(MyAdapter(dialler=provider.dial), provider)

    for result in await run_s2s_conformance(bench):
        assert result.passed, result.error

Passing shows that an adapter maps the wire as its bench has it, not that the provider has such a wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agents.base.conformance import same, true
from audio.pcm import Pcm
from realtime.s2s import events
from realtime.s2s.contract import HistoryItem, S2SAdapter, SessionConfig, ToolSpec

PATIENCE_S = 30.0
"""Longest time for one check, in seconds."""

SETTLE_S = 0.3
"""After so long everything that was sent has arrived."""

CONFIG = SessionConfig(
    "Speak like a lighthouse keeper.",
    tools=(ToolSpec("ring_bell", "Rings the fog bell.", {"type": "object", "properties": {}}),),
)


@dataclass(frozen=True)
class CallsTool:
    """The model answers with one call of a tool; ``arguments`` is JSON."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class WritesDown:
    """The provider has written down what the user said, in two pieces or more, and is sure of it."""

    text: str


@dataclass(frozen=True)
class Speaks:
    """The model begins an answer, or goes on with one, and these samples of it come, at the adapter's output rate."""

    pcm: Pcm


@dataclass(frozen=True)
class EndsAnswer:
    """The answer has ended, by itself or because the client wanted it to."""


ProviderDoes = CallsTool | WritesDown | Speaks | EndsAnswer
"""What the suite asks of a provider."""


class S2SBench(Protocol):
    """An adapter and its provider."""

    @property
    def adapter(self) -> S2SAdapter:
        """The one under test, not connected."""
        ...

    @property
    def sent(self) -> Sequence[str]:
        """Everything that the adapter has sent to the provider, as text, oldest first."""
        ...

    async def provider(self, does: ProviderDoes) -> None:
        """Send the frames of that."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Close the connection from the provider's side; 1006 breaks it."""
        ...


MakeBench = Callable[[], AbstractAsyncContextManager[S2SBench]]


@dataclass(frozen=True)
class CaseResult:
    """How one check went; ``error`` names the rule that was broken."""

    name: str
    passed: bool
    error: str | None = None


async def run_s2s_conformance(make: MakeBench) -> list[CaseResult]:
    """Run every check on a bench of its own. A check that breaks or takes too long has failed; the others still run."""
    return [await _run(check, make) for check in CHECKS]


async def _run(check: _Check, make: MakeBench) -> CaseResult:
    try:
        async with asyncio.timeout(PATIENCE_S), make() as bench:
            told: list[events.S2SEvent] = []
            bench.adapter.events.on(events.S2SEvent, told.append)
            try:
                await check(bench, told)
            finally:
                await bench.adapter.disconnect()
    except Exception as fault:  # noqa: BLE001 - whatever an adapter raises is its result
        return CaseResult(check.__name__, False, f"{check.__doc__} {fault or type(fault).__name__}")
    return CaseResult(check.__name__, True)


async def declares_what_it_is(bench: S2SBench, told: _Told) -> None:
    """A host refuses what does not fit at its start, so mode, rates and limits are declared."""
    adapter = bench.adapter
    true(adapter.mode in ("transport", "device"), "the mode is one of the two")
    true(bool(adapter.provider), "the provider has a name")
    for sound in (adapter.input_format, adapter.output_format):
        true(8000 <= sound.rate_hz <= 48_000 and sound.channels == 1, "sound is mono at a usual rate")
    limit_s = adapter.capabilities.session_limit_s
    true(limit_s is None or limit_s > 0, "a limit of sessions is some time")


async def sends_instructions_and_tools(bench: S2SBench, told: _Told) -> None:
    """Without them the model is another agent."""
    await bench.adapter.connect(CONFIG)
    out = "".join(bench.sent)
    for wanted in (CONFIG.instructions, CONFIG.tools[0].name, CONFIG.tools[0].description):
        true(wanted in out, f"{wanted!r} is sent on connecting")


async def replays_a_history_before_it_stands(bench: S2SBench, told: _Told) -> None:
    """A session that replaces another knows the conversation, in order, and says nothing of itself."""
    history = (HistoryItem("user", "My boat is blue."), HistoryItem("assistant", "Blue it is."))
    await bench.adapter.connect(SessionConfig(history=history))
    await asyncio.sleep(SETTLE_S)
    out = "".join(bench.sent)
    places = [out.find(item.text) for item in history]
    true(0 <= places[0] < places[1], "the history is sent in order")
    same(_kinds(told), ["connected"], "a history asks for no answer")


async def tells_a_tool_call_once(bench: S2SBench, told: _Told) -> None:
    """A call that is told twice is run twice."""
    await bench.adapter.connect(CONFIG)
    await bench.provider(CallsTool("call-7", "ring_bell", '{"times": 2}'))
    call = await _next(told, events.ToolCall)
    await asyncio.sleep(SETTLE_S)
    same(len(_of(told, events.ToolCall)), 1, "one call is one event")
    same((call.call_id, call.name), ("call-7", "ring_bell"), "the call has its id and the name of the tool")
    true('"times"' in call.arguments and "2" in call.arguments, "the call has its arguments as JSON")


async def answers_a_tool_call(bench: S2SBench, told: _Told) -> None:
    """The model is silent until it gets a result with the same id."""
    await bench.adapter.connect(CONFIG)
    await bench.provider(CallsTool("call-7", "ring_bell", "{}"))
    await _next(told, events.ToolCall)
    before = len(bench.sent)
    bench.adapter.send_tool_result("call-7", {"heard": "ding dong"})
    await asyncio.sleep(SETTLE_S)
    out = "".join(bench.sent[before:])
    true("call-7" in out and "ding dong" in out, "the result goes out with the id of the call")
    before = len(bench.sent)
    bench.adapter.send_tool_result("call-7", "again")
    bench.adapter.send_tool_result("call-unknown", "nobody asked")
    await asyncio.sleep(SETTLE_S)
    same(len(bench.sent), before, "what nobody waits for is not sent")


async def tells_what_the_user_said(bench: S2SBench, told: _Told) -> None:
    """Only the whole utterance is final, and it comes once."""
    await bench.adapter.connect(CONFIG)
    await bench.provider(WritesDown("Is there fog tonight?"))
    await asyncio.sleep(SETTLE_S)
    finals = [one.text for one in _of(told, events.UserTranscript) if one.final]
    same(finals, ["Is there fog tonight?"], "the utterance is final once")


async def hands_over_speech_as_it_is(bench: S2SBench, told: _Told) -> None:
    """Sound that is changed on the way is heard."""
    if bench.adapter.mode == "device":
        return
    pcm = np.array([0, 1, -1, 32767, -32768, 1234], np.int16)
    await bench.adapter.connect(CONFIG)
    await bench.provider(Speaks(pcm))
    audio = await _next(told, events.AgentAudio)
    same(audio.pcm.tolist(), pcm.tolist(), "samples arrive as they are")
    same(audio.rate_hz, bench.adapter.output_format.rate_hz, "at the declared rate")
    kinds = _kinds(told)
    true(kinds.index("agent_speech_started") < kinds.index("audio"), "speech is announced before it comes")


async def takes_the_users_sound(bench: S2SBench, told: _Told) -> None:
    """A transport takes sound of any length, and what comes while it connects is kept; a device has its own."""
    adapter = bench.adapter
    if adapter.mode == "device":
        await adapter.connect(CONFIG)
        try:
            adapter.send_audio(_sound(adapter, 0.01))
        except RuntimeError:
            return
        raise AssertionError("a device refuses sound")
    connecting = asyncio.ensure_future(adapter.connect(CONFIG))
    await asyncio.sleep(0)
    if not adapter.manual_turns:
        adapter.send_audio(_sound(adapter, 0.1))
    await connecting
    await asyncio.sleep(SETTLE_S)
    held = len(bench.sent)
    if adapter.manual_turns:
        adapter.begin_turn()
    for seconds in (0.0, 0.01, 1.0):
        adapter.send_audio(_sound(adapter, seconds))
    await asyncio.sleep(SETTLE_S)
    true(len(bench.sent) > held, "sound is sent")


async def always_says_that_it_is_interrupted(bench: S2SBench, told: _Told) -> None:
    """Speech plays at the host long after the provider has sent it, so there is always something to stop."""
    await bench.adapter.connect(CONFIG)
    bench.adapter.interrupt()
    same(len(_of(told, events.Interrupted)), 1, "with nothing under way")
    await bench.adapter.disconnect()
    bench.adapter.interrupt()
    same(len(_of(told, events.Interrupted)), 2, "after the session, whose speech may still play")


async def stops_an_answer_in_order(bench: S2SBench, told: _Told) -> None:
    """The player is emptied first; what still comes of the answer is dropped; the next answer is heard."""
    adapter = bench.adapter
    if adapter.mode == "device":
        return
    await adapter.connect(CONFIG)
    await bench.provider(Speaks(_speech(adapter)))
    await _next(told, events.AgentAudio)
    adapter.interrupt()
    kinds = _kinds(told)
    true(
        "agent_speech_stopped" in kinds and kinds.index("interrupted") < kinds.index("agent_speech_stopped"),
        "interrupted comes before agent_speech_stopped",
    )
    await bench.provider(Speaks(_speech(adapter)))
    await bench.provider(EndsAnswer())
    await asyncio.sleep(SETTLE_S)
    same(len(_of(told, events.AgentAudio)), 1, "what comes late is dropped")
    await bench.provider(Speaks(_speech(adapter)))
    await asyncio.sleep(SETTLE_S)
    same(len(_of(told, events.AgentAudio)), 2, "the next answer is heard")


async def says_once_that_it_is_over(bench: S2SBench, told: _Told) -> None:
    """A host that is told twice opens two sessions."""
    adapter = bench.adapter
    true(not adapter.is_connected, "it is not connected before connect")
    await adapter.connect(CONFIG)
    true(adapter.is_connected, "it is connected after connect")
    await adapter.disconnect()
    await adapter.disconnect()
    true(not adapter.is_connected, "it is not connected after disconnect")
    same([one.fault for one in _of(told, events.Disconnected)], [None], "a wanted end is told once, without a fault")
    sent = len(bench.sent)
    if adapter.mode == "transport":
        adapter.send_audio(_sound(adapter, 0.1))
    adapter.inject_text("Anybody there?", respond=True)
    adapter.respond()
    await asyncio.sleep(SETTLE_S)
    same(len(bench.sent), sent, "afterwards nothing is sent, and nothing is raised")


async def tells_why_the_provider_has_gone(bench: S2SBench, told: _Told) -> None:
    """An agent that falls silent without a word is the worst of all."""
    await bench.adapter.connect(CONFIG)
    await bench.close(1011, "internal trouble")
    over = await _next(told, events.Disconnected)
    true(over.fault is not None and over.fault.code == "ERR_S2S_DISCONNECTED", "an unwanted end has a fault")
    true("internal trouble" in f"{over.reason} {over.fault}", "the provider's words are passed on")
    await bench.adapter.disconnect()
    same(len(_of(told, events.Disconnected)), 1, "it is told once")


async def has_a_successor_of_its_own(bench: S2SBench, told: _Told) -> None:
    """An adapter is one connection; the next has the same settings, and listeners of its own."""
    adapter = bench.adapter
    adapter.heard_ms = {"x": 1.0}.get
    await adapter.connect(CONFIG)
    try:
        await adapter.connect(CONFIG)
    except RuntimeError:
        pass
    else:
        raise AssertionError("an adapter is connected once")
    successor = adapter.successor()
    true(type(successor) is type(adapter) and successor is not adapter, "the successor is another one of its kind")
    same(successor.is_connected, False, "the successor is not connected")
    same(successor.events.listener_count, 0, "the successor has no listeners")
    same(successor.manual_turns, adapter.manual_turns, "the successor has the same settings")
    true(successor.heard_ms is adapter.heard_ms, "the successor asks the same player")


_Told = list[events.S2SEvent]
_Check = Callable[[S2SBench, _Told], Awaitable[None]]

CHECKS: tuple[_Check, ...] = (
    declares_what_it_is,
    sends_instructions_and_tools,
    replays_a_history_before_it_stands,
    tells_a_tool_call_once,
    answers_a_tool_call,
    tells_what_the_user_said,
    hands_over_speech_as_it_is,
    takes_the_users_sound,
    always_says_that_it_is_interrupted,
    stops_an_answer_in_order,
    says_once_that_it_is_over,
    tells_why_the_provider_has_gone,
    has_a_successor_of_its_own,
)


def _kinds(told: _Told) -> list[str]:
    return [event.type for event in told]


def _of(told: _Told, kind: type[events.E]) -> list[events.E]:
    return [event for event in told if isinstance(event, kind)]


async def _next(told: _Told, kind: type[events.E]) -> events.E:
    """The first event of ``kind``."""
    while not _of(told, kind):
        await asyncio.sleep(0.01)
    return _of(told, kind)[0]


def _sound(adapter: S2SAdapter, seconds: float) -> Pcm:
    return _tone(round(seconds * adapter.input_format.rate_hz))


def _speech(adapter: S2SAdapter) -> Pcm:
    return _tone(adapter.output_format.rate_hz // 10)


def _tone(samples: int) -> Pcm:
    return (3000 * np.sin(np.arange(samples) / 12)).astype(np.int16)
