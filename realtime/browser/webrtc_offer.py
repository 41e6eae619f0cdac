"""What a caller may offer: one line for Opus, one data channel, a handful of addresses."""

from __future__ import annotations

import ipaddress

from agents.base.errors import GloveError

MAX_OFFER_BYTES = 32 * 1024
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
    if offer.count("\na=candidate:") > MOST_CANDIDATES:
        raise refused("it names too many addresses")
    try:
        media = SessionDescription.parse(offer).media
    except Exception as fault:
        # The parser checks nothing: whatever it stumbles over is what is wrong with the offer.
        raise refused("it is no session description", fault) from fault
    kinds = sorted(line.kind for line in media)
    if "audio" not in kinds:
        raise refused("it has no audio")
    if kinds != ["application", "audio"]:
        raise refused("it has something else than one audio line and one data channel")
    audio = next(line for line in media if line.kind == "audio")
    if not any(codec.mimeType.lower() == "audio/opus" for codec in audio.rtp.codecs):
        raise refused("its audio cannot be Opus")


def with_addresses(offer: str, caller: str | None) -> str:
    """``offer`` with the caller's own address where the browser hides it behind a name (``….local``, RFC 8828 mode 2).

    An offer without any address gets one that nothing listens at: ICE gives up at once where it has nothing to try, and
    else learns the caller's true address from the first check that comes from there.

    ``caller`` is the address that the offer came from. Without one, hidden addresses are left out.
    """
    known = caller is not None and _is_address(caller)
    lines: list[str] = []
    for line in offer.splitlines():
        parts = line.split(" ")
        if line.startswith("a=candidate:") and len(parts) > 4 and not _is_address(parts[4]):
            if not known:
                continue
            parts[4] = str(caller)
        lines.append(" ".join(parts))
    if known and not any(line.startswith("a=candidate:") for line in lines):
        lines = [each for line in lines for each in (line, *_nowhere(line, str(caller)))]
    return "\r\n".join(lines) + "\r\n"


def _nowhere(line: str, caller: str) -> list[str]:
    return [f"a=candidate:0 1 udp 1 {caller} 9 typ host"] if line.startswith("a=ice-pwd:") else []


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
