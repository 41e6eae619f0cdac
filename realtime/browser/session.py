"""What a browser room needs of a voice session, and how it follows one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agents.core.display import SlotPushed, SlotResolved, SlotUpdated
from agents.everyday.timers import TimerBook
from audio.answering import SpokenAgent
from audio.events import (
    AgentSpeechStopped,
    Interrupted,
    ModeChanged,
    PlaybackPaused,
    PlaybackResumed,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTurn,
    VoiceEvent,
)
from audio.voice import GloveVoice
from realtime.browser.captions import Captions
from realtime.browser.room import PcmRoom
from realtime.browser.wire import HISTORY_TURNS, Line, Message, Transcript, slot_message, voice_message

STATE_EVENTS = (ModeChanged, UserSpeechStarted, UserSpeechStopped, PlaybackPaused, PlaybackResumed)
"""After these the caller is told the state."""


class BrowserAgent(SpokenAgent, Protocol):
    """Who answers, and what was said before the room was opened."""

    async def history(self, turns: int = 20) -> list[tuple[str, str]]:
        """The last exchanges: (``user`` or ``agent``, text), oldest first."""
        ...


class BrowserMind(Protocol):
    """The mind of a session."""

    @property
    def agent(self) -> BrowserAgent:
        """Who answers; its display stack is shown on the page."""
        ...

    @property
    def timers(self) -> TimerBook:
        """The timers that are shown on the page."""
        ...


class BrowserSession(Protocol):
    """A voice in the room and the mind behind it; ``appliance.build.Session`` is one."""

    @property
    def voice(self) -> GloveVoice:
        """The voice session."""
        ...

    @property
    def mind(self) -> BrowserMind:
        """The mind."""
        ...

    @property
    def language(self) -> str:
        """BCP-47 primary tag spoken before anything was heard."""
        ...

    async def start(self) -> None:
        """Listen."""
        ...

    async def close(self) -> None:
        """Stop and give everything back; idempotent."""
        ...


class Follower:
    """Turns what happens in a session into messages, and keeps the transcript.

    Args:
        session: the session.
        room: its room.
        post: takes each message (nobody may be there to read it).
    """

    def __init__(self, session: BrowserSession, room: PcmRoom, post: Callable[[Message], None]) -> None:
        self.transcript = Transcript()
        self._voice = session.voice
        self._room = room
        self._post = post
        self._hearing = False
        self._text = ""
        self._cut = False
        self._spoken_turn = -1
        self._captions = Captions(session.voice.agent_busy, self._agent_text)
        self._agent = agent = session.mind.agent
        agent.add_subscriber(self._captions)
        display = agent.display.events
        self._off = [
            session.voice.events.on(VoiceEvent, self._voice_event),
            display.on(SlotPushed, lambda event: post(slot_message(event))),
            display.on(SlotUpdated, lambda event: post(slot_message(event))),
            display.on(SlotResolved, lambda event: post(slot_message(event))),
            lambda: agent.remove_subscriber(self._captions),
        ]

    async def recall(self) -> None:
        """Begin the transcript with what was said before."""
        for sender, text in await self._agent.history(HISTORY_TURNS):
            self.transcript.add(Line("user" if sender == "user" else "assistant", text))

    def close(self) -> None:
        """Follow no longer; idempotent."""
        for off in self._off:
            off()
        self._off.clear()

    def state(self) -> Message:
        """Who does what at the moment."""
        mode = self._voice.current_mode
        return {
            "t": "state",
            "mode": mode,
            "listening": mode == "listening",
            "thinking": mode == "thinking",
            "speaking": mode == "speaking",
            "hearing": self._hearing,
            "paused": self._room.speaker.paused,
            "muted": self._voice.is_muted,
        }

    def _voice_event(self, event: VoiceEvent) -> None:
        message = voice_message(event)
        match event:
            case UserTurn():
                self._unheard()
                self.transcript.add(Line("user", event.text))
            case Interrupted():
                self._interrupted(event.heard)
            case AgentSpeechStopped():
                self._stopped(event.heard)
            case ModeChanged() if event.mode == "listening":
                self._unheard()
            case UserSpeechStarted() | UserSpeechStopped():
                self._hearing = isinstance(event, UserSpeechStarted)
            case _:
                pass
        if message is not None:
            self._post(message)
        if isinstance(event, STATE_EVENTS):
            self._post(self.state())

    def _agent_text(self, text: str) -> None:
        if not self._text and not text.strip():
            return
        self._text += text
        self._spoken_turn = self._room.player.generation
        self._post({"t": "speech", "turnId": self._spoken_turn, "text": text})

    def _interrupted(self, heard: str) -> None:
        """Precedes ``_stopped`` with the same words."""
        self._cut = True
        if self._text.strip():
            self._post({"t": "interrupted", "turnId": self._spoken_turn, "text": heard})

    def _stopped(self, heard: str) -> None:
        if not self._text.strip() and heard.strip():
            self._agent_text(heard)  # what no model wrote: an alert, a failure
        text = heard if self._cut else " ".join(self._text.split())
        self.transcript.add(Line("assistant", text, cut=self._cut))
        self._end_text()

    def _unheard(self) -> None:
        """Words of which nothing was heard come to nothing."""
        if self._text.strip():
            self._post({"t": "interrupted", "turnId": self._spoken_turn, "text": ""})
        self._end_text()

    def _end_text(self) -> None:
        self._captions.cut()
        self._text = ""
        self._cut = False
