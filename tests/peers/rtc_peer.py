"""A caller with aiortc of its own: what a browser does over WebRTC, without the browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from aiortc import RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from av import AudioFrame

from agents.base import clock
from audio.pcm import Pcm
from realtime.browser.webrtc import IceServers, WebRtcCalls
from tests.realtime.peer import House, until

RATE_HZ = 48_000
FRAME = 960


class MicrophoneTrack(MediaStreamTrack):
    """Sends what was given to it, in real time, and silence otherwise."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._pcm = np.zeros(0, np.int16)
        self._frames = 0
        self._started_at = 0.0

    def speak(self, pcm: Pcm, rate_hz: int) -> None:
        assert RATE_HZ % rate_hz == 0
        self._pcm = np.concatenate([self._pcm, np.repeat(pcm, RATE_HZ // rate_hz)])

    async def recv(self) -> AudioFrame:
        if self.readyState != "live":
            raise MediaStreamError
        self._started_at = self._started_at or clock.now()
        await clock.sleep_until(self._started_at + self._frames * FRAME / RATE_HZ)
        chunk, self._pcm = self._pcm[:FRAME], self._pcm[FRAME:]
        frame = AudioFrame.from_ndarray(np.pad(chunk, (0, FRAME - chunk.size))[None], "s16", "mono")
        frame.sample_rate, frame.pts, frame.time_base = RATE_HZ, self._frames * FRAME, Fraction(1, RATE_HZ)
        self._frames += 1
        return frame


class RtcCaller:
    """A caller.

    Attributes:
        sent: the messages of the room, in order.
        heard: what came over the audio line, with the time of its arrival.
    """

    def __init__(self, *, microphone: bool = True, configuration: RTCConfiguration | None = None) -> None:
        self.pc = RTCPeerConnection(configuration or RTCConfiguration(iceServers=[]))
        self.microphone = MicrophoneTrack()
        self.sent: list[dict[str, Any]] = []
        self.heard: list[tuple[float, Pcm]] = []
        self.channel: RTCDataChannel = self.pc.createDataChannel("room")
        self.channel.on("message", self._take)
        self._part = ""
        self._listening: asyncio.Task[None] | None = None
        if microphone:
            self.pc.addTrack(self.microphone)
        else:
            self.pc.addTransceiver("audio", direction="recvonly")
        self.pc.on("track", self._listen)

    async def offer(self) -> str:
        await self.pc.setLocalDescription(await self.pc.createOffer())
        return self.pc.localDescription.sdp

    async def accept(self, answer: str) -> None:
        await self.pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    async def call(self, calls: WebRtcCalls, house: House, door: str | None = None) -> RtcCaller:
        await self.accept(await calls.answer(await self.offer(), house.room.serve, "127.0.0.1", door))
        return self

    def say(self, message: dict[str, Any] | str | bytes) -> None:
        self.channel.send(json.dumps(message) if isinstance(message, dict) else message)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.sent if message["t"] == kind]

    async def next(self, kind: str, limit_s: float = 15.0) -> dict[str, Any]:
        await until(lambda: self.of(kind), limit_s)
        return self.of(kind)[-1]

    @property
    def sound(self) -> Pcm:
        return np.concatenate([np.zeros(0, np.int16), *(pcm for _, pcm in self.heard)])

    def vanish(self) -> None:
        """Be gone without a word: nothing is sent, and nothing that comes is read."""
        for transceiver in self.pc.getTransceivers():
            connection: Any = getattr(transceiver.receiver.transport.transport, "_connection")  # noqa: B009
            for protocol in connection._protocols:
                protocol.transport.abort()

    async def leave(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        await self.pc.close()

    def _take(self, data: str) -> None:
        message = json.loads(data)
        if message["t"] == "part":
            self._part += message["text"]
            if not message["last"]:
                return
            message, self._part = json.loads(self._part), ""
        self.sent.append(message)

    def _listen(self, track: MediaStreamTrack) -> None:
        async def listen() -> None:
            try:
                while True:
                    frame = await track.recv()
                    assert isinstance(frame, AudioFrame)
                    pcm = frame.to_ndarray().reshape(-1, 2)[:, 0]
                    self.heard.append((clock.now(), pcm))
            except MediaStreamError:
                return

        self._listening = asyncio.get_running_loop().create_task(listen())


@asynccontextmanager
async def switchboard(
    *replies: str, ice: IceServers | None = None, connect_s: float = 10.0, **options: Any
) -> AsyncGenerator[tuple[House, WebRtcCalls]]:
    """A room with a scripted agent, and what answers calls."""
    async with House(list(replies), **options) as house:
        calls = WebRtcCalls(ice, connect_s=connect_s)
        try:
            yield house, calls
        finally:
            await calls.close()
