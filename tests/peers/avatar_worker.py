"""A face's worker, made of LiveKit's own receiver of avatars. It runs in an environment of its own.

Usage: avatar_worker.py URL TOKEN SENDER. Writes one JSON object a line: what it has received and reported. It plays in
real time, and reports the end of everything that the receiver ends, also of what it has reported as cut before.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from typing import Any

from livekit import rtc
from livekit.agents.voice.avatar import AudioSegmentEnd, DataStreamAudioReceiver


def tell(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class Worker:
    def __init__(self, room: rtc.Room, sender: str) -> None:
        self.receiver = DataStreamAudioReceiver(room, sender_identity=sender)
        self.played_s = 0.0
        self.playing = False
        self.cleared = asyncio.Event()
        self.data = b""

    async def run(self) -> None:
        await self.receiver.start()
        self.receiver.on("clear_buffer", self.clear)
        tell("ready")
        async for frame in self.receiver:
            if isinstance(frame, AudioSegmentEnd):
                self.end()
                continue
            if not self.playing:
                self.playing, self.played_s = True, 0.0
                self.receiver.notify_playback_started()
            self.data += bytes(frame.data)
            self.cleared.clear()
            try:
                async with asyncio.timeout(frame.duration):
                    await self.cleared.wait()
            except TimeoutError:
                self.played_s += frame.duration

    def clear(self) -> None:
        tell("clear", played_s=self.played_s)
        self.cleared.set()
        self.data, self.playing = b"", False
        self.receiver.notify_playback_finished(playback_position=self.played_s, interrupted=True)

    def end(self) -> None:
        tell("segment", bytes=len(self.data), sha=hashlib.sha256(self.data).hexdigest())
        self.data = b""
        self.receiver.notify_playback_finished(playback_position=self.played_s, interrupted=False)
        self.playing = False


async def main(url: str, token: str, sender: str) -> None:
    room = rtc.Room()
    await room.connect(url, token)
    picture = rtc.LocalVideoTrack.create_video_track("avatar_video", rtc.VideoSource(64, 64))
    options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_CAMERA)
    worker = Worker(room, sender)
    running = asyncio.create_task(worker.run())
    await room.local_participant.publish_track(picture, options)
    try:
        await running
    finally:
        await room.disconnect()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
