"""Access tokens of LiveKit rooms: who somebody is, for which room, for how long, and nothing beyond that.

A token is a JWT signed with the server's API secret (HS256), so whoever guesses the secret owns every room: secrets
that can be guessed are refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agents.base.credentials import Secret
from agents.base.errors import ConfigError, GloveError, InputError

if TYPE_CHECKING:
    from livekit.api import VideoGrants

ON_BEHALF = "lk.publish_on_behalf"
"""Attribute of a participant whose voice is another's: its value is the other's identity."""

SHORTEST_SECRET = 32
"""Bytes; a shorter key than its hash makes HS256 weaker (RFC 7518, section 3.2)."""

DEV_PAIR = ("devkey", "secret")
"""What a LiveKit server in development mode takes. Everybody knows it."""

TTL_S = 3600
LONGEST_TTL_S = 24 * 3600
LONGEST_NAME = 256

ADMINISTRATION = ("room_create", "room_list", "room_record", "room_admin", "ingress_admin", "agent")
"""Grants that no participant needs."""


@dataclass(frozen=True)
class LiveKitAccess:
    """A LiveKit server and the right to hand out tokens for it.

    Attributes:
        url: where it listens: ws, wss, http or https.
        key: the API key.
        secret: its secret.

    Raises:
        ConfigError: ``ERR_LIVEKIT_URL``; ``ERR_LIVEKIT_SECRET``, the secret can be guessed.
    """

    url: str
    key: str
    secret: Secret

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("ws", "wss", "http", "https") or not urlsplit(self.url).hostname:
            raise ConfigError("ERR_LIVEKIT_URL", f"{self.url!r} is no address of a LiveKit server.", "Use wss://host.")
        value = self.secret.reveal()
        if (self.key, value) == DEV_PAIR and is_here(self.url):
            return
        if len(value.encode()) < SHORTEST_SECRET:
            raise ConfigError(
                "ERR_LIVEKIT_SECRET",
                f"The LiveKit secret has less than {SHORTEST_SECRET} bytes: whoever guesses it owns every room.",
                "Make another with livekit-server generate-keys. devkey and secret work on this machine alone.",
            )

    @property
    def socket_url(self) -> str:
        """The address with the scheme of a WebSocket."""
        return self.url.replace("http", "ws", 1) if self.url.startswith("http") else self.url

    @property
    def http_url(self) -> str:
        """The address with the scheme of the API."""
        return self.url.replace("ws", "http", 1) if self.url.startswith("ws") else self.url


def mint_participant_token(
    access: LiveKitAccess, *, room: str, identity: str, name: str = "", ttl_s: float = TTL_S, kind: str = "standard"
) -> Secret:
    """A token with which ``identity`` may join ``room``, speak, listen and send data there.

    Args:
        access: the server's.
        room: name of the room.
        identity: unique in the room; whoever comes with the same one takes its place.
        name: shown to people; the identity when empty.
        ttl_s: how long the token lets somebody in. It does not end a stay.
        kind: of participant, ``standard`` or ``agent``.

    Raises:
        InputError: ``ERR_LIVEKIT_NAME``, ``ERR_LIVEKIT_TTL``.
    """
    return _mint(access, room, identity, name, ttl_s, kind, {})


def mint_avatar_token(
    access: LiveKitAccess, *, room: str, identity: str, on_behalf_of: str, name: str = "", ttl_s: float = TTL_S
) -> Secret:
    """A token for a face that speaks with the voice of ``on_behalf_of``: an agent, and marked so that nobody hears it
    twice. The arguments are those of ``mint_participant_token``."""
    _check_name("on_behalf_of", on_behalf_of)
    return _mint(access, room, identity, name, ttl_s, "agent", {ON_BEHALF: on_behalf_of})


def refuse_administration(token: str) -> None:
    """Refuse a token that lets its holder do more than take part in a room.

    The signature is not looked at: that is the server's to do.

    Raises:
        GloveError: ``ERR_LIVEKIT_TOKEN``, it is none; ``ERR_LIVEKIT_TOKEN_WIDE``.
    """
    grants = grants_of(token)
    excess = [name for name in ADMINISTRATION if getattr(grants, name)]
    if excess:
        raise GloveError(
            "ERR_LIVEKIT_TOKEN_WIDE",
            f"The token for the room also grants {', '.join(excess)}.",
            "Mint one with mint_participant_token, which grants no more than taking part.",
        )


def grants_of(token: str) -> VideoGrants:
    """What ``token`` claims to grant; its signature and its age are not looked at.

    Raises:
        GloveError: ``ERR_LIVEKIT_TOKEN``, it is no token for a room.
    """
    import jwt
    from livekit.api import TokenVerifier

    try:
        grants = TokenVerifier("unused", "unused").verify(token, verify_signature=False).video
    except (jwt.InvalidTokenError, TypeError, ValueError, AttributeError) as fault:
        raise GloveError("ERR_LIVEKIT_TOKEN", "This is no LiveKit token.", "Ask for another one.", fault) from fault
    if grants is None or not grants.room_join or not grants.room:
        raise GloveError("ERR_LIVEKIT_TOKEN", "The token is for no room.", "Mint one with mint_participant_token.")
    return grants


def is_here(url: str) -> bool:
    """Whether ``url`` is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _mint(
    access: LiveKitAccess, room: str, identity: str, name: str, ttl_s: float, kind: str, attributes: Mapping[str, str]
) -> Secret:
    from livekit.api import AccessToken, VideoGrants

    _check_name("room", room)
    _check_name("identity", identity)
    if kind not in ("standard", "agent"):
        raise InputError("ERR_LIVEKIT_NAME", f"{kind!r} is no kind of participant.", "Use standard or agent.")
    if not 0 < ttl_s <= LONGEST_TTL_S:
        raise InputError("ERR_LIVEKIT_TTL", f"A token lasts at most {LONGEST_TTL_S} seconds, and at least a moment.")
    grants = VideoGrants(room_join=True, room=room, can_publish=True, can_subscribe=True, can_publish_data=True)
    token = AccessToken(access.key, access.secret.reveal()).with_identity(identity).with_name(name or identity)
    token = token.with_grants(grants).with_ttl(timedelta(seconds=ttl_s))
    if kind == "agent":
        token = token.with_kind("agent")
    if attributes:
        token = token.with_attributes(dict(attributes))
    return Secret(token.to_jwt())


def _check_name(what: str, value: str) -> None:
    if not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise InputError("ERR_LIVEKIT_NAME", f"{what} must be 1 to {LONGEST_NAME} printable characters.")
