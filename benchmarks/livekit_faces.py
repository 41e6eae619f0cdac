"""How fast speech reaches a face in a LiveKit room: real time is 1, and at least 20 is wanted.

A face and an agent, both of LiveKit's SDK, are in one room of a real server. The agent's face adapter is given a minute
of speech at once; the time runs until the last byte has arrived at the other side. The same bytes written to one stream
of the SDK directly, in the same run, say how much of it is the adapter's.

    python -m benchmarks.livekit_faces [--seconds 60] [--rounds 5]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics

from livekit import rtc

from agents.base import clock
from audio.pcm import wire_bytes
from avatars.conformance import speech
from avatars.contract import AvatarView, RoomView
from avatars.livekit.protocol import AUDIO_TOPIC
from avatars.livekit.room_wire import RoomWire
from avatars.livekit.session import LiveKitAvatar
from avatars.livekit.wire import Presence
from tests.peers.livekit_peer import LiveKitPeer, until
from tests.peers.livekit_server import livekit_server

FACE = "face"
LIMIT = 20.0


class BareAvatar(LiveKitAvatar):
    """A face without a provider: somebody else sends it into the room."""

    provider = "bare"

    async def _begin(self, livekit_url: str, token: str) -> None:
        pass

    async def _close(self) -> None:
        pass

    async def _open(self) -> AvatarView:
        await super()._open()
        return RoomView("", self.provider)


class Receiver:
    """Counts the bytes of streams of sound."""

    def __init__(self, room: rtc.Room) -> None:
        self.received = 0
        self.ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        room.register_byte_stream_handler(AUDIO_TOPIC, self._take)

    def _take(self, reader: rtc.ByteStreamReader, _: str) -> None:
        task = asyncio.get_running_loop().create_task(self._read(reader))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, reader: rtc.ByteStreamReader) -> None:
        async for data in reader:
            self.received += len(data)
        self.ended.set()


async def measure(seconds: float, rounds: int) -> dict[str, float]:
    """Times real time, by the adapter and by the bare SDK; medians of ``rounds``."""
    said = speech(seconds)
    with livekit_server() as server:
        agent = await LiveKitPeer(server.access, "faces", "agent").join()
        face = await LiveKitPeer(server.access, "faces", FACE, on_behalf_of="agent").join()
        wire = RoomWire(FACE, needs_picture=False)
        wire.joined(agent.room)
        await until(lambda: wire.presence is Presence.HERE)
        avatar = BareAvatar(wire, "", lambda: "")
        await avatar.connect()
        receiver = Receiver(face.room)
        ours: list[float] = []
        bare: list[float] = []
        for _ in range(rounds):
            for times, send in ((ours, _by_adapter(avatar)), (bare, _by_sdk(agent.room))):
                receiver.received = 0
                receiver.ended.clear()
                began = clock.perf_counter()
                await send(said)
                await receiver.ended.wait()
                times.append(seconds / (clock.perf_counter() - began))
                assert receiver.received == said.size * 2, "every byte arrives"
        avatar.interrupt()
        await avatar.disconnect()
        await face.leave()
        await agent.leave()
    return {"times_real_time": statistics.median(ours), "bare_sdk": statistics.median(bare)}


def _by_adapter(avatar: LiveKitAvatar):
    async def send(said):
        avatar.send_audio(said, 24_000)
        avatar.end_utterance()

    return send


def _by_sdk(room: rtc.Room):
    async def send(said):
        attributes = {"sample_rate": "24000", "num_channels": "1"}
        writer = await room.local_participant.stream_bytes(
            "bare", topic=AUDIO_TOPIC, attributes=attributes, destination_identities=[FACE]
        )
        await writer.write(wire_bytes(said))
        await writer.aclose()

    return send


def main() -> int:
    """Print the figures as JSON; fails below the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how much speech is sent at once")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    figures = asyncio.run(measure(options.seconds, options.rounds))
    ratio = figures["times_real_time"] / figures["bare_sdk"]
    print(json.dumps({name: round(value, 1) for name, value in figures.items()} | {"of_bare": round(ratio, 2)}))
    return 0 if figures["times_real_time"] >= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
