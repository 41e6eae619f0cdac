"""Composes a voice session from a configuration and a room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.base.clock import infer

if TYPE_CHECKING:
    from agents.models.intents import IntentFirst
    from appliance.alerts import Alerts
    from appliance.config import GloveConfig
    from appliance.mind import Mind
    from audio.io.base import AudioIO
    from audio.tts.base import TtsFactory
    from audio.turns.hold import TurnDetector
    from audio.voice import GloveVoice, VoiceSettings

LOADING_COST_S = 1.0
"""Declared time of loading all models, on the virtual clock."""


@dataclass(frozen=True)
class Session:
    """A voice in a room and the mind behind it.

    Attributes:
        voice: the session itself.
        mind: agent, store, timers.
        voices: makes the voices that the session speaks with.
        alerts: rings timers.
        language: BCP-47 primary tag spoken before anything was heard.
    """

    voice: GloveVoice
    mind: Mind
    voices: TtsFactory
    alerts: Alerts
    language: str

    async def start(self) -> None:
        """Load what the first answer needs, run the timers, then open the room and listen.

        Raises:
            GloveError: a part could not be opened.
        """
        await _warm(self.mind)
        await _warm_voice(self.voices, self.language)
        await self.mind.timers.start()
        await self.voice.start()
        self.alerts.start()

    async def close(self) -> None:
        """Stop listening and close what the mind keeps; idempotent."""
        await self.alerts.close()
        try:
            await self.voice.stop()
        finally:
            await self.mind.close()


async def build_session(config: GloveConfig, room: AudioIO, *, lasting_timers: bool = True) -> Session:
    """Load the models of ``config`` and put a session together; nothing is heard before ``Session.start``.

    Args:
        config: which models, and how the session behaves.
        room: where it takes place; the caller closes it if this raises.
        lasting_timers: whether timers outlive the process.

    Raises:
        ConfigError: the configured model or voice cannot be used.
        GloveError: weights are missing or cannot be loaded.
    """
    from appliance.alerts import Alerts
    from appliance.mind import build_mind
    from appliance.parts import build_partials, build_recogniser, build_vad, build_voices
    from audio.voice import GloveVoice

    mind = build_mind(config, lasting_timers=lasting_timers)
    voices = build_voices(config)
    try:
        vad = build_vad(config) if config.turns.mode == "vad" else None
        stt = await infer(lambda: build_recogniser(config), cost_s=LOADING_COST_S)
        partials = await infer(lambda: build_partials(config), cost_s=LOADING_COST_S)
        voice = GloveVoice(
            mind.agent,
            room,
            stt=stt,
            tts=voices,
            vad=vad,
            partials=partials,
            detector=turn_detector(config, mind),
            settings=voice_settings(config),
        )
    except BaseException:
        await mind.close()
        raise
    language = config.speech.default_language
    return Session(voice, mind, voices, Alerts(voice, mind.timers, language), language)


def voice_settings(config: GloveConfig) -> VoiceSettings:
    """The session settings of ``config``."""
    from audio.turns.engine import TurnSettings
    from audio.voice import VoiceSettings

    return VoiceSettings(
        turn_mode=config.turns.mode,
        language=config.speech.fixed_language,
        reply_language=config.speech.default_language,
        turns=TurnSettings(preroll_ms=config.turns.preroll_ms),
    )


def turn_detector(config: GloveConfig, mind: Mind) -> TurnDetector:
    """Rules, with complete commands answered soonest."""
    from audio.turns.hold import CommandDetector, HoldTimes, RuleDetector

    turns = config.turns
    rules = RuleDetector(
        HoldTimes(
            command=turns.command_hold_ms,
            question=turns.question_hold_ms,
            statement=turns.statement_hold_ms,
            unfinished=turns.unfinished_hold_ms,
            dictation=turns.dictation_hold_ms,
        )
    )
    intents = _intents(mind)
    if intents is None:
        return rules
    return CommandDetector(rules, intents.complete, turns.command_hold_ms)


async def _warm(mind: Mind) -> None:
    """Compile the sentences before somebody waits for them."""
    intents = _intents(mind)
    if intents is not None:
        await infer(lambda: intents.warm(mind.agent.tools), cost_s=0.1)


async def _warm_voice(voices: TtsFactory, language: str) -> None:
    from audio.tts.select import VoiceSelector

    if isinstance(voices, VoiceSelector):
        await voices.warm(language)


def _intents(mind: Mind) -> IntentFirst | None:
    from agents.models.intents import IntentFirst

    model = mind.agent.model
    return model if isinstance(model, IntentFirst) else None
