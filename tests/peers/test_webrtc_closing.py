"""Calls that meet a room which is closing, and offers that aiortc stumbles over half-way."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import psutil
import pytest

from agents.base.errors import GloveError
from tests.peers.rtc_peer import RtcCaller, switchboard
from tests.realtime.peer import until

pytestmark = pytest.mark.realtime


async def an_offer() -> str:
    caller = RtcCaller()
    try:
        return await caller.offer()
    finally:
        await caller.leave()


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 10, 20, 40, 80, 160])
async def test_an_offer_that_comes_while_the_room_closes_leaves_nothing_behind(steps: int) -> None:
    offer, process = await an_offer(), psutil.Process()
    async with switchboard("Hello.") as (house, calls):
        before = len(process.net_connections("udp"))
        answering = asyncio.create_task(calls.answer(offer, house.room.serve, "127.0.0.1", "127.0.0.1"))
        for _ in range(steps):
            await asyncio.sleep(0)
        await calls.close()
        (told,) = await asyncio.gather(answering, return_exceptions=True)
        assert isinstance(told, str) or (isinstance(told, GloveError) and told.code.startswith("ERR_WEBRTC_"))
        await until(lambda: calls.callers == 0)
        await until(lambda: len(process.net_connections("udp")) == before)


async def test_a_caller_who_was_answered_in_the_last_moment_is_given_back() -> None:
    offer, process = await an_offer(), psutil.Process()
    async with switchboard("Hello.") as (house, calls):
        before = len(process.net_connections("udp"))

        async def answer_and_close() -> None:
            await calls.answer(offer, house.room.serve, "127.0.0.1", "127.0.0.1")
            await calls.close()  # before whoever attends to the caller has begun

        await answer_and_close()
        await until(lambda: calls.callers == 0 and len(process.net_connections("udp")) == before)


@pytest.mark.parametrize(
    ("line", "instead"),
    [(r"a=mid:0", "a=mid:777"), (r"a=mid:1", "a=mid:0"), (r"a=group:BUNDLE.*\r\n", ""), (r"BUNDLE 0 1", "BUNDLE 0")],
)
async def test_lines_that_share_no_connection_are_refused(line: str, instead: str) -> None:
    offer = await an_offer()
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    async with switchboard("Hello.") as (house, calls):
        with pytest.raises(GloveError, match="bundled") as refusal:
            await calls.answer(re.sub(line, instead, offer, count=1), house.room.serve, "127.0.0.1", "127.0.0.1")
        assert refusal.value.code == "ERR_WEBRTC_OFFER" and calls.callers == 0
    assert faults == []


@pytest.mark.parametrize(
    "bomb",
    [
        "m=audio 9 UDP/TLS/RTP/SAVPF 96\r\n" * 600,
        "a=rtpmap:96 opus/48000/2\r\n" * 800,
        "a=ssrc:7 cname:x\r\n" * 1000,
        "a=extmap:1 urn:x\r\n" * 1000,
        "a=fmtp:96 " + ";" * 20_000 + "\r\n",
        "a=rtcp-fb:* x\r\n" * 1500,
        "\r\n" * 10_000,
    ],
)
async def test_an_offer_full_of_rubbish_is_answered_or_refused_and_forgotten(bomb: str) -> None:
    offer = await an_offer()
    async with switchboard("Hello.", connect_s=0.2) as (house, calls):
        try:
            await calls.answer(offer + bomb, house.room.serve, "127.0.0.1", "127.0.0.1")
        except GloveError as refusal:
            assert refusal.code == "ERR_WEBRTC_OFFER"
        await until(lambda: calls.callers == 0)
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        await caller.leave()
