"""Recognition by a Wyoming service: whole utterances by any of them, while one speaks by those that offer it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from wyoming.asr import Transcribe, TranscriptChunk, TranscriptStart
from wyoming.asr import Transcript as WyomingTranscript
from wyoming.audio import AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event

from agents.base.backoff import Backoff
from agents.base.errors import GloveError, GloveVoiceError
from agents.models.faults import Account, again, unreachable
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.providers.faults import voice_fault
from audio.providers.socket import Connection, ConnectionEnded, ConnectionRefused, Message, Target
from audio.providers.socket_stt import STALE_S, SocketStt
from audio.providers.wyoming.link import Address, DialWyoming, Link, dial_wyoming
from audio.providers.wyoming.offer import ask_offer
from audio.providers.wyoming.sound import chunk_of, chunks
from audio.providers.wyoming.utterances import Utterances, decoded
from audio.providers.wyoming.wire import WireFault, encoded, parsed
from audio.stt.base import SegmentStt, SttEvent, SttFault, SttFinal, SttPartial, Transcript

SHORTEST_S = 0.1
"""Less sound than this is not recognised by anybody."""

ANSWER_S = 10.0
"""How long a service may think about an utterance, in seconds."""

_NEVER_S = 1e9
"""There is nothing to keep alive: each utterance has a connection of its own."""


def account_of(address: Address, key: str) -> Account:
    """Whose faults they are."""
    return Account(f"The Wyoming service at {address}", key)


class WyomingSegmentStt(SegmentStt):
    """Asks any Wyoming recogniser for whole utterances, over a connection for each.

    Args:
        address: where it listens.
        model: one of its models; the service's own choice when empty.
        primary: BCP-47 primary tag reported where the service does not say which language it heard.
        retries: further attempts while the service is away.
        answer_s: how long it may think, in seconds.
        dial: opens connections.
    """

    max_seconds = 600.0

    def __init__(
        self,
        address: Address,
        model: str = "",
        *,
        primary: str = "en",
        retries: int = 1,
        answer_s: float = ANSWER_S,
        dial: DialWyoming = dial_wyoming,
    ) -> None:
        self._address = address
        self._account = account_of(address, "stt.url")
        self._model = model
        self._primary = primary
        self._retries = retries
        self._answer_s = answer_s
        self._dial = dial

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """See ``SegmentStt``. Not for threads in which a loop runs."""
        return asyncio.run(self.recognise(pcm, language))

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """See ``SegmentStt``. Raises ``GloveVoiceError``: ``ERR_STT_CONNECTION``, ``ERR_STT_REQUEST``."""
        heard = _tag(language) or self._primary
        if pcm.size < SHORTEST_S * CAPTURE_RATE_HZ or not pcm.any():
            return Transcript("", heard, None, 1.0)
        try:
            told = await again(lambda: self._ask(pcm, language), self._retries)
        except GloveVoiceError:
            raise
        except GloveError as fault:
            error = voice_fault(fault, "STT")
        else:
            return Transcript(told.text.strip(), _tag(told.language) or heard)
        raise error

    async def _ask(self, pcm: Pcm, language: str | None) -> WyomingTranscript:
        try:
            link = await self._dial(self._address)
        except ConnectionRefused as fault:
            raise unreachable(f"{self._account.provider} could not be reached ({fault.words}).") from None
        try:
            async with asyncio.timeout(self._answer_s):
                await link.send(Transcribe(name=self._model or None, language=language).event())
                await link.send(AudioStart(CAPTURE_RATE_HZ, 2, 1, timestamp=0).event())
                for chunk in chunks(pcm, CAPTURE_RATE_HZ):
                    await link.send(chunk.event())
                await link.send(AudioStop().event())
                return await self._answer(link)
        except TimeoutError:
            raise unreachable(f"{self._account.provider} was silent for {self._answer_s:g} seconds.") from None
        except ConnectionEnded as end:
            raise unreachable(f"{self._account.provider} closed the connection ({end.reason}).") from None
        finally:
            await link.close()

    async def _answer(self, link: Link) -> WyomingTranscript:
        while True:
            event = await link.receive()
            if Error.is_type(event.type):
                raise refusal(event, self._account)
            if WyomingTranscript.is_type(event.type):
                return _transcript(event, self._account)


class WyomingStt(SocketStt):
    """A Wyoming recogniser that says what it hears while it hears it (``supports_transcript_streaming``).

    Args:
        address: where it listens.
        model: one of its models; the service's own choice when empty.
        language: BCP-47 tag of what is spoken; None lets the service find it out.
        backoff: delays between attempts to connect again, and how many there are.
        stale_s: how long the service may owe a transcript, in seconds.
        dial: opens connections.
    """

    def __init__(
        self,
        address: Address,
        model: str = "",
        *,
        language: str | None = None,
        primary: str = "en",
        backoff: Backoff | None = None,
        stale_s: float = STALE_S,
        dial: DialWyoming = dial_wyoming,
    ) -> None:
        request = Transcribe(name=model or None, language=language)

        async def connect(_: Target) -> Connection:
            try:
                offer = await ask_offer(address, dial)
            except (ConnectionEnded, WireFault) as fault:
                raise ConnectionRefused(None, getattr(fault, "reason", str(fault))) from None
            if not offer.asr:
                raise ConnectionRefused(None, "it offers no recogniser")
            return Utterances(address, request, dial)

        wire = WyomingWire(address, _tag(language) or primary)
        super().__init__(wire, backoff=backoff, stale_s=stale_s, tells=False, dial=connect)


class WyomingWire:
    """What Wyoming recognisers write and read; see ``SttWire``."""

    keep_alive_s = _NEVER_S

    def __init__(self, address: Address, primary: str) -> None:
        self.account = account_of(address, "stt.url")
        self._url = f"tcp://{address}"
        self._primary = primary
        self._said = ""
        self._sent = 0

    async def target(self) -> Target:
        """See ``SttWire``."""
        return Target(self._url)

    def begin(self) -> None:
        """See ``SttWire``."""
        self._said = ""

    def audio(self, pcm: Pcm) -> Message:
        """See ``SttWire``."""
        chunk = chunk_of(pcm, CAPTURE_RATE_HZ, self._sent)
        self._sent += pcm.size
        return encoded(chunk.event())

    def finish(self) -> Sequence[Message]:
        """See ``SttWire``."""
        return [encoded(AudioStop().event())]

    def keep_alive(self) -> Message:
        """See ``SttWire``."""
        return b""

    def read(self, message: Message) -> Sequence[SttEvent]:
        """See ``SttWire``. The chunks of a transcript follow each other; the transcript itself is all of it."""
        event = decoded(message)
        try:
            if TranscriptStart.is_type(event.type):
                self._said = ""
            elif TranscriptChunk.is_type(event.type):
                self._said += parsed(TranscriptChunk, event).text
                return [SttPartial(self._said)] if self._said.strip() else []
            elif WyomingTranscript.is_type(event.type):
                self._said = ""
                told = _transcript(event, self.account)
                return [SttFinal(told.text, _tag(told.language) or self._primary)]
            elif Error.is_type(event.type):
                self._said = ""
                return [SttFault(refusal(event, self.account))]
        except GloveVoiceError as fault:
            return [SttFault(fault)]
        except WireFault:
            return []
        return []


def refusal(event: Event, account: Account, side: str = "STT") -> GloveVoiceError:
    """What an error that the service reports means: it was reached, and does not do what is asked of it."""
    words = str(event.data.get("text") or "an error")[:300]
    return GloveVoiceError(f"ERR_{side}_REQUEST", f"{account.provider} said: {words}", f"Check {account.key_name}.")


def _transcript(event: Event, account: Account) -> WyomingTranscript:
    try:
        return parsed(WyomingTranscript, event)
    except WireFault:
        raise GloveVoiceError(
            "ERR_STT_REQUEST", f"{account.provider} answered without a text.", f"Check {account.key_name}."
        ) from None


def _tag(language: str | None) -> str:
    """The primary tag of ``language``, or nothing."""
    tag = (language or "").replace("_", "-").split("-")[0].lower()
    return tag if 2 <= len(tag) <= 3 and tag.isascii() and tag.isalpha() else ""
