"""Bodies of requests: JSON of bounded length in an agreed shape, or a refusal that names the field."""

from __future__ import annotations

import asyncio
import re
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request

from agents.web.refusals import BadRequest

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Longest body that is read: a long conversation with a few pictures in it."""

STALL_S = 30.0
"""Longest time between two pieces of a body."""

B = TypeVar("B", bound=BaseModel)


class Body(BaseModel):
    """Base of the shapes; fields that nobody knows are passed over."""

    model_config = ConfigDict(extra="ignore")


class Nothing(Body):
    """A body without fields."""


async def read_body(request: Request, shape: type[B], max_bytes: int = MAX_BODY_BYTES) -> B:
    """The body of ``request`` as ``shape``.

    Raises:
        BadRequest: ``ERR_BODY`` with the first wrong field, ``ERR_BODY_TYPE``, ``ERR_BODY_TOO_LARGE``,
            ``ERR_BODY_LATE``.
    """
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        # Forms of foreign pages can send anything but this without being asked first.
        raise BadRequest("The body must be JSON (content-type: application/json).", code="ERR_BODY_TYPE")
    content = await _bounded(request, max_bytes)
    try:
        return shape.model_validate_json(content or b"{}")
    except ValidationError as fault:
        # The input stays out of the answer: it may be long, or secret.
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadRequest(f"{field}: {first['msg']}" if field else first["msg"], field) from None


async def _bounded(request: Request, max_bytes: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if re.fullmatch(r"[0-9]{1,18}", declared) and int(declared) > max_bytes:
        raise _too_large(max_bytes)
    content = bytearray()
    chunks = request.stream()
    try:
        while True:
            async with asyncio.timeout(STALL_S):
                content += await anext(chunks)
            if len(content) > max_bytes:
                raise _too_large(max_bytes)
    except StopAsyncIteration:
        return bytes(content)
    except TimeoutError:
        raise BadRequest("The rest of the body did not come.", code="ERR_BODY_LATE") from None


def _too_large(max_bytes: int) -> BadRequest:
    return BadRequest(f"The body is longer than {max_bytes} bytes.", code="ERR_BODY_TOO_LARGE")
