"""Sessions with a realtime model, as the configuration has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.base.errors import ConfigError
from appliance.daemon.conversations import ConversationEnded

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from appliance.daemon.conversations import RoomAgent
    from audio.io.base import AudioIO
    from realtime.s2s.contract import S2SAdapter
    from realtime.voice import RealtimeVoice


def engine_secrets(config: GloveConfig) -> tuple[str, ...]:
    """Names of the secrets that the engine takes; a service on this machine needs none."""
    import os

    from agents.models.openai_compatible import is_loopback
    from audio.providers.socket import websocket_url

    if config.engine.kind == "cascade":
        return ()
    address = config.s2s.url or os.environ.get("S2S_BASE_URL", "").strip()
    return () if address and is_loopback(websocket_url(address)) else (f"{config.engine.kind}_api_key",)


async def open_once(config: GloveConfig, within_s: float) -> None:
    """Open a session with the configured provider and close it again; nothing is said in it.

    Args:
        config: with a realtime model as engine.
        within_s: longest time to wait.

    Raises:
        ConfigError: as ``realtime_adapter``.
        S2SError: no session came about, with the reason.
    """
    import asyncio

    from realtime.s2s.contract import S2SError, SessionConfig

    adapter = realtime_adapter(config)
    try:
        async with asyncio.timeout(within_s):
            await adapter.connect(SessionConfig())
    except TimeoutError as fault:
        told = f"No session came about within {within_s:g} s."
        raise S2SError("ERR_S2S_CONNECTION", told, "Check the network.", fault) from fault
    finally:
        await adapter.disconnect()


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
