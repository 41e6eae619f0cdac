"""OpenAI Realtime: the adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

import structlog

from agents.base import clock
from agents.models.faults import Account
from audio.pcm import Pcm
from audio.providers.socket import Target
from realtime.s2s import faults
from realtime.s2s.address import session_address
from realtime.s2s.contract import AudioFormat, Capabilities, HistoryItem, S2SError, SessionConfig, SessionPatch
from realtime.s2s.events import (
    AgentTranscriptDelta,
    AgentTranscriptDone,
    Connected,
    HeardSpeech,
    ResponseDone,
    ResponseStarted,
    S2SFault,
    ToolCall,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTranscript,
)
from realtime.s2s.openai import messages
from realtime.s2s.openai.calls import ToolRounds
from realtime.s2s.openai.messages import RATE_HZ, OpenAISettings
from realtime.s2s.openai.responses import Responses, ResponseState
from realtime.s2s.samples import decode_samples
from realtime.s2s.socket_session import SessionDial, SocketSession
from realtime.s2s.words import Words

log = structlog.get_logger(__name__)

API = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"

GetToken = Callable[[], Awaitable[str]]
"""Gives a key or a short-lived token, once for each connection."""

SHORTEST_TURN_SAMPLES = RATE_HZ // 10
"""The provider refuses a turn of less than a tenth of a second."""

_ITEM_STORED = ("conversation.item.added", "conversation.item.created", "conversation.item.done")
_ANSWER = "an answer"
"""What the provider owes after it was asked for one, until the answer has ended."""

_END = "the end of an answer"
"""What it owes after it was told to stop."""


class OpenAIRealtime(SocketSession):
    """A session of OpenAI's protocol.

    Args:
        api_key: the key; may be empty for a server on this machine.
        settings: of the session.
        get_token: asked before each connection, instead of the key.
        base_url: address of the interface, up to ``/v1``; without TLS only on this machine.
        dialler: opens the connection; the network when None.

    Raises:
        ConfigError: ``ERR_S2S_ADDRESS``, the address is none, or goes over the network in the open.
    """

    provider = "openai"
    capabilities = Capabilities(
        truncates=True, reports_user_speech=True, updates_tools=True, resumes=False, session_limit_s=3600.0
    )
    input_format = AudioFormat(RATE_HZ)
    output_format = AudioFormat(RATE_HZ)

    def __init__(
        self,
        api_key: str = "",
        settings: OpenAISettings | None = None,
        *,
        get_token: GetToken | None = None,
        base_url: str = API,
        dialler: SessionDial | None = None,
    ) -> None:
        super().__init__(Account("OpenAI Realtime", KEY, (api_key,) if api_key else ()), dialler)
        self.settings = settings or OpenAISettings()
        self._api_key = api_key
        self._get_token = get_token
        self._base_url = base_url
        self._address = session_address(base_url or API)
        self._responses = Responses(self._ask)
        self._rounds = ToolRounds()
        self._names: dict[str, str] = {}
        self._words = Words()
        self._in_turn = False
        self._turn_samples = 0

    @property
    def manual_turns(self) -> bool:
        """Whether the host marks the user's turns."""
        return self.settings.turn_detection is None

    @property
    def resume_handle(self) -> None:
        """This provider resumes nothing: conversations are replayed."""
        return None

    def successor(self) -> OpenAIRealtime:
        """A new adapter with the same settings."""
        fresh = type(self)(
            self._api_key, self.settings, get_token=self._get_token, base_url=self._base_url, dialler=self._dial
        )
        fresh.heard_ms = self.heard_ms
        return fresh

    def send_audio(self, pcm: Pcm) -> None:
        """Sound of the user at 24 kHz."""
        super().send_audio(pcm)
        if self._in_turn:
            self._turn_samples += pcm.size

    def begin_turn(self) -> None:
        """The user begins to speak: the agent is interrupted, and sound is sent until the turn ends."""
        if self.is_connected:
            self._turn_samples = 0
            self._in_turn = True
            self.interrupt()
            self._responses.hold()
            self._send({"type": "input_audio_buffer.clear"})

    def end_turn(self, *, respond: bool = True) -> None:
        """The user has spoken."""
        if not self.is_connected or not self._in_turn:
            return
        self._in_turn = False
        if self._turn_samples >= SHORTEST_TURN_SAMPLES:
            self._send({"type": "input_audio_buffer.commit"})
            if respond:
                self._responses.request()
        self._responses.release()

    def respond(self) -> None:
        """Ask for an answer."""
        if self.is_connected:
            self._responses.request()

    def inject_text(self, text: str, *, respond: bool, role: Literal["user", "system"] = "user") -> None:
        """Add a message to the conversation."""
        self._send(messages.create_item(HistoryItem(role, text)))
        if respond:
            self.respond()

    def send_tool_result(self, call_id: str, output: object, *, respond: bool = True) -> None:
        """Answer a call."""
        if not self._rounds.is_open(call_id):
            log.info("result of an unknown call dropped", provider=self.provider)
            return
        self._send(messages.tool_output(call_id, output))
        if self._rounds.answered(call_id, respond=respond):
            self.respond()

    def update_session(self, patch: SessionPatch) -> None:
        """Change instructions and tools."""
        self._send(messages.session_patch(patch))

    def interrupt(self) -> None:
        """Stop the answer."""
        self._interrupt(provider_does=False)

    async def _target(self) -> Target:
        key = await self._get_token() if self._get_token is not None else self._api_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if key and key != self._api_key:
            self._account = Account(self._account.provider, KEY, (key,))
        return Target(f"{self._address}/realtime?model={quote(self.settings.model, safe='')}", headers)

    async def _begin(self, config: SessionConfig) -> Connected:
        await self._send_now(messages.session_update(self.settings, config))
        facts = messages.SessionFacts()
        while True:
            kind, message = await self._next()
            if kind in ("session.created", "session.updated"):
                told = messages.SessionTold.model_validate(message).session
                facts = messages.SessionFacts(id=told.id or facts.id, expires_at=told.expires_at or facts.expires_at)
            if kind == "session.updated":
                break
        await self._replay(config.history)
        return Connected(facts.id, _left_s(facts.expires_at))

    async def _replay(self, history: tuple[HistoryItem, ...]) -> None:
        """Send the conversation, and wait until its last message is known to the provider."""
        if not history:
            return
        last = f"item_{uuid4().hex[:24]}"
        for index, item in enumerate(history):
            await self._send_now(messages.create_item(item, last if index == len(history) - 1 else None))
        while True:
            kind, message = await self._next()
            if kind in _ITEM_STORED and messages.ItemTold.model_validate(message).item.id == last:
                return

    async def _next(self) -> tuple[str, Mapping[str, Any]]:
        """The next message of an opening session. Raises ``S2SError`` if it is a complaint."""
        message = await self._receive()
        kind = str(message.get("type", ""))
        if kind == "error":
            raise self._complaint(messages.ErrorTold.model_validate(message).error)
        return kind, message

    def _handle(self, message: Mapping[str, Any]) -> None:
        kind = message.get("type")
        if not isinstance(kind, str):
            raise ValueError("a message without a type")
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, message)

    def _audio_message(self, pcm: Pcm) -> Mapping[str, Any]:
        return messages.append_audio(pcm)

    def _takes_sound(self) -> bool:
        return self._in_turn or not self.manual_turns

    def _ask(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "response.create":
            self._liveness.owe(_ANSWER)
        self._send(message)

    def _interrupt(self, *, provider_does: bool) -> None:
        if self.is_connected:
            self._responses.cancel(provider_does=provider_does)
            self._liveness.met(_ANSWER)
            if self._responses.state is ResponseState.CANCELLING:
                self._liveness.owe(_END)
        self._words.clear()
        self._silence_agent()

    def _truncate(self, speech: HeardSpeech) -> None:
        self._send(messages.truncate(speech.item_id, speech.heard_ms))

    def _complaint(self, error: messages.ServerError) -> S2SError:
        kinds = {name for name in (error.type, error.code) if name}
        return faults.complaint(kinds, error.message, self._account)

    def _user_started(self, message: Mapping[str, Any]) -> None:
        self.events.emit(UserSpeechStarted())
        detection = self.settings.turn_detection
        if detection is not None and detection.interrupt_response:
            self._responses.hold()
            self._interrupt(provider_does=True)

    def _user_stopped(self, message: Mapping[str, Any]) -> None:
        self.events.emit(UserSpeechStopped())
        detection = self.settings.turn_detection
        if detection is None or not detection.create_response:
            self._responses.release()
            return
        self._responses.expect()
        if detection.interrupt_response:
            self._liveness.owe(_ANSWER)

    def _user_piece(self, message: Mapping[str, Any]) -> None:
        told = messages.UserPiece.model_validate(message)
        if told.delta:
            self.events.emit(UserTranscript(told.delta, False, told.item_id))

    def _user_text(self, message: Mapping[str, Any]) -> None:
        told = messages.UserText.model_validate(message)
        self.events.emit(UserTranscript(told.transcript.strip(), True, told.item_id))

    def _user_text_failed(self, message: Mapping[str, Any]) -> None:
        told = messages.UserTextFailed.model_validate(message)
        self.events.emit(S2SFault(faults.complaint({told.error.type}, told.error.message, self._account)))

    def _response_created(self, message: Mapping[str, Any]) -> None:
        response_id = messages.ResponseTold.model_validate(message).response.id
        self._responses.created(response_id)
        stale = self._responses.is_stale(response_id)
        self._liveness.owe(_END if stale else _ANSWER)
        self.events.emit(ResponseStarted(response_id))

    def _response_done(self, message: Mapping[str, Any]) -> None:
        told = messages.ResponseTold.model_validate(message).response
        stale = self._responses.is_stale(told.id)
        goes_on = self._rounds.ended(told.id)
        if not stale:
            self._liveness.met(_ANSWER)
            self._spoken()
        status = "completed" if told.status == "in_progress" else told.status
        usage = told.usage or messages.UsageFacts()
        self.events.emit(ResponseDone(told.id, status, usage.input_tokens, usage.output_tokens))
        if told.status == "failed":
            error = told.status_details.error if told.status_details else None
            self.events.emit(S2SFault(self._failed(error or messages.ServerError())))
        self._responses.done(told.id)
        if self._responses.state is not ResponseState.CANCELLING:
            self._liveness.met(_END)
        if goes_on:
            self.respond()

    def _failed(self, error: messages.ServerError) -> S2SError:
        kinds = {name for name in (error.type, error.code) if name} or {"server_error"}
        return faults.complaint(kinds, error.message or "the answer failed", self._account)

    def _speech(self, message: Mapping[str, Any]) -> None:
        told = messages.SpeechPiece.model_validate(message)
        if not self._responses.is_stale(told.response_id):
            self._liveness.owe(_ANSWER)
            self._spoke(decode_samples(told.delta), told.item_id)

    def _speech_done(self, message: Mapping[str, Any]) -> None:
        if not self._responses.is_stale(str(message.get("response_id", ""))):
            self._spoken()

    def _piece(self, message: Mapping[str, Any]) -> None:
        told = messages.SpeechPiece.model_validate(message)
        if told.delta and not self._responses.is_stale(told.response_id):
            self._liveness.owe(_ANSWER)
            self._words.add(told.item_id, told.delta)
            self.events.emit(AgentTranscriptDelta(told.delta, told.item_id))

    def _text(self, message: Mapping[str, Any]) -> None:
        told = messages.SpeechText.model_validate(message)
        if self._responses.is_stale(told.response_id):
            return
        text = self._words.take(told.item_id)
        self.events.emit(AgentTranscriptDone(told.transcript if told.transcript is not None else text, told.item_id))

    def _item_added(self, message: Mapping[str, Any]) -> None:
        item = messages.ItemTold.model_validate(message).item
        if item.type == "function_call" and item.call_id and item.name:
            self._names[item.call_id] = item.name

    def _called(self, message: Mapping[str, Any]) -> None:
        told = messages.CallTold.model_validate(message)
        name = told.name or self._names.get(told.call_id, "")
        self._names.pop(told.call_id, None)
        if self._responses.is_stale(told.response_id):
            return
        self._liveness.owe(_ANSWER)
        if self._rounds.called(told.response_id, told.call_id):
            self.events.emit(ToolCall(told.call_id, name, told.arguments))

    def _told_error(self, message: Mapping[str, Any]) -> None:
        error = messages.ErrorTold.model_validate(message).error
        if error.code == "response_cancel_not_active":
            self._responses.nothing_to_cancel()
            self._liveness.met(_END)
        elif error.code == "conversation_already_has_active_response":
            self._responses.refused()
        else:
            self.events.emit(S2SFault(self._complaint(error)))


def _left_s(expires_at: float | None) -> float | None:
    """How long the session lasts, None where nothing can be said.

    A session that has just been opened is not over: a time that has passed says that the clocks differ.
    """
    if expires_at is None:
        return None
    left_s = expires_at - clock.wall().timestamp()
    if left_s > 0:
        return left_s
    log.warning("the clock of this machine is ahead of the provider's", by_s=round(-left_s))
    return None


_Handler = Callable[[OpenAIRealtime, Mapping[str, Any]], None]

# pyright: reportPrivateUsage=false
_HANDLERS: Mapping[str, _Handler] = {
    "input_audio_buffer.speech_started": OpenAIRealtime._user_started,
    "input_audio_buffer.speech_stopped": OpenAIRealtime._user_stopped,
    "conversation.item.input_audio_transcription.delta": OpenAIRealtime._user_piece,
    "conversation.item.input_audio_transcription.completed": OpenAIRealtime._user_text,
    "conversation.item.input_audio_transcription.failed": OpenAIRealtime._user_text_failed,
    "response.created": OpenAIRealtime._response_created,
    "response.done": OpenAIRealtime._response_done,
    "response.output_audio.delta": OpenAIRealtime._speech,
    "response.audio.delta": OpenAIRealtime._speech,
    "response.output_audio.done": OpenAIRealtime._speech_done,
    "response.audio.done": OpenAIRealtime._speech_done,
    "response.output_audio_transcript.delta": OpenAIRealtime._piece,
    "response.audio_transcript.delta": OpenAIRealtime._piece,
    "response.output_audio_transcript.done": OpenAIRealtime._text,
    "response.audio_transcript.done": OpenAIRealtime._text,
    "response.output_item.added": OpenAIRealtime._item_added,
    "response.function_call_arguments.done": OpenAIRealtime._called,
    "error": OpenAIRealtime._told_error,
}
