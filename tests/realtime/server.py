"""The page's server with a scripted agent behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import connect

from agents.core.model import ModelAdapter
from agents.core.tool import Tool
from appliance.web.api import ApiServer, make_app, serve
from appliance.web.auth import new_token
from tests.realtime.peer import House


class Place:
    """A running server with its token."""

    def __init__(self, server: ApiServer, token: str, house: House) -> None:
        self.server = server
        self.house = house
        self.token = token
        self.http = f"http://127.0.0.1:{server.port}"
        self.ws = f"ws://127.0.0.1:{server.port}/room"

    def call(self, **headers: str) -> connect:
        return connect(self.ws, additional_headers={"Authorization": f"Bearer {self.token}", **headers}, max_size=None)


@asynccontextmanager
async def place(
    *replies: str, tools: tuple[Tool[Any], ...] = (), model: ModelAdapter | None = None, **options: Any
) -> AsyncIterator[Place]:
    house, token = House(list(replies), tools=tools, model=model), new_token()
    server = await serve(make_app(house.open, token, **options), port=0)
    try:
        yield Place(server, token, house)
    finally:
        await server.close()
