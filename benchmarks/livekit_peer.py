"""The other end of the LiveKit benchmark, in a process of its own: it listens, or speaks, or both.

    python -m benchmarks.livekit_peer listen|speak < {"url": …, "token": …}

``listen`` prints a line per 10 ms that becomes loud or quiet again: the time (of the machine's monotonic clock) and
``loud`` or ``quiet``, when it first was. ``speak`` sends a tone for ever. Both stay until the input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys

import numpy as np
from livekit import rtc

from tests.peers.livekit_peer import LOUD, tone

QUIET_FRAMES = 8
"""So many quiet frames (80 ms) make silence; its time is that of the first of them."""


async def listen(room: rtc.Room, track: rtc.RemoteAudioTrack) -> None:
    """Print when it becomes loud, and when it was the last time."""
    loud, last = False, 0.0
    loop = asyncio.get_running_loop()
    quiet = 0
    async for event in rtc.AudioStream.from_track(track=track, sample_rate=16_000, num_channels=1, frame_size_ms=10):
        now = loop.time()
        peak = int(np.abs(np.frombuffer(event.frame.data, np.int16).astype(np.int32)).max())
        if peak > LOUD:
            quiet, last = 0, now
            if not loud:
                loud = True
                print(json.dumps({"at": now, "what": "loud"}), flush=True)
        elif loud:
            quiet += 1
            if quiet == QUIET_FRAMES:
                loud = False
                print(json.dumps({"at": last, "what": "quiet"}), flush=True)


async def speak(room: rtc.Room) -> None:
    """A tone, for ever."""
    source = rtc.AudioSource(48_000, 1, queue_size_ms=100)
    track = rtc.LocalAudioTrack.create_audio_track("mic", source)
    await room.local_participant.publish_track(
        track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False)
    )
    piece = tone(0.02)
    while True:
        await source.capture_frame(rtc.AudioFrame(piece.tobytes(), 48_000, 1, piece.size))


async def main() -> None:
    """Take part until the input ends."""
    told = json.loads(await asyncio.to_thread(sys.stdin.readline))
    room = rtc.Room()
    tasks: list[asyncio.Task[None]] = []

    def heard(track: rtc.RemoteTrack, *_: object) -> None:
        if isinstance(track, rtc.RemoteAudioTrack):
            tasks.append(asyncio.ensure_future(listen(room, track)))

    room.on("track_subscribed", heard)
    await room.connect(told["url"], told["token"])
    if sys.argv[1] == "speak":
        tasks.append(asyncio.ensure_future(speak(room)))
    print(json.dumps({"at": 0.0, "what": "joined"}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await room.disconnect()


if __name__ == "__main__":
    asyncio.run(main())
