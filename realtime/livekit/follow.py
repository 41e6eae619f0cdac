"""What a voice session says in a room without its voice, and what it takes from there."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from agents.base.errors import InputError
from audio.events import AgentSays, AgentSpeechStopped, ModeChanged, UserPartial, UserTurn, VoiceEvent
from audio.voice import GloveVoice
from realtime.browser.wire import Message, voice_message
from realtime.livekit.events import ChatReceived, DataReceived, ParticipantConnected
from realtime.livekit.transport import LiveKitTransport

log = structlog.get_logger(__name__)

TOPIC = "glove"
"""Topic of the JSON messages; those of other topics are none of ours."""


class Follower:
    """Shows a room what is said, and takes typed lines and commands, until ``close``.

    Words go out as LiveKit's text streams (``lk.transcription``), the user's in the name of whoever has the floor.
    Everything else is JSON with a ``t``, as the rooms of the page have it: ``ready`` to each who comes, ``state``,
    ``utterance``, ``tool``, ``error``. Taken are typed lines (``lk.chat``, or ``say``), ``barge_in`` and ``stop``.
    """

    def __init__(self, voice: GloveVoice, transport: LiveKitTransport) -> None:
        self._voice = voice
        self._transport = transport
        self._segments = {"user": 0, "agent": 0}
        self._off: list[Callable[[], object]] = [
            voice.events.on(VoiceEvent, self._happened),
            transport.events.on(ChatReceived, lambda event: voice.say_to_agent(event.text)),
            transport.events.on(DataReceived, self._asked),
            transport.events.on(ParticipantConnected, self._came),
        ]

    def close(self) -> None:
        """Follow no more; idempotent."""
        while self._off:
            self._off.pop()()

    def _came(self, who: ParticipantConnected) -> None:
        if not who.on_behalf_of:
            self._post({"t": "ready", "mode": self._voice.current_mode}, who.identity)

    def _asked(self, event: DataReceived) -> None:
        if event.topic not in ("", TOPIC):
            return
        match event.message:
            case {"t": "say", "text": str(text)}:
                self._voice.say_to_agent(text[:4000])
            case {"t": "barge_in" | "stop"}:
                self._voice.interrupt()
            case _:
                log.debug("a message that nobody understands", identity=event.identity)

    def _happened(self, event: VoiceEvent) -> None:
        match event:
            case UserPartial():
                self._show(event.text, "user", final=False)
            case UserTurn():
                self._show(event.text, "user", final=True)
            case AgentSays():
                self._show(event.text, "agent", final=False)
            case AgentSpeechStopped() if event.heard.strip():
                self._show(event.heard, "agent", final=True)
            case ModeChanged():
                self._post({"t": "state", "mode": event.mode})
            case _:
                pass
        if not isinstance(event, UserPartial) and (message := voice_message(event)) is not None:
            self._post(message)

    def _show(self, text: str, who: str, *, final: bool) -> None:
        speaker = self._transport.mix.floor if who == "user" else ""
        self._transport.transcribe(text, f"{who}-{self._segments[who]}", final=final, identity=speaker or None)
        if final:
            self._segments[who] += 1

    def _post(self, message: Message, to: str = "") -> None:
        try:
            self._transport.send_data(message, TOPIC, [to] if to else [])
        except InputError as fault:
            log.info("a message is too long for the room", kind=message["t"], error=fault.message)
