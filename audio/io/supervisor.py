"""Keeps the streams of a device room running, whatever happens to the devices.

A task looks at both directions ten times a second, and at once when it is nudged. What is missing or unwell is opened
anew, at first only the stream, then the device (looked up again, by name), then the whole sound system; a device that
is not there is looked for at least every two seconds, for ever. Only when a microphone or speaker that had worked is
listed and yet cannot be brought back does the supervisor give up, so that whoever watches the process may start it
afresh. What has nothing to do is suspended.

Calls of the sound system may hang, so they run in a thread that can be left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread
from typing import Protocol, TypeVar, cast

import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveError, GloveVoiceError
from audio.io.backend import DeviceInfo, Direction, SoundBackend, SoundStream
from audio.io.inventory import choose_device
from audio.io.lane import Lane, LaneState, Rung

log = structlog.get_logger(__name__)

T = TypeVar("T")

OPENING_COST_S = 0.02
"""Declared time of one call of the sound system, on the virtual clock."""


@dataclass(frozen=True)
class SupervisorTimes:
    """Limits in seconds.

    Attributes:
        look_s: between two looks at the streams.
        poll_cap_s: the longest time between two attempts to open what is missing.
        call_s: a call of the sound system that takes longer is left behind.
        blind_s: the longest time without starting the sound system anew while a device is missing and another works.
        quiet_s: how long a restart of the sound system waits for the player to fall silent.
        give_up_s: a listed device that had worked and stayed away for so long ends the room.
    """

    look_s: float = 0.1
    poll_cap_s: float = 1.5
    call_s: float = 3.0
    blind_s: float = 30.0
    quiet_s: float = 5.0
    give_up_s: float = 30.0


class Plumbing(Protocol):
    """What connects a stream to the room."""

    def connect(self, lane: Lane, ticket: int, device: DeviceInfo) -> SoundStream:
        """Open the stream of ``lane``; runs off the loop, may block, raises ``GloveVoiceError``."""
        ...

    def opened(self, lane: Lane) -> None:
        """A stream was opened, on another device or after a pause: what was learnt about the old one is void."""
        ...

    def may_rest(self, lane: Lane) -> bool:
        """Whether ``lane`` has nothing to do for the time being, so that its stream may be suspended."""
        ...

    def interrupted(self, lane: Lane) -> None:
        """The stream of ``lane`` was suspended, or is about to go on."""
        ...

    def sounding(self) -> bool:
        """Whether something is being played, so that this is no good moment to interrupt the sound."""
        ...


@dataclass
class _Search:
    """When a direction is tried again."""

    backoff: Backoff
    due: float = 0.0

    def failed(self, now: float) -> None:
        self.due = now + self.backoff.next_delay()

    def succeeded(self) -> None:
        self.backoff.reset()


@dataclass
class Supervisor:
    """Opens, watches and repairs ``lanes``. ``run`` does so until it is cancelled.

    Args:
        backend: the sound system.
        lanes: the directions.
        plumbing: connects streams to the room.
        on_change: called after every look; the room compares.
        times: limits.

    Attributes:
        restarts: how often the sound system was started anew.
        abandoned: calls of the sound system that never came back.
    """

    backend: SoundBackend
    lanes: tuple[Lane, ...]
    plumbing: Plumbing
    on_change: Callable[[], None]
    times: SupervisorTimes = field(default_factory=SupervisorTimes)
    restarts: int = 0
    abandoned: int = 0

    def __post_init__(self) -> None:
        self._search: dict[Direction, _Search] = {
            lane.direction: _Search(Backoff(first_s=0.1, cap_s=self.times.poll_cap_s)) for lane in self.lanes
        }
        self._restarted_at = float("-inf")
        self._nudged = asyncio.Event()

    async def run(self) -> None:
        """Keep the streams running.

        Raises:
            GloveVoiceError: ``ERR_MIC_LOST`` or ``ERR_SPEAKER_LOST``, nothing in this process helps any more;
                ``ERR_AUDIO_BACKEND``, there is no sound system.
        """
        while True:
            await self.look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.times.look_s):
                    await self._nudged.wait()
            self._nudged.clear()

    def nudge(self) -> None:
        """Something may have changed: look at once."""
        self._nudged.set()

    async def look(self) -> None:
        """Look at every direction once, and repair what is due."""
        for lane in self.lanes:
            await self._tend(lane)
        self.on_change()

    async def close(self) -> None:
        """Close every stream; idempotent. ``run`` must have ended."""
        for lane in self.lanes:
            await self._close(lane)

    async def _tend(self, lane: Lane) -> None:
        state, search = lane.state, self._search[lane.direction]
        if state in (LaneState.OFF, LaneState.STARTING):
            return
        if state is LaneState.LIVE:
            search.succeeded()
            lane.forgive()
            if self.plumbing.may_rest(lane):
                await self._rest(lane)
            return
        if state is LaneState.RESTING:
            if not self.plumbing.may_rest(lane):
                await self._resume(lane)
            return
        if state is LaneState.SILENT:
            lane.reopened_for_silence()
            lane.rung = Rung.STREAM
        if state is not LaneState.ABSENT:
            tell = log.info if state is LaneState.SILENT else log.warning
            tell("a sound stream is unwell", direction=lane.direction, state=state.value, rung=lane.rung.name)
            await self._close(lane)
            search.due = min(search.due, clock.now())
        if clock.now() >= search.due:
            await self._open(lane, search)

    async def _open(self, lane: Lane, search: _Search) -> None:
        rung = lane.rung
        try:
            if rung is Rung.BACKEND:
                await self._restart(lane)
            device = await self._find(lane, again=rung is not Rung.STREAM)
            if device is None:
                await self._look_for(lane, search)
                return
            stream = await self._connect(lane, device)
        except GloveVoiceError as fault:
            if fault.code == "ERR_AUDIO_BACKEND":
                raise
            lane.trouble = str(fault)
            log.info("a sound device cannot be opened", direction=lane.direction, error=fault.message)
            lane.climb()
            search.failed(clock.now())
            self._give_up_if_hopeless(lane)
            return
        lane.device = device
        lane.attach(stream)
        lane.climb()  # forgiven when it proves to be well
        search.failed(clock.now())
        self.plumbing.opened(lane)
        log.info("a sound stream is open", direction=lane.direction, device=device.id, rate_hz=stream.rate_hz)
        self._give_up_if_hopeless(lane)

    async def _connect(self, lane: Lane, device: DeviceInfo) -> SoundStream:
        """Open a stream; one that opens after nobody waits for it any more is closed at once."""
        ticket, made = lane.ticket(), list[SoundStream]()

        def connect() -> SoundStream:
            stream = self.plumbing.connect(lane, ticket, device)
            made.append(stream)
            if not lane.expects(ticket):
                stream.close()
            return stream

        try:
            return await self._call(connect)
        except BaseException:
            lane.detach()
            for stream in made:
                await self._call(stream.close)
            raise

    async def _find(self, lane: Lane, *, again: bool) -> DeviceInfo | None:
        if lane.device is not None and lane.listed and not again:
            return lane.device
        devices = await self._call(self.backend.devices)
        device = choose_device(devices, lane.wanted, lane.direction)
        lane.listed = device is not None
        return device

    async def _look_for(self, lane: Lane, search: _Search) -> None:
        """The device is not there: perhaps it has come since the sound system last looked."""
        what = "microphone" if lane.direction == "input" else "speaker"
        lane.trouble = f"There is no {what}. Plug one in, it is found by itself."
        if lane.wanted != "default":
            lane.trouble = f"There is no {what} called {lane.wanted!r}. `glove devices` lists what there is."
        lane.rung, lane.rounds = Rung.STREAM, 0
        search.failed(clock.now())
        if self._worth_restarting(lane):
            await self._restart(lane)

    def _worth_restarting(self, lane: Lane) -> bool:
        others = [other for other in self.lanes if other is not lane and other.stream is not None]
        if not others:
            # One restart serves both directions, and each has a look after it.
            return self.backend.changed() or clock.now() - self._restarted_at > self.times.poll_cap_s / 2
        if self.plumbing.sounding():
            return False
        return self.backend.changed() or clock.now() - self._restarted_at > self.times.blind_s

    async def _restart(self, lane: Lane) -> None:
        """Start the sound system anew, at a quiet moment if another direction works."""
        others = [other for other in self.lanes if other is not lane and other.stream is not None]
        if others:
            await self._quiet()
        for other in others:
            await self._close(other)
        self.restarts += 1
        self._restarted_at = clock.now()
        await self._call(self.backend.reinitialise)
        for other in self.lanes:
            other.device, other.listed = None, False
            self._search[other.direction].due = min(self._search[other.direction].due, clock.now())

    async def _quiet(self) -> None:
        deadline = clock.now() + self.times.quiet_s
        while self.plumbing.sounding() and clock.now() < deadline:
            await asyncio.sleep(self.times.look_s)

    def _give_up_if_hopeless(self, lane: Lane) -> None:
        if not (lane.was_live and lane.rounds > 0 and lane.down_s > self.times.give_up_s):
            return
        what, code = ("microphone", "ERR_MIC_LOST") if lane.direction == "input" else ("speaker", "ERR_SPEAKER_LOST")
        raise GloveVoiceError(
            code,
            f"The {what} stopped working {lane.down_s:.0f} s ago and nothing brings it back.",
            "Start the appliance again; if that does not help, unplug the device and plug it in.",
        )

    async def _rest(self, lane: Lane) -> None:
        """Suspend the stream; one that cannot be suspended goes on, or is found unwell soon."""
        stream = lane.stream
        if stream is None or self.backend.changed():  # a device that has gone would not be missed at rest
            return
        lane.rests()
        try:
            await self._call(stream.suspend)
        except GloveVoiceError as fault:
            log.warning("a sound stream cannot rest", direction=lane.direction, error=fault.message)
            lane.resumes()
        self.plumbing.interrupted(lane)

    async def _resume(self, lane: Lane) -> None:
        stream = lane.stream
        if stream is None:
            return
        self.plumbing.interrupted(lane)
        lane.resumes()
        try:
            await self._call(stream.resume)
        except GloveVoiceError as fault:
            log.warning("a sound stream does not go on", direction=lane.direction, error=fault.message)
            await self._close(lane)
            self._search[lane.direction].due = clock.now()

    async def _close(self, lane: Lane) -> None:
        stream = lane.detach()
        if stream is None:
            return
        try:
            await self._call(stream.close)
        except GloveError as fault:
            log.warning("a sound stream could not be closed", direction=lane.direction, error=fault.message)

    async def _call(self, work: Callable[[], T]) -> T:
        """Run ``work`` off the loop; one that hangs is left behind with its thread.

        Raises:
            GloveVoiceError: ``ERR_AUDIO_TIMEOUT`` after ``call_s``; ``ERR_AUDIO_DEVICE`` for anything unforeseen.
        """
        if self.backend.on_loop:
            return await clock.infer(work, cost_s=OPENING_COST_S)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        Thread(target=_answer, args=(loop, answer, work), name="sound-system", daemon=True).start()
        try:
            async with asyncio.timeout(self.times.call_s):
                return await answer
        except TimeoutError as fault:
            self.abandoned += 1
            raise GloveVoiceError("ERR_AUDIO_TIMEOUT", "The sound system does not answer.", cause=fault) from fault
        except (OSError, RuntimeError, ValueError) as fault:
            log.warning("the sound system failed", fault=str(fault))
            raise GloveVoiceError(
                "ERR_AUDIO_DEVICE",
                "The sound system failed.",
                "It is tried again all the time; `glove doctor` checks what it needs.",
                fault,
            ) from fault


def _answer(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T], work: Callable[[], T]) -> None:
    """In a thread of its own, which dies with the process if ``work`` never returns: do it and tell the loop."""
    try:
        result, fault = work(), None
    except Exception as error:  # noqa: BLE001 - handed over, and raised where it is awaited
        result, fault = None, error

    def settle() -> None:
        if answer.done():
            return
        if fault is not None:
            answer.set_exception(fault)
        else:
            answer.set_result(cast(T, result))

    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(settle)
