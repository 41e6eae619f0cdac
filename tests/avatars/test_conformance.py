from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agents.base.clock import run_virtual
from audio.pcm import Pcm
from avatars.cloud import CloudAvatar
from avatars.conformance import CHECKS, run_avatar_conformance
from avatars.contract import UtteranceDone
from avatars.unplayed import Utterance
from tests.avatars.bench import BENCHES, Bench, Page, tavus_echo
from tests.avatars.tavus_service import TavusService


@pytest.mark.parametrize("name", BENCHES)
def test_every_face_keeps_the_contract(name: str) -> None:
    results = run_virtual(run_avatar_conformance(BENCHES[name]))
    assert [one.error for one in results if not one.passed] == []
    assert len(results) == len(CHECKS) == 11


def _forgets_to_flush(avatar: CloudAvatar) -> None:
    avatar._deliver_end = lambda utterance: avatar._tell(utterance, UtteranceDone(utterance.number))


def _ends_twice(avatar: CloudAvatar) -> None:
    end = avatar._deliver_end

    def twice(utterance: Utterance) -> None:
        end(utterance)
        avatar.events.emit(UtteranceDone(utterance.number))

    avatar._deliver_end = twice


def _ignores_interruptions(avatar: CloudAvatar) -> None:
    avatar._deliver_cut = lambda cut: avatar._tell_cut(cut)


def _believes_every_rate(avatar: CloudAvatar) -> None:
    send = avatar.send_audio
    avatar.send_audio = lambda pcm, rate_hz: send(pcm, 24_000)


def _speaks_without_a_session(avatar: CloudAvatar) -> None:
    def send(pcm: Pcm, rate_hz: int) -> int | None:
        utterance = avatar._unplayed.begin()
        avatar._deliver(utterance, pcm)
        return utterance.number

    disconnect = avatar.disconnect

    async def stop() -> None:
        await disconnect()
        avatar.send_audio = send
        avatar._sound_messages = lambda *_, **__: [{}]

    avatar.disconnect = stop


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (_forgets_to_flush, "the_end_flushes_what_is_held"),
        (_ends_twice, "each_utterance_ends_once_and_in_order"),
        (_ignores_interruptions, "interrupting_is_always_safe"),
        (_believes_every_rate, "speech_of_another_rate_keeps_its_length"),
        (_speaks_without_a_session, "disconnecting_is_told_once"),
    ],
)
def test_a_face_that_breaks_a_rule_is_found_out(fault: Callable[[Any], None], check: str) -> None:
    @asynccontextmanager
    async def bench() -> Any:
        page = Page()
        avatar = tavus_echo(TavusService(), page)
        fault(avatar)
        yield Bench(avatar, page.messages)

    failed = {one.name for one in run_virtual(run_avatar_conformance(bench)) if not one.passed}
    assert check in failed


def test_a_check_that_hangs_has_failed() -> None:
    @asynccontextmanager
    async def bench() -> Any:
        page = Page()
        avatar = tavus_echo(TavusService(), page)
        avatar._open = lambda: asyncio.Event().wait()
        yield Bench(avatar, page.messages)

    results = run_virtual(run_avatar_conformance(bench))
    assert len(results) == len(CHECKS)
    assert not any(one.passed for one in results)
