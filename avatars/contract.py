"""The contract of faces: the agent's speech goes in, a face moves its lips to it somewhere, events come out.

A face goes one way only. It neither hears nor sees the user; the microphone stays on the path of the room. Its sound
comes in *utterances*: the first ``send_audio`` opens one, ``end_utterance`` closes it, ``interrupt`` throws it away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from audio.pcm import Pcm


class AvatarError(GloveError):
    """A fault of a face.

    Codes: ``ERR_AVATAR_CONNECTION`` (the service cannot be reached, or answers with nonsense), ``ERR_AVATAR_AUTH`` (the
    key is not accepted), ``ERR_AVATAR_LIMIT`` (busy, or the account is used up), ``ERR_AVATAR_REQUEST`` (the service
    does not take what is asked of it), ``ERR_AVATAR_ABSENT`` (the face did not come into the room),
    ``ERR_AVATAR_DELIVERY`` (sound or a command did not reach the face).
    """

    @property
    def lasting(self) -> bool:
        """Whether another attempt fails in the same way until somebody changes something."""
        return self.code in ("ERR_AVATAR_AUTH", "ERR_AVATAR_REQUEST")


@dataclass(frozen=True)
class RoomView:
    """The face is seen by joining a WebRTC room at ``url``."""

    url: str
    provider: str
    kind: Literal["webrtc-room"] = "webrtc-room"

    def to_json(self) -> dict[str, Any]:
        """What a page gets."""
        return {"kind": self.kind, "url": self.url, "provider": self.provider}


@dataclass(frozen=True)
class SdkView:
    """The face is seen with the provider's own browser library and ``session_token``, which is meant for the page."""

    session_token: str = field(repr=False)
    provider: str
    kind: Literal["sdk-session"] = "sdk-session"

    def to_json(self) -> dict[str, Any]:
        """What a page gets."""
        return {"kind": self.kind, "sessionToken": self.session_token, "provider": self.provider}


@dataclass(frozen=True)
class DrawnView:
    """The face is drawn here: by the room's own page, or as a video track of the room."""

    provider: str
    kind: Literal["drawn"] = "drawn"

    def to_json(self) -> dict[str, Any]:
        """What a page gets."""
        return {"kind": self.kind, "provider": self.provider}


AvatarView: TypeAlias = RoomView | SdkView | DrawnView
"""Where the face can be seen."""


@dataclass(frozen=True)
class AvatarEvent:
    """Base of the events of faces; ``type`` is the wire name."""

    type: ClassVar[str] = "avatar_event"


@dataclass(frozen=True)
class Connected(AvatarEvent):
    """A session with the face stands. After a renewal it is told again."""

    type: ClassVar[str] = "connected"


@dataclass(frozen=True)
class ViewReady(AvatarEvent):
    """The face can be looked at. A page that shows an older view goes over to this one."""

    type: ClassVar[str] = "view_ready"
    view: AvatarView


@dataclass(frozen=True)
class Disconnected(AvatarEvent):
    """No session stands any more. ``fault``: None after ``disconnect()``, else why."""

    type: ClassVar[str] = "disconnected"
    fault: GloveError | None = None


@dataclass(frozen=True)
class UtteranceStarted(AvatarEvent):
    """The face has begun to speak. Only faces that report it say so."""

    type: ClassVar[str] = "utterance_started"
    utterance: int


@dataclass(frozen=True)
class UtteranceDone(AvatarEvent):
    """An utterance is over and was not cut: exactly one of this and ``UtteranceCut`` for each.

    Attributes:
        utterance: its number, from 1 on.
        played_s: seconds of it that the face has played, as it reports. None where it does not say; it has then been
            handed over as a whole, and may be playing yet.
    """

    type: ClassVar[str] = "utterance_done"
    utterance: int
    played_s: float | None = None


@dataclass(frozen=True)
class UtteranceCut(AvatarEvent):
    """An utterance was interrupted. ``played_s``: seconds of it that the face has played, None where it does not say.

    An interrupted utterance never becomes ``UtteranceDone``.
    """

    type: ClassVar[str] = "utterance_cut"
    utterance: int
    played_s: float | None = None


@dataclass(frozen=True)
class AvatarFault(AvatarEvent):
    """Something went wrong; unless ``Disconnected`` follows, the session goes on."""

    type: ClassVar[str] = "error"
    error: GloveError


class AvatarAdapter(ABC):
    """One face. It may be connected, disconnected and connected again.

    Methods that send return at once and keep the order. Without a session they do nothing. Sound that does not leave in
    time is bounded to seconds.

    Attributes:
        provider: name for logs and settings, for example ``tavus``.
        carries_voice: whether the face plays the sound that it is given. The room then stays silent, else the voice is
            heard twice. Where False, the face only moves its lips to what the room plays.
        events: where the events of this module are emitted, in the order in which things happen.
    """

    provider: ClassVar[str]
    carries_voice: ClassVar[bool]

    def __init__(self) -> None:
        self.events = Emitter()

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether a session stands; also while it is being renewed."""

    @property
    @abstractmethod
    def view(self) -> AvatarView | None:
        """Where the face can be seen now, or None."""

    @property
    @abstractmethod
    def unplayed_s(self) -> float | None:
        """Seconds of the given sound that were not played yet, by the face's reports or by the clock.

        None: the face cannot know it, and the room's player is the truth.
        """

    @abstractmethod
    async def connect(self) -> None:
        """Open a session; returns when somebody could look at the face. Idempotent.

        ``Connected`` and ``ViewReady`` were then emitted, and ``view`` is set.

        Raises:
            AvatarError: it did not come about; nothing is left open.
        """

    @abstractmethod
    async def disconnect(self) -> None:
        """End the session; idempotent. Nothing is emitted after ``Disconnected``."""

    async def renew(self) -> None:
        """Replace the session, because the provider has ended it or is about to. What was being said goes on.

        Services that allow sessions of minutes make this routine. A call that comes too soon after another waits.

        Raises:
            AvatarError: as ``connect``.
        """
        await self.disconnect()
        await self.connect()

    @abstractmethod
    def send_audio(self, pcm: Pcm, rate_hz: int) -> int | None:
        """Speech of the agent: mono samples, shape (n,), at any usual rate and faster than it plays.

        Returns the number of the utterance that it belongs to, as events have it; None if it goes nowhere.
        """

    @abstractmethod
    def end_utterance(self) -> None:
        """All sound of the utterance was given. No effect where none is open, as after ``interrupt``."""

    @abstractmethod
    def interrupt(self) -> None:
        """Fall silent, and forget sound that was not played. Safe at any time."""
