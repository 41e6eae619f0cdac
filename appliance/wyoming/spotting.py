"""Wake words and the beginnings and ends of speech in a client's sound, told as they are found."""

from __future__ import annotations

from collections.abc import Sequence

from wyoming.vad import VoiceStarted, VoiceStopped
from wyoming.wake import Detection, NotDetected

from agents.base.clock import infer
from appliance.wyoming.contract import Job, Lent, Send
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.vad.base import SpeechEnd, SpeechRealStart, SpeechStart, VadAdapter, VadEvent
from audio.wake.base import WakeDetector


class Spotting:
    """Listens for wake words; see ``Hearer``. Times are milliseconds since the stream began.

    Args:
        lent: makes the detector.
        names: the wanted wake words; the usual one when empty. Unknown ones are never heard.
        send: tells the client.
    """

    def __init__(self, lent: Lent, names: Sequence[str], send: Send) -> None:
        wanted = [name for name in dict.fromkeys(names) if name in lent.wake_words]
        self.names = tuple(wanted if names else lent.wake_words[:1])
        self._lent = lent
        self._send = send
        self._detector: WakeDetector | None = None
        self._began = self._fed = 0
        self._detected = False

    async def begin(self) -> None:
        """See ``Hearer``."""
        if self._detector is None and self.names:
            self._detector = await infer(lambda: self._lent.wake(self.names), cost_s=0.1)
        elif self._detector is not None:
            self._detector.reset()
        self._began = self._fed
        self._detected = False

    async def hear(self, pcm: Pcm) -> None:
        """See ``Hearer``."""
        if self._detector is None:
            return
        self._fed += pcm.size
        for heard in self._detector.process(pcm):
            self._detected = True
            name = heard.phrase.lower().replace(" ", "_")
            await self._send(Detection(name=name, timestamp=_ms(heard.sample - self._began)).event())

    async def finish(self) -> Job | None:
        """See ``Hearer``."""
        if not self._detected:
            await self._send(NotDetected().event())
        return None

    def close(self) -> None:
        """See ``Hearer``."""
        detector, self._detector = self._detector, None
        if detector is not None:
            detector.close()


class Watching:
    """Tells when somebody begins and ceases to speak; see ``Hearer``."""

    def __init__(self, lent: Lent, send: Send) -> None:
        self._lent = lent
        self._send = send
        self._vad: VadAdapter | None = None
        self._began = self._fed = 0
        self._speaking = False

    async def begin(self) -> None:
        """See ``Hearer``."""
        if self._vad is None:
            self._vad = await infer(self._lent.vad, cost_s=0.1)
        else:
            self._vad.reset()
        self._began = self._fed
        self._speaking = False

    async def hear(self, pcm: Pcm) -> None:
        """See ``Hearer``."""
        if self._vad is None:
            return
        self._fed += pcm.size
        for event in self._vad.process(pcm):
            await self._tell(event, self._vad.supports_real_start)

    async def finish(self) -> Job | None:
        """See ``Hearer``. Who still speaks at the end of the sound ceases to."""
        if self._speaking:
            await self._send(VoiceStopped(timestamp=_ms(self._fed - self._began)).event())
        self._speaking = False
        return None

    def close(self) -> None:
        """See ``Hearer``."""
        vad, self._vad = self._vad, None
        if vad is not None:
            vad.close()

    async def _tell(self, event: VadEvent, has_real_start: bool) -> None:
        begins = isinstance(event, SpeechRealStart if has_real_start else SpeechStart)
        if begins and not self._speaking:
            self._speaking = True
            await self._send(VoiceStarted(timestamp=_ms(event.sample - self._began)).event())
        elif isinstance(event, SpeechEnd) and self._speaking:
            self._speaking = False
            await self._send(VoiceStopped(timestamp=_ms(event.sample - self._began)).event())


def _ms(samples: int) -> int:
    return samples * 1000 // CAPTURE_RATE_HZ
