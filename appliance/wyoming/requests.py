"""What a client of the Wyoming server asks for, event by event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart
from wyoming.event import Event
from wyoming.handle import Handled, NotHandled
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeVoice
from wyoming.wake import Detect

from agents.base.errors import GloveError
from appliance.wyoming.contract import Hearer, Job, Lent, Refused, Send
from appliance.wyoming.info import info_of
from appliance.wyoming.recognising import Recognising
from appliance.wyoming.speaking import MOST_CHARS, Utterance
from appliance.wyoming.spotting import Spotting, Watching
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.providers.wyoming.sound import SoundReader, check_format
from audio.providers.wyoming.wire import parsed

_PIECE_SAMPLES = CAPTURE_RATE_HZ // 10
"""Sound is searched in pieces of this length, between which others get their turn."""

Enqueue = Callable[[Job], Awaitable[None]]


class Requests:
    """The requests of one client.

    What a stream of sound is for is said before it by ``transcribe`` or ``detect``, and holds for the next streams too;
    a client that says nothing is told when somebody speaks.

    Args:
        lent: what can be asked for.
        send: tells the client at once.
        enqueue: has work done that takes long.
    """

    def __init__(self, lent: Lent, send: Send, enqueue: Enqueue) -> None:
        self._lent = lent
        self._send = send
        self._enqueue = enqueue
        self._hearer: Hearer | None = None
        self._sound = SoundReader(CAPTURE_RATE_HZ)
        self._hearing = False
        self._text: Utterance | None = None

    async def take(self, event: Event) -> None:
        """Do what ``event`` asks for; what is not known is passed over, as the protocol wants.

        Raises:
            Refused: it asks for too much.
            WireFault: its content is not what its type promises.
            GloveError: it cannot be done; the client may go on.
        """
        take = _KINDS.get(event.type)
        if take is not None:
            await take(self, event)

    def close(self) -> None:
        """The client is gone; idempotent."""
        hearer, self._hearer = self._hearer, None
        if hearer is not None:
            hearer.close()

    async def describe(self, _: Event) -> None:
        """``describe``."""
        await self._send(info_of(self._lent).event())

    async def ping(self, event: Event) -> None:
        """``ping``."""
        await self._send(Pong(text=parsed(Ping, event).text).event())

    async def transcribe(self, event: Event) -> None:
        """``transcribe``: the next sound is speech for the recogniser."""
        if self._lent.stt is None:
            raise Refused("this machine recognises no speech")
        self._hear_with(Recognising(self._lent, _primary(parsed(Transcribe, event).language)))

    async def detect(self, event: Event) -> None:
        """``detect``: the next sound may hold wake words."""
        spotting = Spotting(self._lent, parsed(Detect, event).names or (), self._send)
        if not isinstance(self._hearer, Spotting) or self._hearer.names != spotting.names:
            self._hear_with(spotting)

    async def audio_start(self, event: Event) -> None:
        """``audio-start``."""
        check_format(parsed(AudioStart, event))
        await self._begin()

    async def audio_chunk(self, event: Event) -> None:
        """``audio-chunk``; older clients begin with it."""
        chunk = parsed(AudioChunk, event)
        if not self._hearing:
            await self._begin()
        await self._hear(self._sound.push(chunk))

    async def audio_stop(self, _: Event) -> None:
        """``audio-stop``."""
        if not self._hearing or self._hearer is None:
            return
        await self._hear(self._sound.flush())
        self._hearing = False
        job = await self._hearer.finish()
        if job is not None:
            await self._enqueue(job)

    async def synthesize(self, event: Event) -> None:
        """``synthesize``. Within a stream it repeats the stream's text, for servers that know none."""
        told = parsed(Synthesize, event)
        if self._text is not None:
            return
        utterance = Utterance(self._lent, _language(told.voice))
        utterance.add(told.text)
        utterance.end()
        await self._enqueue(utterance.run)

    async def synthesize_start(self, event: Event) -> None:
        """``synthesize-start``: text comes little by little, and is spoken meanwhile."""
        if self._text is not None:
            raise Refused("a text begins within another")
        self._text = Utterance(self._lent, _language(parsed(SynthesizeStart, event).voice), streamed=True)
        await self._enqueue(self._text.run)

    async def synthesize_chunk(self, event: Event) -> None:
        """``synthesize-chunk``."""
        if self._text is not None:
            self._text.add(parsed(SynthesizeChunk, event).text)

    async def synthesize_stop(self, _: Event) -> None:
        """``synthesize-stop``."""
        text, self._text = self._text, None
        if text is not None:
            text.end()

    async def answer(self, event: Event) -> None:
        """``transcript``: a line for the agent."""
        told = parsed(Transcript, event)
        answer = self._lent.answer
        if answer is None:
            raise Refused("this machine answers no lines")
        if len(told.text) > MOST_CHARS:
            raise Refused(f"a line is longer than {MOST_CHARS} characters")
        conversation = (told.context or {}).get("conversation_id")

        async def reply(send: Send) -> None:
            named = conversation if isinstance(conversation, str) else None
            try:
                text, goes_on = await answer(told.text, _primary(told.language), named)
            except GloveError as fault:
                await send(NotHandled(text=fault.message, context=told.context).event())
                return
            await send(Handled(text=text, context={**(told.context or {}), "conversation_id": goes_on}).event())

        if told.text.strip():
            await self._enqueue(reply)
        else:
            await self._send(NotHandled(text="", context=told.context).event())

    def _hear_with(self, hearer: Hearer) -> None:
        self.close()
        self._hearer = hearer
        self._hearing = False

    async def _begin(self) -> None:
        if self._hearer is None:
            self._hearer = Watching(self._lent, self._send)
        self._sound.flush()
        self._hearing = True  # also where it cannot begin: that is told once, not with every chunk
        await self._hearer.begin()

    async def _hear(self, pcm: Pcm) -> None:
        assert self._hearer is not None
        for at in range(0, pcm.size, _PIECE_SAMPLES):
            await self._hearer.hear(pcm[at : at + _PIECE_SAMPLES])
            await asyncio.sleep(0)


def _primary(language: str | None) -> str | None:
    """The primary tag of ``language``; None where it is none, which lets the recogniser find out."""
    tag = (language or "").replace("_", "-").split("-")[0].lower()
    return tag if 2 <= len(tag) <= 3 and tag.isascii() and tag.isalpha() else None


def _language(voice: SynthesizeVoice | None) -> str | None:
    return None if voice is None or not voice.language else voice.language.replace("_", "-")


_KINDS: dict[str, Callable[[Requests, Event], Awaitable[None]]] = {
    "describe": Requests.describe,
    "ping": Requests.ping,
    "transcribe": Requests.transcribe,
    "detect": Requests.detect,
    "audio-start": Requests.audio_start,
    "audio-chunk": Requests.audio_chunk,
    "audio-stop": Requests.audio_stop,
    "synthesize": Requests.synthesize,
    "synthesize-start": Requests.synthesize_start,
    "synthesize-chunk": Requests.synthesize_chunk,
    "synthesize-stop": Requests.synthesize_stop,
    "transcript": Requests.answer,
}

SERVED = tuple(_KINDS)
"""The types of events that something is done about."""
