"""A room in memory with a scripted face in it: it plays streams in real time, and reports as it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from avatars.livekit.protocol import CLEAR_BUFFER, PLAYBACK_FINISHED, PLAYBACK_STARTED
from avatars.livekit.wire import ByteStream, OnCall, Presence

IDENTITY = "face"


@dataclass
class Received:
    """One byte stream as the face got it."""

    topic: str
    attributes: Mapping[str, str]
    data: bytearray = field(default_factory=bytearray)
    writes: int = 0
    closed: bool = False

    @property
    def seconds(self) -> float:
        return len(self.data) / 2 / int(self.attributes["sample_rate"])


class ScriptedFace:
    """Implements ``AvatarWire``.

    Attributes:
        streams: what came, in order.
        log: opens, writes, closes and calls, in order.
        reports: how often the end of an utterance is reported.
        report_after_s: how late; negative means too early.
        says_started: whether the beginning is reported.
        repeats_after_cut: whether the end of a cut utterance is reported as well, as receivers do.
        refuses: whether calls fail.
        write_s: how long a write takes.
    """

    def __init__(self, *, here: bool = True) -> None:
        self.streams: list[Received] = []
        self.log: list[str] = []
        self.reports = 1
        self.report_after_s = 0.0
        self.says_started = True
        self.repeats_after_cut = True
        self.refuses = False
        self.answer = "ok"
        self.write_s = 0.0
        self._presence = Presence.HERE if here else Presence.AWAY
        self._listeners: list[Callable[[Presence], None]] = []
        self._answers: dict[str, OnCall] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._playing: asyncio.Task[None] | None = None
        self._began_at: float | None = None
        self._queue: list[Received] = []

    @property
    def identity(self) -> str:
        return IDENTITY

    @property
    def presence(self) -> Presence:
        return self._presence

    @property
    def listening(self) -> bool:
        return bool(self._listeners or self._answers)

    def move(self, presence: Presence) -> None:
        """Come, go, or lose the room."""
        self._presence = presence
        if presence is Presence.AWAY:
            self.stop()
        for listener in tuple(self._listeners):
            listener(presence)

    def on_presence(self, listener: Callable[[Presence], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def on_call(self, method: str, answer: OnCall) -> Callable[[], None]:
        self._answers[method] = answer

        def off() -> None:
            if self._answers.get(method) is answer:
                del self._answers[method]

        return off

    async def open_stream(self, topic: str, attributes: Mapping[str, str]) -> ByteStream:
        assert self._presence is Presence.HERE, "nobody is there to be sent to"
        await asyncio.sleep(self.write_s)
        stream = Received(topic, attributes)
        self.streams.append(stream)
        self.log.append("open")
        self._queue.append(stream)
        if self._playing is None or self._playing.done():
            self._playing = self._spawn(self._play())
        return _Stream(self, stream)

    async def call(self, method: str, payload: str, timeout_s: float) -> str:
        self.log.append(method)
        if self.refuses:
            raise ConnectionError("no such method")
        assert method == CLEAR_BUFFER and payload == ""
        playing = self._began_at is not None
        position_s = 0.0 if self._began_at is None else asyncio.get_running_loop().time() - self._began_at
        self.stop()
        if playing and self.reports:
            self._spawn(self._report_cut(position_s))
        return self.answer

    def say(self, method: str, payload: object = "", caller: str = IDENTITY) -> str | None:
        """Call the agent."""
        answer = self._answers.get(method)
        return None if answer is None else answer(caller, payload if isinstance(payload, str) else json.dumps(payload))

    def finished(self, position_s: float, *, interrupted: bool = False) -> str | None:
        return self.say(PLAYBACK_FINISHED, {"playback_position": position_s, "interrupted": interrupted})

    def stop(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
        self._playing, self._began_at = None, None
        self._queue.clear()

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _report_cut(self, position_s: float) -> None:
        await asyncio.sleep(0.05 + max(0.0, self.report_after_s))
        self.finished(position_s, interrupted=True)
        if self.repeats_after_cut:
            await asyncio.sleep(0.05)
            self.finished(0.0)

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            stream = self._queue.pop(0)
            while not stream.data and not stream.closed:
                await asyncio.sleep(0.01)
            self._began_at = loop.time()
            if self.says_started:
                self.say(PLAYBACK_STARTED)
            while not stream.closed or loop.time() < self._began_at + stream.seconds + min(0.0, self.report_after_s):
                await asyncio.sleep(0.01)
            self._began_at = None
            self._spawn(self._report(stream.seconds))

    async def _report(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, self.report_after_s))
        for _ in range(self.reports):
            self.finished(seconds)
            await asyncio.sleep(0.05)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Stream:
    def __init__(self, face: ScriptedFace, stream: Received) -> None:
        self._face, self._stream = face, stream

    async def write(self, data: bytes) -> None:
        await asyncio.sleep(self._face.write_s)
        assert not self._stream.closed, "a stream that is closed takes nothing"
        self._stream.data += data
        self._stream.writes += 1
        self._face.log.append("write")

    async def close(self) -> None:
        await asyncio.sleep(self._face.write_s)
        if not self._stream.closed:
            self._stream.closed = True
            self._face.log.append("close")
