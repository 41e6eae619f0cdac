"""Speech by a Wyoming service, spoken while it arrives.

Each piece of text is a request of its own, so that it is known at any time which text the sound belongs to: what was
heard of a reply that is cut off depends on that. Where the service takes streams (``supports_synthesize_streaming``) a
long piece is handed over as one, sentence by sentence, and sounds as soon as its first sentence does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import numpy as np
from wyoming.audio import AudioChunk as WyomingChunk
from wyoming.audio import AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from agents.base import clock
from agents.base.errors import GloveError, GloveVoiceError
from agents.models.faults import Account, ModelFault, again, unreachable
from audio.pcm import Pcm
from audio.providers.faults import voice_fault
from audio.providers.socket import ConnectionEnded, ConnectionRefused
from audio.providers.wyoming.link import Address, DialWyoming, Link, dial_wyoming
from audio.providers.wyoming.offer import Offer, ask_offer
from audio.providers.wyoming.sound import SoundReader, check_format
from audio.providers.wyoming.stt import account_of, refusal
from audio.providers.wyoming.wire import WireFault, parsed
from audio.sentences import SentenceBuffer
from audio.tts.local import SentenceTts, Speech, joined

SILENT_S = 8.0
"""Longest silence of a service that has something to say, in seconds."""

FIRST_RATE_HZ = 22_050
"""Taken for the rate until the service has said what it is."""

OFFER_GOOD_S = 300.0
"""How long a service is believed to be what it said, in seconds."""


@dataclass
class Service:
    """The service that all voices of one factory use.

    Attributes:
        address: where it listens.
        account: whose faults they are.
        voice: name of the voice; by language when empty.
        retries: further attempts per piece while it is away.
        silent_s: longest silence, in seconds.
        dial: opens connections.
    """

    address: Address
    account: Account
    voice: str
    retries: int
    silent_s: float
    dial: DialWyoming
    _offer: Offer | None = None
    _asked_at: float = 0.0

    async def offer(self) -> Offer:
        """What it offers; asked now and then. Raises ``GloveVoiceError`` where it cannot be reached or has no voice."""
        if self._offer is not None and clock.now() - self._asked_at < OFFER_GOOD_S:
            return self._offer
        try:
            offer = await ask_offer(self.address, self.dial)
        except (ConnectionRefused, ConnectionEnded, WireFault) as fault:
            words = getattr(fault, "words", "") or getattr(fault, "reason", "") or str(fault)
            raise GloveVoiceError(
                "ERR_TTS_CONNECTION", f"{self.account.provider} could not be reached ({words}).", "Check the network."
            ) from None
        if not offer.tts:
            raise GloveVoiceError(
                "ERR_TTS_REQUEST", f"{self.account.provider} offers no voice.", f"Check {self.account.key_name}."
            )
        self._offer, self._asked_at = offer, clock.now()
        return offer

    def doubt(self) -> None:
        """It failed: ask again what it is."""
        self._offer = None


class WyomingVoices:
    """A ``TtsFactory``: each call gives a voice for one response.

    Args:
        address: where the service listens.
        voice: name of one of its voices; the service's choice for the language when empty.
        retries: further attempts per piece while the service is away.
        silent_s: longest silence of the service, in seconds.
        dial: opens connections.
    """

    def __init__(
        self,
        address: Address,
        voice: str = "",
        *,
        retries: int = 1,
        silent_s: float = SILENT_S,
        dial: DialWyoming = dial_wyoming,
    ) -> None:
        self._service = Service(address, account_of(address, "tts.url"), voice, retries, silent_s, dial)

    def __call__(self, language: str) -> WyomingTts:
        """A fresh voice for one response in ``language`` (BCP-47)."""
        return WyomingTts(self._service, language)


class WyomingTts(SentenceTts):
    """One response. ``sample_rate_hz`` is the service's own once sound has come."""

    def __init__(self, service: Service, language: str) -> None:
        super().__init__()
        self._service = service
        self._language = language
        self._rate_hz = FIRST_RATE_HZ
        self._streams = False
        self._sounded = False

    @property
    def sample_rate_hz(self) -> int:
        """See ``TtsAdapter``."""
        return self._rate_hz

    async def prepare(self) -> None:
        """Ask the service what it offers. Raises ``GloveVoiceError``: ``ERR_TTS_CONNECTION``, ``ERR_TTS_REQUEST``."""
        self._streams = (await self._service.offer()).streams_speech

    async def render(self, text: str) -> Speech:
        """See ``SentenceTts``."""
        return await joined(self.stream(text))

    def parts(self, text: str) -> list[str]:
        """See ``SentenceTts``. A service that takes streams gets all of a piece."""
        return [text] if self._streams else super().parts(text)

    async def stream(self, text: str) -> AsyncGenerator[Speech]:
        """See ``SentenceTts``. Raises ``GloveVoiceError`` with the codes of ``audio.providers.faults``."""
        error: GloveVoiceError
        try:
            async with contextlib.aclosing(self._sound(text)) as sound:
                async for pcm in sound:
                    yield Speech(pcm)
            return
        except GloveVoiceError:
            raise
        except GloveError as fault:
            self._service.doubt()
            error = voice_fault(fault, "TTS")
        raise error

    async def _sound(self, text: str) -> AsyncGenerator[Pcm]:
        link = await again(lambda: self._ask(text), self._service.retries)
        reader = SoundReader(self._rate_hz if self._sounded else None)
        try:
            while (event := await self._next(link)) is not None:
                pcm = self._heard(reader, event)
                if pcm.size:
                    yield pcm
            rest = reader.flush()
            if rest.size:
                yield rest
        except WireFault as fault:
            raise GloveVoiceError("ERR_TTS_REQUEST", f"{self._service.account.provider}: {fault}.") from None
        finally:
            await link.close()

    def _heard(self, reader: SoundReader, event: Event) -> Pcm:
        """The sound in ``event``. The rate of the response is that of its first sound."""
        if AudioStart.is_type(event.type):
            check_format(parsed(AudioStart, event))
        if not WyomingChunk.is_type(event.type):
            return np.zeros(0, np.int16)
        pcm = reader.push(parsed(WyomingChunk, event))
        if not self._sounded and reader.rate_hz is not None:
            self._rate_hz, self._sounded = reader.rate_hz, True
        return pcm

    async def _next(self, link: Link) -> Event | None:
        """The next event about this piece; None when all of it was spoken."""
        try:
            async with asyncio.timeout(self._service.silent_s):
                event = await link.receive()
        except TimeoutError:
            raise self._away(f"was silent for {self._service.silent_s:g} seconds") from None
        except ConnectionEnded as end:
            raise self._away(f"closed the connection ({end.reason})") from None
        if Error.is_type(event.type):
            raise refusal(event, self._service.account, "TTS")
        last = SynthesizeStopped if self._streams else AudioStop
        return None if last.is_type(event.type) else event

    async def _ask(self, text: str) -> Link:
        try:
            link = await self._service.dial(self._service.address)
        except ConnectionRefused as fault:
            raise self._away(f"could not be reached ({fault.words})") from None
        try:
            await link.send(*self._request(text))
        except BaseException as fault:
            await link.close()
            if isinstance(fault, ConnectionEnded):
                raise self._away(f"closed the connection ({fault.reason})") from None
            raise
        return link

    def _request(self, text: str) -> Sequence[Event]:
        service = self._service
        voice = SynthesizeVoice(name=service.voice) if service.voice else SynthesizeVoice(language=self._language)
        whole = Synthesize(text=text, voice=voice).event()
        if not self._streams:
            return [whole]
        # The protocol wants the whole text as well, for services older than streams; others leave it unread.
        parts = [SynthesizeChunk(text=part).event() for part in _sentences(text, self._language)]
        return [SynthesizeStart(voice=voice).event(), *parts, whole, SynthesizeStop().event()]

    def _away(self, what: str) -> ModelFault:
        return unreachable(f"{self._service.account.provider} {what}.")


def _sentences(text: str, language: str) -> list[str]:
    buffer = SentenceBuffer(language)
    parts = buffer.push(text)
    rest = buffer.flush()
    return [*parts, rest] if rest else parts
