"""The parts of this process as what realtime sessions are served with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.base.errors import ConfigError
from realtime.serving.contract import Ears, Engine

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from appliance.session.build import Parts
    from audio.vad.base import VadAdapter

SILENCE_BELOW = 0.15
"""How far below the threshold of speech a frame counts as silence."""


def engine_of(parts: Parts) -> Engine:
    """What sessions share. Raises ``ConfigError`` (``ERR_SERVE_STT``) where nothing here recognises utterances."""
    from appliance.session.serve_mind import AgentMind

    config = parts.config
    if parts.stt is None:
        raise ConfigError(
            "ERR_SERVE_STT",
            f"{config.stt.provider} alone recognises no whole utterances.",
            'Set stt.fallback to "local", or choose another stt.provider.',
        )
    return Engine(
        stt=parts.stt,
        voices=parts.voices,
        vad=lambda ears: _vad(config, ears),
        detector=lambda: parts.judges.detector(config, parts.mind),
        mind=AgentMind(parts.mind, _unfit(parts)),
        language=parts.language,
    )


def _unfit(parts: Parts) -> tuple[str, ...]:
    """Tools that would ring, or ask something on a screen: a client can be told of neither."""
    from agents.base.clock import wall
    from agents.everyday.timer_tools import timer_tools
    from agents.web.tools.ready_made import ready_made_tools

    return tuple(tool.name for tool in (*timer_tools(parts.mind.timers, None, wall), *ready_made_tools()))


def _vad(config: GloveConfig, ears: Ears) -> VadAdapter:
    if config.turns.vad == "energy":
        from audio.vad.energy import EnergySettings, EnergyVad

        return EnergyVad(EnergySettings(silence_ms=ears.silence_ms))
    from appliance.session.stock import weights_store
    from audio.vad.segment import SegmentSettings
    from audio.vad.silero import SileroVad
    from audio.vad.silero_model import MODEL_FILE

    negative = max(0.0, ears.threshold - SILENCE_BELOW)
    model = weights_store(config).ensure("silero-vad") / MODEL_FILE
    return SileroVad(model, SegmentSettings(ears.threshold, negative, redemption_ms=ears.silence_ms))
