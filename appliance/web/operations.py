"""The control API as a table: each operation is declared once; its route and its description come from that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agents.base.errors import GloveError
from agents.web.bodies import read_body
from agents.web.gate import Authorise, Endpoint, Gate
from agents.web.refusals import done, refusal, reply
from appliance.commands.version import installed_version

MOST_BYTES = 4096
"""Longest body of the control API, unless an operation says otherwise."""

SCHEMAS = "#/components/schemas/{model}"
_PARAMETER = {
    "room_id": "Id of a room, as GET /api/rooms tells it.",
    "device_id": "Id of a paired device, as GET /api/devices tells it.",
}

STATUS = {
    "ERR_ROOM_UNKNOWN": 404,
    "ERR_DEVICE_UNKNOWN": 404,
    "ERR_ROOM_KEPT": 409,
    "ERR_ROOM_NO_DOOR": 409,
    "ERR_ROOMS_FULL": 429,
    "ERR_DEVICES_FULL": 429,
    "ERR_PAIR_TOKEN": 403,
    "ERR_PAIR_USED": 403,
    "ERR_PAIR_EXPIRED": 403,
    "ERR_LAN_OFF": 409,
    "ERR_LAN_ADDRESS": 409,
    "ERR_PAGE_PORT": 409,
    "ERR_WEBRTC_OFFER": 400,
    "ERR_WEBRTC_BUSY": 429,
    "ERR_WEBRTC_LIBRARY": 501,
    "ERR_OPUS": 501,
}
"""Statuses of the control API's own faults, beside those of ``agents.web.refusals``."""


class Told(BaseModel):
    """Base of what is told and asked for; unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid")


class Refusal(Told):
    """Why nothing was done."""

    error: str
    code: str
    remedy: str = ""
    field: str = ""


Act = Callable[[Request, Any], Awaitable[BaseModel | Response | None]]
"""Does what is asked for, with the body in its shape (None without one), and returns what is told."""


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
        method: of HTTP.
        path: with names in braces.
        name: identifies it in the description.
        summary: one sentence.
        act: does it.
        body: shape of the body; None for none.
        told: shape of the answer; None for 204.
        status: of success.
        refusals: statuses beside 401, 403 and 429 that refusals may have.
        open: whether it is for anybody who reaches the server.
        most_bytes: longest body.
    """

    method: str
    path: str
    name: str
    summary: str
    act: Act
    body: type[BaseModel] | None = None
    told: type[BaseModel] | None = None
    status: int = 200
    refusals: tuple[int, ...] = field(default=())
    open: bool = False
    most_bytes: int = MOST_BYTES


def routes(operations: Sequence[Operation], authorise: Authorise) -> list[BaseRoute]:
    """A route for each path, which answers 405 to methods that it does not take."""
    paths: dict[str, list[Operation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, []).append(operation)
    return [_Path(path, each, authorise).route for path, each in paths.items()]


class _Path:
    def __init__(self, path: str, operations: Sequence[Operation], authorise: Authorise) -> None:
        self._by_method = {operation.method: operation for operation in operations}
        endpoint = Endpoint(self._answer, *self._by_method)
        everybody = all(operation.open for operation in operations)
        self.route = Route(path, endpoint if everybody else Gate(endpoint, authorise))

    async def _answer(self, request: Request) -> Response:
        operation = self._by_method[request.method]
        try:
            shape = operation.body
            body = None if shape is None else await read_body(request, shape, operation.most_bytes)
            told = await operation.act(request, body)
        except GloveError as fault:
            return refused(fault)
        if isinstance(told, Response):
            return told
        return done() if told is None else reply(told.model_dump(mode="json"), operation.status)


def refused(fault: GloveError) -> Response:
    """``fault`` as a response, see ``STATUS``."""
    response = refusal(fault, STATUS.get(fault.code))
    if response.status_code == 429:
        response.headers["retry-after"] = "10"
    return response


def description(operations: Sequence[Operation]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of ``operations``."""
    models = [Refusal, *{shape: None for each in operations for shape in (each.body, each.told) if shape is not None}]
    _, schemas = models_json_schema([(model, "validation") for model in models], ref_template=SCHEMAS)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Glove", "version": installed_version()},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "glove_room"},
            },
        },
        "security": [{"token": []}, {"cookie": []}],
    }


def _described(operation: Operation) -> dict[str, Any]:
    statuses = {403, 429, *operation.refusals, *(() if operation.open else (401,))}
    if operation.body is not None:
        statuses |= {400, 408, 413, 415}
    told: dict[str, Any] = {"description": "Done."}
    if operation.told is not None:
        told["content"] = _json(operation.told)
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {
            str(operation.status if operation.told is not None else 204): told,
            **{str(status): {"description": "Refused.", "content": _json(Refusal)} for status in sorted(statuses)},
        },
    }
    if names := [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]:
        described["parameters"] = [_parameter(name) for name in names]
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _json(operation.body)}
    if operation.open:
        described["security"] = []
    return described


def _parameter(name: str) -> Mapping[str, Any]:
    shape = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": _PARAMETER[name], "schema": shape}


def _json(shape: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": SCHEMAS.format(model=shape.__name__)}}}
