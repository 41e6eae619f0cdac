"""Everything for a chat server as Starlette routes.

A whole server::

    from starlette.applications import Starlette

    from agents.core.glove import Glove
    from agents.models.scripted import ScriptedModel
    from agents.web.access import Access, new_token
    from agents.web.routes import web_routes

    def open_agent(session_id: str) -> Glove:
        return Glove(model=ScriptedModel(lambda request: "Hello."), system_prompt="Be brief.").build()

    token = new_token()
    routes = web_routes(Access(token).allows, agent=open_agent)
    app = Starlette(routes=routes, lifespan=routes.lifespan)
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from agents.base.errors import ConfigError
from agents.core.store import StoreAdapter
from agents.web.agent_routes import AgentSessions, OpenAgent, agent_routes, agent_sessions
from agents.web.assets import asset_routes
from agents.web.gate import Authorise, Endpoint, Gate
from agents.web.refusals import reply
from agents.web.sessions import Closable, SessionRegistry, new_session_id
from agents.web.store_routes import store_routes

StoreSessions = SessionRegistry[StoreAdapter]


class WebRoutes(list[BaseRoute]):
    """Routes, and what they keep open.

    Args:
        routes: the routes.
        kept: what is closed with them.
    """

    def __init__(self, routes: Iterable[BaseRoute], kept: Iterable[Closable]) -> None:
        super().__init__(routes)
        self._kept = tuple(kept)

    async def close(self) -> None:
        """Close all sessions, and the connections of the model proxy; idempotent."""
        for one in self._kept:
            await one.close()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: object) -> AsyncGenerator[None]:
        """Closes everything when the server ends: ``Starlette(routes=routes, lifespan=routes.lifespan)``."""
        try:
            yield
        finally:
            await self.close()


def web_routes(
    authorise: Authorise,
    *,
    agent: OpenAgent | AgentSessions | None = None,
    store: Callable[[str], StoreAdapter | Awaitable[StoreAdapter]] | StoreSessions | None = None,
    chat: ASGIApp | None = None,
    tokens: Mapping[str, ASGIApp] | None = None,
    prefix: str = "/api",
    client_path: str = "/glove-client",
) -> WebRoutes:
    """Routes for the given parts; docs/web.md describes them.

    Their ``lifespan`` closes the sessions when the server ends. A server that ends waits for those who follow a
    session: give it a limit (uvicorn: ``timeout_graceful_shutdown``).

    Args:
        authorise: who may ask for anything but the client's modules; ``Access(token).allows`` is one.
        agent: agents on the server, by session id.
        store: records for agents in browsers, by session id.
        chat: a model proxy for agents in browsers, from ``create_chat_handler``.
        tokens: endpoints from ``create_voice_token_handler``, by the name in their address.
        prefix: where everything is.
        client_path: where the modules of ``glove-client.js`` are; empty for nowhere.

    Raises:
        ConfigError: ``ERR_WEB_ROUTES``, both ``agent`` and ``store`` were given: they use the same addresses.
    """
    if agent is not None and store is not None:
        raise ConfigError(
            "ERR_WEB_ROUTES",
            "Agents on the server keep their own records; a store for others uses the same addresses.",
            "Call web_routes twice, with different prefixes.",
        )
    session = f"{prefix}/sessions/{{session_id}}"
    routes: list[BaseRoute] = []
    kept = _closable(chat)
    if chat is not None:
        routes.append(Route(f"{prefix}/chat", Gate(chat, authorise), methods=["POST"]))
    if agent is not None or store is not None:
        routes.append(Route(f"{prefix}/sessions", Gate(Endpoint(_new_session, "POST"), authorise), methods=["POST"]))
    if agent is not None:
        sessions = agent if isinstance(agent, SessionRegistry) else agent_sessions(agent)
        routes += agent_routes(sessions, session, authorise)
        kept.append(sessions)
    if store is not None:
        stores = store if isinstance(store, SessionRegistry) else SessionRegistry(store)
        routes += store_routes(_opener(stores), session, authorise)
        kept.append(stores)
    for name, endpoint in (tokens or {}).items():
        routes.append(Route(f"{prefix}/tokens/{name}", Gate(endpoint, authorise), methods=["GET"]))
    return WebRoutes([*routes, *(asset_routes(client_path) if client_path else ())], kept)


def _closable(*parts: object) -> list[Closable]:
    return [part for part in parts if isinstance(part, Closable)]


async def _new_session(_: Request) -> Response:
    return reply({"sessionId": new_session_id()}, 201)


def _opener(stores: StoreSessions) -> Callable[[str], contextlib.AbstractAsyncContextManager[StoreAdapter]]:
    @contextlib.asynccontextmanager
    async def opened(session_id: str) -> AsyncGenerator[StoreAdapter]:
        async with stores.lease(session_id) as store:
            yield store

    return opened
