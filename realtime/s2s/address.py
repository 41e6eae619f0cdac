"""Addresses of realtime services."""

from __future__ import annotations

from urllib.parse import urlsplit

from agents.base.errors import ConfigError
from agents.models.openai_compatible import is_loopback
from audio.providers.socket import websocket_url


def session_address(base_url: str) -> str:
    """``base_url`` (http, https, ws or wss) as that of a WebSocket, without a slash at its end.

    Raises:
        ConfigError: ``ERR_S2S_ADDRESS``, it is no address, or what is said would go over the network in the open.
    """
    address = websocket_url(base_url)
    parts = urlsplit(address)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise ConfigError("ERR_S2S_ADDRESS", "This is no address of a realtime service.", "Begin it with wss://.")
    if parts.scheme == "ws" and not is_loopback(address):
        raise ConfigError(
            "ERR_S2S_ADDRESS",
            f"The connection to {parts.hostname} would not be encrypted.",
            "Use wss:// for every machine but this one.",
        )
    return address
