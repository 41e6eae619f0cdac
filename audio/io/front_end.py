"""The front end of a device: from captured samples to frames that the session hears, without waiting for the loop.

It runs in a thread of its own (on the loop only in tests on virtual time): capture → echo → voice detection → pause of
the player. With the loop it shares bounded queues and the player's pause and generation, nothing else, so a loop that
stands still for a moment costs neither sound nor a late pause.

While no microphone delivers, frames of silence keep the session's clock going: a turn that was cut off by an unplugged
microphone ends like any other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import structlog

from audio.dsp.duplex import EchoPath
from audio.dsp.levels import LevelMeter, power
from audio.dsp.reference import Reference
from audio.io.player import Player
from audio.io.priority import prefer_this_thread
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, FrameCutter, Pcm, silence
from audio.resample import StreamResampler
from audio.vad.base import SpeechProb, SpeechRealStart, SpeechStart, VadAdapter, VadEvent

log = structlog.get_logger(__name__)

RING_SAMPLES = 2 * 48_000
"""Captured samples that may wait for the front end: two seconds at 48 kHz."""
HEARD_FRAMES = 500
"""Frames that may wait for the loop: five seconds."""
GAP_S = 0.3
"""Without capture for so long, silence takes its place."""
WAIT_S = 0.05
CALM_BATCH = 2
"""Frames that are processed together while nobody speaks: half the wake-ups of an idle device, 10 ms later at most."""
REST_BATCH = 8
"""The same while nobody listens for speech: 80 ms."""
REST_WAIT_S = 0.1


@dataclass(frozen=True)
class Heard:
    """One frame for the session.

    Attributes:
        pcm: 160 samples at 16 kHz.
        sample: index of its end on the media clock.
        vad_sample: the same on the voice detector's own count.
        events: what the detector found in exactly this frame.
        epoch: how many resets of the detector preceded it.
        paused: the generation whose sound was paused for it, or None.
    """

    pcm: Pcm
    sample: int
    vad_sample: int
    events: tuple[VadEvent, ...]
    epoch: int
    paused: int | None


class _Captured(NamedTuple):
    pcm: Pcm
    rate_hz: int
    at: float


class FrontEnd:
    """Turns captured samples into ``Heard`` frames. ``step`` does what there is to do and returns.

    Args:
        player: paused on the first frame of speech while it sounds.
        reference: what the sink was given.
        echo: takes the device's own voice away.
        vad: the voice detector, or None.
        now: monotonic seconds; called from several threads.
        wake_loop: called after frames were added to the queue, from the thread that runs ``step``.
        vad_from: samples that the voice detector has heard before.

    Attributes:
        sample: captured so far, on the media clock.
        vad_sample: heard so far by the voice detector.
        armed: whether speech pauses the player at once; the loop says whether the session listens.
        level: of what the microphone delivers, before the gate.
        lost: captured samples that the front end had no time for.
        dropped: frames that the loop had no time for; their events were kept.
        filled: frames of silence in place of a microphone.
        faults: frames whose processing failed.
        delay_s: seconds from capture to voice detection of the latest frames that somebody waited for.
    """

    def __init__(
        self,
        player: Player,
        reference: Reference,
        echo: EchoPath,
        vad: VadAdapter | None,
        now: Callable[[], float],
        wake_loop: Callable[[], None],
        vad_from: int = 0,
    ) -> None:
        self._player = player
        self._reference = reference
        self.echo = echo
        self._vad = vad
        self._now = now
        self._wake_loop = wake_loop
        self._ring: deque[_Captured] = deque()
        # Each of the three counts of samples has one thread that writes it: put and lost the sound system's, got ours.
        self._put = 0
        self._got = 0
        self._heard: deque[Heard] = deque()
        self._commands: deque[Callable[[], None]] = deque()
        self._cutter = FrameCutter()
        self._resampler: StreamResampler | None = None
        self._epoch = 0
        self._last_capture = now()
        self._filling = False
        self._batch = 1
        self._resting = False
        self._slips = 0
        self.sample = 0
        self.vad_sample = vad_from
        self.armed = True
        self.level = LevelMeter()
        self.lost = 0
        self.dropped = 0
        self.filled = 0
        self.faults = 0
        self.delay_s: deque[float] = deque(maxlen=1000)
        self.has_work = threading.Event()

    def captured(self, pcm: Pcm, rate_hz: int) -> None:
        """Samples of the microphone; called by the sound system."""
        at = self._now()
        self._reference.drift.captured(pcm.size, rate_hz, at)
        self._ring.append(_Captured(pcm, rate_hz, at))
        self._put += pcm.size
        while self._waiting > RING_SAMPLES and self._ring:
            self._drop_oldest()
        if len(self._ring) >= self._batch:
            self.has_work.set()

    def command(self, effect: Callable[[], None]) -> None:
        """Have ``effect`` run between two frames, in the thread of ``step``."""
        self._commands.append(effect)
        self.has_work.set()

    def reset_vad(self) -> None:
        """For ``command``: forget the segment in progress; later frames are of the next epoch."""
        self._epoch += 1
        if self._vad is not None:
            self._vad.reset()

    def duck_vad(self, ducked: bool) -> None:
        """For ``command``: see ``VadAdapter.set_ducked``."""
        if self._vad is not None:
            self._vad.set_ducked(ducked)

    def rest(self, resting: bool) -> None:
        """For ``command``, or before the first ``step``: nobody listens for speech now, or somebody does again."""
        self._resting = resting
        if self._vad is not None:
            self._vad.set_resting(resting)

    def collect(self) -> list[Heard]:
        """The frames that wait for the loop, in order."""
        frames: list[Heard] = []
        while self._heard:
            frames.append(self._heard.popleft())
        return frames

    @property
    def time_s(self) -> float:
        """Seconds of sound so far, counting what is under way in the sound system as captured."""
        return self.sample / CAPTURE_RATE_HZ + min(max(0.0, self._now() - self._last_capture), GAP_S)

    @property
    def _speech_open(self) -> bool:
        return self._vad is not None and self._vad.is_speaking

    @property
    def _waiting(self) -> int:
        return self._put - self._got - self.lost

    def _drop_oldest(self) -> None:
        try:
            old = self._ring.popleft()
        except IndexError:  # the front end was faster
            return
        self.lost += old.pcm.size
        self._reference.capture_gap()

    def step(self) -> None:
        """Process what was captured, or the silence in its place, and tell the loop."""
        while self._commands:
            self._commands.popleft()()
        while self._ring:
            self._take_in()
        self._fill_gap()
        self._batch = self._next_batch()
        if self._heard:
            self._wake_loop()

    def _next_batch(self) -> int:
        """How many frames of the microphone shall be processed together."""
        if not self.echo.at_rest:
            return 1
        if self._resting:
            return REST_BATCH
        return 1 if self._speech_open else CALM_BATCH

    def run(self, stopped: threading.Event) -> None:
        """Step whenever there is work, until ``stopped``."""
        prefer_this_thread("front-end")
        while not stopped.is_set():
            self.has_work.wait(REST_WAIT_S if self._batch == REST_BATCH else WAIT_S)
            self.has_work.clear()
            try:
                self.step()
            except Exception:
                self.faults += 1
                log.exception("the front end failed")

    def _take_in(self) -> None:
        try:
            captured = self._ring.popleft()
        except IndexError:  # dropped meanwhile
            return
        self._got += captured.pcm.size
        self._last_capture = captured.at
        self._filling = False
        for frame in self._cut(self._at_16_khz(captured)):
            backlog = self._waiting * 100 // captured.rate_hz
            self._process(frame, self._reference.take(backlog), captured.at)

    def _cut(self, pcm: Pcm) -> list[Pcm]:
        whole = pcm.size == FRAME_SAMPLES and not self._cutter.pending
        return [pcm] if whole else self._cutter.push(pcm)

    def _at_16_khz(self, captured: _Captured) -> Pcm:
        if self._resampler is None or self._resampler.in_rate_hz != captured.rate_hz:
            self._resampler = StreamResampler(captured.rate_hz, CAPTURE_RATE_HZ, "LQ")
        return self._resampler.push(captured.pcm)

    def _fill_gap(self) -> None:
        """Silence for the time without capture, once it is clear that it is no mere delay."""
        missing = self._now() - self._last_capture
        if missing < (WAIT_S if self._filling else GAP_S):
            return
        self._filling = True
        frames = int(missing * CAPTURE_RATE_HZ / FRAME_SAMPLES)
        self._cutter.reset()
        self._last_capture += frames * FRAME_SAMPLES / CAPTURE_RATE_HZ
        for _ in range(min(frames, HEARD_FRAMES)):
            self.filled += 1
            self._reference.take()
            self._finish(silence(FRAME_SAMPLES))

    def _process(self, frame: Pcm, reference: list[Pcm], at: float) -> None:
        self.level.add(power(frame))
        if self._reference.slips != self._slips:
            self._slips = self._reference.slips
            self.echo.slipped()
        try:
            clean = self.echo.process(frame, reference)
        except Exception:
            self.faults += 1
            log.exception("the echo path failed")
            clean = frame
        self._player.gain = self.echo.gain
        self._finish(clean)
        if self._batch != REST_BATCH:
            self.delay_s.append(self._now() - at)

    def _finish(self, clean: Pcm) -> None:
        self.sample += FRAME_SAMPLES
        self.vad_sample += FRAME_SAMPLES
        events = self._detect(clean)
        paused = self._pause_for(events)
        heard = Heard(clean, self.sample, self.vad_sample, tuple(events), self._epoch, paused)
        self._heard.append(heard)
        if len(self._heard) > HEARD_FRAMES:
            self._drop_heard()

    def _detect(self, clean: Pcm) -> list[VadEvent]:
        if self._vad is None:
            return []
        try:
            return self._vad.process(clean)
        except Exception:
            self.faults += 1
            log.exception("voice detection failed")
            return []

    def _pause_for(self, events: list[VadEvent]) -> int | None:
        """The first step of an interruption, at once: whether it was one is decided on the loop."""
        player = self._player
        generation = player.generation
        speech = any(isinstance(event, SpeechStart | SpeechRealStart) for event in events)
        if not (speech and self.armed and player.sounding):
            return None
        return generation if player.pause(generation) else None

    def _drop_heard(self) -> None:
        """The loop stands still for seconds: the oldest sound is lost, what was found in it goes to the next frame."""
        try:
            old, following = self._heard.popleft(), self._heard.popleft()
        except IndexError:  # the loop came back
            return
        self.dropped += 1
        events = tuple(event for event in old.events if not isinstance(event, SpeechProb)) + following.events
        paused = old.paused if following.paused is None else following.paused
        self._heard.appendleft(replace(following, events=events, paused=paused))
