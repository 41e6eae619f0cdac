"""The door to the local network: only paired devices come in, under the names that were announced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from agents.base.errors import GloveError
from agents.web.access import HOST, OWN_SITES
from appliance.lan.attempts import Attempts
from appliance.lan.paired import UNUSED, PairedDevices
from appliance.web.auth import Visitor

COOKIE = "__Secure-glove"
PATHS = ("/room", "/api")
"""Cookies ignore ports: narrow paths keep other servers on this machine from being sent them."""

RENEWED = "glove.renewed"
"""Where in a request's scope the new secret waits for the answer."""


class LanDoor:
    """See ``appliance.web.auth.Door``.

    Args:
        names: under which names and addresses the appliance is reached at the moment.
        devices: the paired devices.
        attempts: counts strangers' mistakes.
    """

    def __init__(self, names: Callable[[], Collection[str]], devices: PairedDevices, attempts: Attempts) -> None:
        self._names = names
        self._devices = devices
        self._attempts = attempts

    def host_allowed(self, host: str | None) -> bool:
        """See ``Door``."""
        if not host or not HOST.fullmatch(host):
            return False
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name is not None and name.rstrip(".") in self._names()

    def check(self, connection: HTTPConnection) -> None:
        """Refuse what comes from a foreign page. Raises ``GloveError`` (``ERR_FORBIDDEN``)."""
        headers = connection.headers
        host, origin = headers.get("host"), headers.get("origin")
        own = origin is None or (host is not None and origin.lower() == f"https://{host.lower()}")
        if not self.host_allowed(host) or not own or headers.get("sec-fetch-site", "none") not in OWN_SITES:
            raise GloveError("ERR_FORBIDDEN", "Only a page of this server may do this.")

    def patient(self, connection: HTTPConnection) -> None:
        """Refuse peers that were wrong too often. Raises ``GloveError`` (``ERR_TOO_MANY_ATTEMPTS``)."""
        if self._attempts.blocked(peer_of(connection)):
            raise GloveError("ERR_TOO_MANY_ATTEMPTS", "That was wrong too often.", "Wait a minute, then try again.")

    def failed(self, connection: HTTPConnection) -> None:
        """A peer was wrong."""
        self._attempts.failed(peer_of(connection))

    def visitor(self, connection: HTTPConnection) -> Visitor | None:
        """See ``Door``."""
        self.check(connection)
        secret = connection.cookies.get(COOKIE, "")
        if not secret:
            return None
        device = self._devices.find(secret)
        if device is None:
            self.patient(connection)
            self.failed(connection)
            return None
        if RENEWED not in connection.scope:
            connection.scope[RENEWED] = self._devices.renewed(device)
        return Visitor(f"device-{device.id}", device.name)

    def cookies(self, connection: HTTPConnection) -> Iterable[str]:
        """See ``Door``."""
        secret = connection.scope.get(RENEWED)
        return cookies_with(secret) if secret else ()


def cookies_with(secret: str) -> list[str]:
    """The values of ``Set-Cookie`` that give a device its session; an empty secret takes it back."""
    age_s = round(UNUSED.total_seconds()) if secret else 0
    kept = f"Max-Age={age_s}; Secure; HttpOnly; SameSite=Strict"
    return [f"{COOKIE}={secret}; Path={path}; {kept}" for path in PATHS]


def peer_of(connection: HTTPConnection) -> str:
    """The address of whoever asks."""
    return connection.client.host if connection.client is not None else ""
