"""Loads the parts of a configuration once, and composes sessions of them for any number of rooms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from agents.base.clock import infer
from agents.base.emitter import Emitter
from agents.base.errors import GloveError

if TYPE_CHECKING:
    from agents.everyday.timers import TimerBook
    from appliance.config.schema import GloveConfig
    from appliance.daemon.conversations import RoomAgent
    from appliance.session.mind import Mind
    from appliance.session.turn_judges import TurnJudges
    from audio.io.base import AudioIO
    from audio.stt.base import SegmentStt, Stt
    from audio.tts.base import TtsFactory
    from audio.vad.base import VadAdapter
    from audio.voice import GloveVoice, VoiceSettings
    from audio.wake.attention import Attending
    from audio.wake.base import WakeDetector

log = structlog.get_logger(__name__)

LOADING_COST_S = 1.0
"""Declared time of loading one model, on the virtual clock."""


@dataclass(frozen=True)
class RoomMind:
    """The mind of one session: ``agent`` answers in it, ``timers`` are those of the whole process."""

    agent: RoomAgent
    timers: TimerBook


@dataclass
class Session:
    """A voice in a room and the mind behind it.

    Attributes:
        voice: the session itself.
        mind: answers in it.
        room: where it takes place; the session does not own it.
        language: BCP-47 primary tag spoken before anything was heard.
        wake: its own detector of the wake word, or None.
        on_close: called first when the session is closed.
        off: ends what the session follows, called when it is closed.
    """

    voice: GloveVoice
    mind: RoomMind
    room: AudioIO
    language: str
    wake: WakeDetector | None = None
    on_close: Callable[[], None] | None = None
    off: Callable[[], None] | None = None

    @property
    def agent(self) -> RoomAgent:
        """Answers in the session."""
        return self.mind.agent

    async def start(self) -> None:
        """Open the room and listen. Raises ``GloveError`` when something could not be opened."""
        await self.voice.start()

    async def close(self) -> None:
        """Stop listening, let what was heard reach the record, and close the record; idempotent."""
        if self.on_close is not None:
            self.on_close()
        try:
            await self.voice.stop()
        finally:
            await self.agent.close()
            if self.off is not None:
                self.off()
            if self.wake is not None:
                self.wake.close()


@dataclass(frozen=True)
class SpeechTrouble:
    """A speech service is in trouble, and this machine takes over."""

    fault: GloveError


@dataclass(frozen=True)
class Parts:
    """What all sessions of a process share: loaded models, tools, and what they keep.

    Attributes:
        config: how they were made.
        mind: model, tools, timers.
        stt: recogniser of whole utterances; None where a streaming service recognises alone.
        partials: recogniser of what is being said, or None.
        voices: makes voices.
        judges: say when a turn is over.
        troubles: emits ``SpeechTrouble``.
    """

    config: GloveConfig
    mind: Mind
    stt: SegmentStt | None
    partials: SegmentStt | None
    voices: TtsFactory
    judges: TurnJudges
    troubles: Emitter

    @property
    def language(self) -> str:
        """BCP-47 primary tag spoken before anything was heard."""
        return self.config.speech.default_language

    def recogniser(self) -> Stt:
        """The recogniser of one session. Raises ``ConfigError`` when the key of its service is missing."""
        from appliance.session.services import stream_recogniser

        stt = stream_recogniser(self.config, self.stt, _teller(self.troubles)) or self.stt
        assert stt is not None
        return stt

    def vad(self) -> VadAdapter:
        """A voice detector for one stream of sound. Raises ``GloveError`` when its weights are missing."""
        from appliance.session.parts import build_vad

        return build_vad(self.config)

    async def session(
        self,
        room: AudioIO,
        *,
        name: str = "",
        conversation_id: str | None = None,
        attention: Attending | None = None,
    ) -> Session:
        """A session for ``room``; nothing is heard before ``Session.start``.

        Args:
            room: where it takes place; the caller closes it if this raises.
            name: of the room, kept with its conversations. A named room goes on with its last conversation if that
                was not over when the process ended.
            conversation_id: the conversation to go on with, instead.
            attention: when to listen; always when None. Its detector is closed with the session.

        Raises:
            GloveError: weights are missing or cannot be loaded.
        """
        from appliance.daemon.conversations import RoomAgent
        from audio.events import VoiceFault

        idle_s = self.config.conversation.idle_s
        conversation_id = conversation_id or await self._unfinished(name, idle_s)
        agent = RoomAgent(self.mind, idle_s=idle_s, name=name, conversation_id=conversation_id)
        needs_vad = self.config.turns.mode == "vad" and room.vad is None
        voice = self._voice(
            agent,
            room,
            stt=self.recogniser(),
            tts=self.voices,
            vad=await infer(self.vad, cost_s=0.0) if needs_vad else None,
            partials=self.partials,
            detector=self.judges.detector(self.config, self.mind),
            settings=voice_settings(self.config),
            attention=attention,
            language_of=None if (intents := self.mind.intents) is None else intents.language_of,
        )
        agent.set_wake_handler(lambda wake: voice.speak_up(wake.run))
        detector = attention.detector if attention is not None else None
        off = self.troubles.on(
            SpeechTrouble, lambda trouble: voice.emit(VoiceFault(room.time_s, trouble.fault.code, str(trouble.fault)))
        )
        return Session(voice, RoomMind(agent, self.mind.timers), room, self.language, detector, off=off)

    async def close(self) -> None:
        """Stop the timers (they stay stored), close what the tools keep and let go of the models; idempotent."""
        if self.stt is not None:
            self.stt.close()
        if self.partials is not None:
            self.partials.close()
        await self.judges.close()
        await self.mind.close()

    def _voice(self, agent: RoomAgent, room: AudioIO, **cascade: Any) -> GloveVoice:
        """The session of the engine that is configured."""
        if self.config.engine.kind == "cascade":
            from audio.voice import GloveVoice

            return GloveVoice(agent, room, **cascade)
        from appliance.session.realtime_engine import realtime_voice

        return realtime_voice(self.config, agent, room, **cascade)

    async def _unfinished(self, name: str, idle_s: float) -> str | None:
        from appliance.daemon.conversations import latest_conversation

        if not name:
            return None
        try:
            return await latest_conversation(self.mind.path, name, idle_s)
        except GloveError as fault:
            log.error("earlier conversations cannot be read", code=fault.code, error=fault.message)
            return None


async def load_parts(config: GloveConfig, *, lasting_timers: bool = True) -> Parts:
    """Load the models of ``config``, off the loop, and start the timers: afterwards a first answer waits for nothing.

    Args:
        config: which models.
        lasting_timers: whether timers outlive the process.

    Raises:
        ConfigError: the configured model or voice cannot be used.
        GloveError: weights are missing or cannot be loaded.
    """
    from appliance.session.mind import build_mind
    from appliance.session.parts import build_partials, build_recogniser, build_voices
    from appliance.session.services import settled, stream_recogniser
    from appliance.session.turn_judges import build_judges

    config = await settled(config)
    mind = build_mind(config, lasting_timers=lasting_timers)
    try:
        troubles = Emitter()
        on_trouble = _teller(troubles)
        stream_recogniser(config, None)  # a missing key is told now, not by the first room
        voices = build_voices(config, on_trouble)
        loading = asyncio.gather(
            infer(lambda: build_recogniser(config, on_trouble), cost_s=LOADING_COST_S),
            infer(lambda: build_partials(config), cost_s=LOADING_COST_S),
            infer(lambda: build_judges(config), cost_s=LOADING_COST_S),
            mind.warm(),
            _warm_voice(voices, config.speech.default_language),
        )
        stt, partials, judges, _, _ = await loading
        judges.tell_trouble()
        await mind.timers.start()
    except BaseException:
        await mind.close()
        raise
    return Parts(config, mind, stt, partials, voices, judges, troubles)


def voice_settings(config: GloveConfig) -> VoiceSettings:
    """The session settings of ``config``."""
    from appliance.session.mind import WITHOUT_TOOLS, provider_in_force
    from audio.turns.engine import TurnSettings
    from audio.voice import VoiceSettings

    wanted = config.turns.preemptive
    preemptive = wanted == "on" or (wanted == "auto" and provider_in_force(config) not in WITHOUT_TOOLS)
    return VoiceSettings(
        turn_mode=config.turns.mode,
        language=config.speech.fixed_language,
        reply_language=config.speech.default_language,
        turns=TurnSettings(
            preroll_ms=config.turns.preroll_ms,
            preemptive=preemptive,
            far_field_ratio=config.turns.far_field_ratio,
            hears_all=config.stt.hears_all,
        ),
    )


def _teller(troubles: Emitter) -> Callable[[GloveError], None]:
    return lambda fault: troubles.emit(SpeechTrouble(fault))


async def _warm_voice(voices: TtsFactory, language: str) -> None:
    from audio.tts.fallback import FallbackTts
    from audio.tts.select import VoiceSelector

    if isinstance(voices, FallbackTts):
        voices = voices.second
    if isinstance(voices, VoiceSelector):
        await voices.warm(language)
