"""How a client is told that it asked for something that it cannot have."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """A request is refused; the session goes on.

    Attributes:
        code: of the protocol where it has one for the case.
        message: for people.
        param: which part of the request is at fault, or None.
        kind: ``invalid_request_error``, or ``server_error`` where the request is not to blame.
    """

    def __init__(
        self, code: str, message: str, *, param: str | None = None, kind: str = "invalid_request_error"
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.kind = kind

    def told(self, event_id: str | None = None) -> dict[str, Any]:
        """The ``error`` event; ``event_id`` is that of the request."""
        return {
            "type": "error",
            "error": {
                "type": self.kind,
                "code": self.code,
                "message": self.message,
                "param": self.param,
                "event_id": event_id,
            },
        }
