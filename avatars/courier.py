"""Faces that are reached through the page that shows them: a courier carries their messages there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from audio.pcm import Pcm, ms_to_samples, silence
from avatars.cloud import RENEWAL_GAP_S, CloudAvatar
from avatars.contract import UtteranceDone
from avatars.lane import Lane
from avatars.unplayed import Utterance

Message: TypeAlias = Mapping[str, Any]
"""A JSON object in the provider's words. The page hands it to the provider's library as it is."""

Courier: TypeAlias = Callable[[Message], Awaitable[None]]
"""Carries one message to the page that shows the face. Called for one message at a time, in order."""

CHUNK_MS = 400


class CourierAvatar(CloudAvatar):
    """A face that gets its sound in messages. Nothing comes back: an utterance is done when it was handed over.

    Args:
        courier: carries the messages.
        chunk_ms: how much sound goes into one message.
        renewal_gap_s: shortest time between two renewals.
    """

    def __init__(self, courier: Courier, *, chunk_ms: int = CHUNK_MS, renewal_gap_s: float = RENEWAL_GAP_S) -> None:
        super().__init__(renewal_gap_s=renewal_gap_s)
        if chunk_ms <= 0:
            raise ValueError("chunk_ms must be above 0")
        self._courier = courier
        self._chunk = ms_to_samples(chunk_ms, self.sound_rate_hz)
        self._buffer = silence(0)
        self._lane = Lane(f"{self.provider}/courier", self._fault)

    @abstractmethod
    def _sound_messages(self, utterance: Utterance, pcm: Pcm, *, last: bool) -> Sequence[Message]:
        """The messages for this sound. With ``last`` the utterance is complete, and ``pcm`` may be empty."""

    @abstractmethod
    def _cut_message(self) -> Message:
        """The message that makes the face fall silent."""

    def _deliver(self, utterance: Utterance, pcm: Pcm) -> None:
        self._buffer = np.concatenate([self._buffer, pcm])
        while self._buffer.size >= self._chunk:
            chunk, self._buffer = self._buffer[: self._chunk], self._buffer[self._chunk :]
            self._send(self._sound_messages(utterance, chunk, last=False), is_sound=True)

    def _deliver_end(self, utterance: Utterance) -> None:
        rest, self._buffer = self._buffer, silence(0)
        self._send(self._sound_messages(utterance, rest, last=True), is_sound=True)
        self._settle_played(utterance)

    def _deliver_cut(self, cut: tuple[Utterance, ...]) -> None:
        self._forget_delivery()
        self._send([self._cut_message()], is_sound=False)
        self._tell_cut(cut)

    def _forget_delivery(self) -> None:
        self._buffer = silence(0)
        self._lane.drop_sound()

    def _settle_played(self, utterance: Utterance) -> None:
        self._tell(utterance, UtteranceDone(utterance.number))

    async def _quiet(self) -> None:
        await self._lane.close()

    def _send(self, messages: Sequence[Message], *, is_sound: bool) -> None:
        for message in messages:
            self._lane.put(lambda message=message: self._courier(message), is_sound=is_sound)
