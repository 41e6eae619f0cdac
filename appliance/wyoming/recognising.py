"""A client's speech as text: collected up to a limit, recognised when it has ended."""

from __future__ import annotations

import numpy as np
from wyoming.asr import Transcript

from appliance.wyoming.contract import Job, Lent, Refused, Send
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence

LONGEST_S = 60.0
"""Longest utterance, in seconds: two megabytes of memory per client."""


class Recognising:
    """See ``Hearer``. ``language`` is the BCP-47 tag of what is spoken; None finds it out."""

    def __init__(self, lent: Lent, language: str | None) -> None:
        self._lent = lent
        self._language = language
        self._heard: list[Pcm] = []
        self._samples = 0

    async def begin(self) -> None:
        """See ``Hearer``."""
        self.close()

    async def hear(self, pcm: Pcm) -> None:
        """See ``Hearer``."""
        self._samples += pcm.size
        if self._samples > LONGEST_S * CAPTURE_RATE_HZ:
            raise Refused(f"an utterance is longer than {LONGEST_S:g} seconds")
        self._heard.append(pcm)

    async def finish(self) -> Job:
        """See ``Hearer``."""
        pcm = np.concatenate(self._heard) if self._heard else silence(0)
        self.close()
        lent, language = self._lent, self._language

        async def recognise(send: Send) -> None:
            if lent.stt is None:
                raise Refused("this machine recognises no speech")
            async with lent.turn:
                heard = await lent.stt.recognise(pcm, language)
            await send(Transcript(text=heard.text, language=heard.language).event())

        return recognise

    def close(self) -> None:
        """See ``Hearer``."""
        self._heard = []
        self._samples = 0
