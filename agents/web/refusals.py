"""Refusals as JSON: which status a fault becomes, and what of it the other side may read."""

from __future__ import annotations

import structlog
from starlette.responses import Response

from agents.base.errors import ConfigError, GloveError
from agents.web.wire import Event, to_json

log = structlog.get_logger(__name__)

STATUS = {
    "ERR_BODY": 400,
    "ERR_SESSION_ID": 400,
    "ERR_UNAUTHORISED": 401,
    "ERR_FORBIDDEN": 403,
    "ERR_SLOT_UNKNOWN": 404,
    "ERR_METHOD": 405,
    "ERR_BODY_LATE": 408,
    "ERR_SESSION_BUSY": 409,
    "ERR_BODY_TOO_LARGE": 413,
    "ERR_BODY_TYPE": 415,
    "ERR_READERS_FULL": 429,
    "ERR_TOO_MANY_ATTEMPTS": 429,
    "ERR_MODEL_RATE_LIMIT": 429,
    "ERR_STORE_UNSUPPORTED": 501,
    "ERR_MODEL_AUTH": 502,
    "ERR_MODEL_REQUEST": 502,
    "ERR_MODEL_UNREACHABLE": 502,
    "ERR_SESSIONS_FULL": 503,
}
"""Statuses by code; any other fault is 500."""


class BadRequest(GloveError):
    """Something in a request cannot be used. ``field`` names it with dots, ``messages.0.sender``."""

    def __init__(self, message: str, field: str = "", code: str = "ERR_BODY") -> None:
        super().__init__(code, message)
        self.field = field


def fault_fields(fault: GloveError) -> Event:
    """``code``, ``message`` and ``remedy`` of ``fault``.

    What the operator could do about a wrong configuration or a full disk tells of the machine and is not passed on.
    """
    remedy = None if isinstance(fault, ConfigError) or fault.code.startswith("ERR_STORE") else fault.remedy
    return {"code": fault.code, "message": fault.message, **({"remedy": remedy} if remedy else {})}


def refusal(fault: GloveError, status: int | None = None) -> Response:
    """``fault`` as a response, with its status from ``STATUS`` when None; faults of the server are logged."""
    told = fault_fields(fault)
    told["error"] = told.pop("message")
    if isinstance(fault, BadRequest) and fault.field:
        told["field"] = fault.field
    status = STATUS.get(fault.code, 500) if status is None else status
    if status >= 500:
        log.warning("a request failed", status=status, code=fault.code, error=fault.message, remedy=fault.remedy)
    response = reply(told, status)
    if status == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


def internal() -> GloveError:
    """Stands in for an exception that says nothing to the other side; the log has the exception itself."""
    return GloveError("ERR_INTERNAL", "The server failed.", "Try again; its log says what happened.")


def reply(content: object, status: int = 200) -> Response:
    """``content`` as JSON that no cache keeps and no browser takes for anything else."""
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    return Response(to_json(content), status, headers, media_type="application/json")


def done() -> Response:
    """There is nothing to tell."""
    return Response(status_code=204)
