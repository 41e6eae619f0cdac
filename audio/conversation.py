"""A conversation: what the two sides of a session, the user's and the agent's, tell each other.

The turn engine, the ear and the replies of a session call the methods here, synchronously. Each does what follows for
the other side, moves the session between its modes and publishes the event.
"""

from __future__ import annotations

from dataclasses import replace

from agents.base import clock
from agents.base.emitter import Emitter
from agents.base.errors import GloveVoiceError
from audio.announcing import Moments
from audio.answering import Answering, SpokenAgent
from audio.asking import Asking
from audio.changes import Changes
from audio.events import (
    Discarded,
    ModeChanged,
    PlaybackPaused,
    PlaybackResumed,
    UserAnswer,
    UserPartial,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTurn,
    UserTurnCorrected,
    VoiceEvent,
    VoiceFault,
)
from audio.io.base import AudioIO
from audio.listening import Listening
from audio.pcm import Pcm
from audio.phrases import failure_phrase
from audio.recent import RecentTalk
from audio.turn_meter import TurnMeter
from audio.turns.contract import Committed
from audio.turns.engine import TurnEngine
from audio.turns.transcriber import Transcriber
from audio.vad.base import VadAdapter
from audio.voice_settings import MOVES, Mode, VoiceSettings
from audio.wake.attention import Attention

CARRY_S = 10.0
"""How long words whose answer was cut before it was heard wait to be continued."""


