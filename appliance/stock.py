"""Which model weights a configuration needs, and the store they are kept in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.base.weights import WeightsStore
    from appliance.config import GloveConfig


def weights_store(config: GloveConfig) -> WeightsStore:
    """The store of ``[weights]``. Raises ``ConfigError`` for an unknown source."""
    from agents.base.weights import WeightsStore

    root = None if config.weights.dir == "auto" else Path(config.weights.dir).expanduser()
    return WeightsStore(root, config.weights.sources)


def needed_weights(config: GloveConfig) -> list[str]:
    """Ids of the entries that ``config`` may load; ``stt = "auto"`` needs both sizes to choose from."""
    ids: list[str] = []
    if config.turns.vad == "silero":
        ids.append("silero-vad")
    if config.speech.stt == "auto":
        ids += ["whisper-tiny.en", "whisper-base"]
    elif config.speech.stt != "simulated":
        ids.append(config.speech.stt)
    if config.speech.partials and config.speech.stt != "simulated":
        ids.append("moonshine-tiny-en")
    if config.model.provider == "smollm":
        ids.append("smollm2-135m")
    return ids
