"""``attach_avatar``: a face speaks what a voice says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from agents.base.emitter import Emitter
from audio.pcm import Pcm
from avatars.contract import AvatarAdapter, AvatarEvent, UtteranceCut, UtteranceDone

_KEPT_STRETCHES = 64
"""Stretches of speech whose end is remembered."""


class Speaker(Protocol):
    """What can be given a face: anything whose events have these wire names in ``type``.

    ``audio`` (with ``pcm``, ``rate_hz`` and, where there is one, ``item_id``), ``agent_speech_stopped`` and
    ``interrupted``. Speech-to-speech adapters are such, and ``avatars.cascade.VoiceSpeaker``.
    """

    @property
    def events(self) -> Emitter:
        """Where the events are emitted."""
        ...


@runtime_checkable
class AsksWhatWasHeard(Protocol):
    """A speaker that asks how much of a stretch of speech was played, as speech-to-speech adapters do."""

    heard_ms: Callable[[str], float | None] | None


@dataclass
class _Stretch:
    """What one utterance of the face has of one item. ``heard_ms``: once that is settled."""

    item_id: str
    utterance: int
    sent_ms: float = 0.0
    heard_ms: float | None = None


class AttachedAvatar:
    """A face on a voice, until ``detach``."""

    def __init__(self, speaker: Speaker, avatar: AvatarAdapter) -> None:
        self._avatar = avatar
        self._stretches: deque[_Stretch] = deque(maxlen=_KEPT_STRETCHES)
        self._off = [speaker.events.on(object, self._follow), avatar.events.on(AvatarEvent, self._settle)]
        self._asking = _take_over(speaker, self.heard_ms) if avatar.carries_voice else None

    def heard_ms(self, item_id: str) -> float | None:
        """Milliseconds of the stretch ``item_id`` that the face has played; None if nobody knows.

        While it plays this goes by the face's clock. After an interruption it is what the face reports, once it does.
        """
        unplayed_s = self._avatar.unplayed_s if self._avatar.is_connected else None
        behind_ms = None if unplayed_s is None else unplayed_s * 1000
        heard: list[float] = []
        for stretch in reversed(self._stretches):
            known = stretch.heard_ms
            if known is None:
                if behind_ms is None:
                    return None
                known = min(stretch.sent_ms, max(0.0, stretch.sent_ms - behind_ms))
                behind_ms = max(0.0, behind_ms - stretch.sent_ms)
            if stretch.item_id == item_id:
                heard.append(known)
        return sum(heard) if heard else None

    def detach(self) -> None:
        """The face follows no more; idempotent. It stays connected, and other listeners of the voice stay."""
        for off in self._off:
            off()
        if self._asking is not None and self._asking.heard_ms == self.heard_ms:
            self._asking.heard_ms = None

    def _follow(self, event: object) -> None:
        kind = getattr(event, "type", None)
        if kind == "audio":
            self._speak(event)
        elif kind == "agent_speech_stopped":
            self._avatar.end_utterance()
        elif kind == "interrupted":
            self._cut()

    def _speak(self, event: Any) -> None:
        pcm, rate_hz = cast("Pcm", event.pcm), cast("int", event.rate_hz)
        utterance = self._avatar.send_audio(pcm, rate_hz)
        if utterance is None:
            return
        item_id = str(getattr(event, "item_id", ""))
        last = self._stretches[-1] if self._stretches else None
        if last is None or (last.item_id, last.utterance) != (item_id, utterance):
            last = _Stretch(item_id, utterance)
            self._stretches.append(last)
        last.sent_ms += pcm.size * 1000 / rate_hz

    def _cut(self) -> None:
        """What was heard by now is all that will ever be heard of it."""
        unplayed_ms = (self._avatar.unplayed_s or 0.0) * 1000
        for stretch in reversed(self._stretches):
            if stretch.heard_ms is None:
                stretch.heard_ms = max(0.0, stretch.sent_ms - unplayed_ms)
                unplayed_ms = max(0.0, unplayed_ms - stretch.sent_ms)
        self._avatar.interrupt()

    def _settle(self, event: AvatarEvent) -> None:
        if not isinstance(event, UtteranceDone | UtteranceCut) or event.played_s is None:
            return
        left_ms = event.played_s * 1000
        for stretch in self._stretches:
            if stretch.utterance == event.utterance:
                stretch.heard_ms = (
                    stretch.sent_ms if isinstance(event, UtteranceDone) else min(stretch.sent_ms, left_ms)
                )
                left_ms = max(0.0, left_ms - stretch.sent_ms)


async def attach_avatar(speaker: Speaker, avatar: AvatarAdapter, *, connect: bool = True) -> AttachedAvatar:
    """Give ``speaker`` the face ``avatar``. Its sound, its ends and its interruptions go there from now on.

    A face that carries the voice also answers how much was heard (``heard_ms``), where the speaker asks and nobody else
    answers. The room must then be silent, else the voice is heard twice.

    Args:
        speaker: the voice.
        avatar: the face.
        connect: whether a face that is not connected is connected first.

    Raises:
        AvatarError: the face could not be connected; nothing was attached.
    """
    if connect and not avatar.is_connected:
        await avatar.connect()
    return AttachedAvatar(speaker, avatar)


def _take_over(speaker: Speaker, heard_ms: Callable[[str], float | None]) -> AsksWhatWasHeard | None:
    if not isinstance(speaker, AsksWhatWasHeard) or speaker.heard_ms is not None:
        return None
    speaker.heard_ms = heard_ms
    return speaker
