"""The voice detector of a front end as the session sees it: answers that were found in another thread.

``process`` gives back what the front end found in exactly the frame that is being handed over. What it found in frames
that the session did not process (a muted microphone) is dropped, and so is what it found before a reset that it had not
yet heard of. Events are stamped with the count of the frames that the session did process, as the contract demands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from audio.io.front_end import Heard
from audio.pcm import Pcm
from audio.vad.base import SpeechEnd, SpeechProb, SpeechRealStart, SpeechStart, VadAdapter, VadEvent, VadMisfire

if TYPE_CHECKING:
    from audio.io.front_end import FrontEnd

Commander = Callable[[Callable[["FrontEnd"], None]], None]
"""Has the front end do something between two frames."""


class FrontEndVad(VadAdapter):
    """See the module's description. Belongs to the loop.

    Args:
        command: sends a command to the front end.

    Attributes:
        resting: whether nobody listens for speech.
    """

    def __init__(self, command: Commander, *, supports_real_start: bool = True) -> None:
        self.supports_real_start = supports_real_start
        self._command = command
        self._offered: Heard | None = None
        self._processed = False
        self._gap = False
        self._fed = 0
        self._epoch = 0
        self._open = False
        self.resting = False

    @property
    def is_speaking(self) -> bool:
        """Whether a segment is open, as far as the session has been told."""
        return self._open

    def begin(self) -> None:
        """A room opens: counts begin anew. The front end must be told to reset once, which begins its first epoch."""
        self._offered = None
        self._gap = self._open = self._processed = False
        self._fed, self._epoch = 0, 1

    def offer(self, heard: Heard) -> None:
        """``heard`` is about to be handed to the session."""
        self._offered, self._processed = heard, False

    def settle(self) -> bool:
        """It was handed over. Returns whether the session processed it."""
        self._offered = None
        self._gap = self._gap or not self._processed
        return self._processed

    def process(self, pcm: Pcm) -> list[VadEvent]:
        """See ``VadAdapter``. Anything but the frame that is being handed over has no events."""
        heard = self._offered
        self._fed += pcm.size
        if heard is None or pcm is not heard.pcm:
            return []
        self._offered, self._processed = None, True
        if self._gap:  # what the detector knows of the time in between is not for the session
            self._gap = False
            self.reset()
        shift = self._fed - heard.vad_sample
        return [event.later(shift) for event in heard.events if self._admits(event, heard.epoch)]

    def reset(self) -> None:
        """See ``VadAdapter``."""
        self._epoch += 1
        self._open = False
        self._command(lambda front: front.reset_vad())

    def set_ducked(self, ducked: bool) -> None:
        """See ``VadAdapter``."""
        self._command(lambda front: front.duck_vad(ducked))

    def set_resting(self, resting: bool) -> None:
        """See ``VadAdapter``. Known to the next front end, too."""
        if resting != self.resting:
            self.resting = resting
            self._command(lambda front: front.rest(resting))

    def _admits(self, event: VadEvent, epoch: int) -> bool:
        """Probabilities always; what concerns a segment only if the session knows of it."""
        if isinstance(event, SpeechProb):
            return True
        if epoch != self._epoch:
            return False
        if isinstance(event, SpeechStart):
            self._open = True
            return True
        known = self._open
        if isinstance(event, SpeechEnd | VadMisfire):
            self._open = False
        return known or not isinstance(event, SpeechEnd | VadMisfire | SpeechRealStart)
