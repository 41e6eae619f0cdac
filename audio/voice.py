"""GloveVoice: the cascade. A room's sound goes through the voice detector, the recogniser and the turn engine to the
agent, and the agent's words through a voice back to the room.

The session moves between four modes (``idle``, ``listening``, ``thinking``, ``speaking``). The user's side is kept by
the turn engine, the agent's side by ``answering``; ``conversation`` joins the two, and this module is the session's
public face: it starts and stops the parts and passes commands on.
"""

from __future__ import annotations

from collections.abc import Callable

from agents.base import clock
from audio.answering import Answering, EventTurn, SpokenAgent
from audio.asking import Asking
from audio.conversation import Conversation
from audio.io.base import AudioIO
from audio.listening import Listening
from audio.pcm import Pcm
from audio.stt.base import SegmentStt, Stt
from audio.tts.base import TtsFactory
from audio.turns.contract import Committed
from audio.turns.ears import Ears
from audio.turns.engine import TurnEngine
from audio.turns.hold import TurnDetector
from audio.turns.transcriber import make_transcriber
from audio.vad.base import VadAdapter
from audio.voice_settings import Mode, Mute, VoiceSettings
from audio.wake.attention import Attending, Attention

__all__ = ["GloveVoice", "Mode", "VoiceSettings"]


class GloveVoice(Conversation):
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
        super().__init__(agent, io, settings or VoiceSettings())
        if self.settings.turn_mode == "vad" and vad is None and io.vad is None:
            raise ValueError("a voice detector is required for turn_mode 'vad'")
        self._stt = stt
        self._tts = tts
        self._vad = (io.vad or vad) if self.settings.turn_mode == "vad" else None
        self._partials = partials
        self._detector = detector
        self._attending = attention
        self._language_of = language_of

    @property
    def current_mode(self) -> str:
        """``idle``, ``listening``, ``thinking`` or ``speaking``."""
        return self._mode.value

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
        self._answering = self._make_answering()
        self._listening = Listening(self, self._io, self._ears(self._engine), settings, self._attending)
        self._active_at = clock.now()
        self._answering.follow_player()
        self._answering.on_settled = self._engine.on_settled = self._changes.tell
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
            self._changes,
            language=lambda: self._language,
            discarded=self.discarded,
        )
        self._engine.expects = asking.expects

    def _make_answering(self) -> Answering:
        """The agent's side."""
        settings = self.settings
        return Answering(self._agent, self._io, self._tts, self, settings.cue_s, settings.give_up_s)

    def _ears(self, engine: TurnEngine) -> Ears:
        """What the microphone is heard by."""
        return engine

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
