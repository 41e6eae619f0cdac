"""The browser room: one session that outlives its callers, and at most one caller at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.io.base import AudioIO, RoomHealth
from realtime.browser.caller import Caller, Socket
from realtime.browser.commands import Commands
from realtime.browser.protocol import RATE_HZ, Close
from realtime.browser.room import PcmRoom
from realtime.browser.session import BrowserSession, Follower
from realtime.browser.wire import Message, encode, slot_json, timers_mark, timers_message

log = structlog.get_logger(__name__)

LINGER_S = 300.0
"""How long a session waits for its caller to come back."""

GRACE_S = 3.0
"""How long a reply stands still for a caller whose connection broke; afterwards it is cut."""

TIMERS_S = 0.5
"""How often the timers are looked at."""

OpenSession = Callable[[AudioIO], Awaitable[BrowserSession]]


class State(Enum):
    """Where the room is: ``empty`` without a session, ``called`` with a caller, ``waiting`` for one to return."""

    EMPTY = "empty"
    CALLED = "called"
    WAITING = "waiting"
    CLOSED = "closed"


@dataclass(frozen=True)
class _Stay:
    """A session in its room, from the first caller to the last."""

    session: BrowserSession
    room: PcmRoom
    follower: Follower
    scope: Scope


class BrowserRoom:
    """Serves sockets.

    The first caller opens the session. When the connection ends, a reply stands still for ``grace_s`` and is cut then;
    the session ends after ``linger_s`` without a caller. A caller who returns is shown the last turns.

    Args:
        open_session: makes a session in the given room; it is started here unless it is running already.
        assistant_name: how the page calls the agent.
        linger_s: how long a session outlives its caller.
        grace_s: how long a reply waits for a caller whose connection broke.
    """

    def __init__(
        self,
        open_session: OpenSession,
        *,
        assistant_name: str = "Glove",
        linger_s: float = LINGER_S,
        grace_s: float = GRACE_S,
    ) -> None:
        self._open_session = open_session
        self._assistant_name = assistant_name
        self._linger_s = linger_s
        self._grace_s = grace_s
        self._turnstile = asyncio.Lock()
        self._scope = Scope("browser room")
        self._caller: Caller | None = None
        self._stay: _Stay | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[BrowserSession] | None = None
        self._calls = 0
        self._closed = False

    @property
    def state(self) -> State:
        """See ``State``."""
        if self._closed:
            return State.CLOSED
        if self._stay is None:
            return State.EMPTY
        return State.CALLED if self._caller is not None else State.WAITING

    @property
    def health(self) -> RoomHealth:
        """How well the room works; down while nobody is connected."""
        if self._stay is None:
            return RoomHealth("down", "Nobody is connected to the page.")
        return self._stay.room.health

    async def serve(self, socket: Socket) -> None:
        """Serve one connection until it ends. It takes the place of the one before, which is closed with 4000."""
        async with self._turnstile:
            await self._replace()
            try:
                caller = await self._enter(socket)
            except BaseException:
                self._await_another()
                raise
        if caller is None:
            return
        try:
            await caller.run()
        finally:
            self._leave(caller)

    async def hang_up(self, reason: str) -> bool:
        """End the connection of the caller, for whom the session waits. Returns whether there was one."""
        caller = self._caller
        if caller is None:
            return False
        await caller.close(Close.LEFT, reason)
        return True

    async def close(self) -> None:
        """Say goodbye to the caller and end the session; idempotent."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
        async with self._turnstile:
            self._stop_waiting()
            await self._end_stay(Close.GOING_AWAY, "the room is closing")
        await self._scope.close()

    async def _replace(self) -> None:
        self._stop_waiting()
        caller, self._caller = self._caller, None
        if caller is not None:
            if self._stay is not None:
                _part(self._stay, caller)
            await caller.close(Close.REPLACED, "replaced by a new connection")

    async def _enter(self, socket: Socket) -> Caller | None:
        if self._closed:
            await _turn_away(socket, Close.GOING_AWAY, "the room is closed")
            return None
        try:
            stay = await self._ensure_stay()
        except GloveError as fault:
            log.error("the page's session could not be opened", code=fault.code, error=fault.message)
            told = {"t": "error", "code": fault.code, "message": str(fault)}
            await _turn_away(socket, Close.UNAVAILABLE, "the session could not be opened", told)
            return None
        records = await stay.follower.records()
        records.pop("t")
        speaker = stay.room.speaker
        commands = Commands(stay.session, stay.room, self._post)
        caller = Caller(
            socket,
            stay.room.hear,
            commands.take,
            epoch=lambda: speaker.epoch,
            turn=lambda: speaker.generation,
            sent=lambda: speaker.sent,
        )
        self._caller = caller
        self._calls += 1
        stay.room.attach(caller)
        caller.post({**self._ready(stay), **records})
        return caller

    def _leave(self, caller: Caller) -> None:
        if self._caller is not caller:
            return
        self._caller = None
        stay = self._stay
        if stay is not None and not self._closed:
            _part(stay, caller)
            self._await_another()

    def _await_another(self) -> None:
        """Nobody is in the room; a session that waits for somebody ends when nobody comes."""
        if self._stay is not None and self._caller is None and self._waiting is None and not self._closed:
            self._waiting = self._scope.spawn(self._await_return(self._stay), "wait for the caller")

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _await_return(self, stay: _Stay) -> None:
        left_at = clock.now()
        await asyncio.sleep(min(self._grace_s, self._linger_s))
        while clock.now() - left_at < self._linger_s:
            if not stay.room.player.idle:
                stay.session.voice.interrupt()
            await asyncio.sleep(0.5)
        async with self._turnstile:
            if self._caller is None and self._stay is stay:
                self._waiting = None
                await self._end_stay(Close.GOING_AWAY, "nobody came back")

    def _post(self, message: Message) -> None:
        if self._caller is not None:
            self._caller.post(message)

    async def _ensure_stay(self) -> _Stay:
        if self._stay is not None and self._stay.session.voice.is_active:
            return self._stay
        await self._end_stay(Close.GOING_AWAY, "the session is over")
        room = PcmRoom()
        session = await self._opened(room)
        follower = Follower(session, room, self._post)
        try:
            await follower.recall()
        except GloveError as fault:
            log.warning("what was said before cannot be read", code=fault.code, error=fault.message)
        scope = Scope("browser session")
        self._stay = _Stay(session, room, follower, scope)
        room.on_closed = self._session_over
        scope.spawn(self._watch_timers(session), "timers")
        scope.spawn(follower.keep_records(), "records")
        return self._stay

    async def _opened(self, room: PcmRoom) -> BrowserSession:
        """A session that listens in ``room``. Raises ``GloveError`` (``ERR_ROOM_CLOSED``) when the room closes first.

        Models may have to be loaded for it, or fetched: a room that closes does not wait for that.
        """
        self._opening = opening = asyncio.create_task(self._open(room), name="browser room/open the session")
        try:
            await asyncio.wait([opening])
        finally:
            opening.cancel()
            self._opening = None
        if opening.cancelled():
            raise GloveError("ERR_ROOM_CLOSED", "The room was closed meanwhile.", "Join another one.")
        return opening.result()

    async def _open(self, room: PcmRoom) -> BrowserSession:
        try:
            session = await self._open_session(room)
        except BaseException:
            await room.close()
            raise
        try:
            if not session.voice.is_active:
                await session.start()
        except BaseException:
            await session.close()
            raise
        return session

    def _session_over(self) -> None:
        """The session was closed from elsewhere: the caller has to come again for another one."""
        caller, self._caller = self._caller, None
        if caller is not None:
            caller.end(Close.GOING_AWAY, "the session is over")

    async def _end_stay(self, code: Close, reason: str) -> None:
        stay, self._stay = self._stay, None
        caller, self._caller = self._caller, None
        if caller is not None:
            await caller.close(code, reason)
        if stay is None:
            return
        stay.room.on_closed = lambda: None
        stay.follower.close()
        await stay.scope.close()
        await stay.session.close()

    async def _watch_timers(self, session: BrowserSession) -> None:
        """Timers tell when they ring but not when they are set: look."""
        timers = session.mind.timers
        shown, calls = timers_mark(timers), self._calls
        while True:
            await asyncio.sleep(TIMERS_S)
            mark = timers_mark(timers)
            if mark != shown or calls != self._calls:
                self._post(timers_message(timers))
            shown, calls = mark, self._calls

    def _ready(self, stay: _Stay) -> Message:
        session = stay.session
        return {
            "t": "ready",
            "sessionId": f"browser-{id(session):x}",
            "assistantName": self._assistant_name,
            "speakers": [{"id": "user", "displayName": "You", "description": ""}],
            "config": {
                "rate": RATE_HZ,
                "language": session.language,
                "turnMode": session.voice.settings.turn_mode,
            },
            "epoch": stay.room.speaker.epoch,
            "history": stay.follower.transcript.to_json(),
            "earlier": stay.follower.earlier,
            "replay": stay.follower.replay.messages,
            "slots": [slot_json(slot) for slot in session.mind.agent.display.stack],
            "timers": timers_message(session.mind.timers),
            "state": stay.follower.state(),
        }


def _part(stay: _Stay, caller: Caller) -> None:
    """``caller`` is gone, and so is the hand on the talk button, which nobody else could let go of."""
    stay.room.detach(caller)
    stay.session.voice.ptt_cancel()


async def _turn_away(socket: Socket, code: Close, reason: str, told: Message | None = None) -> None:
    try:
        if told is not None:
            await socket.send(encode(told))
        await socket.close(code, reason)
    except OSError as gone:
        log.debug("a caller has gone", error=str(gone))
