"""Gemini Live: the adapter."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote

import structlog

from agents.models.faults import Account
from audio.pcm import Pcm
from audio.providers.socket import Target
from realtime.s2s.address import session_address
from realtime.s2s.contract import (
    AudioFormat,
    Capabilities,
    HistoryItem,
    S2SError,
    SessionConfig,
    SessionPatch,
)
from realtime.s2s.events import (
    AgentTranscriptDelta,
    AgentTranscriptDone,
    Connected,
    ResponseDone,
    ResponseStarted,
    ResponseStatus,
    SessionExpiring,
    ToolCall,
    ToolCallsCancelled,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTranscript,
)
from realtime.s2s.gemini import messages
from realtime.s2s.gemini.answer import ModelTurnState, TurnState
from realtime.s2s.gemini.calls import OpenCalls
from realtime.s2s.gemini.messages import INPUT_HZ, OUTPUT_HZ, GeminiSettings, ServerMessage
from realtime.s2s.gemini.waiting import WaitingWords
from realtime.s2s.liveness import SILENT_S
from realtime.s2s.samples import decode_samples
from realtime.s2s.socket_session import SessionDial, SocketSession
from realtime.s2s.words import Words

log = structlog.get_logger(__name__)

API = "https://generativelanguage.googleapis.com"
KEY = "GEMINI_API_KEY"
_SERVICE = "google.ai.generativelanguage"

GetToken = Callable[[], Awaitable[str]]
"""Gives a key or a short-lived token, once for each connection."""

_USER = "user"
_ANSWER = "an answer"
"""What the provider owes after it was asked for one, until it begins."""

_REST = "the rest of an answer"
"""What it owes from then on, until it has generated all of it."""


class GeminiLive(SocketSession):
    """A session of Gemini Live.

    Args:
        api_key: the key.
        settings: of the session.
        get_token: asked before each connection, instead of the key.
        base_url: address of the interface, without a path; without TLS only on this machine.
        dialler: opens the connection; the network when None.

    Raises:
        ConfigError: ``ERR_S2S_ADDRESS``, the address is none, or goes over the network in the open.
    """

    provider = "gemini"
    capabilities = Capabilities(
        truncates=False,
        reports_user_speech=False,
        updates_tools=False,
        resumes=True,
        closes_before_resuming=True,
        session_limit_s=600.0,
    )
    input_format = AudioFormat(INPUT_HZ)
    output_format = AudioFormat(OUTPUT_HZ)

    def __init__(
        self,
        api_key: str = "",
        settings: GeminiSettings | None = None,
        *,
        get_token: GetToken | None = None,
        base_url: str = API,
        dialler: SessionDial | None = None,
    ) -> None:
        super().__init__(Account("Gemini Live", KEY, (api_key,) if api_key else ()), dialler)
        self.settings = settings or GeminiSettings()
        self._api_key = api_key
        self._get_token = get_token
        self._base_url = base_url
        self._address = session_address(base_url or API)
        self._turn = ModelTurnState()
        self._open_response = ""
        self._calls = OpenCalls()
        self._waiting = WaitingWords()
        self._words = Words()
        self._user_said = False
        self._handle_now: str | None = None
        self._usage = messages.Usage()
        self._in_turn = False
        self._turn_begun = False
        self._cut = False
        """Whether the provider has cut an answer whose turn it has not ended yet: its last words may still come."""

    @property
    def manual_turns(self) -> bool:
        """Whether the host marks the user's turns."""
        return self.settings.activity_detection is None

    @property
    def resume_handle(self) -> str | None:
        """With what the session can be resumed, unless the provider says that it cannot right now."""
        return self._handle_now

    def successor(self) -> GeminiLive:
        """A new adapter with the same settings."""
        fresh = type(self)(
            self._api_key, self.settings, get_token=self._get_token, base_url=self._base_url, dialler=self._dial
        )
        fresh.heard_ms = self.heard_ms
        return fresh

    def send_audio(self, pcm: Pcm) -> None:
        """Sound of the user at 16 kHz."""
        if self._in_turn and pcm.size and not self._turn_begun:
            self._turn_begun = True
            self._send(messages.activity_start())
        super().send_audio(pcm)

    def begin_turn(self) -> None:
        """The user begins to speak: the agent is interrupted, and sound is sent until the turn ends."""
        if self.is_connected:
            self.interrupt()
            self._in_turn, self._turn_begun = True, False

    def end_turn(self, *, respond: bool = True) -> None:
        """The user has spoken. The provider answers every turn: an answer that is not wanted is cancelled."""
        if not self._in_turn:
            return
        self._in_turn = False
        if self._turn_begun and self.is_connected:
            self._send(messages.activity_end())
            self._expect()
            if not respond:
                self._cancel()

    def respond(self) -> None:
        """Ask for an answer."""
        if self.is_connected:
            self._waiting.ask()
            self._advance()

    def inject_text(self, text: str, *, respond: bool, role: Literal["user", "system"] = "user") -> None:
        """Add a message to the conversation, after the answer that is under way: it would end there."""
        if self.is_connected:
            self._waiting.add(HistoryItem(role, text), respond=respond)
            self._advance()

    def send_tool_result(self, call_id: str, output: object, *, respond: bool = True) -> None:
        """Answer a call. Most tools are waited for, and the provider then speaks, whatever ``respond`` says."""
        call = self._calls.answer(call_id)
        if call is None:
            log.info("result of an unknown call dropped", provider=self.provider)
            return
        self._send(messages.tool_response(call.wire_id, call.name, output, respond=respond))
        if respond and self.is_connected and not self._calls.any_open:
            self._liveness.owe(_ANSWER)

    def update_session(self, patch: SessionPatch) -> None:
        """Tell the model of new instructions. What was set up cannot be changed."""
        if patch.tools is not None:
            raise S2SError(
                "ERR_S2S_REQUEST", "Gemini Live cannot change the tools of a session.", "Replace the session."
            )
        if patch.instructions is not None:
            self.inject_text(patch.instructions, respond=False, role="system")

    def interrupt(self) -> None:
        """Stop the answer."""
        if self._user_said and self._turn.state is TurnState.IDLE:
            # The user has spoken, so the model is about to.
            self._turn.expect()
        self._cancel()
        self._words.take(self._turn.item_id)
        self._silence_agent()

    async def _target(self) -> Target:
        key = await self._get_token() if self._get_token is not None else self._api_key
        if key and key != self._api_key:
            self._account = Account(self._account.provider, KEY, (key,))
        version, method, query, headers = self.settings.api_version, "BidiGenerateContent", "", {"x-goog-api-key": key}
        if key.startswith("auth_tokens/"):
            # Short-lived tokens are for another method, and go into the address.
            version, method, headers = "v1alpha", "BidiGenerateContentConstrained", {}
            query = f"?access_token={quote(key, safe='')}"
        return Target(f"{self._address}/ws/{_SERVICE}.{version}.GenerativeService.{method}{query}", headers)

    async def _begin(self, config: SessionConfig) -> Connected:
        await self._send_now(messages.setup(self.settings, config))
        while True:
            told = ServerMessage.model_validate(await self._receive())
            if told.setup_complete is not None:
                break
        if config.history and not config.resume:
            announced = self.settings.announces_history
            await self._send_now(messages.content(config.history, respond=announced))
        return Connected(told.setup_complete.session_id, None, config.resume is not None)

    def _handle(self, message: Mapping[str, Any]) -> None:
        if not message:
            raise ValueError("an empty message")
        told = ServerMessage.model_validate(message)
        if told.usage_metadata is not None:
            self._usage = told.usage_metadata
        if told.session_resumption_update is not None:
            update = told.session_resumption_update
            self._handle_now = update.new_handle if update.resumable and update.new_handle else None
        if told.go_away is not None:
            self.events.emit(SessionExpiring(told.go_away.seconds))
        if told.voice_activity is not None:
            started = told.voice_activity.voice_activity_type == "ACTIVITY_START"
            self.events.emit(UserSpeechStarted() if started else UserSpeechStopped())
        if told.server_content is not None:
            self._content(told.server_content)
        if told.tool_call is not None:
            self._called(told.tool_call)
        if told.tool_call_cancellation is not None:
            gone = self._calls.cancel(told.tool_call_cancellation.ids)
            if gone:
                self.events.emit(ToolCallsCancelled(gone))

    def _audio_message(self, pcm: Pcm) -> Mapping[str, Any]:
        return messages.audio(pcm)

    def _takes_sound(self) -> bool:
        return self._in_turn or not self.manual_turns

    def _content(self, content: messages.ServerContent) -> None:
        if content.interrupted:
            self._was_interrupted()
        if content.input_transcription is not None:
            self._user_words(content.input_transcription)
        if content.output_transcription is not None and content.output_transcription.text:
            self._agent_words(content.output_transcription.text)
        if content.model_turn is not None:
            self._speech(content.model_turn)
        if content.generation_complete:
            # The end of the turn comes when all of it could have been played, which may take long.
            self._liveness.met(_REST)
            if self._turn.state is TurnState.ACTIVE:
                self._spoken()
        if content.turn_complete:
            self._complete()

    def _speech(self, turn: messages.ModelTurn) -> None:
        for part in turn.parts:
            if part.inline_data is None or not part.inline_data.mime_type.startswith("audio/"):
                continue
            self._cut = False
            if self._piece():
                self._spoke(decode_samples(part.inline_data.data), self._turn.item_id)

    def _agent_words(self, text: str) -> None:
        if not self._cut and self._piece():
            self._words.add(self._turn.item_id, text)
            self.events.emit(AgentTranscriptDelta(text, self._turn.item_id))

    def _user_words(self, told: messages.Transcription) -> None:
        if told.text:
            self._user_said = True
            self._words.add(_USER, told.text)
            self.events.emit(UserTranscript(told.text, False))
        if told.finished:
            self._user_final()

    def _user_final(self) -> None:
        text = self._words.take(_USER).strip()
        if text:
            self.events.emit(UserTranscript(text, True))

    def _called(self, told: messages.CallsTold) -> None:
        if not self._piece():
            return
        self._liveness.met(_REST)
        for call in told.function_calls:
            call_id = self._calls.called(call.id, call.name)
            if call_id is not None:
                self.events.emit(ToolCall(call_id, call.name, json.dumps(call.args or {}, ensure_ascii=False)))

    def _piece(self) -> bool:
        """A piece of an answer came. Returns whether it is to be used."""
        number = self._turn.number
        if not self._turn.piece():
            return False
        self._liveness.met(_ANSWER)
        self._liveness.owe(_REST, SILENT_S)
        if self._turn.number != number:
            self._close_response("cancelled")
            self._user_said = False
            self._user_final()
            self._open_response = self._turn.item_id
            self.events.emit(ResponseStarted(self._open_response))
        return True

    def _was_interrupted(self) -> None:
        """The provider has ended an answer early: it heard the user, or was told to."""
        before = self._turn.end()
        self._cut = True
        self._owes_nothing()
        if before is not TurnState.CANCELLED:
            self._words.take(self._turn.item_id)
            self._silence_agent()
        self._close_response("cancelled")
        self._advance()

    def _complete(self) -> None:
        """The provider has ended the turn; said once or more often."""
        before = self._turn.end()
        self._cut = False
        self._owes_nothing()
        if before is TurnState.ACTIVE:
            self._user_said = False
            self._user_final()
            self._spoken()
            text = self._words.take(self._turn.item_id)
            if text:
                self.events.emit(AgentTranscriptDone(text, self._turn.item_id))
        self._close_response("completed" if before is TurnState.ACTIVE else "cancelled")
        self._advance()

    def _close_response(self, status: ResponseStatus) -> None:
        if self._open_response:
            response, self._open_response = self._open_response, ""
            used, self._usage = self._usage, messages.Usage()
            self.events.emit(ResponseDone(response, status, used.prompt_token_count, used.response_token_count))

    def _expect(self) -> None:
        self._turn.expect()
        self._liveness.owe(_ANSWER)

    def _owes_nothing(self) -> None:
        self._liveness.met(_ANSWER)
        self._liveness.met(_REST)

    def _cancel(self) -> None:
        """Have the answer that is under way, or about to come, ended; what waits is kept, but not to be answered."""
        self._waiting.be_silent()
        if self._turn.cancel() and self.is_connected:
            self._owes_nothing()
            self._close_response("cancelled")
            self._send(messages.content((), respond=False))

    def _advance(self) -> None:
        """Send what waits, if it interrupts nothing."""
        if not self._turn.is_idle or self._calls.any_open or not self._waiting:
            return
        items, respond = self._waiting.take()
        self._send(messages.content(items, respond=respond))
        if respond:
            self._expect()
