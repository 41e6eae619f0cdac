"""What goes on between a user and a realtime model: who speaks, who owes an answer, and what of it is kept.

It follows the events of a link, whichever session they come from, and passes them on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import structlog

from agents.base import clock
from agents.base.emitter import Emitter
from audio.io.player import Player
from realtime.agent_events import AgentDelta, AgentFault, AgentHeard, AgentSaid, UserSaid
from realtime.link import SessionLink
from realtime.link_state import LinkMoved, LinkState, SessionReplaced
from realtime.s2s import events
from realtime.speech import AgentSpeech, HeardWords
from realtime.transcript import Transcript

log = structlog.get_logger(__name__)

REMEMBERED = 64
"""Stretches of speech that are over, and of which pieces may still come."""

OWED_S = 15.0
"""How long an answer that does not come keeps a session from being replaced."""


class Dialogue:
    """Follows one link.

    Attributes:
        speech: of the agent, on its way through the player.
        responding: whether the model is answering.
        user_speaks: whether the user does, as far as the provider (or the host, with manual turns) knows.
        cut_samples: how much of the answer that was cut last had been played.

    Args:
        link: tells what happens.
        transcript: where it is kept.
        emitter: where it is passed on.
        player: plays the agent's speech; None if the owner plays what ``audio`` brings, and nobody counts.
        user_started: called when the user begins to speak.
    """

    def __init__(
        self,
        link: SessionLink,
        transcript: Transcript,
        emitter: Emitter,
        player: Player | None,
        user_started: Callable[[], None],
    ) -> None:
        self.speech = AgentSpeech(player or Player())
        self.responding = False
        self.user_speaks = False
        self._link = link
        self._transcript = transcript
        self._emitter = emitter
        self._plays = player is not None
        self._user_started = user_started
        self._session = 0
        self._said = ""
        self._owed = ""
        self._owed_since: float | None = None
        self._sounded = False
        self._broken: str | None = None
        self._gone: deque[str] = deque(maxlen=REMEMBERED)
        self.cut_samples = 0
        self._off = [link.events.on(kind, call) for kind, call in self._listeners()]

    @property
    def owes_answer(self) -> bool:
        """Whether the user has said something to which no answer has begun."""
        return self._owed_since is not None

    @property
    def owed(self) -> str:
        """What that was, as far as it is known."""
        return self._owed

    @property
    def quiet(self) -> bool:
        """Whether nothing is being heard, said or waited for."""
        owed = self._owed_since is not None and clock.now() - self._owed_since < OWED_S
        return not (self.responding or self.user_speaks or owed or self.speech.busy or self._transcript.awaits_words)

    def close(self) -> None:
        """Follow the link no longer. What is being said is cut."""
        for off in self._off:
            off()
        self.cut()

    def heard_ms(self, item_id: str) -> float | None:
        """Milliseconds that were played of a stretch of speech of the session in force."""
        return self.speech.heard_ms(self._key(item_id)) if self._plays else None

    def user_owes(self, text: str) -> None:
        """The user is owed an answer to ``text`` (empty while the words are not known)."""
        self._owed, self._owed_since = text or self._owed, clock.now()
        self._sounded = False

    def take_owed(self) -> str:
        """What the user is owed an answer to; somebody else gives it."""
        owed = self._owed
        self._settle()
        return owed

    def cut(self) -> None:
        """Nothing more of what is being said is played; exactly what was heard of it is kept."""
        self.cut_samples = self.speech.played_samples if self.speech.has_sound else 0
        for heard in self.speech.cut():
            self._over(heard)

    def drained(self) -> None:
        """The player has nothing left."""
        for heard in self.speech.over():
            self._over(heard)

    def _listeners(self) -> list[tuple[type, Callable[[events.S2SEvent], None]]]:
        pairs: list[tuple[type, Callable[..., None]]] = [
            (events.AgentAudio, self._audio),
            (events.AgentTranscriptDelta, self._delta),
            (events.AgentTranscriptDone, self._done),
            (events.AgentSpeechStopped, self._speech_ended),
            (events.ResponseStarted, self._response_started),
            (events.ResponseDone, self._response_done),
            (events.UserSpeechStarted, self._started),
            (events.UserSpeechStopped, self._stopped),
            (events.UserTranscript, self._heard_user),
            (events.Interrupted, self._interrupted),
            (events.Disconnected, self._disconnected),
            (events.S2SFault, self._fault),
            (events.S2SEvent, self._emitter.emit),
            (events.Connected, self._connected),
            (SessionReplaced, self._replaced),
            (LinkMoved, self._moved),
        ]
        return pairs

    def _key(self, item_id: str) -> str:
        """Providers name stretches anew in each session."""
        return f"{self._session}/{item_id}"

    def _fault(self, event: events.S2SFault) -> None:
        self._emitter.emit(AgentFault(event.error))

    def _connected(self, _: object) -> None:
        self._session += 1

    def _audio(self, event: events.AgentAudio) -> None:
        key = self._key(event.item_id)
        if key in self._gone:
            return
        self._sounded = True
        self._transcript.reply_began(key)
        if self._plays:
            self.speech.add_sound(events.AgentAudio(event.pcm, event.rate_hz, key))

    def _delta(self, event: events.AgentTranscriptDelta) -> None:
        key = self._key(event.item_id)
        if key in self._gone:
            return
        self._transcript.reply_began(key)
        self.speech.add_words(key, event.text)
        self._emitter.emit(AgentDelta(event.text))

    def _done(self, event: events.AgentTranscriptDone) -> None:
        key = self._key(event.item_id)
        if key in self._gone or not event.text.strip():
            return
        self._transcript.reply_began(key)
        self.speech.all_words(key, event.text)
        self._transcript.reply_known(key, event.text)
        self._emitter.emit(AgentSaid(event.text.strip()))

    def _speech_ended(self, _: object) -> None:
        self.speech.ended()

    def _response_started(self, _: object) -> None:
        self.responding = True
        self._sounded = False

    def _response_done(self, event: events.ResponseDone) -> None:
        self.responding = False
        if event.status == "completed":
            self._settle()
        self.speech.closed()
        self.drained()

    def _settle(self) -> None:
        self._owed, self._owed_since = "", None

    def _started(self, _: object) -> None:
        self.user_speaks = True
        self._user_started()

    def _stopped(self, _: object) -> None:
        self.user_speaks = False
        self._transcript.user_speaks()
        self.user_owes("")

    def _heard_user(self, event: events.UserTranscript) -> None:
        if not event.final:
            if not self._said and not self._link.adapter.capabilities.reports_user_speech:
                self._user_started()
            self._said += event.text
            if not self._link.adapter.capabilities.reports_user_speech:
                self.user_owes("")
            return
        self._said = ""
        text = event.text.strip()
        self._take_words(text, event.item_id)

    def _take_words(self, text: str, item_id: str = "") -> None:
        self._transcript.user_said(text, item_id)
        if not text:
            if not self.responding:
                self._settle()
            return
        if self.responding or not self._sounded:
            self.user_owes(text)
        self._emitter.emit(UserSaid(text))

    def _interrupted(self, _: object) -> None:
        truncates = self._link.adapter.capabilities.truncates
        self.cut_samples = self.speech.played_samples if self.speech.has_sound else 0
        for heard in self.speech.cut():
            self._over(heard)
            told_itself = truncates and heard.item_id.startswith(f"{self._session}/")
            if not heard.complete and not told_itself and self._plays:
                self._link.inject(_notice(heard.text), respond=False)

    def _over(self, heard: HeardWords) -> None:
        self._gone.append(heard.item_id)
        self._transcript.reply_heard(heard)
        if heard.whole or heard.text:
            self._emitter.emit(AgentHeard(heard.text, heard.complete))

    def _disconnected(self, _: object) -> None:
        """The session has ended of itself."""
        if self._said.strip():
            said, self._said = self._said.strip(), ""
            self._take_words(said)
        self._broken = self.speech.saying() if self.responding and self._sounded else None
        self.responding = self.user_speaks = False
        for item_id, text in self.speech.texts():
            self._transcript.reply_known(item_id, text)
        self.speech.closed()
        self.drained()

    def _moved(self, event: LinkMoved) -> None:
        if event.state is LinkState.LOST:
            self._transcript.forget_utterances()
        self._emitter.emit(event)

    def _replaced(self, event: SessionReplaced) -> None:
        broken, self._broken = self._broken, None
        if event.why == "recovered":
            if self._transcript.awaits_words:
                # The new session hears the same utterance, and answers it.
                self._transcript.forget_utterances()
            elif broken:
                self._link.inject(_broken_off(broken), respond=True)
            elif self.owes_answer:
                self._link.adapter.respond()
        self._emitter.emit(event)


def _notice(heard: str) -> str:
    told = f"They heard only this much of it: {heard!r}" if heard else "They heard none of it"
    return f"[Notice: the user interrupted your last reply. {told}. Do not assume that they know the rest.]"


def _broken_off(said: str) -> str:
    return (
        f"[Notice: the connection broke while you were answering. The user heard your answer up to here: {said!r}. "
        "Go on from exactly there, without saying any of it again and without mentioning this.]"
    )
