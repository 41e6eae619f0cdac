"""Which model weights a configuration needs, and the store they are kept in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.base.weights import WeightsStore
    from appliance.config.schema import GloveConfig


def weights_store(config: GloveConfig) -> WeightsStore:
    """The store of ``[weights]``. Raises ``ConfigError`` for an unknown source."""
    from agents.base.weights import WeightsStore

    root = None if config.weights.dir == "auto" else Path(config.weights.dir).expanduser()
    return WeightsStore(root, config.weights.sources)


def recognises_here(config: GloveConfig) -> bool:
    """Whether this machine recognises speech itself, if only while a service is in trouble."""
    return config.stt.provider == "local" or config.stt.fallback == "local"


def recogniser_ids(config: GloveConfig) -> list[str]:
    """Ids of the recognisers to choose from: none when simulated or elsewhere, several when the machine decides."""
    if config.speech.stt == "simulated" or not recognises_here(config):
        return []
    if config.speech.stt != "auto":
        return [config.speech.stt]
    if config.speech.default_language != "en":
        return ["whisper-base"]  # the smaller model knows English only
    return ["whisper-tiny.en", "whisper-base"]


def wants_partials(config: GloveConfig) -> bool:
    """Whether what is being said is recognised here meanwhile: not where it is switched off, simulated, or not in
    English, nor where the recogniser itself is a streaming one."""
    from appliance.session.services import is_streaming

    speech = config.speech
    return (
        not is_streaming(config) and speech.partials and speech.stt != "simulated" and speech.default_language == "en"
    )


def wants_ear(config: GloveConfig) -> bool:
    """Whether the sound of the voice helps to find the end of a turn; simulated speech sounds like nothing."""
    turns = config.turns
    return turns.detector in ("combined", "smart-turn") and turns.mode == "vad" and config.speech.stt != "simulated"


def needed_weights(config: GloveConfig) -> list[str]:
    """Ids of the entries that ``config`` may load."""
    ids = ["silero-vad"] if config.turns.vad == "silero" else []
    ids += recogniser_ids(config)
    if wants_partials(config):
        ids.append("moonshine-tiny-en")
    if wants_ear(config):
        ids.append("smart-turn-v3.2")
    if "smollm" in (config.model.provider, config.model.fallback):
        ids.append("smollm2-135m")
    return ids
