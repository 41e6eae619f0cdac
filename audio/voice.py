"""GloveVoice: the cascade. A room's sound goes through the voice detector, the recogniser and the turn engine to the
agent, and the agent's words through a voice back to the room.

The session moves between four modes (``idle``, ``listening``, ``thinking``, ``speaking``). The user's side is kept by
the turn engine, the agent's side by ``answering``; this module joins the two and is the session's public face.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from agents.base.emitter import Emitter
from agents.base.errors import GloveVoiceError
from audio.answering import Answering, SpokenAgent
from audio.events import (
    Discarded,
    ModeChanged,
    PlaybackPaused,
    PlaybackResumed,
    UserPartial,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTurn,
    VoiceEvent,
    VoiceFault,
)
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.phrases import phrase
from audio.stt.base import SegmentStt, StreamingStt, Stt
from audio.tts.base import TtsFactory
from audio.turns.engine import Committed, TurnEngine, TurnSettings
from audio.turns.hold import TurnDetector
from audio.turns.transcriber import SegmentTranscriber, StreamingTranscriber, Transcriber
from audio.vad.base import VadAdapter


class Mode(Enum):
    """What the session is doing."""

    IDLE = "idle"
    LISTENING = "listening"
    THINKING = "thinking"
    SPEAKING = "speaking"


_MOVES: dict[Mode, frozenset[Mode]] = {
    Mode.IDLE: frozenset({Mode.LISTENING}),
    Mode.LISTENING: frozenset({Mode.THINKING, Mode.IDLE}),
    Mode.THINKING: frozenset({Mode.SPEAKING, Mode.LISTENING, Mode.IDLE}),
    Mode.SPEAKING: frozenset({Mode.LISTENING, Mode.IDLE}),
}


@dataclass(frozen=True)
class VoiceSettings:
    """How a session behaves.

    Attributes:
        turn_mode: ``vad``: turns end by silence; ``manual``: by ``commit_turn``.
        language: BCP-47 primary tag of what is spoken, or None to recognise it.
        reply_language: language of announcements before anything was said.
        start_muted: whether the microphone starts muted; None means: in manual mode.
        turns: limits of the turn engine.
        cue_s: silence after a committed turn until a "still thinking" sound.
        give_up_s: silence after a committed turn until an honest failure line.
    """

    turn_mode: Literal["vad", "manual"] = "vad"
    language: str | None = None
    reply_language: str = "en"
    start_muted: bool | None = None
    turns: TurnSettings = field(default_factory=TurnSettings)
    cue_s: float = 2.5
    give_up_s: float = 15.0


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
        self._mode = Mode.IDLE
        self._muted = False
        self._engine: TurnEngine | None = None
        self._transcriber: Transcriber | None = None
        self._answering: Answering | None = None
        self._carried = ""
        self._cuts = 0
        self._narrating = False
        self._language = self.settings.reply_language

    # -- life

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
        return self._muted

    @property
    def settled(self) -> bool:
        """Whether nothing is being heard, thought or said (files end then)."""
        heard = self._engine is None or self._engine.settled
        return heard and (self._answering is None or self._answering.settled)

    async def start(self) -> None:
        """Open recogniser and room and listen. A failure leaves nothing behind and may be retried.

        Raises:
            GloveVoiceError: the recogniser or the room could not be opened.
            RuntimeError: already started.
        """
        if self.is_active:
            raise RuntimeError("already started")
        settings = self.settings
        self._transcriber = self._make_transcriber()
        self._engine = TurnEngine(self, self._vad, self._transcriber, detector=self._detector, settings=settings.turns)
        self._answering = Answering(self._agent, self._io, self._tts, self, settings.cue_s, settings.give_up_s)
        self._muted = settings.turn_mode == "manual" if settings.start_muted is None else settings.start_muted
        self._listen_to_player(self._answering)
        engine = self._engine
        self._io.pause_owner = lambda: engine.barge_in.paused
        try:
            await self._transcriber.open()
            await self._io.open(self._on_frame)
        except BaseException:
            await self._dismantle()
            raise
        self._move(Mode.LISTENING)

    async def stop(self) -> None:
        """End the session; idempotent. What was being said is cut, and reported as heard."""
        if not self.is_active:
            return
        await self._dismantle()
        self._move(Mode.IDLE)

    async def _dismantle(self) -> None:
        if self._answering is not None:
            await self._answering.close()
        await self._io.close()
        self._io.player.on_started = self._io.player.on_drained = None
        self._io.pause_owner = None
        if self._engine is not None:
            await self._engine.close()
        if self._transcriber is not None:
            await self._transcriber.close()
        self._engine = self._transcriber = self._answering = None
        self._muted = False
        self._carried = ""

    def _make_transcriber(self) -> Transcriber:
        if isinstance(self._stt, StreamingStt):
            return StreamingTranscriber(self._stt)
        return SegmentTranscriber(self._stt, self._partials, language=self.settings.language)

    def _listen_to_player(self, answering: Answering) -> None:
        """Bring calls of the sink, which may come from an audio thread, onto the loop, with the time of the call."""
        loop, owner = asyncio.get_running_loop(), threading.get_ident()

        def bring(effect: Callable[[float], None]) -> Callable[[], None]:
            def call() -> None:
                at = self._io.time_s
                if threading.get_ident() == owner:
                    effect(at)
                else:
                    loop.call_soon_threadsafe(effect, at)

            return call

        self._io.player.on_started = bring(answering.playback_started)
        self._io.player.on_drained = bring(lambda _: answering.playback_drained())

    # -- commands

    def mute(self) -> None:
        """Ignore the microphone; speech in progress is dropped."""
        if not self._muted:
            self._muted = True
            if self._engine is not None and self.settings.turn_mode == "vad":
                self._engine.forget()

    def unmute(self) -> None:
        """Hear the microphone again."""
        self._muted = False

    def commit_turn(self) -> None:
        """Commit what was said so far (send button, push-to-talk released). No effect unless listening."""
        if self._mode is Mode.LISTENING and self._engine is not None:
            self._engine.commit()

    def say_to_agent(self, text: str) -> None:
        """A typed line: a turn like a spoken one. Blank lines are ignored."""
        if text.strip() and self.is_active:
            self.turn(Committed(text.strip(), self._language, self._io.time_s, "typed"))

    def interrupt(self) -> None:
        """Cut what the agent is doing and listen."""
        self._cuts += 1
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
        if self._answering is None:
            raise RuntimeError("not started")
        was_muted, cuts = self._muted, self._cuts
        self.mute()
        try:
            while self.agent_busy():
                await asyncio.sleep(0.02)
            if self._cuts == cuts:
                self._narrating = True
                await self._answering.say(text, self._language)
        finally:
            self._narrating = False
            if not was_muted:
                self.unmute()

    async def announce(self, text: str) -> None:
        """Speak ``text`` at the next moment when neither the user nor the agent is busy; it can be interrupted.

        Raises:
            GloveError: the voice failed.
        """
        while not self.settled:
            await asyncio.sleep(0.1)
        if self._answering is not None:
            await self._answering.say(text, self._language)

    # -- the user's side (``TurnHost``)

    def _on_frame(self, frame: Pcm, sample: int) -> None:
        if self._engine is not None and self.is_active and not self._muted:
            self._engine.process(frame, sample)

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
        """Second step of an interruption. If nothing was heard or done yet, the next turn continues this one."""
        if self._answering is not None:
            self._carried = self._answering.unheard
        self.interrupt()

    def user_started(self) -> None:
        """The user speaks."""
        self.emit(UserSpeechStarted(self._io.time_s))

    def user_stopped(self, speech_end_s: float) -> None:
        """The user is silent."""
        self.emit(UserSpeechStopped(self._io.time_s, round(speech_end_s, 4)))

    def user_partial(self, text: str) -> None:
        """What the user seems to say."""
        self.emit(UserPartial(self._io.time_s, text))

    def discarded(self, reason: str) -> None:
        """Something was heard that is no turn."""
        self.emit(Discarded(self._io.time_s, reason))

    def unintelligible(self, fault: GloveVoiceError) -> None:
        """Something was said but not recognised: say so rather than stay silent."""
        self.emit(VoiceFault(self._io.time_s, fault.code, str(fault)))
        if self._answering is not None:
            self._answering.apologise(phrase("not_understood", self._language), self._language)

    def turn(self, committed: Committed) -> None:
        """The user's turn is committed: whatever the agent was doing ends, and it answers."""
        if self._answering is None:
            return
        self.interrupt()
        whole = replace(committed, text=f"{self._carried} {committed.text}".strip())
        self._carried = ""
        self._language = whole.language
        self.emit(UserTurn(self._io.time_s, whole.text, whole.language))
        self._answering.answer(whole)

    # -- the agent's side (``AnsweringHost``)

    def reply_began(self) -> None:
        """The agent prepares a reply."""
        if self._vad is not None:
            self._vad.set_ducked(True)
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
        self._move(Mode.LISTENING)

    def emit(self, event: VoiceEvent) -> None:
        """Publish an event."""
        self.events.emit(event)

    def _move(self, mode: Mode) -> None:
        if mode is self._mode or self._narrating:
            return
        if mode not in _MOVES[self._mode]:
            raise RuntimeError(f"illegal mode transition {self._mode.value} → {mode.value}")
        self._mode = mode
        self.emit(ModeChanged(self._io.time_s, mode.value))
