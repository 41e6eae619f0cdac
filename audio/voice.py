"""GloveVoice: the cascade. A room's sound goes through the voice detector, the recogniser and the turn engine to the
agent, and the agent's words through a voice back to the room.

The session moves between four modes (``idle``, ``listening``, ``thinking``, ``speaking``). The user's side is kept by
the turn engine, the agent's side by ``answering``; this module joins the two and is the session's public face.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agents.base import clock
from agents.base.emitter import Emitter
from agents.base.errors import GloveVoiceError
from audio.announcing import Moments
from audio.answering import Answering, EventTurn, SpokenAgent
from audio.asking import Asking
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
from audio.stt.base import SegmentStt, Stt
from audio.tts.base import TtsFactory
from audio.turn_meter import TurnMeter
from audio.turns.contract import Committed
from audio.turns.engine import TurnEngine
from audio.turns.hold import TurnDetector
from audio.turns.transcriber import Transcriber, make_transcriber
from audio.vad.base import VadAdapter
from audio.voice_settings import MOVES, Mode, Mute, VoiceSettings
from audio.wake.attention import Attending, Attention

__all__ = ["GloveVoice", "Mode", "VoiceSettings"]

CARRY_S = 10.0
"""How long words whose answer was cut before it was heard wait to be continued."""


class GloveVoice:
    """A spoken conversation in a room.

    ``events`` emits the dataclasses of ``audio.events``. Public methods belong to the loop that ``start`` ran on.

    Args:
        agent: the mind.
        io: the room.
        stt: recogniser of finals (segment or streaming).
        tts: makes voices.
        vad: voice detector, required in ``vad`` mode unless the room brings its own.
        partials: a light segment recogniser for display and interruption evidence, or None.
        detector: says how long to wait after silence; rules when None.
        settings: behaviour.
        attention: when to listen; an open microphone when None. Only for ``vad`` mode.
        language_of: given a typed line and the language spoken last, the language of the line; None: not known, and
            the one spoken last is taken.
    """

    def __init__(
        self,
        agent: SpokenAgent,
        io: AudioIO,
        *,
        stt: Stt,
        tts: TtsFactory,
        vad: VadAdapter | None = None,
        partials: SegmentStt | None = None,
        detector: TurnDetector | None = None,
        settings: VoiceSettings | None = None,
        attention: Attending | None = None,
        language_of: Callable[[str, str], str | None] | None = None,
    ) -> None:
        self.events = Emitter()
        self.settings = settings or VoiceSettings()
        if self.settings.turn_mode == "vad" and vad is None and io.vad is None:
            raise ValueError("a voice detector is required for turn_mode 'vad'")
        self._agent = agent
        self._io = io
        self._stt = stt
        self._tts = tts
        self._vad = (io.vad or vad) if self.settings.turn_mode == "vad" else None
        self._partials = partials
        self._detector = detector
        self._attending = attention
        self._language_of = language_of
        self._mode = Mode.IDLE
        self._engine: TurnEngine | None = None
        self._transcriber: Transcriber | None = None
        self._answering: Answering | None = None
        self._listening: Listening | None = None
        self._asking: Asking | None = None
        self._moments = Moments(self)
        self._meter = TurnMeter(self.events.emit)
        self._recent = RecentTalk(self.events)
        self._carried, self._carried_at = "", 0.0
        self._language = self.settings.reply_language
        self._active_at = 0.0
        self._urgent = False

    @property
    def current_mode(self) -> str:
        """``idle``, ``listening``, ``thinking`` or ``speaking``."""
        return self._mode.value

    @property
    def is_active(self) -> bool:
        """Whether the session is started."""
        return self._mode is not Mode.IDLE

    @property
    def is_muted(self) -> bool:
        """Whether the microphone is ignored."""
        return self._listening is not None and self._listening.muted

    @property
    def attention(self) -> str:
        """``asleep``, ``awake``, ``engaged``, ``follow_up`` or ``sounding``; ``awake`` with an open microphone."""
        return (Attention.AWAKE if self._listening is None else self._listening.state).value

    @property
    def ptt_held(self) -> bool:
        """Whether the talk key is recording."""
        return self._listening is not None and self._listening.key_held

    @property
    def activity(self) -> float:
        """Time (``agents.base.clock.now``) of the last turn of the user or reply; now, while there is a reply."""
        return clock.now() if self.agent_busy() or self.awaits_answer() else self._active_at

    @property
    def settled(self) -> bool:
        """Whether nothing is being heard, thought or said (files end then)."""
        heard = not self.user_speaks() and not self.awaits_answer()
        return heard and (self._answering is None or self._answering.settled)

    @property
    def listens_for_answer(self) -> bool:
        """Whether a question was asked aloud and it is the user's turn to answer it."""
        return self._asking is not None and self._asking.listens

    async def start(self) -> None:
        """Open recogniser and room and listen. A failure leaves nothing behind and may be retried.

        Raises:
            GloveVoiceError: the recogniser or the room could not be opened.
            RuntimeError: already started.
        """
        if self.is_active:
            raise RuntimeError("already started")
        settings = self.settings
        pad_s = settings.turns.pad_ms / 1000
        hears_all = settings.turns.hears_all and self._vad is not None
        self._transcriber = make_transcriber(
            self._stt, self._partials, language=settings.language, pad_s=pad_s, hears_all=hears_all
        )
        self._engine = TurnEngine(self, self._vad, self._transcriber, detector=self._detector, settings=settings.turns)
        self._answering = Answering(self._agent, self._io, self._tts, self, settings.cue_s, settings.give_up_s)
        self._listening = Listening(self, self._io, self._engine, settings, self._attending)
        self._active_at = clock.now()
        self._answering.follow_player()
        engine = self._engine
        engine.context = self._recent.turns
        engine.barge_in.own_words = self._answering.saying
        self._io.pause_owner = lambda: engine.barge_in.paused
        try:
            await self._transcriber.open()
            await self._io.open(self._on_frame)
        except BaseException:
            await self._dismantle()
            raise
        self._move(Mode.LISTENING)
        self._asking = asking = Asking(
            self._answering,
            self._listening,
            self._agent.display,
            language=lambda: self._language,
            discarded=self.discarded,
        )
        self._engine.expects = asking.expects

    async def stop(self) -> None:
        """End the session; idempotent. What was being said is cut, and reported as heard."""
        if not self.is_active:
            return
        await self._dismantle()
        self._move(Mode.IDLE)

    async def _dismantle(self) -> None:
        self._moments.cut()
        answering, self._answering = self._answering, None  # what waits for a moment to speak shall not begin now
        if self._asking is not None:
            self._asking.detach()
        if answering is not None:
            await answering.close()
        if self._asking is not None:
            await self._asking.close()
        await self._io.close()
        self._io.player.on_started = self._io.player.on_drained = None
        self._io.pause_owner = None
        if self._engine is not None:
            await self._engine.close()
        if self._listening is not None:
            self._listening.close()
        if self._transcriber is not None:
            await self._transcriber.close()
        self._engine = self._transcriber = self._listening = self._asking = None
        self._carried = ""
        self._meter.close(self._io.time_s)

    def mute(self) -> None:
        """Ignore the microphone; speech in progress is dropped. The talk key does not speak through it."""
        if self._listening is not None:
            self._listening.mute(Mute.USER)

    def unmute(self) -> None:
        """Hear the microphone again (after the wake phrase, where one is needed)."""
        if self._listening is not None:
            self._listening.unmute()

    def ptt_down(self) -> bool:
        """The talk key is pressed: the agent is interrupted, and everything until ``ptt_up`` is one turn.

        Returns whether that is being recorded now: not while the session is stopped or the user has muted it.
        """
        return self._listening is not None and self._listening.press()

    def ptt_up(self) -> None:
        """The talk key is released: what was said is a turn. No effect unless it was held."""
        if self._listening is not None:
            self._listening.release()

    def ptt_cancel(self) -> None:
        """The talk key was pressed by mistake: nothing was said. No effect unless it was held."""
        if self._listening is not None:
            self._listening.cancel()

    def commit_turn(self) -> None:
        """Commit what was said so far (send button, push-to-talk released). No effect unless listening."""
        if self._mode is Mode.LISTENING and self._engine is not None:
            self._engine.commit()

    def say_to_agent(self, text: str) -> None:
        """A typed line: a turn like a spoken one. Blank lines are ignored."""
        line = text.strip()
        if line and self.is_active:
            known = None if self._language_of is None else self._language_of(line, self._language)
            self.turn(Committed(line, known or self._language, self._io.time_s, "typed"))

    def interrupt(self) -> None:
        """Cut what the agent is doing and listen."""
        self._moments.cut()
        if self._engine is not None:
            self._engine.barge_in.release()
        if self._answering is not None:
            self._answering.cut()

    async def narrate(self, text: str) -> None:
        """Speak ``text`` as it is, with the microphone muted; returns when it was heard or interrupted.

        A reply that is being spoken comes first. The mode does not change.

        Raises:
            GloveError: the voice failed.
            RuntimeError: the session is not started.
        """
        if self._answering is None or self._listening is None:
            raise RuntimeError("not started")
        await self._moments.narrate(self._answering, self._listening, text, self._language)

    async def announce(self, text: str, *, urgent: bool = False, wanted: Callable[[], bool] = lambda: True) -> None:
        """Speak ``text`` at the next moment when it disturbs nobody; returns when it was heard or cut.

        Args:
            text: what to say.
            urgent: an alert: it does not wait for a follow-up window to end, nor more than ten seconds for a reply, and
                while it sounds and for some seconds after, stop words are turns although nobody said the wake phrase.
            wanted: asked when the moment has come; what nobody wants any more is not said.

        Raises:
            GloveError: the voice failed.
        """
        async with self._moments.turn:
            await self._moments.come(urgent=urgent)
            if self._answering is not None and wanted():
                self._urgent = urgent
                if urgent and self._asking is not None:
                    self._asking.rang()
                await self._answering.say(text, self._language)

    async def speak_up(self, turn: EventTurn) -> None:
        """Run a turn that the agent itself wants (an event woke it) and speak what it says, at a polite moment.

        ``turn`` is called with an abort token, the language to answer in and ``heard_reports``, as a ``Wake`` of the
        agent is run. Returns when it was heard or cut.
        """
        async with self._moments.turn:
            await self._moments.come(urgent=False)
            if self._answering is not None:
                await self._answering.tell(turn, self._language)

    def _on_frame(self, frame: Pcm, sample: int) -> None:
        if self._listening is not None and self.is_active:
            self._listening.frame(frame, sample)

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
        self._answering.answer(whole)

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

    def progress(self) -> object:
        """Sound played, sound recognised, the last sign of the agent."""
        sign = 0.0 if self._answering is None else self._answering.last_sign
        return self._io.player.played_total, 0.0 if self._transcriber is None else self._transcriber.seconds, sign

    def reply_began(self) -> None:
        """The agent prepares a reply."""
        if self._vad is not None:
            self._vad.set_ducked(True)
        urgent, self._urgent = self._urgent, False
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
        self._meter.reply_ended(self._io.time_s, over=self._answering is None or not self._answering.under_way)
        if self._listening is not None:
            self._listening.reply_ended()
        self._move(Mode.LISTENING)

    def emit(self, event: VoiceEvent) -> None:
        """Publish an event."""
        self.events.emit(event)
        self._meter.note(event)

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
