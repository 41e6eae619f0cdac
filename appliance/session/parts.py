"""The ears and the mouth of a configuration: voice detector, recognisers, voices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.session.stock import recogniser_ids, recognises_here, wants_partials, weights_store

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from audio.providers.standby import OnTrouble
    from audio.stt.base import SegmentStt
    from audio.tts.base import TtsAdapter, TtsFactory
    from audio.vad.base import VadAdapter


def build_vad(config: GloveConfig) -> VadAdapter:
    """A fresh voice detector. Raises ``GloveError`` when its weights are missing."""
    if config.turns.vad == "energy":
        from audio.vad.energy import EnergySettings, EnergyVad

        return EnergyVad(EnergySettings(silence_ms=config.turns.redemption_ms))
    from audio.vad.segment import SegmentSettings
    from audio.vad.silero import SileroVad
    from audio.vad.silero_model import MODEL_FILE

    model = weights_store(config).ensure("silero-vad") / MODEL_FILE
    return SileroVad(model, SegmentSettings(redemption_ms=config.turns.redemption_ms))


def build_recogniser(config: GloveConfig, on_trouble: OnTrouble | None = None) -> SegmentStt | None:
    """The recogniser of whole utterances; its weights are fetched if need be. Takes a second or two.

    None where a streaming service recognises alone. ``on_trouble`` is told of trouble with a service.

    Raises:
        ConfigError: a key is missing.
        GloveError: the weights cannot be had.
        GloveVoiceError: they cannot be loaded.
    """
    from appliance.session.services import segment_recogniser

    return segment_recogniser(config, _local_recogniser(config) if recognises_here(config) else None, on_trouble)


def _local_recogniser(config: GloveConfig) -> SegmentStt:
    if config.speech.stt == "simulated":
        from audio.stt.scripted import ScriptedSegmentStt

        latency_s = config.simulated.stt_ms / 1000
        language = config.speech.default_language
        return ScriptedSegmentStt(
            [config.simulated.transcript], latency_s=latency_s, language=language, repeat_last=True
        )
    from audio.stt.whisper import WhisperStt

    return WhisperStt.load(
        weights_store(config),
        recogniser_id(config),
        threads=config.speech.threads or None,
        primary=config.speech.default_language,
    )


def recogniser_id(config: GloveConfig) -> str:
    """The weights of the recogniser: the configured ones, or those that suit this machine and the language."""
    known = recogniser_ids(config)
    if len(known) == 1:
        return known[0]
    from audio.stt.profile import choose_profile

    return choose_profile(weights_store(config)).model_id


def build_partials(config: GloveConfig) -> SegmentStt | None:
    """The light recogniser of what is being said, or None where there shall be none."""
    if not wants_partials(config):
        return None
    from audio.stt.moonshine import MoonshineStt

    return MoonshineStt.load(weights_store(config))


def build_voices(config: GloveConfig, on_trouble: OnTrouble | None = None) -> TtsFactory:
    """Makes voices by language; ``on_trouble`` is told of trouble with a service. Raises ``ConfigError``: no key."""
    from appliance.session.services import service_voices

    return service_voices(config, _local_voices(config), on_trouble)


def _local_voices(config: GloveConfig) -> TtsFactory:
    if config.speech.tts == "simulated":
        from audio.tts.scripted import ScriptedVoice

        return ScriptedVoice(first_audio_s=config.simulated.tts_first_audio_ms / 1000)
    if config.speech.tts == "espeak":
        from audio.tts.espeak import EspeakVoice

        return EspeakVoice
    if config.speech.tts == "hibari":
        return _hibari
    from audio.tts.select import VoiceSelector

    return VoiceSelector()


def _hibari(language: str) -> TtsAdapter:
    from audio.tts.hibari import HibariVoice

    return HibariVoice()
