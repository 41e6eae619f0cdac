"""A sound system by script, for tests of everything that stands on one: devices come, go, stall and lie.

On a virtual loop it calls back every 10 ms of virtual time; nothing depends on the machine.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from agents.base import clock
from agents.base.errors import GloveVoiceError
from audio.io.backend import DeviceInfo, Direction, OnEnded, OnInput, OnOutput, SoundBackend, SoundStream
from audio.pcm import FRAME_MS, Pcm, silence

TICK_S = FRAME_MS / 1000


class ScriptedDevice:
    """A device of a ``ScriptedBackend``. Its attributes may be changed at any time.

    Args:
        name: its name.
        direction: ``input`` or ``output``.
        rate_hz: the only rate it takes, or None for any.

    Attributes:
        present: whether it is plugged in. A stream on a device that goes ends, and says so.
        busy: whether another program holds it, so that it cannot be opened.
        stalls: how many more streams will be opened that never call; -1 for all.
        cured_by_restart: whether a restart of the sound system ends the stalls.
        hum: level of what a microphone picks up when nothing is queued; 0 gives digital silence.
        said: frames of the microphone that wait to be captured, at the stream's rate.
        played: what the speaker was given.
        opened: streams opened so far.
    """

    def __init__(self, name: str, direction: Direction, rate_hz: int | None = None) -> None:
        self.name = name
        self.direction: Direction = direction
        self.rate_hz = rate_hz
        self.present = True
        self.busy = False
        self.stalls = 0
        self.cured_by_restart = False
        self._frozen_to = 0
        self.hum = 3
        self.said: deque[Pcm] = deque()
        self.played: list[Pcm] = []
        self.opened = 0

    def freeze(self) -> None:
        """The streams that are open now stop calling, saying nothing; new ones are not concerned."""
        self._frozen_to = self.opened

    def thaw(self) -> None:
        """Frozen streams call again."""
        self._frozen_to = 0

    def calls(self, stream: int) -> bool:
        """Whether the stream that was opened as number ``stream`` calls."""
        return stream > self._frozen_to

    def info(self, index: int, default: bool) -> DeviceInfo:
        """As the sound system lists it."""
        is_input = self.direction == "input"
        return DeviceInfo(
            id=f"Script/{self.name}",
            name=self.name,
            host_api="Script",
            index=index,
            inputs=int(is_input),
            outputs=int(not is_input),
            default_rate_hz=self.rate_hz or 48_000,
            is_default_input=default and is_input,
            is_default_output=default and not is_input,
        )

    def frame(self, samples: int) -> Pcm:
        """The next 10 ms of a microphone."""
        if self.said:
            return self.said.popleft()
        noise = silence(samples)
        noise[::2], noise[1::2] = self.hum, -self.hum
        return noise


class ScriptedBackend(SoundBackend):
    """A sound system whose devices are ``ScriptedDevice``; like a real one it sees new ones only after a restart.

    Args:
        devices: what it has; may be changed at any time.

    Attributes:
        restarts: how often it was started anew.
        period: how many frames of 10 ms a stream moves at a time; asked before each time.
    """

    on_loop: ClassVar[bool] = True

    def __init__(self, *devices: ScriptedDevice) -> None:
        self.known = list(devices)
        self.restarts = 0
        self.period: Callable[[], int] = lambda: 1
        self._listed = [device for device in devices if device.present]
        self.streams: list[_ScriptedStream] = []

    @property
    def open_streams(self) -> int:
        """How many streams were opened and not closed."""
        return len(self.streams)

    def devices(self) -> Sequence[DeviceInfo]:
        """See ``SoundBackend``."""
        seen: set[Direction] = set()
        infos: list[DeviceInfo] = []
        for index, device in enumerate(self._listed):
            infos.append(device.info(index, device.direction not in seen))
            seen.add(device.direction)
        return infos

    def open_input(
        self, device: DeviceInfo, rate_hz: int, latency_s: float, on_input: OnInput, on_ended: OnEnded
    ) -> SoundStream:
        """See ``SoundBackend``."""
        script, rate = self._open(device, rate_hz)
        samples = rate * FRAME_MS // 1000
        return self._start(script, rate, lambda: on_input(script.frame(samples), False), on_ended)

    def open_output(
        self, device: DeviceInfo, rate_hz: int, latency_s: float, on_output: OnOutput, on_ended: OnEnded
    ) -> SoundStream:
        """See ``SoundBackend``. The device is taken to convert rates by itself."""
        script, _ = self._open(device, rate_hz)
        samples = rate_hz * FRAME_MS // 1000
        return self._start(script, rate_hz, lambda: script.played.append(on_output(samples, False)), on_ended)

    def reinitialise(self) -> None:
        """See ``SoundBackend``."""
        self.restarts += 1
        for stream in list(self.streams):
            stream.close()
        self._listed = [device for device in self.known if device.present]
        for device in self.known:
            if device.cured_by_restart:
                device.stalls = 0

    def changed(self) -> bool:
        """See ``SoundBackend``."""
        return self._listed != [device for device in self.known if device.present]

    def _open(self, device: DeviceInfo, rate_hz: int) -> tuple[ScriptedDevice, int]:
        script = self._listed[device.index]
        script.opened += 1
        if not script.present or script.busy:
            code = "ERR_MIC_UNAVAILABLE" if script.direction == "input" else "ERR_SPEAKER_UNAVAILABLE"
            raise GloveVoiceError(code, f"{script.name} is {'busy' if script.present else 'gone'}.")
        return script, script.rate_hz or rate_hz

    def _start(self, script: ScriptedDevice, rate_hz: int, tick: OnEnded, on_ended: OnEnded) -> SoundStream:
        stalled = script.stalls != 0
        script.stalls -= script.stalls > 0
        stream = _ScriptedStream(script, rate_hz, None if stalled else tick, on_ended, self)
        self.streams.append(stream)
        return stream


class _ScriptedStream(SoundStream):
    """Calls ``tick`` for every 10 ms of the loop's time."""

    def __init__(
        self,
        script: ScriptedDevice,
        rate_hz: int,
        tick: OnEnded | None,
        on_ended: OnEnded,
        backend: ScriptedBackend,
    ) -> None:
        self.rate_hz = rate_hz
        self._script = script
        self._number = script.opened
        self._tick = tick
        self._on_ended = on_ended
        self._backend = backend
        self._frames = 1
        self._active = True
        self._due = clock.now()
        self._timer: asyncio.TimerHandle | None = None
        self._arm()

    @property
    def active(self) -> bool:
        return self._active

    def close(self) -> None:
        if self in self._backend.streams:
            self._backend.streams.remove(self)
        self._end()

    def suspend(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def resume(self) -> None:
        if self._active and self._timer is None:
            self._due = clock.now()
            self._arm()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._active:
            self._active = False
            self._on_ended()

    def _arm(self) -> None:
        self._frames = self._backend.period()
        self._due += self._frames * TICK_S
        self._timer = asyncio.get_running_loop().call_at(self._due, self._fire)

    def _fire(self) -> None:
        if not self._script.present:
            self._end()
            return
        if self._tick is not None and self._script.calls(self._number):
            for _ in range(self._frames):
                self._tick()
        self._arm()
