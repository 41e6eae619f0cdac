"""``GET /metrics`` for Prometheus, with the token of the page or a lasting one for collectors alone."""

from __future__ import annotations

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from agents.web.gate import Authorise, Endpoint, Gate
from appliance.measured.metrics import SECRET, Metrics
from appliance.web.auth import Access

PATH = "/metrics"

SHORTEST = 16
"""Characters that a token has at least."""


def collectors(page: Access, credentials: Credentials | None = None) -> Authorise:
    """Who may read the metrics: who may use the page, and who knows the secret ``metrics_token``, if that is set.

    Raises:
        ConfigError: ``ERR_METRICS_TOKEN``: the secret is too short. ``ERR_CREDENTIALS_…``: it cannot be read.
    """
    secret = (credentials or Credentials()).get(SECRET)
    if secret is None:
        return page.allows
    token = secret.reveal()
    if len(token) < SHORTEST:
        raise ConfigError(
            "ERR_METRICS_TOKEN",
            f"The secret {SECRET} is too short.",
            f"Give it at least {SHORTEST} characters, or remove it.",
        )

    lasting = Access(token)

    def authorise(connection: HTTPConnection) -> bool:
        return page.allows(connection) or lasting.admitted({}, connection.headers.get("authorization"))

    return authorise


def metrics_route(metrics: Metrics, authorise: Authorise) -> BaseRoute:
    """The route. A collector sends ``Authorization: Bearer TOKEN``."""

    async def answer(request: Request) -> Response:
        content, media_type = metrics.exposition(request.headers.get("accept", ""))
        return Response(content, headers={"content-type": media_type, "cache-control": "no-store"})

    return Route(PATH, Gate(Endpoint(answer, "GET"), authorise))
