"""What waits to be sent to a service: bounded, the oldest sound is dropped first, everything else is kept."""

from __future__ import annotations

import asyncio
from collections import deque

from audio.pcm import CAPTURE_RATE_HZ
from audio.providers.socket import Message

HELD_S = 30.0
"""Most sound that waits while a connection is slow, in seconds."""


class Outbox:
    """Messages in order. ``dropped`` counts the samples that did not fit. Sound is counted at ``rate_hz``."""

    def __init__(self, rate_hz: int = CAPTURE_RATE_HZ) -> None:
        self.dropped = 0
        self._rate_hz = rate_hz
        self._waiting: deque[tuple[Message, int]] = deque()
        self._samples = 0
        self._filled = asyncio.Event()

    def put(self, message: Message, samples: int = 0) -> None:
        """Add a message that carries so many samples of sound (0: it is no sound)."""
        self._waiting.append((message, samples))
        self._samples += samples
        if self._samples > HELD_S * self._rate_hz:
            self._drop_oldest_sound()
        self._filled.set()

    async def get(self) -> Message:
        """The next message, once there is one."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        message, samples = self._waiting.popleft()
        self._samples -= samples
        return message

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        self._samples = 0

    def _drop_oldest_sound(self) -> None:
        at = next(index for index, (_, samples) in enumerate(self._waiting) if samples)
        self._samples -= self._waiting[at][1]
        self.dropped += self._waiting[at][1]
        del self._waiting[at]
