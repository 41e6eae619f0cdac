"""A participant with LiveKit's own SDK: speaks, listens, types, and remembers what came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from livekit import rtc

from agents.base import clock
from audio.pcm import Pcm
from realtime.livekit.tokens import LiveKitAccess, mint_avatar_token, mint_participant_token

RATE_HZ = 48_000
LOUD = 800


class LiveKitPeer:
    """A participant.

    Attributes:
        heard: sound of each other participant at 16 kHz, by identity.
        arrivals: (loop time, peak) of every 10 ms that came.
        data: JSON messages; ``chat`` and ``captions`` (text, attributes) are text streams.
        gone: identities that left; ``present`` says who came.
    """

    def __init__(self, access: LiveKitAccess, room: str, identity: str, *, on_behalf_of: str = "") -> None:
        self.identity = identity
        self.room = rtc.Room()
        self.heard: dict[str, list[Pcm]] = {}
        self.arrivals: list[tuple[float, int]] = []
        self.data: list[Any] = []
        self.chat: list[str] = []
        self.captions: list[tuple[str, dict[str, str]]] = []
        self.gone: list[str] = []
        self.present: list[str] = []
        self.reason: int | None = None
        self._access = access
        mint = mint_participant_token
        self._token = (
            mint_avatar_token(access, room=room, identity=identity, on_behalf_of=on_behalf_of)
            if on_behalf_of
            else mint(access, room=room, identity=identity)
        ).reveal()
        self._tasks: set[asyncio.Task[None]] = set()
        self._source: rtc.AudioSource | None = None
        self.publication: rtc.LocalTrackPublication | None = None

    async def join(self) -> LiveKitPeer:
        self.room.on("track_subscribed", lambda track, _, who: self._spawn(self._listen(track, who.identity)))
        self.room.on("data_received", lambda packet: self.data.append(json.loads(packet.data)))
        self.room.on("participant_connected", lambda who: self.present.append(who.identity))
        self.room.on("participant_disconnected", lambda who: self.gone.append(who.identity))
        self.room.on("disconnected", lambda reason: setattr(self, "reason", reason))
        self.room.register_text_stream_handler("lk.chat", lambda reader, _: self._spawn(self._chat(reader)))
        self.room.register_text_stream_handler("lk.transcription", lambda reader, _: self._spawn(self._caption(reader)))
        await self.room.connect(self._access.socket_url, self._token)
        return self

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.room.disconnect()

    async def open_microphone(self, rate_hz: int = RATE_HZ, channels: int = 1) -> None:
        self._source = rtc.AudioSource(rate_hz, channels, queue_size_ms=100)
        track = rtc.LocalAudioTrack.create_audio_track("mic", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False)
        self.publication = await self.room.local_participant.publish_track(track, options)
        self.track = track

    async def speak(self, pcm: Pcm) -> None:
        """Say ``pcm`` (at the microphone's rate; two channels interleaved) in real time."""
        assert self._source is not None
        rate, channels = self._source.sample_rate, self._source.num_channels
        step = rate // 50 * channels
        for start in range(0, pcm.size - step + 1, step):
            piece = pcm[start : start + step]
            await self._source.capture_frame(rtc.AudioFrame(piece.tobytes(), rate, channels, step // channels))

    def sound(self, identity: str) -> Pcm:
        """Everything that came of ``identity``."""
        return np.concatenate([np.zeros(0, np.int16), *self.heard.get(identity, [])])

    def loud_since(self, when: float) -> float | None:
        """Loop time of the first loud 10 ms after ``when``."""
        return next((at for at, peak in self.arrivals if at > when and peak > LOUD), None)

    def last_loud(self) -> float:
        return max((at for at, peak in self.arrivals if peak > LOUD), default=0.0)

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen(self, track: rtc.Track, identity: str) -> None:
        if track.kind != rtc.TrackKind.KIND_AUDIO:
            return
        stream = rtc.AudioStream.from_track(track=track, sample_rate=16_000, num_channels=1, frame_size_ms=10)
        try:
            async for event in stream:
                pcm = np.frombuffer(event.frame.data, np.int16).copy()
                self.heard.setdefault(identity, []).append(pcm)
                self.arrivals.append((clock.now(), int(np.abs(pcm.astype(np.int32)).max())))
        finally:
            await stream.aclose()

    async def _chat(self, reader: rtc.TextStreamReader) -> None:
        self.chat.append(await reader.read_all())

    async def _caption(self, reader: rtc.TextStreamReader) -> None:
        self.captions.append((await reader.read_all(), dict(reader.info.attributes or {})))


def tone(seconds: float, hz: float = 440.0, rate_hz: int = RATE_HZ, channels: int = 1, level: int = 12_000) -> Pcm:
    """A sine, the same in every channel."""
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    return np.repeat((level * np.sin(2 * np.pi * hz * time_s)).astype(np.int16), channels)


def strength(pcm: Pcm, hz: float, rate_hz: int = 16_000) -> float:
    """Amplitude of ``hz`` in ``pcm``."""
    if pcm.size == 0:
        return 0.0
    turns = np.exp(-2j * np.pi * hz * np.arange(pcm.size) / rate_hz)
    return float(2 * abs(np.dot(pcm.astype(float), turns)) / pcm.size)


async def until(condition: Callable[[], Any], limit_s: float = 15.0) -> None:
    """Wait until ``condition`` holds."""
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.02)
