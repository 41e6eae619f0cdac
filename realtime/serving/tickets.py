"""Who may open a session: those who know the token, and those who were given a ticket by them.

Where there is no token, programs of this machine may come in; pages of the web, which a browser on this machine would
connect just as well, may not.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from agents.base import clock
from agents.web.access import Access, new_token
from realtime.serving.settings import SessionSettings

PREFIX = "ek_"
"""What short-lived keys begin with."""

KEY_PROTOCOL = "openai-insecure-api-key."
"""Beginning of the subprotocol that carries a key where headers cannot be set."""

PROTOCOL = "realtime"

MOST_TICKETS = 1000


@dataclass(frozen=True)
class Ticket:
    """What a short-lived key admits to, until ``ends_at_s`` (Unix seconds)."""

    settings: SessionSettings
    ends_at_s: int


class Tickets:
    """Checks keys, and gives out short-lived ones, of which only digests are kept.

    Args:
        token: who knows it may do everything; None where this machine's programs may.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._access = Access(new_token())
        self._tickets: OrderedDict[bytes, Ticket] = OrderedDict()

    def issue(self, settings: SessionSettings, seconds: int) -> tuple[str, Ticket]:
        """A key for sessions that begin with ``settings``, and until when it is good."""
        value = PREFIX + secrets.token_urlsafe(24)
        ticket = Ticket(settings, round(clock.wall().timestamp()) + seconds)
        self._tickets[_digest(value)] = ticket
        while len(self._tickets) > MOST_TICKETS:
            self._tickets.popitem(last=False)
        return value, ticket

    def may_enter(self, connection: HTTPConnection) -> bool:
        """Whether ``connection`` comes from where somebody may come in at all.

        A browser says for which page it asks. With a token that does not matter: no page knows it.
        """
        if self._token is not None:
            return True
        headers = connection.headers
        host = headers.get("host")
        return self._access.host_allowed(host) and self._access.origin_allowed(headers.get("origin"), host)

    def is_owner(self, connection: HTTPConnection) -> bool:
        """Whether whoever asks may do everything, such as give out tickets."""
        if self._token is None:
            return self.may_enter(connection)
        return hmac.compare_digest(_key_of(connection).encode(errors="replace"), self._token.encode())

    def admitted(self, connection: HTTPConnection) -> SessionSettings | None:
        """What the session of ``connection`` begins with; None where it may not have one."""
        ticket = self._tickets.get(_digest(_key_of(connection)))
        if ticket is not None and ticket.ends_at_s > clock.wall().timestamp():
            return ticket.settings if self.may_enter(connection) else None
        return SessionSettings() if self.is_owner(connection) else None


def protocols_of(connection: HTTPConnection) -> list[str]:
    """The subprotocols that a client offers."""
    offered = connection.headers.get("sec-websocket-protocol", "")
    return [name.strip() for name in offered.split(",") if name.strip()]


def _key_of(connection: HTTPConnection) -> str:
    scheme, _, key = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    offered = protocols_of(connection)
    return next((name.removeprefix(KEY_PROTOCOL) for name in offered if name.startswith(KEY_PROTOCOL)), "")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()
