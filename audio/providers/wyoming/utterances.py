"""A lasting connection to a recogniser, made of many: Wyoming recognisers take one utterance per connection.

To the session of ``audio.providers.socket_stt`` it looks like any other connection. The first sound of an utterance
opens a link; the end of the utterance asks for the transcript, for which the link then waits while the next utterance
may already have one of its own. Transcripts are read in the order in which they were asked for.
"""

from __future__ import annotations

import asyncio
import io
from collections import deque

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.event import read_event as decoded_from

from audio.pcm import CAPTURE_RATE_HZ
from audio.providers.socket import ConnectionEnded, ConnectionRefused, Message
from audio.providers.wyoming.link import Address, DialWyoming, Link
from audio.providers.wyoming.wire import encoded

MOST_UNANSWERED = 8
"""Utterances whose transcripts may be waited for at the same time."""


class Utterances:
    """See ``audio.providers.socket.Connection``; its messages are encoded events, an empty one means nothing.

    Args:
        address: where each link leads.
        request: opens each utterance.
        dial: opens links.
    """

    def __init__(self, address: Address, request: Transcribe, dial: DialWyoming) -> None:
        self._address = address
        self._request = request
        self._dial = dial
        self._hearing: Link | None = None
        self._asked: deque[Link] = deque()
        self._changed = asyncio.Event()
        self._closed = False

    async def send(self, message: Message) -> None:
        """Send an event of sound or its end. Raises ``ConnectionEnded``."""
        if not message:
            return
        event = decoded(message)
        if AudioStop.is_type(event.type):
            await self._finish(event)
            return
        link = self._hearing or await self._begin()
        try:
            await link.send(event)
        except ConnectionEnded:
            if link is self._hearing:  # else the service found the end by itself, and has answered
                raise

    async def receive(self) -> Message:
        """What the service says about the oldest utterance without a transcript. Raises ``ConnectionEnded``."""
        while True:
            link = self._asked[0] if self._asked else self._hearing
            if link is None:
                self._changed.clear()
                await self._changed.wait()
                continue
            event = await link.receive()
            if Transcript.is_type(event.type) or Error.is_type(event.type):
                await self._answered(link)
            return encoded(event)

    async def close(self) -> None:
        """See ``Connection``."""
        self._closed = True
        links = [*self._asked, *([self._hearing] if self._hearing is not None else [])]
        self._asked.clear()
        self._hearing = None
        await asyncio.gather(*(link.close() for link in links))

    async def _begin(self) -> Link:
        if len(self._asked) >= MOST_UNANSWERED:
            raise ConnectionEnded(reason="the service does not answer")
        try:
            link = await self._dial(self._address)
        except ConnectionRefused as fault:
            raise ConnectionEnded(reason=fault.words) from None
        if self._closed:
            await link.close()
            raise ConnectionEnded(1000)
        self._hearing = link
        self._changed.set()
        await link.send(self._request.event(), AudioStart(CAPTURE_RATE_HZ, 2, 1).event())
        return link

    async def _finish(self, event: Event) -> None:
        if self._hearing is None:  # the service found the end by itself, and has answered
            return
        link, self._hearing = self._hearing, None
        self._asked.append(link)
        await link.send(event)

    async def _answered(self, link: Link) -> None:
        if self._hearing is link:
            self._hearing = None
        elif link in self._asked:
            self._asked.remove(link)
        await link.close()


def decoded(message: Message) -> Event:
    """The event in a message of ours. Raises ``ValueError`` where there is none."""
    event = decoded_from(io.BytesIO(message if isinstance(message, bytes) else message.encode()))
    if event is None:
        raise ValueError("no event")
    return event
