"""Events of the Wyoming protocol on a byte stream, with a limit to everything that a peer says of its length.

An event is a line of JSON (``type``, ``data``, ``data_length``, ``payload_length``), followed by so many bytes of more
data and so many of payload. The classes of events and their writing are those of the ``wyoming`` package; its reading
takes whatever length is announced, so reading is done here.
"""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from wyoming.event import Event, write_event

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """What one event may have at most, in bytes: its first ``line``, its further ``data`` and its ``payload``."""

    line: int
    data: int
    payload: int


FROM_SERVICES = Limits(line=4 * 1024 * 1024, data=4 * 1024 * 1024, payload=4 * 1024 * 1024)
"""From services that somebody configured: some list hundreds of voices, older ones within the line."""

FROM_CLIENTS = Limits(line=16 * 1024, data=64 * 1024, payload=1024 * 1024)
"""From whoever connects: text for several minutes of speech, more than a second of any sound."""


class WireFault(Exception):
    """What a peer sent is no event, or one beyond the limits. The stream cannot be read any further."""


class _Header(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: str = Field(min_length=1, max_length=100)
    data: dict[str, Any] | None = None
    data_length: int | None = Field(default=None, ge=0)
    payload_length: int | None = Field(default=None, ge=0)


async def read_event(reader: asyncio.StreamReader, limits: Limits) -> Event | None:
    """The next event; None where the stream ends between two.

    Args:
        reader: made with ``limits.line`` as its limit.
        limits: beyond which a peer is not listened to.

    Raises:
        WireFault: see there.
        OSError: the connection broke, also within an event.
    """
    header = await _header(reader)
    if header is None:
        return None
    data = dict(header.data or {})
    if size := header.data_length:
        data |= _object(await _exactly(reader, size, limits.data, "data"))
    payload = None
    if size := header.payload_length:
        payload = await _exactly(reader, size, limits.payload, "payload")
    return Event(header.type, data, payload)


async def _header(reader: asyncio.StreamReader) -> _Header | None:
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise ConnectionResetError("the stream ended within an event") from None
        return None
    except asyncio.LimitOverrunError:
        raise WireFault("an event's first line is too long") from None
    try:
        return _Header.model_validate(_object(line))
    except ValidationError:
        raise WireFault("a line is not the beginning of an event") from None


async def _exactly(reader: asyncio.StreamReader, size: int, most: int, what: str) -> bytes:
    if size > most:
        raise WireFault(f"an event's {what} is too long ({size} bytes, at most {most})")
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise ConnectionResetError("the stream ended within an event") from None


def _object(text: bytes) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise WireFault("an event is not written in JSON") from None
    if not isinstance(told, dict):
        raise WireFault("an event is not a JSON object")
    return cast("dict[str, Any]", told)


def encoded(event: Event) -> bytes:
    """``event`` as it goes over the wire."""
    out = io.BytesIO()
    write_event(event, out)
    return out.getvalue()


def parsed(kind: type[T], event: Event) -> T:
    """``event`` as one of the package's dataclasses or a model, its fields checked. Raises ``WireFault``."""
    fields: dict[str, Any] = {**event.data, "audio": event.payload or b""}
    try:
        return cast("T", _adapter(kind).validate_python(fields))
    except ValidationError as fault:
        where = ".".join(map(str, fault.errors()[0]["loc"]))
        raise WireFault(f"the event {event.type!r} has no proper {where or 'content'}") from None


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
