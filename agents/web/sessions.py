"""Sessions by id: opened when first asked for, shared by all who ask, closed when nobody has for a while."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, runtime_checkable

import structlog

from agents.base.clock import now
from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.web.refusals import BadRequest

log = structlog.get_logger(__name__)

MAX_ID = 128
IDLE_S = 30 * 60.0
MAX_SESSIONS = 256

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*")
"""No separator of paths, and no double underscore: stores name the records of subagents with it."""


@runtime_checkable
class Closable(Protocol):
    """What a session must be able to do."""

    async def close(self) -> None:
        """Release everything; idempotent."""
        ...


S = TypeVar("S", bound=Closable)


def new_session_id() -> str:
    """A fresh id that cannot be guessed."""
    return f"glove_{uuid.uuid4()}"


def valid_session_id(text: str) -> str:
    """``text`` if it may name a session.

    Raises:
        BadRequest: ``ERR_SESSION_ID``.
    """
    if len(text) > MAX_ID or not _ID.fullmatch(text):
        raise BadRequest(
            f"A session id is 1 to {MAX_ID} letters, digits, - and single _, beginning with a letter or a digit.",
            "session_id",
            "ERR_SESSION_ID",
        )
    return text


@dataclass
class _Entry(Generic[S]):
    """One session, or the place of one that is being opened or closed by whoever holds ``lock``."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: S | None = None
    leases: int = 0
    used_at: float = 0.0


class SessionRegistry(Generic[S]):
    """Opens and closes sessions. Use it from one event loop only.

    Args:
        factory: opens the session of an id; what shall outlive ``idle_s`` belongs in a store on a disk.
        busy: whether a session has work of its own that must not be cut short.
        max_sessions: how many may be open; the one that was not used for the longest time makes room.
        idle_s: how long a session stays open after its last use, in seconds.
    """

    def __init__(
        self,
        factory: Callable[[str], S | Awaitable[S]],
        *,
        busy: Callable[[S], bool] = lambda _: False,
        max_sessions: int = MAX_SESSIONS,
        idle_s: float = IDLE_S,
    ) -> None:
        self._factory = factory
        self._busy = busy
        self._max_sessions = max_sessions
        self._idle_s = idle_s
        self._entries: dict[str, _Entry[S]] = {}
        self._scope: Scope | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._entries

    @contextlib.asynccontextmanager
    async def lease(self, session_id: str) -> AsyncGenerator[S]:
        """The session of ``session_id``; it stays open for as long as the lease.

        Raises:
            BadRequest: ``ERR_SESSION_ID``.
            GloveError: ``ERR_SESSIONS_FULL``, all sessions are in use; and whatever opening one raises.
        """
        entry = await self._entry(valid_session_id(session_id))
        entry.leases += 1
        try:
            async with entry.lock:
                if entry.session is None:
                    made = self._factory(session_id)
                    entry.session = await made if inspect.isawaitable(made) else made
                session = entry.session
            self._watch()
            yield session
        finally:
            entry.leases -= 1
            entry.used_at = now()
            # Whoever holds the lock is closing the session; until then its place must not be taken by another one.
            if entry.session is None and not entry.leases and not entry.lock.locked():
                self._entries.pop(session_id, None)

    async def close(self) -> None:
        """Close all sessions, whoever uses them; idempotent. None is opened afterwards."""
        self._closed = True
        if self._scope is not None:
            await self._scope.close()
        for session_id in list(self._entries):
            await self._close(session_id)

    async def _entry(self, session_id: str) -> _Entry[S]:
        while session_id not in self._entries and len(self._entries) >= self._max_sessions and not self._closed:
            free = sorted((entry.used_at, one) for one, entry in self._entries.items() if self._free(entry))
            if not free:
                break
            await self._close(free[0][1])
        if self._closed or (session_id not in self._entries and len(self._entries) >= self._max_sessions):
            raise GloveError("ERR_SESSIONS_FULL", "The server can take no further session now.", "Try again later.")
        return self._entries.setdefault(session_id, _Entry())

    def _free(self, entry: _Entry[S]) -> bool:
        return not entry.leases and entry.session is not None and not self._busy(entry.session)

    async def _close(self, session_id: str) -> None:
        entry = self._entries[session_id]
        async with entry.lock:
            session, entry.session = entry.session, None
            if session is not None:
                try:
                    await session.close()
                except Exception:
                    log.exception("a session could not be closed", session_id=session_id)
            if not entry.leases:
                self._entries.pop(session_id, None)

    def _watch(self) -> None:
        if self._scope is None and not self._closed:
            self._scope = Scope("web sessions")
            self._scope.spawn(self._close_idle(), "idle")

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(self._idle_s / 4)
            for session_id, entry in list(self._entries.items()):
                if self._free(entry) and now() - entry.used_at >= self._idle_s:
                    log.info("an idle session was closed", session_id=session_id)
                    await self._close(session_id)
