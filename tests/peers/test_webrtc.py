"""Calls over WebRTC with a second peer in the same process: real ICE, DTLS, SCTP and RTP over UDP."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from aiortc import RTCPeerConnection

from agents.base import clock
from agents.base.errors import GloveError
from audio.pcm import ByteJoiner, Pcm
from realtime.browser.desk import State
from realtime.browser.room import PcmRoom
from realtime.browser.webrtc_offer import MAX_OFFER_BYTES, with_addresses
from realtime.browser.webrtc_peer import Peer
from tests.peers.rtc_peer import RtcCaller, switchboard
from tests.peers.turn import PASSWORD, USER, relay
from tests.realtime.peer import send_sound, until

pytestmark = pytest.mark.realtime

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."


def loud(pcm: Pcm) -> int:
    """Samples until the last one that can be heard."""
    heard = np.flatnonzero(np.abs(pcm.astype(np.int32)) > 200)
    return int(heard[-1]) + 1 if heard.size else 0


def likeness(arrived: Pcm, said: Pcm) -> float:
    """The highest correlation of ``said`` with a part of ``arrived``, 0 to 1."""
    size = 1 << int(np.ceil(np.log2(arrived.size + said.size)))
    spectrum = np.fft.rfft(arrived, size) * np.conj(np.fft.rfft(said, size))
    at = int(np.argmax(np.fft.irfft(spectrum, size)[: arrived.size]))
    part = arrived[at : at + said.size].astype(float)
    whole = said[: part.size].astype(float)
    return float(part @ whole / np.sqrt((part @ part) * (whole @ whole) + 1))


async def test_a_typed_line_is_answered_in_messages_and_sound() -> None:
    async with switchboard("It is noon, and the sun is shining.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        assert (await caller.next("ready"))["epoch"] == 1
        caller.say({"t": "say", "text": "what time is it"})
        await caller.next("heard")
        played_s = house.session.room.player.played_total / 16_000
        spoken_s = loud(caller.sound) / 48_000
        assert abs(spoken_s - played_s) < 0.4
        assert (await caller.next("speech_end"))["position"] == house.session.room.player.played_total
        await caller.leave()
        await until(lambda: calls.callers == 0)
        assert house.room.state is State.WAITING


async def test_what_is_spoken_arrives_as_it_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[Pcm] = []
    monkeypatch.setattr(PcmRoom, "hear", lambda self, data: arrived.append(ByteJoiner().push(data)))
    time_s = np.arange(2 * 16_000) / 16_000
    said = (8000 * np.sin(2 * np.pi * (300 * time_s + 400 * time_s**2))).astype(np.int16)  # 300 to 1900 Hz
    async with switchboard("Noon.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.microphone.speak(said, 16_000)
        await asyncio.sleep(2.5)
        await caller.leave()
    assert likeness(np.concatenate(arrived), said) > 0.95


@pytest.mark.parametrize("share", [0.0, 0.05])
async def test_packets_that_are_lost_or_overtaken_leave_the_rest_in_its_place(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    arrived: list[Pcm] = []
    monkeypatch.setattr(PcmRoom, "hear", lambda self, data: arrived.append(ByteJoiner().push(data)))
    chance = random.Random(7)
    held: list[tuple[int, bytes]] = []
    hear = Peer.hear

    def unreliable(self: Peer, number: int, packet: bytes) -> None:
        if chance.random() < share:
            return
        if chance.random() < 0.1:
            held.append((number, packet))  # the one after it overtakes
            return
        hear(self, number, packet)
        while held:
            hear(self, *held.pop())

    monkeypatch.setattr(Peer, "hear", unreliable)
    time_s = np.arange(3 * 16_000) / 16_000
    said = (8000 * np.sin(2 * np.pi * (300 * time_s + 250 * time_s**2))).astype(np.int16)
    async with switchboard("Noon.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.microphone.speak(said, 16_000)
        await asyncio.sleep(3.5)
        await caller.leave()
    assert likeness(np.concatenate(arrived), said) > (0.95 if share == 0 else 0.8)


async def test_a_cut_reply_is_silent_at_once_and_only_what_was_heard_counts() -> None:
    async with switchboard(LONG, "Yes?") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.say({"t": "say", "text": "count"})
        await caller.next("spurt")
        await asyncio.sleep(1.0)
        caller.say({"t": "stop"})
        await caller.next("clear")
        heard = loud(caller.sound)
        await asyncio.sleep(1.0)
        # aiortc's own buffer holds 80 ms of what was on its way already; nothing follows it.
        assert loud(caller.sound) - heard < 0.15 * 48_000
        text = (await caller.next("interrupted"))["text"]
        assert text and len(text) < len(LONG) / 2
        await caller.leave()


async def test_the_room_believes_what_the_caller_says_of_its_playback() -> None:
    async with switchboard(LONG) as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.say({"t": "say", "text": "count"})
        spurt = await caller.next("spurt")
        assert spurt["position"] == 0 and 0 <= spurt["rtp"] < 1 << 32
        # A caller whose buffer stands still has heard nothing.
        for _ in range(8):
            caller.say({"t": "playback", "epoch": 1, "position": 1600})
            await asyncio.sleep(0.1)
        assert house.session.room.player.played_total < 4000
        await caller.leave()


async def test_a_caller_who_returns_is_shown_what_was_said() -> None:
    async with switchboard("It is noon.", "Still noon.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.say({"t": "say", "text": "what time is it"})
        await caller.next("heard")
        await caller.leave()
        await until(lambda: house.room.state is State.WAITING)
        again = await RtcCaller().call(calls, house)
        history = (await again.next("ready"))["history"]
        assert [line["text"] for line in history] == ["what time is it", "It is noon."]
        assert len(house.sessions) == 1
        await again.leave()


async def test_a_second_caller_takes_the_place_of_the_first_whatever_way_they_came() -> None:
    async with switchboard("Hello.") as (house, calls):
        first = await RtcCaller().call(calls, house)
        await first.next("ready")
        socket = await house.call()
        assert (await first.next("close"))["code"] == 4000
        second = await RtcCaller().call(calls, house)
        await second.next("ready")
        assert socket.closed is not None and socket.closed[0] == 4000
        await until(lambda: calls.callers == 1)
        await first.leave()
        await second.leave()


async def test_a_caller_who_vanishes_is_cleaned_up_within_half_a_minute() -> None:
    """Case F34."""
    async with switchboard("Hello.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.vanish()
        began = clock.now()
        await until(lambda: calls.callers == 0, 40)
        assert clock.now() - began < 30
        assert house.room.state is State.WAITING
        await caller.leave()


async def test_a_session_that_ends_says_goodbye_to_its_caller() -> None:
    async with switchboard("Hello.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        await house.room.close()
        assert (await caller.next("close"))["code"] == 1001
        await until(lambda: calls.callers == 0)
        await caller.leave()


async def test_a_long_message_arrives_in_parts_and_whole() -> None:
    async with switchboard("Hello.") as (house, calls):
        house.agent.past = (("user", "ä" * 100_000),)
        caller = await RtcCaller().call(calls, house)
        ready = await caller.next("ready")
        assert ready["history"][0]["text"] == "ä" * 100_000
        await caller.leave()


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        (["x" * 65_537], 1009),
        (["no json"] * 10, 1007),
        ([b"\x00\x01"] * 10, 1007),
        (['{"t":"ping"}'] * 400, 1008),
        (['{"t":"say","text":"' + "[" * 5000 + '"}'] * 10, 1007),
    ],
    ids=["too long", "no message", "bytes", "too many", "out of bounds"],
)
async def test_messages_without_sense_or_measure_end_the_call_and_nothing_else(
    messages: list[str | bytes], code: int
) -> None:
    async with switchboard("Hello.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        for message in messages:
            caller.say(message)
        assert (await caller.next("close"))["code"] == code
        await until(lambda: calls.callers == 0)
        await caller.leave()
        again = await RtcCaller().call(calls, house)
        await again.next("ready")
        await again.leave()


async def test_a_second_data_channel_ends_the_call() -> None:
    async with switchboard("Hello.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        caller.pc.createDataChannel("another")
        await until(lambda: calls.callers == 0)
        await caller.leave()


async def test_a_caller_without_a_microphone_hears_the_room() -> None:
    async with switchboard("It is noon.") as (house, calls):
        caller = await RtcCaller(microphone=False).call(calls, house)
        await caller.next("ready")
        caller.say({"t": "say", "text": "what time is it"})
        await caller.next("heard")
        assert loud(caller.sound) > 0
        await caller.leave()


async def offer_of(prepare: Callable[[RTCPeerConnection], object]) -> str:
    connection = RTCPeerConnection()
    try:
        prepare(connection)
        await connection.setLocalDescription(await connection.createOffer())
        return connection.localDescription.sdp
    finally:
        await connection.close()


async def test_offers_that_the_room_cannot_take_are_refused_with_the_reason() -> None:
    def both(connection: RTCPeerConnection) -> None:
        connection.createDataChannel("room")
        connection.addTransceiver("audio")

    def and_video(connection: RTCPeerConnection) -> None:
        both(connection)
        connection.addTransceiver("video")

    good = await offer_of(both)
    no_opus = "\r\n".join(line for line in good.split("\r\n") if "opus" not in line)
    no_ice = "\r\n".join(line for line in good.split("\r\n") if "ice-" not in line)
    many = good.replace("a=candidate:", "a=candidate:0 1 udp 1 192.0.2.9 9 typ host\r\n" * 60 + "a=candidate:", 1)
    offers = [
        ("no audio", await offer_of(lambda connection: connection.createDataChannel("room"))),
        ("no audio", await offer_of(lambda connection: connection.addTransceiver("video"))),
        ("something else", await offer_of(and_video)),
        ("something else", await offer_of(lambda connection: connection.addTransceiver("audio"))),
        ("Opus", no_opus),
        ("used", no_ice),
        ("addresses", many),
        ("too long", good + "a=x" * MAX_OFFER_BYTES),
        ("no audio", ""),
    ]
    async with switchboard("Hello.") as (house, calls):
        for reason, offer in offers:
            with pytest.raises(GloveError, match=reason) as refusal:
                await calls.answer(offer, house.room.serve)
            assert refusal.value.code == "ERR_WEBRTC_OFFER"
        assert calls.callers == 0


def test_hidden_addresses_become_the_one_that_the_offer_came_from() -> None:
    hidden = "a=candidate:1 1 udp 2113937151 0b6a3ad9-8d5a-4f4b-a5a0-65a5d4f0c6fd.local 50000 typ host"
    assert "192.0.2.7 50000" in with_addresses(hidden, "192.0.2.7")
    assert "candidate" not in with_addresses(hidden, None)


async def test_a_thousand_attempts_leave_nothing_behind_and_do_not_keep_others_out() -> None:
    process = psutil.Process()
    async with switchboard("Hello.", connect_s=1.0) as (house, calls):
        offer = await RtcCaller().offer()
        threads, files = threading.active_count(), process.num_fds()
        codes: list[str] = []
        for _ in range(1000):
            try:
                await calls.answer(offer, house.room.serve, "127.0.0.1")
            except GloveError as fault:
                codes.append(fault.code)
            assert calls.callers <= 4
        assert len(codes) > 900 and set(codes) == {"ERR_WEBRTC_BUSY"}
        await until(lambda: calls.callers == 0)
        assert threading.active_count() <= threads and process.num_fds() <= files
        await asyncio.sleep(2.0)
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        await caller.leave()


async def test_a_room_on_a_socket_is_not_disturbed_by_a_call_that_never_connects() -> None:
    async with switchboard("Noon.", connect_s=0.5) as (house, calls):
        socket = await house.call()
        await calls.answer(await RtcCaller().offer(), house.room.serve, "127.0.0.1")
        await until(lambda: calls.callers == 0)
        await house.speak(socket, "what time is it")
        await send_sound(socket, np.zeros(8000, np.int16))
        await until(lambda: socket.of("utterance"))
        assert socket.closed is None


async def test_silence_costs_a_few_packets_a_second() -> None:
    async with switchboard("Hello.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        await asyncio.sleep(1.0)

        async def received() -> int:
            stats = (await caller.pc.getStats()).values()
            return sum(each.packetsReceived for each in stats if each.type == "inbound-rtp")

        before = await received()
        await asyncio.sleep(2.0)
        assert 3 <= await received() - before <= 8
        await caller.leave()


async def test_a_call_goes_through_a_relay_where_nothing_else_is_allowed(tmp_path: Path) -> None:
    with relay(tmp_path) as ice:
        async with switchboard("It is noon.", ice=ice) as (house, calls):
            assert ice.for_page() == [{"urls": [ice.turn], "username": USER, "credential": PASSWORD}]
            caller = RtcCaller(**vars(ice.configuration()))
            answer = await calls.answer(await caller.offer(), house.room.serve)
            assert {line.split()[7] for line in answer.splitlines() if line.startswith("a=candidate")} == {"relay"}
            await caller.accept(answer)
            await caller.next("ready")
            caller.say({"t": "say", "text": "what time is it"})
            await caller.next("heard")
            assert loud(caller.sound) > 0
            await caller.leave()
