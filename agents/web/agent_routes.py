"""Agents on the server over HTTP: a turn per POST, streams to follow, questions to answer, and the record to read."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agents.core.glove import Glove
from agents.core.messages import ContentPart, Source
from agents.core.store import StoreAdapter
from agents.web.bodies import MAX_BODY_BYTES, Body, Nothing, read_body
from agents.web.gate import Authorise, Endpoint, Gate
from agents.web.readers import MAX_READERS, WAITING_EVENTS, Readers
from agents.web.refusals import BadRequest, done, reply
from agents.web.relay import AgentSession
from agents.web.sessions import IDLE_S, MAX_SESSIONS, SessionRegistry
from agents.web.sse import HEARTBEAT_S, EventStream
from agents.web.store_routes import reading_routes
from agents.web.wire import Event

AgentSessions = SessionRegistry[AgentSession]
OpenAgent = Callable[[str], Glove | Awaitable[Glove]]
"""Makes and builds the agent of a session id. What it keeps longer than a session stays open is its store's matter."""


class Image(Body):
    """A picture beside the words; ``data`` is base64."""

    data: str = Field(min_length=1)
    media_type: str = Field(pattern=r"^image/[a-z0-9.+-]+$")

    def part(self) -> ContentPart:
        """As a part of a message."""
        return ContentPart(type="image", source=Source(type="base64", media_type=self.media_type, data=self.data))


class Said(Body):
    """What the user says."""

    message: str = ""
    images: list[Image] = Field(default_factory=list[Image])
    language: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")

    def request(self) -> str | list[ContentPart]:
        """As ``Glove.process_request`` takes it: pictures first.

        Raises:
            BadRequest: nothing was said.
        """
        if not self.message.strip() and not self.images:
            raise BadRequest("message: There is nothing to answer.", "message")
        if not self.images:
            return self.message
        words = [ContentPart(type="text", text=self.message)] if self.message.strip() else []
        return [*(image.part() for image in self.images), *words]


class Value(Body):
    """An answer to a question."""

    value: object = None


class Reason(Body):
    """Why a question is refused."""

    reason: str | None = Field(default=None, max_length=1000)


def agent_sessions(
    open_agent: OpenAgent,
    *,
    keep_running: bool = False,
    max_sessions: int = MAX_SESSIONS,
    idle_s: float = IDLE_S,
    max_readers: int = MAX_READERS,
    waiting_events: int = WAITING_EVENTS,
) -> AgentSessions:
    """Sessions for ``agent_routes``; close them when the server ends.

    Args:
        open_agent: makes the agent of a session.
        keep_running: whether a turn goes on when the one who asked for it leaves.
        max_sessions: how many may be open at once.
        idle_s: seconds after its last use that a session is closed.
        max_readers: how many may follow one session.
        waiting_events: how many events may wait for one of them.
    """

    async def opened(session_id: str) -> AgentSession:
        made = open_agent(session_id)
        glove = await made if inspect.isawaitable(made) else made
        readers = Readers(max_readers, waiting_events)
        return AgentSession(session_id, glove, keep_running=keep_running, readers=readers)

    return SessionRegistry(opened, busy=lambda session: session.busy, max_sessions=max_sessions, idle_s=idle_s)


def agent_routes(
    sessions: AgentSessions,
    prefix: str,
    authorise: Authorise,
    *,
    max_body_bytes: int = MAX_BODY_BYTES,
    heartbeat_s: float = HEARTBEAT_S,
) -> list[BaseRoute]:
    """All routes of agents under ``prefix``, which ends in ``{session_id}``; docs/web.md lists them.

    Args:
        sessions: the agents.
        prefix: where the routes are.
        authorise: who may ask.
        max_body_bytes: longest request.
        heartbeat_s: silence in a stream that a comment ends, in seconds.
    """
    endpoints = _Endpoints(sessions, max_body_bytes, heartbeat_s)

    @contextlib.asynccontextmanager
    async def open_store(session_id: str) -> AsyncGenerator[StoreAdapter]:
        async with sessions.lease(session_id) as session:
            yield session.store

    addresses: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        ("GET", prefix, endpoints.state),
        ("POST", f"{prefix}/chat", endpoints.chat),
        ("GET", f"{prefix}/events", endpoints.events),
        ("POST", f"{prefix}/abort", endpoints.abort),
        ("POST", f"{prefix}/slots/{{slot_id}}/resolve", endpoints.resolve),
        ("POST", f"{prefix}/slots/{{slot_id}}/reject", endpoints.reject),
    ]
    return [
        *(
            Route(path, Gate(Endpoint(handler, method), authorise), methods=[method])
            for method, path, handler in addresses
        ),
        *reading_routes(open_store, prefix, authorise),
    ]


class _Endpoints:
    """What is behind each address."""

    def __init__(self, sessions: AgentSessions, max_body_bytes: int, heartbeat_s: float) -> None:
        self._sessions = sessions
        self._max_body_bytes = max_body_bytes
        self._heartbeat_s = heartbeat_s

    def _lease(self, request: Request) -> contextlib.AbstractAsyncContextManager[AgentSession]:
        return self._sessions.lease(request.path_params["session_id"])

    def _stream(self, events: AsyncGenerator[Event]) -> Response:
        return EventStream(events, heartbeat_s=self._heartbeat_s)

    async def state(self, request: Request) -> Response:
        """What somebody who comes new must know."""
        async with self._lease(request) as session:
            told = session.state()
            return reply({"sessionId": told.pop("session_id"), "supports": sorted(session.store.supports), **told})

    async def chat(self, request: Request) -> Response:
        """Run a turn."""
        said = await read_body(request, Said, self._max_body_bytes)
        asked = said.request()

        async def events() -> AsyncGenerator[Event]:
            async with (
                self._lease(request) as session,
                contextlib.aclosing(session.chat(asked, language=said.language)) as told,
            ):
                async for event in told:
                    yield event

        return self._stream(events())

    async def events(self, request: Request) -> Response:
        """Follow a session."""

        async def events() -> AsyncGenerator[Event]:
            async with self._lease(request) as session, contextlib.aclosing(session.follow()) as told:
                async for event in told:
                    yield event

        return self._stream(events())

    async def abort(self, request: Request) -> Response:
        """Stop what runs."""
        await read_body(request, Nothing, self._max_body_bytes)
        async with self._lease(request) as session:
            return reply({"aborted": session.abort()})

    async def resolve(self, request: Request) -> Response:
        """Answer a question or close a card."""
        answer = await read_body(request, Value, self._max_body_bytes)
        async with self._lease(request) as session:
            session.resolve_slot(request.path_params["slot_id"], answer.value)
            return done()

    async def reject(self, request: Request) -> Response:
        """Refuse a question."""
        refused = await read_body(request, Reason, self._max_body_bytes)
        async with self._lease(request) as session:
            session.reject_slot(request.path_params["slot_id"], refused.reason)
            return done()
