"""One direction of a device room: a stream, and what can be said about it.

The state is derived, each time it is asked for, from the stream itself and from when it last called; there is no flag
that could say "already active" about a stream that is dead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum

from audio.io.backend import DeviceInfo, Direction, SoundStream
from audio.pcm import Pcm

SILENCE_RETRY_CAP_S = 60.0
"""The longest time between two attempts to wake a silent source by opening it anew."""

LIFE_CALLS = 10
"""A source that has shown life is asked for more at every tenth call: a room is never digitally silent for long."""

HELPED_S = 0.5
"""A source that is alive within so long after being opened anew was woken by that: a room is never digitally silent."""


class LaneState(Enum):
    """How a direction stands.

    ============  ======================================================
    ``OFF``       nobody wants it
    ``ABSENT``    no stream is open
    ``STARTING``  open, has not called yet, and need not have
    ``LIVE``      open, and called lately
    ``RESTING``   suspended, since there is nothing to do
    ``SILENT``    calls, with digital zeros, from a source that had life
    ``STALLED``   open, and has not called for too long
    ``ENDED``     the sound system ended it
    ============  ======================================================
    """

    OFF = "off"
    ABSENT = "absent"
    STARTING = "starting"
    LIVE = "live"
    RESTING = "resting"
    SILENT = "silent"
    STALLED = "stalled"
    ENDED = "ended"


class Rung(IntEnum):
    """What is started anew, from the least to the most."""

    STREAM = 0
    DEVICE = 1
    BACKEND = 2


@dataclass(frozen=True)
class LaneLimits:
    """Limits in seconds.

    Attributes:
        stall_s: without a call, an open stream counts as stalled.
        first_s: the same before its first call: a sound server may take long to wake up.
        silent_s: digital zeros from a source that had life, before it is opened anew.
        healthy_s: a stream that called for so long has its past forgiven.
    """

    stall_s: float = 0.8
    first_s: float = 2.0
    silent_s: float = 5.0
    healthy_s: float = 10.0


class Lane:
    """Stream of one direction, and the memory of its troubles.

    Args:
        direction: which.
        wanted: name of the device, ``default``, or ``none``.
        now: monotonic seconds; called from several threads.
        limits: when a stream counts as unwell.

    Attributes:
        device: what is, or was last, opened.
        listed: whether the device was there at the last look.
        rung: what the next repair starts anew.
        rounds: how often all rungs were tried in vain.
        opened: how many streams have been opened.
        xruns: gaps that the sound system reported.
        was_live: whether it has ever delivered.
        trouble: why it could not be opened, for people.
    """

    def __init__(
        self, direction: Direction, wanted: str, now: Callable[[], float], limits: LaneLimits | None = None
    ) -> None:
        self.direction: Direction = direction
        self.wanted = wanted
        self.limits = limits or LaneLimits()
        self._now = now
        self.device: DeviceInfo | None = None
        self.listed = False
        self.rung = Rung.STREAM
        self.rounds = 0
        self.opened = 0
        self.xruns = 0
        self.was_live = False
        self.trouble = ""
        self._stream: SoundStream | None = None
        self._ticket = 0
        self._ended = False
        self._opened_at = self._now()
        self._called_at: float | None = None
        self._life_at: float | None = None
        self._live_until = now()
        self._silence_is_normal = False
        self._silence_retry_s = 0.0
        self._resting = False
        self._resumed = False
        self._calls = 0

    @property
    def stream(self) -> SoundStream | None:
        """The open stream."""
        return self._stream

    def ticket(self) -> int:
        """The number of the stream that is being opened; calls of older ones are ignored from now on."""
        self._ticket += 1
        self._ended = self._resting = self._resumed = False
        self._called_at = self._life_at = None
        self._opened_at = self._now()
        return self._ticket

    def expects(self, ticket: int) -> bool:
        """Whether the stream of ``ticket`` is still the one that is wanted. May be called from any thread."""
        return ticket == self._ticket

    def attach(self, stream: SoundStream) -> None:
        """The stream of the latest ticket is open."""
        self._stream = stream
        self.opened += 1
        self.trouble = ""

    def detach(self) -> SoundStream | None:
        """Forget the stream, whose calls are ignored from now on, and hand it over to be closed."""
        self._ticket += 1
        stream, self._stream = self._stream, None
        return stream

    def called(self, ticket: int, pcm: Pcm | None, gap: bool) -> bool:
        """A callback of the stream with ``ticket``, with what was captured. Returns whether it is the present one."""
        if ticket != self._ticket:
            return False
        self._called_at = self._live_until = self._now()
        self.was_live = True
        self.xruns += gap
        self._calls += 1
        if pcm is not None and (self._life_at is None or self._calls % LIFE_CALLS == 0) and pcm.any():
            self._shows_life(self._called_at)
        return True

    def ended(self, ticket: int) -> None:
        """The stream with ``ticket`` is over."""
        if ticket == self._ticket:
            self._ended = True

    def rests(self) -> None:
        """The stream was suspended."""
        self._resting = True

    def resumes(self) -> None:
        """The stream is to call again: from now on it has as much time for that as a new one."""
        self._resting, self._resumed = False, True
        self._called_at = None
        self._opened_at = self._live_until = self._now()

    @property
    def state(self) -> LaneState:
        """How it stands at this moment."""
        if self.wanted == "none":
            return LaneState.OFF
        if self._stream is None:
            return LaneState.ABSENT
        if self._ended or not self._stream.active:
            return LaneState.ENDED
        if self._resting:
            return LaneState.RESTING
        now = self._now()
        if self._called_at is None:
            return LaneState.STARTING if now - self._opened_at < self.limits.first_s else LaneState.STALLED
        if now - self._called_at > self.limits.stall_s:
            return LaneState.STALLED
        return LaneState.SILENT if self._is_mute(now) else LaneState.LIVE

    @property
    def works(self) -> bool:
        """Whether sound passes, or is about to for the first time."""
        state = self.state
        if state is LaneState.STARTING:
            return self.opened == 1 or self._resumed or self._silence_retry_s > 0
        return state in (LaneState.LIVE, LaneState.RESTING, LaneState.SILENT, LaneState.OFF)

    @property
    def complaint(self) -> str:
        """Why it does not work, for people; meaningless while it does."""
        what = "microphone" if self.direction == "input" else "speaker"
        return self.trouble or f"The {what} has stopped working and is being opened again."

    @property
    def silent_s(self) -> float:
        """Seconds since the source last showed life (0 when it never did)."""
        return 0.0 if self._life_at is None else self._now() - self._life_at

    @property
    def down_s(self) -> float:
        """Seconds since it last delivered."""
        return self._now() - self._live_until

    @property
    def age_s(self) -> float:
        """Seconds since its last call, or since it was opened."""
        return self._now() - (self._opened_at if self._called_at is None else self._called_at)

    def _shows_life(self, now: float) -> None:
        if self._life_at is None and self._silence_retry_s and now - self._opened_at < HELPED_S:
            self._silence_retry_s = 0.0  # opening it anew did help
        elif self._silence_retry_s:
            self._silence_is_normal = True
        self._life_at = now

    def _is_mute(self, now: float) -> bool:
        """A source that had life gives zeros: perhaps another one has been put in its place.

        Many virtual microphones, and some with a switch, give zeros by nature. One that comes back to life by itself
        after opening it anew did not help is left alone from then on.
        """
        if self._silence_is_normal:
            return False
        if self._life_at is None:
            return self._silence_retry_s > 0 and now - self._opened_at > self._silence_retry_s
        return now - self._life_at > self.limits.silent_s

    def reopened_for_silence(self) -> None:
        """It is about to be opened anew because of zeros; as long as that does not help, ever more rarely."""
        self._silence_retry_s = min(SILENCE_RETRY_CAP_S, max(self.limits.silent_s, self._silence_retry_s) * 2)

    def climb(self) -> None:
        """The present rung did not help."""
        if self.rung is Rung.BACKEND:
            self.rounds += 1
            self.rung = Rung.STREAM
        else:
            self.rung = Rung(self.rung + 1)

    def forgive(self) -> None:
        """Forget past troubles once the stream has been well for long enough."""
        well = self.state is LaneState.LIVE and self._now() - self._opened_at > self.limits.healthy_s
        if well and (self.rung or self.rounds):
            self.rung, self.rounds = Rung.STREAM, 0
