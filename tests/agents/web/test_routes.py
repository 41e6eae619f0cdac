"""A whole chat server: who may ask, what is where, and how it ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.applications import Starlette

from agents.base.errors import ConfigError
from agents.core.glove import Glove
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from agents.web import routes
from agents.web.access import Access
from agents.web.routes import web_routes
from tests.agents.web.house import CHAT, EVENTS, TOKEN, House
from tests.agents.web.peer import ask, call


async def test_without_the_token_there_is_nothing() -> None:
    house = House()
    for method, path, body in [
        ("POST", "/api/sessions", {}), ("POST", CHAT, {"message": "hi"}), ("GET", EVENTS, None),
        ("POST", "/api/sessions/s-1/abort", {}), ("GET", "/api/sessions/s-1/messages", None),
        ("POST", "/api/sessions/s-1/slots/slot_1/resolve", {}),
    ]:  # fmt: skip
        status, answer = await ask(house.app, method, path, body)
        assert (status, answer["code"]) == (401, "ERR_UNAUTHORISED")
    assert not house.gloves


async def test_whose_session_it_is_can_be_asked() -> None:
    def mine(connection: Any) -> bool:
        return connection.path_params.get("session_id", "").startswith(f"{connection.headers['user']}-")

    app = Starlette(routes=web_routes(mine, agent=lambda _: Glove(model=ScriptedModel()).build()))
    assert (await ask(app, "GET", "/api/sessions/ann-1/messages", user="ann"))[0] == 200
    assert (await ask(app, "GET", "/api/sessions/ann-1/messages", user="bob"))[0] == 401
    status, answer = await ask(app, "GET", "/api/sessions/ann-1/messages")
    assert (status, answer["code"]) == (500, "ERR_INTERNAL"), "authorisation that breaks refuses"


async def test_a_session_is_made_up_for_one_who_has_none() -> None:
    house = House()
    status, made = await house.ask("POST", "/api/sessions", {})
    assert status == 201 and re.fullmatch(r"glove_[0-9a-f-]{36}", made["sessionId"])


async def test_the_server_of_the_docstring_answers() -> None:
    source = (routes.__doc__ or "").partition("::\n")[2]
    code = "\n".join(line.removeprefix("    ") for line in source.splitlines())
    assert len([line for line in code.splitlines() if line.strip()]) <= 11
    names: dict[str, Any] = {}
    exec(code, names)
    async with call(names["app"], "POST", CHAT, {"message": "hi"}, token=names["token"]) as made:
        assert (await made.all())[-1]["message"]["text"] == "Hello."


async def test_sessions_are_closed_when_the_server_ends() -> None:
    def opened(session_id: str) -> Glove:
        return Glove(model=ScriptedModel(["Hello."]), store=stores.setdefault(session_id, Kept(session_id))).build()

    stores: dict[str, Kept] = {}
    parts = web_routes(Access(TOKEN).allows, agent=opened)
    app = Starlette(routes=parts, lifespan=parts.lifespan)
    async with app.router.lifespan_context(app):
        assert (await ask(app, "GET", "/api/sessions/s-1", token=TOKEN))[0] == 200
        assert not stores["s-1"].closed
    assert stores["s-1"].closed
    assert (await ask(app, "GET", "/api/sessions/s-1", token=TOKEN))[0] == 503


class Kept(MemoryStore):
    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_the_clients_modules_are_served_to_everybody() -> None:
    house = House()
    async with call(house.app, "GET", "/glove-client/glove-client.js") as made:
        assert (await made.piece() or b"").strip()
        assert made.headers["content-type"].startswith("text/javascript")
    for path in ("/glove-client/../routes.py", "/glove-client/missing.js", "/glove-client/%2e%2e/routes.py"):
        async with call(house.app, "GET", path) as made:
            await made.task
            assert made.status == 404


def test_an_agent_and_a_store_cannot_share_addresses() -> None:
    with pytest.raises(ConfigError):
        web_routes(Access(TOKEN).allows, agent=lambda _: Glove(model=ScriptedModel()), store=MemoryStore)
