"""Sessions with a realtime model, as the configuration has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.base.errors import ConfigError
from appliance.conversations import ConversationEnded

if TYPE_CHECKING:
    from appliance.config import GloveConfig
    from appliance.conversations import RoomAgent
    from audio.io.base import AudioIO
    from realtime.s2s.contract import S2SAdapter
    from realtime.voice import RealtimeVoice


def realtime_adapter(config: GloveConfig) -> S2SAdapter:
    """A session with the provider of ``engine.kind``, not connected.

    Raises:
        ConfigError: its key is missing; ``ERR_S2S_SETTING``, ``s2s.turn_detection`` is another provider's;
            ``ERR_S2S_ADDRESS``, ``s2s.url`` is not encrypted and not on this machine.
    """
    from realtime.s2s.create import DEFAULT, create_s2s_adapter
    from realtime.s2s.turn_detection import SemanticVad, ServerVad

    kind, s2s = config.engine.kind, config.s2s
    detection = {"auto": DEFAULT, "local": None, "server_vad": ServerVad(), "semantic_vad": SemanticVad()}
    if kind == "gemini" and s2s.turn_detection not in ("auto", "local"):
        raise ConfigError(
            "ERR_S2S_SETTING", f"Gemini has no {s2s.turn_detection}.", "Set s2s.turn_detection to auto or local."
        )
    by_hand = config.turns.mode == "manual"
    return create_s2s_adapter(
        kind,
        model=s2s.model or None,
        voice=s2s.voice or None,
        turn_detection=None if by_hand else detection[s2s.turn_detection],
        base_url=s2s.url or None,
    )


def realtime_voice(config: GloveConfig, agent: RoomAgent, room: AudioIO, **cascade: Any) -> RealtimeVoice:
    """A session for ``room``; ``cascade`` are the arguments of ``GloveVoice``. Raises as ``realtime_adapter``."""
    from realtime.voice import RealtimeVoice

    voice = RealtimeVoice(agent, room, realtime_adapter(config), **cascade)
    agent.events.on(ConversationEnded, lambda _: voice.renew())
    return voice
