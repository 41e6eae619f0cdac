"""What a caller may offer: one line for Opus, one data channel, a handful of addresses."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from agents.base.errors import GloveError

MAX_OFFER_BYTES = 32 * 1024
CANDIDATE = "a=candidate:"
MOST_CANDIDATES = 40
"""Addresses of one caller that are tried; more would make the appliance a port scanner."""


def refused(reason: str, cause: BaseException | None = None) -> GloveError:
    """The error for an offer that cannot be taken."""
    return GloveError(
        "ERR_WEBRTC_OFFER",
        f"The offer cannot be taken: {reason}.",
        "Offer one audio line with Opus and one data channel, or use the WebSocket.",
        cause,
    )


def checked(offer: str) -> None:
    """Raise ``GloveError`` (``ERR_WEBRTC_OFFER``) unless ``offer`` (SDP, RFC 8866) is one that the room takes."""
    from aiortc.sdp import SessionDescription

    if len(offer) > MAX_OFFER_BYTES:
        raise refused("it is too long")
    if sum(line.startswith(CANDIDATE) for line in offer.splitlines()) > MOST_CANDIDATES:
        raise refused("it names too many addresses")
    try:
        parsed = SessionDescription.parse(offer)
    except Exception as fault:
        # The parser checks nothing: whatever it stumbles over is what is wrong with the offer.
        raise refused("it is no session description", fault) from fault
    media = parsed.media
    kinds = sorted(line.kind for line in media)
    if "audio" not in kinds:
        raise refused("it has no audio")
    if kinds != ["application", "audio"]:
        raise refused("it has something else than one audio line and one data channel")
    audio = next(line for line in media if line.kind == "audio")
    if not any(codec.mimeType.lower() == "audio/opus" for codec in audio.rtp.codecs):
        raise refused("its audio cannot be Opus")
    bundled = [sorted(map(str, group.items)) for group in parsed.group if group.semantic == "BUNDLE"]
    names = sorted(line.rtp.muxId for line in media)
    if bundled != [names] or len(set(names)) < len(names):
        raise refused("its lines are not bundled into one connection")


@dataclass(frozen=True)
class Reach:
    """Which addresses of a caller are tried.

    Attributes:
        caller: the address that the offer came from, which stands for the names that browsers hide theirs behind
            (``….local``, RFC 8828 mode 2).
        elsewhere: whether public addresses are tried too: a STUN server or a relay is configured.
        relay: address of the configured relay.
    """

    caller: str | None
    elsewhere: bool = False
    relay: str = ""

    def address(self, offered: str) -> str | None:
        """The address to try for an ``offered`` one; None for none."""
        address = _address(offered)
        if address is None:
            return self.caller if offered.endswith(".local") else None
        if str(address) in (self.caller, self.relay) or (self.elsewhere and address.is_global):
            return str(address)
        return None


def with_addresses(offer: str, reach: Reach) -> str:
    """``offer`` with those of its addresses that are in ``reach``: whoever calls cannot have others spoken to.

    What remains needs not be all of the caller's: ICE learns the other ones from the first check that comes from there.
    But it gives up at once where it has nothing to try. An offer without any address gets one that nothing listens at.
    """
    lines: list[str] = []
    for line in offer.splitlines():
        kept = _candidate(line, reach) if line.startswith(CANDIDATE) else line
        if kept is not None:
            lines.append(kept)
    if reach.caller is not None and not any(line.startswith(CANDIDATE) for line in lines):
        lines = [each for line in lines for each in (line, *_nowhere(line, reach.caller))]
    return "\r\n".join(lines) + "\r\n"


def _candidate(line: str, reach: Reach) -> str | None:
    parts = line.split()
    if len(parts) < 8 or parts[2].lower() != "udp":
        return None
    address = reach.address(parts[4])
    return None if address is None else " ".join([*parts[:4], address, *parts[5:]])


def _nowhere(line: str, caller: str) -> list[str]:
    return [f"{CANDIDATE}0 1 udp 1 {caller} 9 typ host"] if line.startswith("a=ice-pwd:") else []


def plain_address(text: str | None) -> str | None:
    """An IP address as it is written, without what sockets add to it; None for anything else."""
    address = None if text is None else _address(text)
    return None if address is None else str(address)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
