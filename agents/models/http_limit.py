"""A limit to what is read of one HTTP response, for SDKs on httpx: a line without an end would fill the memory."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from typing import Any

from agents.models.sdk_model import MAX_REPLY_BYTES


class TooMuch(ValueError):
    """A response is longer than any reply."""


def limited(limit: int = MAX_REPLY_BYTES) -> dict[str, list[Any]]:
    """Event hooks for a client of httpx, or of a library in its image: no response goes beyond ``limit`` bytes."""

    async def limit_response(response: Any) -> None:
        library = importlib.import_module(type(response).__module__.partition(".")[0])
        # The library insists on a stream of its own kind, and which library it is depends on the SDK.
        kind = type("LimitedStream", (_Limited, library.AsyncByteStream), {})
        response.stream = kind(response.stream, limit)

    return {"response": [limit_response]}


class _Limited:
    """A byte stream that breaks off after ``limit`` bytes."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooMuch("the response does not end")
            yield chunk

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()
