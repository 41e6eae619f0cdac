"""Who may use the page: at each address that is listened on stands a door, which knows names, origins and visitors.

The page itself holds no secret. What needs a visitor is the room behind it. On loopback the address that ``glove run``
prints carries a token in its fragment, which browsers do not send; the page exchanges it for a cookie. On the local
network only paired devices are visitors; see ``appliance.lan.door``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import HTTPConnection

from agents.web.access import COOKIE, Access, new_token

__all__ = ["COOKIE", "Access", "Door", "LoopbackDoor", "Visitor", "new_token"]


@dataclass(frozen=True)
class Visitor:
    """Who asks. ``client`` is the same for all requests of one device and has a room of its own."""

    client: str
    name: str


HERE = Visitor("here", "This machine")
"""Whoever holds the token of this process."""


class Door(Protocol):
    """Decides about requests at the addresses of one listener."""

    def host_allowed(self, host: str | None) -> bool:
        """Whether ``Host`` is a name of this machine that was agreed on."""
        ...

    def visitor(self, connection: HTTPConnection) -> Visitor | None:
        """Who asks; None when nobody who is known.

        Raises:
            GloveError: ``ERR_FORBIDDEN`` for a foreign host or page, ``ERR_TOO_MANY_ATTEMPTS``.
        """
        ...

    def cookies(self, connection: HTTPConnection) -> Iterable[str]:
        """Values of ``Set-Cookie`` that the answer shall carry, decided by ``visitor``."""
        ...


class LoopbackDoor:
    """The door on this machine: the token or its cookie.

    Args:
        access: the token, and the names that were agreed on.
    """

    def __init__(self, access: Access) -> None:
        self.access = access

    def host_allowed(self, host: str | None) -> bool:
        """See ``Door``."""
        return self.access.host_allowed(host)

    def visitor(self, connection: HTTPConnection) -> Visitor | None:
        """See ``Door``."""
        return HERE if self.access.allows(connection) else None

    def cookies(self, connection: HTTPConnection) -> Iterable[str]:
        """See ``Door``; the cookie of the token lasts as long as the token."""
        return ()
