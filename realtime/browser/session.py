"""What a browser room needs of a voice session, and how it follows one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from agents.base.errors import GloveError
from agents.core.display import SlotPushed, SlotResolved, SlotUpdated
from agents.core.store import StoreAdapter
from agents.everyday.timers import TimerBook
from agents.web.wire import Event, jsonable
from audio.answering import SpokenAgent
from audio.events import (
    AgentSays,
    AgentSpeechStopped,
    AttentionChanged,
    Interrupted,
    ModeChanged,
    PlaybackPaused,
    PlaybackResumed,
    UserAnswer,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTurn,
    VoiceEvent,
)
from audio.voice import GloveVoice
from realtime.browser.captions import Captions
from realtime.browser.doings import Doings
from realtime.browser.replay import Replay
from realtime.browser.room import PcmRoom
from realtime.browser.wire import HISTORY_TURNS, Line, Message, Transcript, slot_message, voice_message

log = structlog.get_logger(__name__)

STATE_EVENTS = (
    ModeChanged,
    UserSpeechStarted,
    UserSpeechStopped,
    PlaybackPaused,
    PlaybackResumed,
    AttentionChanged,
)
"""After these the caller is told the state."""


class BrowserAgent(SpokenAgent, Protocol):
    """Who answers, and what was said before the room was opened."""

    @property
    def store(self) -> StoreAdapter | None:
        """The record of the conversation that goes on, or None between two."""
        ...

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
    """A voice in the room and the mind behind it; ``appliance.session.build.Session`` is one."""

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
        self.earlier: list[Message] = []
        self.replay = Replay()
        self._turn_over = asyncio.Event()
        self._voice = session.voice
        self._room = room
        self._post = post
        self._hearing = False
        self._text = ""
        self._cut = False
        self._spoken_turn = -1
        self._captions = Captions(session.voice.agent_busy, self._agent_text)
        self._agent = agent = session.mind.agent
        self._doings = Doings(session.voice.agent_busy, self._agent_event)
        agent.add_subscriber(self._captions)
        agent.add_subscriber(self._doings)
        display = agent.display.events
        self._off = [
            session.voice.events.on(VoiceEvent, self._voice_event),
            display.on(SlotPushed, lambda event: post(slot_message(event))),
            display.on(SlotUpdated, lambda event: post(slot_message(event))),
            display.on(SlotResolved, self._slot_resolved),
            lambda: agent.remove_subscriber(self._captions),
            lambda: agent.remove_subscriber(self._doings),
        ]

    async def recall(self) -> None:
        """Begin the transcript with what was said before."""
        for sender, text in await self._agent.history(HISTORY_TURNS):
            self.transcript.add(Line("user" if sender == "user" else "assistant", text))
        self.earlier = self.transcript.to_json()

    async def records(self) -> Message:
        """The agent's tasks, and what it waits for from outside."""
        store = self._agent.store
        told: Message = {"t": "records", "tasks": [], "inbox": []}
        try:
            if store is not None and "tasks" in store.supports:
                told["tasks"] = jsonable(await store.get_tasks())
            if store is not None and "inbox" in store.supports:
                told["inbox"] = jsonable(await store.get_inbox_items())
        except GloveError as fault:
            log.warning("the agent's tasks and inbox cannot be read", code=fault.code, error=fault.message)
        return told

    async def keep_records(self) -> None:
        """Tell the records after each turn that changed them; runs until cancelled."""
        told = await self.records()
        while True:
            await self._turn_over.wait()
            self._turn_over.clear()
            records = await self.records()
            if records != told:
                told = records
                self._post(records)

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
            "attention": self._voice.attention,
            "busy": self._voice.agent_busy() or bool(self._agent.display.pending),
        }

    def _voice_event(self, event: VoiceEvent) -> None:
        message = voice_message(event)
        match event:
            case UserAnswer():
                self.transcript.add(Line("user", event.text))
            case UserTurn():
                self._unheard()
                self.transcript.add(Line("user", event.text))
            case Interrupted():
                self._interrupted(event.heard)
            case AgentSpeechStopped():
                self._stopped(event.heard)
            case AgentSays():
                self._says(event.text)
            case ModeChanged() if event.mode == "listening":
                self._unheard()
                self._turn_over.set()
            case UserSpeechStarted() | UserSpeechStopped():
                self._hearing = isinstance(event, UserSpeechStarted)
            case _:
                pass
        if isinstance(event, UserTurn) and message is not None:
            self._tell(message)
        elif message is not None:
            self._post(message)
        if isinstance(event, STATE_EVENTS):
            self._post(self.state())

    def _slot_resolved(self, event: SlotResolved) -> None:
        self._post(slot_message(event))
        if event.slot.blocking:
            self._post(self.state())

    def _tell(self, message: Message) -> None:
        """What belongs to the conversation is also kept for a caller who comes back."""
        self.replay.add(message)
        self._post(message)

    def _agent_event(self, event: Event) -> None:
        self._tell({"t": "agent", "event": event})

    def _agent_text(self, text: str) -> None:
        if not self._text and not text.strip():
            return
        self._text += text
        self._spoken_turn = self._room.player.generation
        self._tell({"t": "speech", "turnId": self._spoken_turn, "text": text})

    def _says(self, text: str) -> None:
        self._text = f"{self._text} {text} "
        self._spoken_turn = self._room.player.generation
        self._tell({"t": "speech", "turnId": self._spoken_turn, "text": text, "announcement": True})

    def _interrupted(self, heard: str) -> None:
        """Precedes ``_stopped`` with the same words."""
        self._cut = True
        if self._text.strip():
            self._tell({"t": "interrupted", "turnId": self._spoken_turn, "text": heard})

    def _stopped(self, heard: str) -> None:
        whole = " ".join(self._text.split())
        self.transcript.add(Line("assistant", heard if self._cut else whole, cut=self._cut))
        if not self._cut and whole:
            # A voice that fails in the middle ends a reply without cutting it.
            complete = whole == " ".join(heard.split())
            self._tell({"t": "heard" if complete else "interrupted", "turnId": self._spoken_turn, "text": heard})
        self._end_text()

    def _unheard(self) -> None:
        """Words of which nothing was heard come to nothing."""
        if self._text.strip():
            self._tell({"t": "interrupted", "turnId": self._spoken_turn, "text": ""})
        self._end_text()

    def _end_text(self) -> None:
        self._captions.cut()
        self._text = ""
        self._cut = False