class Conversation:
    """The host (``TurnHost``, ``ListeningHost``, ``AnsweringHost``, ``AnnouncingHost``) of the parts of a session.

    It owns none of them: they exist while the session is started, and what is called at other times has no effect.

    Args:
        agent: the mind.
        io: the room.
        settings: behaviour.
    """

    def __init__(self, agent: SpokenAgent, io: AudioIO, settings: VoiceSettings) -> None:
        self.events = Emitter()
        self.settings = settings
        self._agent = agent
        self._io = io
        self._vad: VadAdapter | None = None
        self._mode = Mode.IDLE
        self._engine: TurnEngine | None = None
        self._transcriber: Transcriber | None = None
        self._answering: Answering | None = None
        self._listening: Listening | None = None
        self._asking: Asking | None = None
        self._changes = Changes()
        self._moments = Moments(self, self._changes)
        self._meter = TurnMeter(self.events.emit)
        self._recent = RecentTalk(self.events)
        self._carried, self._carried_at = "", 0.0
        self._language = settings.reply_language
        self._active_at = 0.0
        self._urgent = False

    @property
    def is_active(self) -> bool:
        """Whether the session is started."""
        return self._mode is not Mode.IDLE

    @property
    def settled(self) -> bool:
        """Whether nothing is being heard, thought or said (files end then)."""
        heard = not self.user_speaks() and not self.awaits_answer()
        return heard and (self._answering is None or self._answering.settled)

    def interrupt(self) -> None:
        """Cut what the agent is doing and listen."""
        self._moments.cut()
        if self._engine is not None:
            self._engine.barge_in.release()
        if self._answering is not None:
            self._answering.cut()

    def user_speaks(self) -> bool:
        """Whether an utterance is being heard, recognised or waited for."""
        return self._listening is not None and self._listening.user_speaks

    def expects_speech(self) -> bool:
        """Whether the user was just invited to speak."""
        return self._listening is not None and self._listening.invited

    def awaits_answer(self) -> bool:
        """Whether the user is being asked something and has not answered."""
        return self._asking is not None and self._asking.open

    def agent_busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        return self._answering is not None and self._answering.busy

    def pause_agent(self) -> None:
        """First step of an interruption."""
        self._io.player.pause()
        self.emit(PlaybackPaused(self._io.time_s))

    def resume_agent(self) -> None:
        """The interruption was none."""
        self._io.player.resume()
        self.emit(PlaybackResumed(self._io.time_s))

    def cut_agent(self) -> None:
        """Second step of an interruption. If nothing was heard or done yet, the next turn continues this one.

        While a question is open it is only a change of speakers: what is said next is for the question to judge.
        """
        asking, answering = self._asking, self._answering
        if asking is not None and answering is not None and asking.open:
            asking.interrupted()
            answering.give_floor()
            return
        if asking is not None and asking.lingers:
            self.resume_agent()
            return
        if self._answering is not None:
            self._carried, self._carried_at = self._answering.unheard, clock.now()
        self.interrupt()

    def user_started(self) -> None:
        """The user speaks."""
        self.emit(UserSpeechStarted(self._io.time_s))
        self._agent.notify_user_activity()
        if self._asking is not None:
            self._asking.speech()
        if self._listening is not None:
            self._listening.speech()

    def false_start(self) -> None:
        """The user does not speak after all."""
        if self._listening is not None:
            self._listening.false_start()

    def user_stopped(self, speech_end_s: float) -> None:
        """The user is silent."""
        self.emit(UserSpeechStopped(self._io.time_s, round(speech_end_s, 4)))

    def user_partial(self, text: str) -> None:
        """What the user seems to say."""
        self._agent.notify_user_activity()
        self.emit(UserPartial(self._io.time_s, text))

    def present(self) -> None:
        """Somebody speaks, although it became no turn."""
        self._active_at = clock.now()
        self._agent.notify_user_activity()

    def corrected(self, sent: str, actual: str) -> None:
        """The recogniser has changed its mind about a turn, which is answered anew while no answer was heard."""
        self.emit(UserTurnCorrected(self._io.time_s, actual, sent))
        if self._answering is not None and self._answering.unheard:
            self._meter.restart()
            self.interrupt()
            self._answering.answer(Committed(actual, self._language, self._io.time_s, "correction"))

    def discarded(self, reason: str) -> None:
        """Something was heard that is no turn."""
        if self._asking is not None:
            self._asking.utterance_over()
        self.emit(Discarded(self._io.time_s, reason))
        if self._listening is not None:
            self._listening.utterance_over()

    def unintelligible(self, fault: GloveVoiceError) -> None:
        """Something was said but not recognised: say so rather than stay silent."""
        self.emit(VoiceFault(self._io.time_s, fault.code, str(fault)))
        if self._answering is None or self._listening is None:
            return
        if self._listening.state is not Attention.SOUNDING:
            self._answering.apologise(failure_phrase(fault.code, self._language), self._language)
        self._listening.utterance_over()

    def detector_stalled(self) -> None:
        """The voice detector was dead and is started anew."""
        self.emit(VoiceFault(self._io.time_s, "ERR_VAD_STALLED", "The voice detector had stopped and is started anew."))

    def turn_likely(self, turn: Committed) -> None:
        """``turn`` will most likely be committed: its answer is prepared, unless it is that to a question."""
        if self._answering is not None and not self.agent_busy() and not self.awaits_answer():
            self._meter.likely(self._io.time_s)
            self._answering.prepare(self._continued(turn))

    def turn_unlikely(self) -> None:
        """The user speaks on."""
        if self._answering is not None:
            self._answering.unprepare()

    def turn(self, committed: Committed) -> None:
        """The user's turn is committed: whatever the agent was doing ends, and it answers."""
        if self._answering is None:
            return
        if self._listening is not None:
            self._listening.turn(spoken=committed.reason != "typed")
        if self._answers(committed):
            return
        self.interrupt()
        whole, self._carried = self._continued(committed), ""
        self._language = whole.language
        self._active_at = clock.now()
        self.emit(UserTurn(self._io.time_s, whole.text, whole.language))
        self._meter.turn(whole, self._io.time_s, continued=whole.text != committed.text)
        self._answer(whole)

    def _answer(self, turn: Committed) -> None:
        """Let the agent answer."""
        if self._answering is not None:
            self._answering.answer(turn)

    def _continued(self, turn: Committed) -> Committed:
        """``turn`` with the words before it whose answer was never heard."""
        carried = self._carried if clock.now() - self._carried_at < CARRY_S else ""
        return replace(turn, text=f"{carried} {turn.text}".strip())

    def _answers(self, committed: Committed) -> bool:
        """Whether the words are for a question that was asked; then the turn that asked it goes on."""
        asking = self._asking
        slot_id = "" if asking is None else asking.slot_id
        if asking is None or not asking.take(committed):
            return False
        self._active_at = clock.now()
        if self._engine is not None and self._engine.barge_in.paused:
            self._engine.barge_in.misfire()
        if slot_id:
            self.emit(UserAnswer(self._io.time_s, committed.text, committed.language, slot_id))
        return True

    def agent_sounds(self) -> bool:
        """Whether a reply or an announcement can be heard."""
        return self._answering is not None and self._answering.sounding

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound unless something is being said."""
        if self._answering is not None:
            self._answering.cue(pcm)

    def changed(self) -> None:
        """Something that is waited for may hold now, and no event tells so."""
        self._changes.tell()

    def progress(self) -> object:
        """Sound played, sound recognised, the last sign of the agent."""
        sign = 0.0 if self._answering is None else self._answering.last_sign
        return self._io.player.played_total, 0.0 if self._transcriber is None else self._transcriber.seconds, sign

    def reply_began(self) -> None:
        """The agent prepares a reply."""
        if self._vad is not None:
            self._vad.set_ducked(True)
        urgent, self._urgent = self._urgent, False
        self._changes.tell()
        if self._listening is not None:
            self._listening.reply_began(urgent=urgent)
        self._move(Mode.THINKING)

    def reply_sounds(self) -> None:
        """The agent is heard."""
        self._move(Mode.SPEAKING)

    def reply_ended(self) -> None:
        """The agent is silent."""
        if self._vad is not None:
            self._vad.set_ducked(False)
        if self._engine is not None:
            self._engine.barge_in.release()
        self._io.player.resume()
        self._active_at = clock.now()
        self._changes.tell()
        self._meter.reply_ended(self._io.time_s, over=self._answering is None or not self._answering.under_way)
        if self._listening is not None:
            self._listening.reply_ended()
        self._move(Mode.LISTENING)

    def emit(self, event: VoiceEvent) -> None:
        """Publish an event."""
        self.events.emit(event)
        self._meter.note(event)
        self._changes.tell()

    def reached(self, step: str, at: float) -> None:
        """The answer to the turn has come so far."""
        self._meter.reached(step, at)

    def _move(self, mode: Mode) -> None:
        if mode is self._mode or self._moments.narrating:
            return
        if mode not in MOVES[self._mode]:
            raise RuntimeError(f"illegal mode transition {self._mode.value} → {mode.value}")
        self._mode = mode
        self.emit(ModeChanged(self._io.time_s, mode.value))
