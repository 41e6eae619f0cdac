"""Bodies of requests, from callers who mean harm or have a bad network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from agents.base import clock
from agents.web.bodies import STALL_S, read_body
from agents.web.refusals import BadRequest


class Shape(BaseModel):
    value: object = None


def request(
    pieces: Sequence[bytes], *, pause_s: float = 0.0, ends: bool = True, leaves: bool = False, **headers: str
) -> Request:
    """A request whose body comes in ``pieces``; without ``ends`` there should be more of it."""
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if ends:
        messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Message:
        await asyncio.sleep(pause_s if messages or leaves else 3600)
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    told = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in told.items()]
    return Request({"type": "http", "method": "POST", "headers": raw}, receive)


async def test_a_slow_network_is_waited_for_as_long_as_something_comes() -> None:
    pieces = [b'{"value": ', b"1", b"}"]
    assert (await read_body(request(pieces, pause_s=STALL_S - 1), Shape)).value == 1


async def test_a_body_that_stops_in_the_middle_is_not_waited_for() -> None:
    with pytest.raises(BadRequest) as refusal:
        await read_body(request([b'{"val'], ends=False), Shape)
    assert refusal.value.code == "ERR_BODY_LATE" and clock.now() == STALL_S


async def test_who_leaves_in_the_middle_is_no_bad_request() -> None:
    with pytest.raises(ClientDisconnect):
        await read_body(request([b'{"val'], ends=False, leaves=True), Shape)


@pytest.mark.parametrize("length", ["²", "9" * 5000, "-1", "1e9", "0x10"])
async def test_a_length_that_is_no_number_is_not_believed(length: str) -> None:
    assert (await read_body(request([b'{"value": 1}'], content_length=length), Shape)).value == 1


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b'{"value": ' + b"[" * 100_000,
        b'{"value": ' + b"9" * 100_000 + b"}",
        b'{"value": "\\ud800"}',
        b"[]",
    ],
    ids=range(5),
)
async def test_rubbish_is_a_bad_request_and_quotes_nothing(body: bytes) -> None:
    with pytest.raises(BadRequest) as refusal:
        await read_body(request([body]), Shape)
    assert refusal.value.code == "ERR_BODY" and len(str(refusal.value)) < 200
