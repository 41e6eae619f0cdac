"""How ElevenLabs lets us in: by the key in a header, or by tokens that are good for one connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import quote, urlencode

from agents.models.faults import Account
from audio.providers.socket import Target, websocket_url

API = "wss://api.elevenlabs.io"
KEY = "ELEVENLABS_API_KEY"

GetToken = Callable[[], Awaitable[str]]
"""Gives a new single-use token."""


class Access:
    """The address and the key of an account.

    Args:
        api_key: the key; None where ``get_token`` is given.
        get_token: asked before each connection, instead of a key.
        base_url: address of the service, http(s) or ws(s).
    """

    def __init__(
        self, api_key: str | None = None, get_token: GetToken | None = None, base_url: str = API, key_name: str = KEY
    ) -> None:
        if not api_key and get_token is None:
            raise ValueError("a key or a source of tokens is needed")
        self.account = Account("ElevenLabs", key_name, (api_key,) if api_key else ())
        self._api_key = api_key
        self._get_token = get_token
        self._base_url = websocket_url(base_url or API)

    async def target(self, path: tuple[str, ...], query: Mapping[str, str], token_name: str) -> Target:
        """Where to connect: a path, what is asked for, and the name under which a token goes."""
        headers: dict[str, str] = {}
        asked = dict(query)
        if self._get_token is not None:
            asked[token_name] = await self._get_token()
        elif self._api_key:
            headers["xi-api-key"] = self._api_key
        steps = "/".join(quote(step, safe="") for step in path)
        return Target(f"{self._base_url}/{steps}?{urlencode(asked)}", headers)
