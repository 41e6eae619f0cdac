"""RealtimeVoice: a voice session in a room whose turns a realtime model hears and answers.

It is the cascade with a realtime model in front of it. While a session with the provider stands, the microphone goes
there and the answers come from there; the cascade speaks what no model says (announcements, alarms), asks the
questions of tools and hears their answers. When no session comes about, the cascade goes on with the same conversation,
and when one does again it steps back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio import events as heard
from audio.answering import Answering
from audio.answering_contract import EventTurn, SpokenAgent
from audio.following import follow_player
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.phrases import phrase
from audio.turns.contract import Committed
from audio.turns.ears import Ears
from audio.turns.engine import TurnEngine
from audio.voice import GloveVoice
from audio.voice_settings import Mode
from realtime import agent_events as told
from realtime.agent import DrivenAgent, RealtimeAgent
from realtime.link_state import LinkMoved, LinkSettings, LinkState, SessionReplaced
from realtime.local_turns import LocalTurns
from realtime.provider_ears import ProviderEars
from realtime.s2s import events as s2s
from realtime.s2s.contract import S2SAdapter, S2SError
from realtime.switchboard import Switchboard

log = structlog.get_logger(__name__)


class RealtimeVoiceAgent(SpokenAgent, DrivenAgent, Protocol):
    """An agent that both engines can run."""


class RealtimeAnswering(Answering):
    """The cascade's side of a session, which does not speak while the realtime model does.

    Attributes:
        speech: says whether it does.
    """

    speech: Callable[[], bool] = staticmethod(lambda: False)

    @property
    def busy(self) -> bool:
        """Whether anything is being prepared or spoken."""
        return super().busy or self.speech()

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound, unless something is being said."""
        if not self.speech():
            super().cue(pcm)


