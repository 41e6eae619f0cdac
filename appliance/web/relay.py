"""What the configuration says of STUN and TURN, with the secret that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.config.schema import GloveConfig

if TYPE_CHECKING:
    from agents.base.credentials import Credentials
    from realtime.browser.webrtc import IceServers

SECRET = "turn_credential"


def relay_secrets(config: GloveConfig) -> tuple[str, ...]:
    """Names of the secrets that the configured relay takes."""
    return (SECRET,) if config.rooms.turn_url else ()


def ice_servers(config: GloveConfig, credentials: Credentials | None = None) -> IceServers:
    """The configured servers.

    Raises:
        ConfigError: a relay is configured and its secret is missing.
    """
    from agents.base.credentials import Credentials
    from realtime.browser.webrtc import IceServers

    rooms = config.rooms
    secret = (credentials or Credentials()).require(SECRET) if rooms.turn_url else None
    return IceServers(rooms.stun, rooms.turn_url, rooms.turn_user, secret)
