"""GloveVoice: the cascade. A room's sound goes through the voice detector, the recogniser and the turn engine to the
agent, and the agent's words through a voice back to the room.

The session owns who may be heard. It moves between four modes (``idle``, ``listening``, ``thinking``, ``speaking``); a
committed turn always ends in something audible, and everything it knows about what was heard comes from the player.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Protocol

import structlog

from agents.base.abort import Aborted, AbortToken
from agents.base.emitter import Emitter
from agents.base.errors import GloveError, GloveVoiceError
from agents.base.scope import Scope
from agents.core.display import DisplayManager
from agents.core.events import Subscriber, ToolUse, ToolUseResult
from audio import earcons
from audio.events import (
    AgentSpeechStarted,
    AgentSpeechStopped,
    AgentText,
    Discarded,
    Interrupted,
    ModeChanged,
    PlaybackPaused,
    PlaybackResumed,
    ToolFinished,
    ToolUsed,
    UserPartial,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTurn,
    VoiceEvent,
    VoiceFault,
)
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.phrases import failure_phrase, phrase
from audio.reply import HeardReport, Reply
from audio.stt.base import SegmentStt, StreamingStt, Stt
from audio.tts.base import TtsFactory
from audio.turns.engine import Committed, TurnEngine, TurnSettings
from audio.turns.hold import TurnDetector
from audio.turns.transcriber import SegmentTranscriber, StreamingTranscriber, Transcriber
from audio.vad.base import VadAdapter

log = structlog.get_logger(__name__)


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
    Mode.SPEAKING: frozenset({Mode.LISTENING, Mode.THINKING, Mode.IDLE}),
}


class SpokenAgent(Protocol):
    """What a voice session needs of an agent; ``agents.core.glove.Glove`` provides it."""

    @property
    def display(self) -> DisplayManager:
        """The conversation's display stack."""
        ...

    async def process_request(
        self, request: str, abort: AbortToken | None = None, *, language: str | None = None, heard_reports: bool = False
    ) -> object:
        """Answer one turn of the user."""
        ...

    def add_subscriber(self, subscriber: Subscriber) -> object:
        """Send events to ``subscriber``."""
        ...

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """Send no more events to ``subscriber``."""
        ...

    async def report_heard(self, reply_id: str, text: str, complete: bool) -> object:
        """Tell what was heard of a reply."""
        ...


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
        vad: voice detector, required in ``vad`` mode.
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
        if self.settings.turn_mode == "vad" and vad is None:
            raise ValueError("a voice detector is required for turn_mode 'vad'")
        self._agent = agent
        self._io = io
        self._stt = stt
        self._tts = tts
        self._vad = vad if self.settings.turn_mode == "vad" else None
        self._partials = partials
        self._detector = detector
        self._mode = Mode.IDLE
        self._muted = False
        self._engine: TurnEngine | None = None
        self._transcriber: Transcriber | None = None
        self._scope = Scope("voice")
        self._reply: Reply | None = None
        self._reply_started = False
        self._token: AbortToken | None = None
        self._turn: asyncio.Task[None] | None = None
        self._carried = ""
        self._turn_text = ""
        self._language = self.settings.reply_language
        self._drained = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

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
        return heard and self._reply is None and (self._turn is None or self._turn.done())

    async def start(self) -> None:
        """Open recogniser and room and listen. A failure leaves nothing behind and may be retried.

        Raises:
            GloveVoiceError: the recogniser or the room could not be opened.
            RuntimeError: already started.
        """
        if self.is_active:
            raise RuntimeError("already started")
        self._loop = asyncio.get_running_loop()
        self._scope = Scope("voice")
        self._transcriber = self._make_transcriber()
        self._engine = TurnEngine(
            self, self._vad, self._transcriber, detector=self._detector, settings=self.settings.turns
        )
        start_muted = self.settings.start_muted
        self._muted = self.settings.turn_mode == "manual" if start_muted is None else start_muted
        self._io.player.on_started = self._from_sink(self._playback_started)
        self._io.player.on_drained = self._from_sink(self._playback_drained)
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
        self.interrupt()
        await self._settle_turn()
        await self._dismantle()
        self._move(Mode.IDLE)

    async def _dismantle(self) -> None:
        await self._io.close()
        self._io.player.on_started = self._io.player.on_drained = None
        if self._engine is not None:
            await self._engine.close()
        if self._transcriber is not None:
            await self._transcriber.close()
        self._engine = self._transcriber = None
        await self._scope.close()
        self._muted = False

    def _make_transcriber(self) -> Transcriber:
        if isinstance(self._stt, StreamingStt):
            return StreamingTranscriber(self._stt)
        return SegmentTranscriber(self._stt, self._partials, language=self.settings.language)

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
        """A typed line: a turn like a spoken one."""
        if text.strip():
            self.turn(Committed(text.strip(), self._language, self._io.time_s, "typed"))

    def interrupt(self) -> None:
        """Cut what the agent is doing and listen.

        The generation rises first, so no sound of the old reply can follow; then the request is aborted, what was heard
        is reported, and the voice is torn down.
        """
        reply, token = self._reply, self._token
        if self._engine is not None:
            self._engine.barge_in.release()
        if reply is None:
            return
        reports, heard, played = reply.heard(), reply.heard_text(), reply.played
        self._io.player.next_generation()
        reply.void = True
        self._reply = None
        if token is not None:
            token.abort("interrupted")
        self._drained.set()
        if self._reply_started:
            self._emit(Interrupted(self._io.time_s, heard, round(played * 1000 / self._io.player.rate_hz)))
            self._emit(AgentSpeechStopped(self._io.time_s, heard))
        self._reply_started = False
        self._scope.spawn(self._tidy(reply, reports), "tidy")
        if not self._agent.display.pending:
            self._agent.display.clear_stack()
        if self.is_active:
            self._move(Mode.LISTENING)

    async def narrate(self, text: str) -> None:
        """Speak ``text`` as it is, with the microphone muted; returns when it was heard or interrupted.

        Raises:
            GloveVoiceError: the voice failed.
            RuntimeError: the session is not started.
        """
        if not self.is_active:
            raise RuntimeError("not started")
        was_muted = self._muted
        self.mute()
        try:
            reply = self._begin_reply(self._language)
            await self._speak_out(reply, text)
        finally:
            self._muted = was_muted
        if isinstance(reply.fault, GloveVoiceError):
            raise reply.fault

    async def announce(self, text: str) -> None:
        """Speak ``text`` at the next moment when neither the user nor the agent is busy; can be interrupted."""
        while not self.settled:
            await asyncio.sleep(0.1)
        if self.is_active:
            await self._speak_out(self._begin_reply(self._language), text)

    # -- the microphone

    def _on_frame(self, frame: Pcm, sample: int) -> None:
        if self._engine is not None and not self._muted and self._mode is not Mode.IDLE:
            self._engine.process(frame, sample)

    # -- what the turn engine says (TurnHost)

    def agent_busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        return self._reply is not None

    def pause_agent(self) -> None:
        """First step of an interruption."""
        self._io.player.pause()
        self._emit(PlaybackPaused(self._io.time_s))

    def resume_agent(self) -> None:
        """The interruption was none."""
        self._io.player.resume()
        self._emit(PlaybackResumed(self._io.time_s))

    def cut_agent(self) -> None:
        """Second step of an interruption. If nothing was heard yet, the next turn continues this one."""
        reply = self._reply
        if reply is not None and not self._reply_started and not reply.tools_done:
            self._carried = self._turn_text
        self.interrupt()

    def user_started(self) -> None:
        """The user speaks."""
        self._emit(UserSpeechStarted(self._io.time_s))

    def user_stopped(self, speech_end_s: float) -> None:
        """The user is silent."""
        self._emit(UserSpeechStopped(self._io.time_s, round(speech_end_s, 4)))

    def user_partial(self, text: str) -> None:
        """What the user seems to say."""
        self._emit(UserPartial(self._io.time_s, text))

    def discarded(self, reason: str) -> None:
        """Something was heard that is no turn."""
        self._emit(Discarded(self._io.time_s, reason))

    def unintelligible(self, fault: GloveVoiceError) -> None:
        """Something was said but not recognised: say so rather than stay silent."""
        self._fault(fault)
        if self._reply is None:
            reply = self._begin_reply(self._language)
            self._turn = self._scope.spawn(self._speak_out(reply, phrase("not_understood", self._language)), "reprompt")

    def turn(self, committed: Committed) -> None:
        """The user's turn is committed: whatever the agent was doing ends, and it answers."""
        self.interrupt()
        text = f"{self._carried} {committed.text}".strip()
        self._carried = ""
        self._language = committed.language
        self._turn_text = text
        self._emit(UserTurn(self._io.time_s, text, committed.language))
        reply = self._begin_reply(committed.language)
        self._move(Mode.THINKING)
        self._token = AbortToken()
        previous = self._turn
        self._turn = self._scope.spawn(self._run_turn(text, reply, self._token, previous), "turn")

    # -- one turn

    def _begin_reply(self, language: str) -> Reply:
        self.interrupt()
        self._drained.clear()
        self._reply_started = False
        self._reply = Reply(self._io.player, self._tts, language, on_text=self._agent_text, on_tool=self._agent_tool)
        self._token = None
        return self._reply

    async def _run_turn(self, text: str, reply: Reply, token: AbortToken, previous: asyncio.Task[None] | None) -> None:
        loop = asyncio.get_running_loop()
        timers = [
            loop.call_later(self.settings.cue_s, self._cue, reply),
            loop.call_later(self.settings.give_up_s, self._give_up, reply, token),
        ]
        try:
            if previous is not None:
                await asyncio.wait([previous])
            await self._ask_agent(text, reply, token)
            if not reply.void and not reply.audible and not reply.text.strip():
                reply.sound(earcons.done(self._io.player.rate_hz))
            await self._speak_out(reply)
        finally:
            for timer in timers:
                timer.cancel()

    async def _ask_agent(self, text: str, reply: Reply, token: AbortToken) -> None:
        if token.aborted and reply.void:
            return
        self._agent.add_subscriber(reply)
        try:
            await self._agent.process_request(text, token, language=reply.language, heard_reports=True)
        except Aborted:
            if token.reason == "too slow":
                reply.say(phrase("too_slow", reply.language))
        except GloveError as fault:
            self._fault(fault)
            reply.say(failure_phrase(fault.code, reply.language))
        except Exception as fault:
            log.exception("the agent failed")
            self._fault(GloveVoiceError("ERR_GLOVE_REQUEST", f"The agent failed: {fault}", cause=fault))
            reply.say(phrase("failed", reply.language))
        finally:
            self._agent.remove_subscriber(reply)

    async def _speak_out(self, reply: Reply, text: str | None = None) -> None:
        """Wait until ``reply`` (after saying ``text``) was heard to its end, then report and go back to listening."""
        if reply.void:
            return
        if text is not None:
            reply.say(text)
        await reply.spoken()
        if reply.fault is not None and not reply.void:
            self._fault(reply.fault)
        while not reply.void and not self._io.player.idle:
            self._drained.clear()
            await self._drained.wait()
        if reply.void:
            return
        heard, reports = reply.heard_text(), reply.heard()
        self._reply = None
        if self._reply_started:
            self._emit(AgentSpeechStopped(self._io.time_s, heard))
        self._reply_started = False
        if self._engine is not None:
            self._engine.barge_in.release()
        self._io.player.resume()
        self._move(Mode.LISTENING)
        await self._tidy(reply, reports)

    async def _tidy(self, reply: Reply, reports: list[HeardReport]) -> None:
        for report in reports:
            if report.reply_id:
                await self._agent.report_heard(report.reply_id, report.text, report.complete)
        await reply.close()

    async def _settle_turn(self) -> None:
        if self._turn is not None and not self._turn.done():
            await asyncio.wait([self._turn], timeout=2.0)

    def _cue(self, reply: Reply) -> None:
        if not reply.void and not reply.audible:
            reply.sound(earcons.thinking(self._io.player.rate_hz))

    def _give_up(self, reply: Reply, token: AbortToken) -> None:
        if not reply.void and not reply.parts:
            self._fault(GloveVoiceError("ERR_TURN_TIMEOUT", "The answer took too long."))
            token.abort("too slow")

    def _agent_text(self, text: str) -> None:
        self._emit(AgentText(self._io.time_s, text))

    def _agent_tool(self, event: ToolUse | ToolUseResult) -> None:
        if isinstance(event, ToolUse):
            self._emit(ToolUsed(self._io.time_s, event.name, event.input))
        else:
            self._emit(ToolFinished(self._io.time_s, event.tool_name, event.result.status))

    # -- the player

    def _from_sink(self, effect: Callable[[float], None]) -> Callable[[], None]:
        """Bring a call of the sink, which may be an audio thread, onto the loop with the time at which it was made."""
        owner = threading.get_ident()

        def call() -> None:
            at = self._io.time_s
            if threading.get_ident() == owner:
                effect(at)
            elif self._loop is not None:
                self._loop.call_soon_threadsafe(effect, at)

        return call

    def _playback_started(self, at: float) -> None:
        if self._reply is None or self._reply_started:
            return
        self._reply_started = True
        if self._mode is Mode.LISTENING:
            self._move(Mode.THINKING)
        self._move(Mode.SPEAKING)
        self._emit(AgentSpeechStarted(at))

    def _playback_drained(self, _at: float) -> None:
        self._drained.set()

    # -- small things

    def _move(self, mode: Mode) -> None:
        if mode is self._mode:
            return
        if mode not in _MOVES[self._mode]:
            raise RuntimeError(f"illegal mode transition {self._mode.value} → {mode.value}")
        self._mode = mode
        self._emit(ModeChanged(self._io.time_s, mode.value))

    def _fault(self, fault: BaseException) -> None:
        code = fault.code if isinstance(fault, GloveError) else "ERR_VOICE"
        self._emit(VoiceFault(self._io.time_s, code, str(fault)))

    def _emit(self, event: VoiceEvent) -> None:
        self.events.emit(event)