class RealtimeVoice(GloveVoice):
    """A spoken conversation in a room, as ``GloveVoice``, with a realtime model.

    Where the adapter leaves the turns to the host (``manual_turns``) and the session hears by itself (mode ``vad``),
    the turn engine decides when the user has spoken, and the provider hears exactly those turns.

    Args:
        agent: the mind, for both engines.
        io: the room.
        adapter: a session that is not connected.
        cascade: the arguments of ``GloveVoice``.
        instructions: for the model, instead of the agent's.
        provider_voice: one of the provider's.
        link: settings of the link.
    """

    def __init__(
        self,
        agent: RealtimeVoiceAgent,
        io: AudioIO,
        adapter: S2SAdapter,
        *,
        instructions: str | None = None,
        provider_voice: str | None = None,
        link: LinkSettings | None = None,
        **cascade: Any,
    ) -> None:
        super().__init__(agent, io, **cascade)
        self.realtime = RealtimeAgent(
            agent,
            adapter,
            player=io.player,
            instructions=instructions,
            voice=provider_voice,
            settings=link,
            language=self._language,
        )
        self.realtime.is_idle = self._cascade_idle
        self._local = LocalTurns(self.realtime) if adapter.manual_turns and self._vad is not None else None
        self._hearing: Ears | None = None
        self._open = False
        self._speaks = False
        self._heard: list[str] = []
        self._partial = ""
        self._off: list[Callable[[], None]] = []
        self._scope = Scope("realtime voice")

    @property
    def remote(self) -> bool:
        """Whether the realtime model has the conversation at this moment."""
        return not self.realtime.is_lost and self.realtime.link.state not in (LinkState.DOWN, LinkState.CLOSED)

    @property
    def settled(self) -> bool:
        """Whether nothing is being heard, thought or said."""
        return super().settled and (not self.remote or (self.realtime.dialogue.quiet and not self.realtime.calls.busy))

    async def start(self) -> None:
        """Open room, recogniser and session, and listen. Without a session the cascade answers until there is one."""
        await super().start()
        assert self._answering is not None
        follow_player(self._io, self._sounds, lambda _: self._drained())
        self._off = self._follow()
        self._scope = Scope("realtime voice")
        try:
            await self.realtime.start()
        except S2SError as fault:
            log.warning("no realtime session", code=fault.code, error=fault.message)
            self.emit(heard.VoiceFault(self._io.time_s, fault.code, str(fault)))
            await self.realtime.start_later(fault)
        except BaseException:
            await self.stop()
            raise

    async def speak_up(self, turn: EventTurn) -> None:
        """Have what an event wants told said at a polite moment, by whoever has the conversation."""
        if not self.remote:
            await super().speak_up(turn)
            return
        async with self._moments.turn:
            await self._moments.come(urgent=False)
            if await self.realtime.tell_news(respond=True):
                self.realtime.dialogue.user_owes("")

    async def announce(self, text: str, *, urgent: bool = False, wanted: Callable[[], bool] = lambda: True) -> None:
        """See ``GloveVoice``; the model learns what was said."""
        await super().announce(text, urgent=urgent, wanted=wanted)
        if self.remote:
            self.realtime.inject(f"[You have just said, without being asked: {text}]", respond=False)

    def commit_turn(self) -> None:
        """Commit what was said so far. No effect unless listening."""
        if self._mode is Mode.LISTENING and self._hearing is not None:
            self._hearing.commit()

    def renew(self) -> None:
        """The agent has begun another conversation."""
        self.realtime.renew()

    def interrupt(self) -> None:
        """Cut what the agent is doing and listen."""
        super().interrupt()
        if self.realtime.busy:
            self.realtime.interrupt()

    def agent_busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        return super().agent_busy() or self.realtime.dialogue.responding or self.realtime.dialogue.speech.busy

    def agent_sounds(self) -> bool:
        """Whether a reply or an announcement can be heard."""
        return super().agent_sounds() or self._speaks

    def user_started(self) -> None:
        """The user speaks."""
        super().user_started()
        if self._local is not None and self._remote_hears():
            self._local.started(over_agent=self.agent_busy())

    def discarded(self, reason: str) -> None:
        """Something was heard that is no turn."""
        super().discarded(reason)
        if self._local is not None:
            self._local.dropped()

    def turn_likely(self, turn: Committed) -> None:
        """The cascade prepares an answer; a realtime model needs none."""
        if not self.remote:
            super().turn_likely(turn)

    def _make_answering(self) -> Answering:
        settings = self.settings
        answering = RealtimeAnswering(self._agent, self._io, self._tts, self, settings.cue_s, settings.give_up_s)
        answering.speech = lambda: self.realtime.dialogue.speech.busy
        return answering

    def _ears(self, engine: TurnEngine) -> Ears:
        if self._local is not None:
            self._hearing = self._local.beside(engine, self._remote_hears)
        else:
            provider = ProviderEars(self.realtime, key_turns=self.settings.turn_mode == "manual")
            self._hearing = Switchboard(engine, provider, self._remote_hears)
        return self._hearing

    def _remote_hears(self) -> bool:
        """Whether what the user says is for the realtime model: not while a tool asks something."""
        return self.remote and not self.awaits_answer()

    def _answer(self, turn: Committed) -> None:
        """A turn is committed here: by the turn engine, or because it was typed."""
        if not self.remote or (turn.reason != "typed" and self._local is None):
            super()._answer(turn)
        elif turn.reason == "typed" or self._local is None or not self._local.committed():
            self.realtime.say(turn.text)

    async def _dismantle(self) -> None:
        for off in self._off:
            off()
        self._off.clear()
        await self._scope.close()
        await self.realtime.stop()
        self._open = self._speaks = False
        await super()._dismantle()

    def _cascade_idle(self) -> bool:
        """Whether the cascade's part of the session is idle, so that a session may be replaced."""
        return super().settled and not self._moments.narrating

    def _follow(self) -> list[Callable[[], None]]:
        on = self.realtime.events.on
        return [
            on(s2s.UserSpeechStarted, lambda _: self._user_began()),
            on(s2s.UserSpeechStopped, lambda _: self._user_fell_silent()),
            on(s2s.UserTranscript, self._user_words),
            on(s2s.ResponseStarted, lambda _: self._began()),
            on(s2s.Interrupted, lambda _: self._was_cut()),
            on(told.UserSaid, self._user_said),
            on(told.AgentSaid, lambda event: self.emit(heard.AgentText(self._io.time_s, event.text))),
            on(told.AgentHeard, lambda event: self._heard.append(event.text)),
            on(told.ToolStarted, lambda event: self.emit(heard.ToolUsed(self._io.time_s, event.name, event.input))),
            on(told.ToolFinished, self._tool_finished),
            on(told.AgentFault, self._fault),
            on(s2s.S2SEvent, lambda _: self._look()),
            on(LinkMoved, self._link_moved),
            on(SessionReplaced, lambda _: self._look()),
        ]

    def _user_began(self) -> None:
        if self._local is None:
            super().user_started()

    def _user_fell_silent(self) -> None:
        if self._local is None:
            self.user_stopped(self._io.time_s)

    def _user_words(self, event: s2s.UserTranscript) -> None:
        self._partial = "" if event.final else self._partial + event.text
        if self._partial:
            self.user_partial(self._partial)
        elif not event.text and self._listening is not None:
            self._listening.utterance_over()

    def _user_said(self, event: told.UserSaid) -> None:
        self._active_at = clock.now()
        if self._local is not None:
            return
        if self._listening is not None:
            self._listening.turn(spoken=True)
        self.emit(heard.UserTurn(self._io.time_s, event.text, self._language))

    def _began(self) -> None:
        """The model begins to answer."""
        if not self._open:
            if self._answering is not None and not self.awaits_answer():
                self._answering.cut()
            self._open, self._heard = True, []
            self.reply_began()

    def _sounds(self, at: float) -> None:
        """The player plays the first sample of something."""
        if self._answering is not None:
            self._answering.playback_started(at)
        if self.realtime.dialogue.speech.has_sound and not self._speaks:
            self._began()
            self._speaks = True
            self.reply_sounds()
            self.emit(heard.AgentSpeechStarted(at))

    def _drained(self) -> None:
        """The player has nothing left."""
        if self._answering is not None:
            self._answering.playback_drained()
        self.realtime.played_out()
        self._look()

    def _was_cut(self) -> None:
        """The model's answer was cut: by the user, as the provider hears it, or from here."""
        if self._speaks:
            said = " ".join(text for text in self._heard if text)
            played_ms = round(self.realtime.dialogue.cut_samples * 1000 / self._io.player.rate_hz)
            self.emit(heard.Interrupted(self._io.time_s, said, played_ms))
        self._look(cut=True)

    def _look(self, *, cut: bool = False) -> None:
        """Whether the model's answer is over."""
        dialogue = self.realtime.dialogue
        if self._open and (cut or not (dialogue.responding or self.realtime.calls.busy or dialogue.speech.busy)):
            if self._speaks:
                said = " ".join(text for text in self._heard if text)
                self._speaks = False
                self.emit(heard.AgentSpeechStopped(self._io.time_s, said))
            self._open = False
            self.reply_ended()
        self.changed()

    def _tool_finished(self, event: told.ToolFinished) -> None:
        self.emit(heard.ToolFinished(self._io.time_s, event.name, event.result.status))
        self._look()

    def _fault(self, event: told.AgentFault) -> None:
        self.emit(heard.VoiceFault(self._io.time_s, event.error.code, str(event.error)))

    def _link_moved(self, event: LinkMoved) -> None:
        if event.state is LinkState.LOST and event.before is not LinkState.OPENING:
            if event.fault is not None:
                self.emit(heard.VoiceFault(self._io.time_s, event.fault.code, str(event.fault)))
            self._take_over()
        self._look()

    def _take_over(self) -> None:
        """The cascade goes on with the conversation, and says so once."""
        if self._answering is None:
            return
        owed = self.realtime.dialogue.take_owed()
        self._scope.spawn(self._go_on(self._answering, owed), "take over")

    async def _go_on(self, answering: Answering, owed: str) -> None:
        """Say that the cascade goes on, then answer what the user is still owed an answer to."""
        try:
            await answering.say(phrase("taken_over", self._language), self._language)
        except GloveError as fault:
            log.error("it could not be said that the cascade goes on", code=fault.code, error=fault.message)
        if owed and not self.remote and not answering.busy:
            answering.answer(Committed(owed, self._language, self._io.time_s, "taken_over"))
