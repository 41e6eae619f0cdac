"""Who may use a server: those who know its token or hold the cookie that proves it, under the right address.

Names other than those agreed on are refused, because a foreign page may have pointed one here; so are requests that a
browser sends on behalf of a foreign page.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from agents.base.errors import GloveError

COOKIE = "glove_room"
TOKEN_BYTES = 24
HOST = re.compile(r"([\w.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
"""A name or an address, perhaps with a port, and nothing that would mean something in a header or an address."""

OWN_SITES = frozenset({"same-origin", "none"})
"""What ``Sec-Fetch-Site`` says of a page of this server, and of what a user has typed. Pictures and the like of other
pages come without an ``Origin``, and cookies know no ports: another server of this machine is the same site."""


def new_token() -> str:
    """A token that cannot be guessed (192 bits), fit for an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class Access:
    """Checks requests.

    Args:
        token: who knows it is admitted; at least 16 characters.
        hosts: further names under which the server may be reached; ``localhost`` and loopback addresses always may.
        cookie_name: the cookie that stands for the token.
    """

    def __init__(self, token: str, hosts: Iterable[str] = (), *, cookie_name: str = COOKIE) -> None:
        if len(token) < 16:
            raise ValueError("the token is too short to protect anything")
        self._token = token.encode()
        self._cookie = hmac.new(self._token, b"glove room cookie", hashlib.sha256).hexdigest()
        self._cookie_name = cookie_name
        self._hosts = frozenset(host.lower().rstrip(".") for host in hosts)

    @property
    def cookie(self) -> str:
        """What the cookie holds: proof of having known the token, not the token."""
        return self._cookie

    def allows(self, connection: HTTPConnection) -> bool:
        """Whether a request may be answered; this is what ``agents.web`` calls ``authorise``.

        Raises:
            GloveError: ``ERR_FORBIDDEN``, a foreign ``Host`` or page, which no token makes good.
        """
        headers = connection.headers
        host = headers.get("host")
        if not self.host_allowed(host):
            raise GloveError("ERR_FORBIDDEN", "This machine is not known by that name.")
        if not self.origin_allowed(headers.get("origin"), host):
            raise GloveError("ERR_FORBIDDEN", "Only a page of this server may do this.")
        if headers.get("sec-fetch-site", "none") not in OWN_SITES:
            raise GloveError("ERR_FORBIDDEN", "Only a page of this server may do this.")
        return self.admitted(connection.cookies, headers.get("authorization"))

    def knows(self, token: str) -> bool:
        """Whether ``token`` is the token; takes the same time for every wrong one."""
        return hmac.compare_digest(token.encode(errors="replace"), self._token)

    def admitted(self, cookies: Mapping[str, str], authorization: str | None) -> bool:
        """Whether a request carries the cookie, or the token itself as ``Bearer`` (programs)."""
        cookie = cookies.get(self._cookie_name, "")
        scheme, _, credentials = (authorization or "").partition(" ")
        by_cookie = hmac.compare_digest(cookie.encode(), self._cookie.encode())
        by_token = scheme.lower() == "bearer" and self.knows(credentials.strip())
        return by_cookie or by_token

    def host_allowed(self, host: str | None) -> bool:
        """Whether ``Host`` is a name of this machine that was agreed on: other names may have been pointed here."""
        name = _host_name(host)
        return name is not None and (name in self._hosts or name == "localhost" or _is_loopback(name))

    def origin_allowed(self, origin: str | None, host: str | None) -> bool:
        """Whether a request comes from a page of this server, or from a program (which sends no ``Origin``)."""
        if origin is None:
            return True
        if host is None:
            return False
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _host_name(host: str | None) -> str | None:
    if not host or not HOST.fullmatch(host):
        return None
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return None
    return name.rstrip(".") if name else None


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
