"""Rooms on a bad network: packets late, lost and overtaken, in both directions."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import connect

from audio.pcm import ByteJoiner, Pcm
from realtime.browser.room import PcmRoom
from tests.peers.rtc_peer import RtcCaller, switchboard
from tests.peers.test_webrtc import LONG, likeness, loud
from tests.peers.weather import Weather, tcp_relay, udp_relay
from tests.realtime.peer import until
from tests.realtime.server import place

pytestmark = pytest.mark.realtime

HERE = "127.0.0.1"


def port_of(answer: str) -> int:
    found = re.search(rf"a=candidate:\S+ 1 udp \d+ {HERE} (\d+) typ host", answer)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(
    ("weather", "still_heard_s"),
    [
        (Weather(delay_s=0.02, loss=0.1), 0.5),
        (Weather(delay_s=0.15, jitter_s=0.03), 0.8),
    ],
    ids=["a tenth lost", "300 ms and overtaken"],
)
async def test_a_call_goes_on(monkeypatch: pytest.MonkeyPatch, weather: Weather, still_heard_s: float) -> None:
    arrived: list[Pcm] = []
    monkeypatch.setattr(PcmRoom, "hear", lambda self, data: arrived.append(ByteJoiner().push(data)))
    time_s = np.arange(3 * 16_000) / 16_000
    said = (8000 * np.sin(2 * np.pi * (300 * time_s + 250 * time_s**2))).astype(np.int16)
    async with switchboard("It is noon.", LONG, connect_s=30.0) as (house, calls):
        caller = RtcCaller()
        offer = re.sub(r"a=candidate:.*\r\n", "", await caller.offer())  # all that reaches the room comes by the relay
        answer = await calls.answer(offer, house.room.serve, HERE, HERE)
        async with udp_relay(weather, (HERE, port_of(answer))) as (port, near):
            await caller.accept(answer.replace(f"{HERE} {port_of(answer)} typ", f"{HERE} {port} typ"))
            await caller.next("ready", 40)
            caller.say({"t": "say", "text": "what time is it"})
            assert (await caller.next("heard", 40))["text"] == "It is noon."
            caller.microphone.speak(said, 16_000)
            await asyncio.sleep(4.0)
            assert likeness(np.concatenate(arrived), said) > 0.6
            spurts = len(caller.of("spurt"))
            caller.say({"t": "say", "text": "count"})
            await until(lambda: len(caller.of("spurt")) > spurts, 40)
            await asyncio.sleep(1.0)
            caller.say({"t": "stop"})
            await caller.next("clear", 20)
            heard = loud(caller.sound)
            await asyncio.sleep(1.5)
            assert (loud(caller.sound) - heard) / 48_000 < still_heard_s
            cut = (await caller.next("interrupted", 20))["text"]
            assert len(cut) < len(LONG)
            assert near.taken > 200 and (near.lost > 0) == (weather.loss > 0)
            await caller.leave()
        await until(lambda: calls.callers == 0, 40)


async def test_a_socket_goes_on_with_long_delay() -> None:
    async with place("It is noon.", LONG) as here, tcp_relay(Weather(delay_s=0.15), here.server.port) as port:
        address = f"ws://{HERE}:{port}/room"
        async with connect(address, additional_headers={"Authorization": f"Bearer {here.token}"}) as socket:
            sound, seen = {"before": 0}, [{"t": "before"}]

            async def read(until_true: Callable[[], object]) -> None:
                while not until_true():
                    data = await socket.recv()
                    if isinstance(data, bytes):
                        sound[list(sound)[-1]] += len(data) // 2
                        continue
                    message = json.loads(data)
                    seen.append(message)
                    if message["t"] in ("heard", "clear"):
                        sound.setdefault(message["t"], 0)

            def of(kind: str) -> list[dict[str, Any]]:
                return [message for message in seen if message["t"] == kind]

            await read(lambda: of("ready"))
            await socket.send(json.dumps({"t": "say", "text": "what time is it"}))
            await read(lambda: of("heard"))
            assert of("heard")[0]["text"] == "It is noon." and sound["before"] > 4000
            await socket.send(json.dumps({"t": "say", "text": "count"}))
            await read(lambda: sound["heard"] > 8000)
            await socket.send(json.dumps({"t": "stop"}))
            await read(lambda: of("interrupted") and of("clear"))
            assert len(of("interrupted")[0]["text"]) < len(LONG)
            await socket.send(json.dumps({"t": "ping"}))
            await read(lambda: of("pong"))
            assert sound["clear"] == 0
