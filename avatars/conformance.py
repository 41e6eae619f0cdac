"""What every face must do, as checks that anybody can run against their own.

A *bench* is an asynchronous context that gives a face which is not connected, and says what its provider got. Checks
take seconds of waiting: run them on a virtual loop (``agents.base.clock.run_virtual``)::

    @asynccontextmanager
    async def bench():
        provider = MyFakeProvider()
        yield MyBench(MyAvatar(provider.send), provider)

    for result in await run_avatar_conformance(bench):
        assert result.passed, result.error

Passing shows that a face maps the wire as its bench has it, not that the provider has such a wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from agents.base.conformance import same, true
from audio.pcm import Pcm
from avatars.contract import (
    AvatarAdapter,
    AvatarEvent,
    Connected,
    Disconnected,
    UtteranceCut,
    UtteranceDone,
    ViewReady,
)

PATIENCE_S = 120.0
"""Longest time for one check, in seconds."""

SETTLE_S = 0.5
"""After so long everything that was sent has arrived."""

RATE_HZ = 24_000
SHORT_S = 1.0
OVER_S = 12.0
"""After so long an utterance of ``SHORT_S`` is over whether or not the face has said so."""


class AvatarBench(Protocol):
    """A face and its provider.

    Benches of faces that report playback may do so, as their provider would. Those that need somebody to look at them
    see to that.
    """

    @property
    def avatar(self) -> AvatarAdapter:
        """The one under test, not connected."""
        ...

    @property
    def outbound(self) -> Sequence[object]:
        """Everything that went out to the provider: messages, writes, commands, frames. It only grows."""
        ...


MakeBench: TypeAlias = Callable[[], AbstractAsyncContextManager[AvatarBench]]


@dataclass(frozen=True)
class CaseResult:
    """How one check went; ``error`` names the rule that was broken."""

    name: str
    passed: bool
    error: str | None = None


async def run_avatar_conformance(make: MakeBench) -> list[CaseResult]:
    """Run every check on a bench of its own. A check that breaks or takes too long has failed; the others still run."""
    return [await _run(check, make) for check in CHECKS]


async def _run(check: _Check, make: MakeBench) -> CaseResult:
    try:
        async with asyncio.timeout(PATIENCE_S), make() as bench:
            told: list[AvatarEvent] = []
            bench.avatar.events.on(AvatarEvent, told.append)
            try:
                await check(bench, told)
            finally:
                await bench.avatar.disconnect()
    except Exception as fault:  # noqa: BLE001 - whatever a face raises is its result
        return CaseResult(check.__name__, False, f"{check.__doc__} {fault or type(fault).__name__}")
    return CaseResult(check.__name__, True)


async def connecting_gives_a_view(bench: AvatarBench, told: _Told) -> None:
    """Nobody sees a face that has no view."""
    true(bench.avatar.view is None, "before it is connected there is no view")
    await bench.avatar.connect()
    view = bench.avatar.view
    true(view is not None and view.kind in ("webrtc-room", "sdk-session", "drawn"), "there is a view of a known kind")
    same([type(one) for one in told[:2]], [Connected, ViewReady], "connected and view_ready are told, in this order")
    same([one.view for one in told if isinstance(one, ViewReady)], [view], "view_ready has the view")
    await bench.avatar.connect()
    same(len(told), 2, "connecting again does nothing")


async def speech_reaches_the_provider(bench: AvatarBench, told: _Told) -> None:
    """A face that is not given the sound does not speak."""
    await bench.avatar.connect()
    before = len(bench.outbound)
    number = bench.avatar.send_audio(speech(0.1), RATE_HZ)
    bench.avatar.end_utterance()
    await asyncio.sleep(SETTLE_S)
    true(len(bench.outbound) > before, "sound goes out")
    true(number is not None and number >= 1, "the sound has the number of its utterance")


async def the_end_flushes_what_is_held(bench: AvatarBench, told: _Told) -> None:
    """The last syllable is in the buffer."""
    await bench.avatar.connect()
    before = len(bench.outbound)
    bench.avatar.send_audio(speech(0.01), RATE_HZ)
    bench.avatar.end_utterance()
    await asyncio.sleep(SETTLE_S)
    true(len(bench.outbound) > before, "ten milliseconds go out")


async def interrupting_is_always_safe(bench: AvatarBench, told: _Told) -> None:
    """A user interrupts whenever he likes."""
    bench.avatar.interrupt()
    await bench.avatar.connect()
    bench.avatar.interrupt()
    await asyncio.sleep(SETTLE_S)
    bench.avatar.send_audio(speech(2.0), RATE_HZ)
    await asyncio.sleep(SETTLE_S)
    before = len(bench.outbound)
    bench.avatar.interrupt()
    await asyncio.sleep(SETTLE_S)
    true(len(bench.outbound) > before, "an interruption in mid-speech reaches the provider")
    true((bench.avatar.unplayed_s or 0.0) == 0.0, "nothing is left to be played")


async def the_end_after_an_interruption_is_none(bench: AvatarBench, told: _Told) -> None:
    """Voices tell the end of what was interrupted as well, and after it."""
    await bench.avatar.connect()
    bench.avatar.send_audio(speech(2.0), RATE_HZ)
    await asyncio.sleep(SETTLE_S)
    bench.avatar.interrupt()
    await asyncio.sleep(SETTLE_S)
    before = len(bench.outbound)
    bench.avatar.end_utterance()
    await asyncio.sleep(OVER_S)
    same(len(bench.outbound), before, "nothing more goes out")
    same(_ends(told), [("utterance_cut", 1)], "the utterance was cut, once, and is never done")


async def speech_after_an_interruption_is_a_new_utterance(bench: AvatarBench, told: _Told) -> None:
    """What is said after an interruption belongs to nothing before it."""
    await bench.avatar.connect()
    first = bench.avatar.send_audio(speech(2.0), RATE_HZ)
    await asyncio.sleep(SETTLE_S)
    bench.avatar.interrupt()
    before = len(bench.outbound)
    second = bench.avatar.send_audio(speech(SHORT_S), RATE_HZ)
    bench.avatar.end_utterance()
    await asyncio.sleep(OVER_S)
    true(len(bench.outbound) > before, "its sound goes out")
    true(first is not None and second is not None and second > first, "its number is another")
    same(sorted(_ends(told)), [("utterance_cut", 1), ("utterance_done", 2)], "each ends in its own way, once")


async def each_utterance_ends_once_and_in_order(bench: AvatarBench, told: _Told) -> None:
    """A host waits for the end of an utterance; one that is told twice ends the next too early."""
    await bench.avatar.connect()
    numbers = [_say(bench.avatar) for _ in range(3)]
    await asyncio.sleep(3 * OVER_S)
    same(_ends(told), [("utterance_done", number) for number in numbers], "three utterances are done, in order")
    bench.avatar.end_utterance()
    await asyncio.sleep(OVER_S)
    same(len(_ends(told)), 3, "an end of nothing is none")


async def speech_of_another_rate_keeps_its_length(bench: AvatarBench, told: _Told) -> None:
    """Voices have their own rates; a wrong one is heard at once."""
    await bench.avatar.connect()
    bench.avatar.send_audio(speech(1.0, 16_000), 16_000)
    bench.avatar.end_utterance()
    left_s = bench.avatar.unplayed_s
    true(left_s is None or abs(left_s - 1.0) < 0.01, f"one second stays one second, not {left_s}")


async def renewing_goes_on(bench: AvatarBench, told: _Told) -> None:
    """Providers end sessions in mid-sentence."""
    await bench.avatar.connect()
    bench.avatar.send_audio(speech(3.0), RATE_HZ)
    await asyncio.sleep(SETTLE_S)
    await bench.avatar.renew()
    true(bench.avatar.is_connected and bench.avatar.view is not None, "a session stands, with a view")
    same(sum(isinstance(one, ViewReady) for one in told), 2, "the new view is told")
    before = len(bench.outbound)
    bench.avatar.send_audio(speech(SHORT_S), RATE_HZ)
    bench.avatar.end_utterance()
    await asyncio.sleep(OVER_S)
    true(len(bench.outbound) > before, "speech reaches the new session")


async def disconnecting_is_told_once(bench: AvatarBench, told: _Told) -> None:
    """What is over is over."""
    await bench.avatar.connect()
    bench.avatar.send_audio(speech(2.0), RATE_HZ)
    await bench.avatar.disconnect()
    await bench.avatar.disconnect()
    same([one for one in told if isinstance(one, Disconnected)], [Disconnected()], "disconnected is told once")
    true(isinstance(told[-1], Disconnected), "nothing is told after it")
    true(not bench.avatar.is_connected and bench.avatar.view is None, "there is no session and no view")
    count, before = len(told), len(bench.outbound)
    same(bench.avatar.send_audio(speech(SHORT_S), RATE_HZ), None, "sound goes nowhere")
    bench.avatar.end_utterance()
    bench.avatar.interrupt()
    await asyncio.sleep(OVER_S)
    same((len(told), len(bench.outbound)), (count, before), "nothing is told or sent without a session")


async def it_can_be_connected_again(bench: AvatarBench, told: _Told) -> None:
    """The next conversation has a face as well."""
    await bench.avatar.connect()
    _say(bench.avatar)
    await bench.avatar.disconnect()
    await bench.avatar.connect()
    before = len(bench.outbound)
    _say(bench.avatar)
    await asyncio.sleep(OVER_S)
    true(bench.avatar.is_connected and len(bench.outbound) > before, "the second session works like the first")


CHECKS: tuple[_Check, ...] = (
    connecting_gives_a_view,
    speech_reaches_the_provider,
    the_end_flushes_what_is_held,
    interrupting_is_always_safe,
    the_end_after_an_interruption_is_none,
    speech_after_an_interruption_is_a_new_utterance,
    each_utterance_ends_once_and_in_order,
    speech_of_another_rate_keeps_its_length,
    renewing_goes_on,
    disconnecting_is_told_once,
    it_can_be_connected_again,
)

_Told: TypeAlias = list[AvatarEvent]
_Check: TypeAlias = Callable[[AvatarBench, _Told], Awaitable[None]]


def speech(seconds: float, rate_hz: int = RATE_HZ) -> Pcm:
    """A tone of 200 Hz, as loud as speech."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    return (6000 * np.sin(2 * np.pi * 200 * at)).astype(np.int16)


def _say(avatar: AvatarAdapter) -> int | None:
    number = avatar.send_audio(speech(SHORT_S), RATE_HZ)
    avatar.end_utterance()
    return number


def _ends(told: _Told) -> list[tuple[str, int]]:
    return [(one.type, one.utterance) for one in told if isinstance(one, UtteranceDone | UtteranceCut)]
