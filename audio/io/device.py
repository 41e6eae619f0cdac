"""The device room: the machine's own microphone and speaker.

Three parties work together. The sound system calls back from threads of its own; the front end, in a thread of its own,
turns what was captured into frames with their voice events; the loop hands those to the session, in order, and keeps
the streams running. Without a microphone or a speaker the room is open all the same, and says so.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.dsp.duplex import EchoMode, EchoPath
from audio.dsp.echo import EchoCanceller, WebRtcEchoCanceller
from audio.dsp.reference import Reference
from audio.io.backend import SoundBackend
from audio.io.base import AudioIO, OnFrame, RoomHealth
from audio.io.front_end import FrontEnd, Heard
from audio.io.front_vad import FrontEndVad
from audio.io.lane import Lane, LaneState
from audio.io.player import Player
from audio.io.supervisor import Supervisor, SupervisorTimes
from audio.io.wiring import Wiring
from audio.pcm import FRAME_MS
from audio.vad.base import VadAdapter
from audio.vad.resting import RestingVad

log = structlog.get_logger(__name__)

SWITCH_S = 0.0005
"""How soon a thread that computes lets another one run. Python's own 5 ms, spent at each of the front end's calls into
native code, would make it fall behind whenever the loop computes."""


@dataclass(frozen=True)
class DeviceSettings:
    """Which devices, and how.

    Attributes:
        input, output: ``default``, an id or (part of) a name from ``list_devices``, or ``none``.
        echo: see ``audio.dsp.duplex.EchoMode``.
        latency_ms: sound kept ready in each of the two sound buffers; less reacts faster, more forgives more.
        rate_hz: rate of the player; 16000, 32000 or 48000.
    """

    input: str = "default"
    output: str = "default"
    echo: EchoMode = "auto"
    latency_ms: int = 40
    rate_hz: int = 48_000


class DeviceRoom(AudioIO):
    """Microphone and speaker as a room. It may be opened again after ``close``.

    The media clock counts captured samples; without a microphone, silence in their place.

    Args:
        settings: which devices, and how.
        vad: the voice detector, which from now on belongs to the front end; None for push-to-talk without one.
        backend: the sound system; PortAudio when None.
        canceller: takes the device's own voice away; WebRTC's when None.
        times: limits of the supervisor.

    Attributes:
        failed: why the room ended by itself, or None.
        on_failed: called then, on the loop. Nothing in this process brings the device back: start it afresh.
        on_health: called on the loop when state or reason of ``health`` changed.
    """

    def __init__(
        self,
        settings: DeviceSettings | None = None,
        *,
        vad: VadAdapter | None = None,
        backend: SoundBackend | None = None,
        canceller: EchoCanceller | None = None,
        times: SupervisorTimes | None = None,
    ) -> None:
        self.settings = settings or DeviceSettings()
        self.player = Player(self.settings.rate_hz)
        self.failed: GloveError | None = None
        self.on_failed: Callable[[GloveError], None] | None = None
        self.on_health: Callable[[RoomHealth], None] | None = None
        self._detector = None if vad is None else RestingVad(vad)
        self._backend = backend
        self._canceller = canceller
        self._times = times or SupervisorTimes()
        self._front_vad = None
        if vad is not None:
            self._front_vad = FrontEndVad(self._command_vad, supports_real_start=vad.supports_real_start)
        self.vad = self._front_vad
        self._front: FrontEnd | None = None
        self._reference = Reference(self.settings.rate_hz)
        self._lanes: dict[str, Lane] = {}
        self._supervisor: Supervisor | None = None
        self._scope = Scope("device")
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_frame: OnFrame | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._called = False
        self._time_s = 0.0
        self._told = ("", "")

    async def open(self, on_frame: OnFrame) -> None:
        """See ``AudioIO``. A missing device is no error: see ``health``.

        Raises:
            GloveVoiceError: ``ERR_AUDIO_BACKEND``, PortAudio is not installed.
            RuntimeError: the room is open.
        """
        if self._on_frame is not None:
            raise RuntimeError("the room is open")
        self._loop = asyncio.get_running_loop()
        backend = self._backend or _portaudio()
        self._backend = backend
        now = clock.perf_counter if not backend.on_loop else self._loop.time
        echo = EchoPath(self._echo_mode, await self._make_canceller())
        self._reference = Reference(self.settings.rate_hz)
        before = self._front.vad_sample if self._front is not None else 0
        front = FrontEnd(self.player, self._reference, echo, self._detector, now, self._wake, before)
        if self._front_vad is not None:
            self._front_vad.begin()
            front.command(front.reset_vad)
            front.rest(self._front_vad.resting)
        self._front, self._on_frame, self._called, self._time_s = front, on_frame, False, 0.0
        self.failed, self._told = None, ("", "")
        settings = self.settings
        self._lanes = {"input": Lane("input", settings.input, now), "output": Lane("output", settings.output, now)}
        lanes = tuple(self._lanes.values())
        latency_s = settings.latency_ms / 1000
        wiring = Wiring(backend, front, self.player, self._reference, now, latency_s, self._listens)
        self._supervisor = Supervisor(backend, lanes, wiring, self._tell_health, self._times)
        self._scope = Scope("device", on_fault=self._on_fault)
        self.player.on_queued = self._nudge
        self._stopped.clear()
        if backend.on_loop:
            self._scope.spawn(self._step_on_loop(front), "front-end")
        else:
            sys.setswitchinterval(min(SWITCH_S, sys.getswitchinterval()))
            self._thread = threading.Thread(
                target=front.run, args=(self._stopped,), name="sound-front-end", daemon=True
            )
            self._thread.start()
        try:
            await self._supervisor.look()
        except BaseException:
            await self.close()
            raise
        self._scope.spawn(self._supervisor.run(), "supervisor")

    async def close(self) -> None:
        """See ``AudioIO``."""
        self._on_frame = self.player.on_queued = None
        await self._scope.close()
        if self._supervisor is not None:
            supervisor, self._supervisor = self._supervisor, None
            await supervisor.close()
        self._stopped.set()
        if self._front is not None:
            self._front.has_work.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, thread.join, 1.0)

    @property
    def _echo_mode(self) -> EchoMode:
        """Where only one direction is wanted there is no echo."""
        return "off" if "none" in (self.settings.input, self.settings.output) else self.settings.echo

    async def _make_canceller(self) -> EchoCanceller | None:
        if self._echo_mode not in ("auto", "aec"):
            return None
        if self._canceller is None:
            rate_hz = self.settings.rate_hz
            self._canceller = await clock.infer(lambda: WebRtcEchoCanceller(rate_hz), cost_s=0.5)
        else:
            await clock.infer(self._canceller.reset, cost_s=0.1)
        return self._canceller

    def _on_fault(self, _child: str, fault: BaseException) -> None:
        error = fault if isinstance(fault, GloveError) else GloveError("ERR_ROOM", f"The room failed: {fault}")
        self.failed = error
        self._tell_health()
        if self.on_failed is not None:
            self.on_failed(error)

    @property
    def time_s(self) -> float:
        """Seconds on the room's media clock; never runs backwards. May be read from any thread."""
        if self._front is not None:
            self._time_s = max(self._time_s, self._front.time_s)
        return self._time_s

    @property
    def health(self) -> RoomHealth:
        """See ``AudioIO``. Values:

        * ``level_db``: what the microphone delivers, below full scale; ``erle_db``: what echo cancellation takes away,
          once measured; ``capture_to_vad_p99_ms``: of the last ten seconds in which somebody listened for speech.
        * ``capture_age_s``: since the microphone's last call. ``overruns``, ``underruns``: gaps that the sound system
          reported. ``reopened``: streams opened anew.
        * ``lost_samples``, ``lost_reference_samples``, ``late_reference_frames``, ``dropped_frames``: what a part of
          the appliance was too slow for. ``filled_frames``: silence in place of a microphone. ``gated_frames``: not
          heard while the device spoke. ``faults``: frames whose processing failed.
        * ``drift_ppm``: by how much the speaker's clock runs faster than the microphone's. ``slips``: how often echo
          and reference have moved against each other.
        """
        state, reason = self._standing()
        return RoomHealth(state, reason, {} if self._front is None else self._values(self._front))

    def _standing(self) -> tuple[Literal["ok", "degraded", "down"], str]:
        """State and reason of ``health``."""
        front, lanes = self._front, self._lanes
        if front is None or not lanes:
            return "down", "The room is not open."
        if self.failed is not None:
            return "down", str(self.failed)
        troubles = [lane.complaint for lane in lanes.values() if not lane.works]
        state: Literal["ok", "degraded", "down"] = "degraded" if troubles or front.echo.reason else "ok"
        if not any(lane.works and lane.state is not LaneState.OFF for lane in lanes.values()):
            state = "down"
        if lanes["input"].state is LaneState.SILENT:
            state = "degraded"
            troubles.append("The microphone delivers nothing but digital silence.")
        if front.echo.reason and not troubles:
            troubles.append(front.echo.reason)
        return state, " ".join(troubles)

    def _values(self, front: FrontEnd) -> dict[str, float]:
        microphone, speaker = self._lanes["input"], self._lanes["output"]
        values = {
            "speaker": float(speaker.works and speaker.state is not LaneState.OFF),
            "level_db": round(front.level.db, 1),
            "capture_age_s": round(microphone.age_s, 3),
            "overruns": microphone.xruns,
            "underruns": speaker.xruns,
            "reopened": max(0, microphone.opened - 1) + max(0, speaker.opened - 1),
            "lost_samples": front.lost,
            "lost_reference_samples": self._reference.lost,
            "late_reference_frames": self._reference.late,
            "dropped_frames": front.dropped,
            "filled_frames": front.filled,
            "gated_frames": front.echo.gated,
            "faults": front.faults,
            "drift_ppm": round(1e6 * self._reference.drift.excess, 1),
            "slips": self._reference.slips,
        }
        erle, delays = front.echo.erle_db, sorted(front.delay_s)
        if erle is not None:
            values["erle_db"] = round(erle, 1)
        if delays:
            values["capture_to_vad_p99_ms"] = round(1000 * delays[int(0.99 * (len(delays) - 1))], 2)
        return values

    def _tell_health(self) -> None:
        told = self._standing()
        if told == self._told:
            return
        first, self._told = self._told == ("", ""), told
        state, reason = told
        # How it begins is no change: who opened the room tells it.
        (log.info if first else log.warning)("the device room has changed", state=state, reason=reason)
        if self.on_health is not None:
            self.on_health(self.health)

    def _listens(self) -> bool:
        """Whether somebody is listened to, or might be: without a detector of its own the room does not know."""
        return self._front_vad is None or not self._front_vad.resting

    def _command_vad(self, command: Callable[[FrontEnd], None]) -> None:
        front = self._front
        if front is not None:
            front.command(lambda: command(front))
        self._nudge()

    def _nudge(self) -> None:
        """What rests may have something to do now."""
        if self._supervisor is not None:
            self._supervisor.nudge()

    def _wake(self) -> None:
        """In the front end's thread: have the loop collect, once per batch."""
        if self._called or self._loop is None:
            return
        self._called = True
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # the loop is closed, and with it the room
            self._stopped.set()

    def _deliver(self) -> None:
        self._called = False
        front = self._front
        if front is None:
            return
        for heard in front.collect():
            if self._on_frame is None:
                return
            self._hand_over(front, self._on_frame, heard)

    def _hand_over(self, front: FrontEnd, on_frame: OnFrame, heard: Heard) -> None:
        if self._front_vad is not None:
            self._front_vad.offer(heard)
        try:
            on_frame(heard.pcm, heard.sample)
        except Exception:
            log.exception("the session failed on a frame")
        if self._front_vad is not None:
            front.armed = self._front_vad.settle()
        owned = self.pause_owner is not None and self.pause_owner()
        if heard.paused == self.player.generation and not owned:
            self.player.resume()

    async def _step_on_loop(self, front: FrontEnd) -> None:
        """On virtual time the front end works on the loop, halfway between two captures."""
        await asyncio.sleep(FRAME_MS / 2000)
        while True:
            front.step()
            await asyncio.sleep(FRAME_MS / 1000)


def _portaudio() -> SoundBackend:
    from audio.io.portaudio import PortAudioBackend

    return PortAudioBackend()
