"""A voice detector that rests while nobody listens for speech and the room is quiet.

An appliance that waits for its wake phrase needs to know about speech only once somebody says it. While it rests no
network runs. Before the first frame that is louder than the room the detector hears what came just before, so that it
knows the room's noise and misses no first sound.
"""

from __future__ import annotations

from collections import deque

from audio.dsp.quiet import QuietGate
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.vad.base import SpeechProb, VadAdapter, VadEvent

LEAD_SAMPLES = CAPTURE_RATE_HZ * 4 // 10
"""What is heard of the time before: 400 ms."""
SIGN_SAMPLES = CAPTURE_RATE_HZ // 2
"""A resting detector says that there is no speech this often, so that nobody takes it for dead."""


class RestingVad(VadAdapter):
    """``vad``, which may rest after ``set_resting(True)``. Sample indexes go on meanwhile.

    Args:
        vad: the detector; it belongs to this one from now on.
    """

    def __init__(self, vad: VadAdapter) -> None:
        self.supports_real_start = vad.supports_real_start
        self._vad = vad
        self._gate = QuietGate()
        self._may_rest = False
        self._lead: deque[Pcm] = deque()
        self._lead_samples = 0
        self._fed = 0
        self._heard = 0
        self._unsaid = 0

    @property
    def is_speaking(self) -> bool:
        """Whether a segment is open."""
        return self._vad.is_speaking

    @property
    def rests(self) -> bool:
        """Whether the detector is not asked at present."""
        return self._may_rest and self._gate.quiet and not self._vad.is_speaking

    def process(self, pcm: Pcm) -> list[VadEvent]:
        """See ``VadAdapter``. At rest: a probability of 0 now and then."""
        self._fed += pcm.size
        if self._may_rest:
            self._gate.add(pcm)
        if self.rests:
            self._keep(pcm)
            return self._sign_of_life(pcm.size)
        events: list[VadEvent] = []
        while self._lead:
            earlier = self._lead.popleft()
            self._lead_samples -= earlier.size
            events += self._hear(earlier, self._fed - pcm.size - self._lead_samples)
        return events + self._hear(pcm, self._fed)

    def reset(self) -> None:
        """See ``VadAdapter``."""
        self._vad.reset()
        self._lead.clear()
        self._lead_samples = 0

    def rebuild(self) -> None:
        """See ``VadAdapter``."""
        self.reset()
        self._vad.rebuild()

    def set_ducked(self, ducked: bool) -> None:
        """See ``VadAdapter``."""
        self._vad.set_ducked(ducked)

    def set_resting(self, resting: bool) -> None:
        """See ``VadAdapter``. What the room sounds like is learnt anew each time."""
        if resting and not self._may_rest:
            self._gate = QuietGate()
        self._may_rest = resting

    def close(self) -> None:
        """See ``VadAdapter``."""
        self._vad.close()

    def _hear(self, pcm: Pcm, end: int) -> list[VadEvent]:
        self._heard += pcm.size
        skipped = end - self._heard
        return [event.later(skipped) for event in self._vad.process(pcm)]

    def _keep(self, pcm: Pcm) -> None:
        self._lead.append(pcm)
        self._lead_samples += pcm.size
        while self._lead_samples > LEAD_SAMPLES:
            self._lead_samples -= self._lead.popleft().size

    def _sign_of_life(self, samples: int) -> list[VadEvent]:
        self._unsaid += samples
        if self._unsaid < SIGN_SAMPLES:
            return []
        self._unsaid = 0
        return [SpeechProb(self._fed, 0.0)]
