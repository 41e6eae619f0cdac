"""The contract of speech-to-speech adapters: PCM and commands go in, events come out, one adapter per connection.

*Replacing a session* before its provider ends it, without a word lost, takes four steps of the host:

1. Something says that it is time: ``Connected.expires_in_s``, ``Capabilities.session_limit_s`` or ``SessionExpiring``.
   Wait until no response and no tool call is under way, as far as the time allows.
2. ``successor = adapter.successor()``, and subscribe to it. While it connects, give the microphone to both:
   ``send_audio`` of an adapter that is connecting holds the sound, and sends it when the session stands.
3. With ``adapter.resume_handle`` (and ``Capabilities.resumes``) ask for the same session: first
   ``adapter.disconnect()`` if ``Capabilities.closes_before_resuming``, then ``successor.connect`` with the handle.
   Without one, ``successor.connect`` with the conversation as ``history`` while the old session still listens.
   ``connect`` returns when the provider has all of it. No history asks for an answer.
4. Unsubscribe from the old adapter and ``disconnect()`` it. If ``connect`` raised, the old one is still there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from audio.pcm import Pcm

Mode = Literal["transport", "device"]
"""``transport`` moves PCM between the host and the provider; ``device`` owns a microphone and a speaker itself."""

Role = Literal["user", "assistant", "system"]

HeardMs = Callable[[str], float | None]
"""Milliseconds of the speech with this item id that were really played, or None if the player does not know it."""


class S2SError(GloveError):
    """A fault of a speech-to-speech session.

    Codes: ``ERR_S2S_CONNECTION`` (cannot be reached), ``ERR_S2S_DISCONNECTED`` (went away, or fell silent),
    ``ERR_S2S_AUTH`` (the key is not accepted), ``ERR_S2S_LIMIT`` (busy, or the account is used up),
    ``ERR_S2S_REQUEST`` (does not take what is asked of it), ``ERR_S2S_RESPONSE`` (an answer failed).
    """

    @property
    def lasting(self) -> bool:
        """Whether another attempt fails in the same way until somebody changes something."""
        return self.code in ("ERR_S2S_AUTH", "ERR_S2S_REQUEST")


@dataclass(frozen=True)
class AudioFormat:
    """Signed 16-bit little-endian mono PCM at ``rate_hz`` samples per second."""

    rate_hz: int
    channels: Literal[1] = 1
    encoding: Literal["pcm_s16le"] = "pcm_s16le"


@dataclass(frozen=True)
class Capabilities:
    """What a provider can do; the host plans with it.

    Attributes:
        truncates: an interrupted answer is cut in the model's memory to what was heard. Where it cannot, the host
            tells the model in its next message.
        reports_user_speech: ``UserSpeechStarted`` and ``UserSpeechStopped`` are emitted.
        updates_tools: ``update_session`` can change the tools of a running session.
        resumes: ``resume_handle`` and ``SessionConfig.resume`` work.
        closes_before_resuming: the provider refuses a resumed session while its old connection is open.
        session_limit_s: the longest session known of the provider, in seconds; None if there is none.
    """

    truncates: bool
    reports_user_speech: bool
    updates_tools: bool
    resumes: bool
    closes_before_resuming: bool = False
    session_limit_s: float | None = None


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model sees it; ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class HistoryItem:
    """One message of the conversation so far."""

    role: Role
    text: str


@dataclass(frozen=True)
class SessionConfig:
    """What a session starts with.

    Attributes:
        instructions: the system prompt; empty for the provider's own.
        voice: one of the provider's voices; None for the adapter's.
        tools: what the model may call.
        history: the conversation so far, oldest first. Not sent where ``resume`` is.
        resume: a ``resume_handle`` of a session of the same provider.
    """

    instructions: str = ""
    voice: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    history: tuple[HistoryItem, ...] = ()
    resume: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SessionPatch:
    """What of a running session changes; None leaves a thing as it is."""

    instructions: str | None = None
    tools: tuple[ToolSpec, ...] | None = None


class S2SAdapter(ABC):
    """One session with a realtime model. It is connected at most once; ``successor()`` makes the next.

    Methods that send return at once and keep the order. Without a connection they do nothing: a session may end at
    any moment, and ``Disconnected`` tells the host. Sound that does not leave in time is bounded to seconds, the oldest
    is dropped and counted in ``dropped_samples``.

    Attributes:
        events: where ``realtime.s2s.events`` are emitted, in the order in which things happen.
        heard_ms: the player's count, asked at an interruption, before it is emitted; without one (None) the adapter
            assumes that speech plays from its first sample on without a pause.
    """

    mode: ClassVar[Mode]
    provider: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    input_format: ClassVar[AudioFormat]
    output_format: ClassVar[AudioFormat]

    def __init__(self) -> None:
        self.events = Emitter()
        self.heard_ms: HeardMs | None = None

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Between ``Connected`` and ``Disconnected``."""

    @property
    @abstractmethod
    def manual_turns(self) -> bool:
        """Whether the host marks the user's turns (``begin_turn``, ``end_turn``), not the provider."""

    @property
    @abstractmethod
    def resume_handle(self) -> str | None:
        """With what this session can be resumed right now, or None. Stays after the end."""

    @property
    @abstractmethod
    def dropped_samples(self) -> int:
        """Samples of the user that were never sent because the connection was too slow."""

    @abstractmethod
    def successor(self) -> S2SAdapter:
        """A new adapter with the same settings and ``heard_ms``: not connected, without listeners."""

    @abstractmethod
    async def connect(self, config: SessionConfig) -> None:
        """Open the session, and return when the provider has taken its settings and history.

        Raises:
            S2SError: it did not come about; nothing is left open, and neither ``Connected`` nor ``Disconnected`` was
                emitted.
            RuntimeError: this adapter was connected before.
        """

    @abstractmethod
    async def disconnect(self) -> None:
        """End the session; idempotent. Nothing that the provider says is told after ``Disconnected``."""

    @abstractmethod
    def send_audio(self, pcm: Pcm) -> None:
        """Sound of the user in ``input_format``, of any length. Held while ``connect`` is under way.

        Raises:
            RuntimeError: the adapter's mode is ``device``.
        """

    @abstractmethod
    def begin_turn(self) -> None:
        """The user begins to speak (manual turns): what was sent before is no part of the turn, the agent is
        interrupted."""

    @abstractmethod
    def end_turn(self, *, respond: bool = True) -> None:
        """The user has spoken (manual turns). With ``respond`` the model answers. A turn without sound is none."""

    @abstractmethod
    def respond(self) -> None:
        """Ask for an answer to what the model knows. If one is under way, the next follows it; asked for twice, one."""

    @abstractmethod
    def inject_text(self, text: str, *, respond: bool, role: Literal["user", "system"] = "user") -> None:
        """Add a message to the conversation; with ``respond`` the model answers it, without it is silent."""

    @abstractmethod
    def send_tool_result(self, call_id: str, output: object, *, respond: bool = True) -> None:
        """Answer a ``ToolCall``. The model goes on when all calls of one response are answered.

        Args:
            call_id: of the call. Calls that are unknown, answered or cancelled are dropped.
            output: text, or anything that is written as JSON.
            respond: whether the model may speak about it now.
        """

    @abstractmethod
    def update_session(self, patch: SessionPatch) -> None:
        """Change a running session. Tools need ``Capabilities.updates_tools``.

        Raises:
            S2SError: ``ERR_S2S_REQUEST``, the provider cannot change that; replace the session instead.
        """

    @abstractmethod
    def interrupt(self) -> None:
        """Stop the answer: always emits ``Interrupted``, since speech may still be playing that was sent long ago, by a
        session that has ended meanwhile.

        What of the cancelled answer still arrives is dropped. A queued answer is not asked for any more.
        """
