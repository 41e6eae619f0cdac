"""Invitations to pair: tokens that work once, and for a short time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from agents.base import clock
from agents.base.credentials import Secret
from agents.base.errors import GloveError

TOKEN_BYTES = 24
VALID_S = 300.0
"""How long an invitation works."""

REMEMBERED_S = 1800.0
"""How long one that was used or is over is known as such, so that people are told what is wrong."""

MOST_OPEN = 16


@dataclass
class _Invitation:
    digest: bytes
    expires_s: float
    used: bool = False


class Invitations:
    """Issues tokens and takes each of them once. Only their digests are kept.

    Args:
        valid_s: how long a token works, in seconds.
        now: seconds on a monotonic clock.
    """

    def __init__(self, valid_s: float = VALID_S, now: Callable[[], float] = clock.now) -> None:
        self.valid_s = valid_s
        self._now = now
        self._known: list[_Invitation] = []

    def issue(self) -> Secret:
        """Another token (192 bits)."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        self._known = [each for each in self._known if self._now() < each.expires_s + REMEMBERED_S][1 - MOST_OPEN :]
        self._known.append(_Invitation(digest(token), self._now() + self.valid_s))
        return Secret(token)

    def redeem(self, token: str) -> None:
        """Use up ``token``.

        Raises:
            GloveError: ``ERR_PAIR_TOKEN``, ``ERR_PAIR_USED``, ``ERR_PAIR_EXPIRED``.
        """
        wanted, found = digest(token), None
        for each in self._known:  # all of them, so that the time tells nothing
            if hmac.compare_digest(each.digest, wanted):
                found = each
        again = "Ask for another code with glove pair."
        if found is None:
            raise GloveError("ERR_PAIR_TOKEN", "This code is wrong or too old.", again)
        if found.used:
            raise GloveError("ERR_PAIR_USED", "This code has been used already.", again)
        if self._now() >= found.expires_s:
            raise GloveError("ERR_PAIR_EXPIRED", "This code has expired.", again)
        found.used = True

    def withdraw(self) -> None:
        """No invitation that was issued works any more."""
        self._known.clear()


def digest(token: str) -> bytes:
    """What is kept of a token. It was chosen at random, so a plain hash cannot be searched."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
