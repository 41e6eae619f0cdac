"""The HTTP side of a provider of faces: one JSON request at a time, with faults that say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from agents.base.credentials import redact
from avatars.contract import AvatarError

M = TypeVar("M", bound=BaseModel)

TIMEOUT_S = 20.0
"""A session takes seconds to begin; longer than this nobody waits for a face."""

_LONGEST_DETAIL = 200


class Service:
    """Asks one provider.

    Args:
        name: of the provider, for people.
        base_url: of its API, without a slash at the end.
        transport: carries the requests; the network when None.
    """

    def __init__(self, name: str, base_url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.name = name
        self._base_url = base_url.rstrip("/")
        self._transport = transport

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], answer: type[M], body: object | None = None
    ) -> M:
        """Send ``body`` as JSON and return what comes back as ``answer``.

        Nothing is asked twice: a request whose answer was lost may have begun a session that costs money.

        Raises:
            AvatarError: as its codes say.
        """
        response = await self._send(method, path, headers, body)
        try:
            return answer.model_validate_json(response.content)
        except ValidationError as fault:
            raise AvatarError(
                "ERR_AVATAR_CONNECTION",
                f"{self.name} answered {method} {path} with something unexpected.",
                "Try again; if it stays so, its API has changed.",
                fault,
            ) from None

    async def tell(self, method: str, path: str, headers: Mapping[str, str], body: object | None = None) -> None:
        """As ``ask``, where the answer does not matter."""
        await self._send(method, path, headers, body)

    async def _send(self, method: str, path: str, headers: Mapping[str, str], body: object | None) -> httpx.Response:
        try:
            async with httpx.AsyncClient(transport=self._transport, timeout=TIMEOUT_S) as client:
                response = await client.request(method, self._base_url + path, headers=dict(headers), json=body)
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise AvatarError(
                "ERR_AVATAR_CONNECTION",
                f"{self.name} cannot be reached ({type(fault).__name__}).",
                "Check the network and the address.",
                fault,
            ) from fault
        if response.is_success:
            return response
        raise self._refused(response)

    def _refused(self, response: httpx.Response) -> AvatarError:
        status, detail = response.status_code, _detail(response)
        if status in (401, 403):
            return AvatarError(
                "ERR_AVATAR_AUTH", f"{self.name} does not accept the key ({status}).", "Set a key that is valid."
            )
        if status in (402, 429):
            return AvatarError(
                "ERR_AVATAR_LIMIT",
                f"{self.name} has no session left ({status}{detail}).",
                "Wait until another session has ended, or look at the plan of the account.",
            )
        if status < 500:
            return AvatarError(
                "ERR_AVATAR_REQUEST",
                f"{self.name} refuses the request ({status}{detail}).",
                "Check the ids of the face in the configuration.",
            )
        return AvatarError("ERR_AVATAR_CONNECTION", f"{self.name} is out of order ({status}).", "Try again later.")


def _detail(response: httpx.Response) -> str:
    """The provider's own words, short, on one line and without secrets."""
    try:
        content: Any = response.json()
    except ValueError:
        return ""
    words = (
        next((content[key] for key in ("message", "error", "detail") if key in content), None)
        if isinstance(content, dict)
        else None
    )
    return f": {redact(' '.join(words.split()))[:_LONGEST_DETAIL]}" if isinstance(words, str) else ""
