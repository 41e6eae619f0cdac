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
from aiortc.rtcsctptransport import SCTP_DATA_FIRST_FRAG, DataChunk

from agents.base import clock
from agents.base.errors import GloveError
from audio.pcm import ByteJoiner, Pcm
from realtime.browser.desk import State
from realtime.browser.room import PcmRoom
from realtime.browser.webrtc import IceServers
from realtime.browser.webrtc_offer import MAX_OFFER_BYTES, Reach, with_addresses
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
        ("addresses", many.replace("\r\na=cand", "\ra=cand")),
        ("too long", good + "a=x" * MAX_OFFER_BYTES),
        ("no audio", ""),
    ]
    async with switchboard("Hello.") as (house, calls):
        for reason, offer in offers:
            with pytest.raises(GloveError, match=reason) as refusal:
                await calls.answer(offer, house.room.serve)
            assert refusal.value.code == "ERR_WEBRTC_OFFER"
        assert calls.callers == 0


HIDDEN = "a=candidate:1 1 udp 2113937151 0b6a3ad9-8d5a-4f4b-a5a0-65a5d4f0c6fd.local 50000 typ host"


def candidate(address: str, port: int = 50000, kind: str = "host") -> str:
    return f"a=candidate:1 1 udp 2113937151 {address} {port} typ {kind}"


def tried(offer: str, reach: Reach) -> list[str]:
    lines = with_addresses(offer, reach).splitlines()
    return [" ".join(line.split()[4:6]) for line in lines if line.startswith("a=candidate:")]


def test_hidden_addresses_become_the_one_that_the_offer_came_from() -> None:
    assert tried(HIDDEN, Reach("192.168.7.7")) == ["192.168.7.7 50000"]
    assert tried(HIDDEN, Reach(None)) == []


def test_a_caller_can_have_nobody_else_spoken_to() -> None:
    """A caller must not be able to point the appliance at the router, at a neighbour, or at a host in the internet."""
    others = ["192.168.7.1", "10.0.0.1", "127.0.0.1", "8.8.8.8", "router.lan", "metadata.google.internal", "fe80::1"]
    offer = "\r\n".join(["a=ice-pwd:x", *map(candidate, others), candidate("192.168.7.7", 50001)])
    assert tried(offer, Reach("192.168.7.7")) == ["192.168.7.7 50001"]
    assert tried(offer.replace("192.168.7.7", "192.168.7.9"), Reach("192.168.7.7")) == ["192.168.7.7 9"]
    odd = offer.replace("udp 2113937151 ", "udp  2113937151\t")
    assert tried(odd, Reach("192.168.7.7")) == ["192.168.7.7 50001"]


def test_with_a_relay_its_address_and_public_ones_are_tried() -> None:
    ice = IceServers(turn="turn:10.0.0.5:3478?transport=udp")
    offer = "\r\n".join(map(candidate, ["10.0.0.5", "8.8.8.8", "10.0.0.6", "192.168.7.7"]))
    reach = Reach("192.168.7.7", ice.elsewhere, ice.relay_address)
    assert tried(offer, reach) == ["10.0.0.5 50000", "8.8.8.8 50000", "192.168.7.7 50000"]
    assert IceServers(turn="turn:[fd00::5]:3478").relay_address == "fd00::5"
    assert IceServers(turn="turns:relay.example.org").relay_address == ""


async def test_a_call_listens_where_the_offer_arrived_and_nowhere_else() -> None:
    async with switchboard("Hello.") as (house, calls):
        process = psutil.Process()
        before = {each.laddr for each in process.net_connections("udp")}
        caller = RtcCaller()
        offer = await caller.offer()
        theirs = {each.laddr for each in process.net_connections("udp")}
        answer = await calls.answer(offer, house.room.serve, "127.0.0.1", "::ffff:127.0.0.1")
        opened = {each.laddr for each in process.net_connections("udp")} - theirs - before
        assert {address.ip for address in opened} == {"127.0.0.1"}
        assert {line.split()[4] for line in answer.splitlines() if line.startswith("a=candidate")} == {"127.0.0.1"}
        await caller.accept(answer)
        await caller.next("ready")
        await caller.leave()


@pytest.mark.parametrize("piece", [100, 1100])
async def test_a_message_without_end_is_not_kept(piece: int) -> None:
    async with switchboard("Hello.") as (house, calls):
        caller = await RtcCaller().call(calls, house)
        await caller.next("ready")
        taken: list[int] = []
        peer = next(iter(calls._callers))
        sctp = peer._connection.sctp
        assert sctp is not None and caller.pc.sctp is not None
        take = sctp._receive_data_chunk

        async def watched(chunk: DataChunk) -> None:
            await take(chunk)
            kept = [each for stream in sctp._inbound_streams.values() for each in stream.reassembly]
            taken.append(sum(len(each.user_data) for each in kept))

        sctp._receive_data_chunk = watched
        for number in range(3000):
            chunk = DataChunk(flags=SCTP_DATA_FIRST_FRAG if number == 0 else 0)
            chunk.tsn = (caller.pc.sctp._local_tsn + number) & 0xFFFFFFFF
            chunk.stream_id, chunk.stream_seq, chunk.protocol = 1, 500, 51
            chunk.user_data = b"x" * piece
            await caller.pc.sctp._send_chunk(chunk)
            if number % 50 == 0:
                await asyncio.sleep(0)
        await until(lambda: calls.callers == 0)
        assert max(taken) <= 2 * 65_536 + piece
        assert house.room.state is State.WAITING
        await caller.leave()


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
            caller = RtcCaller(configuration=ice.configuration())
            answer = await calls.answer(await caller.offer(), house.room.serve)
            assert {line.split()[7] for line in answer.splitlines() if line.startswith("a=candidate")} == {"relay"}
            await caller.accept(answer)
            await caller.next("ready")
            caller.say({"t": "say", "text": "what time is it"})
            await caller.next("heard")
            assert loud(caller.sound) > 0
            await caller.leave()
