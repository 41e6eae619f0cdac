"""The registry of rooms: which sessions live, which was used last, and speaking first through them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from unicodedata import category

import structlog

from agents.base.backoff import Backoff
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.base.scope import Scope
from appliance.session.build import Session
from audio.events import AgentSpeechStopped, UserTurn, VoiceEvent

log = structlog.get_logger(__name__)

DEVICE = "device"
"""Name of the room that this machine itself is."""

MOST_NOTICES = 50
LONGEST_NOTICE = 2000
MOST_ATTEMPTS = 3


@dataclass
class Living:
    """A session that lives. ``off`` undoes what listens to it."""

    name: str
    session: Session
    off: Callable[[], object]


@dataclass
class Notice:
    """A text that somebody outside wants spoken."""

    text: str
    urgent: bool = False
    attempts: int = field(default=0)


class Rooms:
    """Knows the sessions that live; as an ``Announcer`` it speaks in the room last used, else on the device.

    Args:
        on_event: called with the name of a room and each event there.

    Attributes:
        events: passes on the ``UserTurn`` of every room.
    """

    def __init__(self, on_event: Callable[[str, VoiceEvent], None] | None = None) -> None:
        self.events = Emitter()
        self._on_event = on_event
        self._living: list[Living] = []
        self._changed = asyncio.Event()
        self._notices: asyncio.Queue[Notice] = asyncio.Queue(MOST_NOTICES)
        self._next: Notice | None = None
        self._scope = Scope("rooms")

    def start(self) -> None:
        """Begin to speak notices."""
        self._scope.supervise(self._speak_notices, "notices", Backoff())

    async def close(self) -> None:
        """Speak no more; the sessions belong to others, and notices that still wait are lost. Idempotent."""
        if self.waiting and not self._scope.closed:
            log.warning("messages were not spoken", count=self.waiting)
        await self._scope.close()

    @property
    def living(self) -> tuple[Living, ...]:
        """The sessions that live, the one used last at the end."""
        return tuple(self._living)

    @property
    def waiting(self) -> int:
        """Notices that were not spoken yet."""
        return self._notices.qsize() + (self._next is not None)

    def enter(self, name: str, session: Session) -> None:
        """A session is there; it leaves by itself when it is closed."""
        session.on_close = lambda: self.leave(session)
        off = [session.voice.events.on(UserTurn, lambda turn: self._heard(session, turn))]
        if (on_event := self._on_event) is not None:
            off.append(session.voice.events.on(VoiceEvent, lambda event: on_event(name, event)))
        entry = Living(name, session, lambda: [undo() for undo in off])
        # The device is what remains when nothing was used; anything else was opened by somebody just now.
        self._living.insert(0 if name == DEVICE else len(self._living), entry)
        self._changed.set()

    def leave(self, session: Session) -> None:
        """A session ends; unknown ones are ignored."""
        for entry in [entry for entry in self._living if entry.session is session]:
            entry.off()
            self._living.remove(entry)

    def find(self, name: str) -> Session | None:
        """The session of the room ``name`` that was used last."""
        return next((entry.session for entry in reversed(self._living) if entry.name == name), None)

    def current(self) -> Session | None:
        """The session to speak in: the one last used that can be heard, or None."""
        return next((entry.session for entry in reversed(self._living) if can_be_heard(entry.session)), None)

    async def announce(self, text: str, *, urgent: bool = False, wanted: Callable[[], bool] = lambda: True) -> None:
        """Speak ``text`` in the current room, as soon as there is one and nobody is busy, if it is still ``wanted``.

        Raises:
            GloveError: the voice failed.
        """
        session = await self._somewhere()
        await session.voice.announce(text, urgent=urgent, wanted=wanted)

    def notify(self, text: str, *, urgent: bool = False) -> bool:
        """Have ``text`` spoken at a polite moment (``urgent``: very soon), and kept in that conversation.

        Returns whether there is a room to speak in now; otherwise it waits for one.

        Raises:
            GloveError: ``ERR_NOTICES_FULL``.
        """
        try:
            self._notices.put_nowait(Notice(speakable(text), urgent))
        except asyncio.QueueFull as fault:
            raise GloveError(
                "ERR_NOTICES_FULL", f"{MOST_NOTICES} messages wait to be spoken already.", "Try again later.", fault
            ) from fault
        return self.current() is not None

    async def _somewhere(self) -> Session:
        while (session := self.current()) is None:
            self._changed.clear()
            try:
                async with asyncio.timeout(1.0):  # a room may also become audible again without anybody entering
                    await self._changed.wait()
            except TimeoutError:
                continue
        return session

    async def _speak_notices(self) -> None:
        while True:
            self._next = notice = await self._notices.get()
            while not await self._spoken(notice):
                if notice.attempts >= MOST_ATTEMPTS:
                    log.error("a message could not be spoken", attempts=notice.attempts)
                    break
                await asyncio.sleep(2.0)
            self._next = None

    async def _spoken(self, notice: Notice) -> bool:
        session = await self._somewhere()
        heard: list[str] = []
        off = session.voice.events.on(AgentSpeechStopped, lambda event: heard.append(event.heard))
        try:
            await session.voice.announce(notice.text, urgent=notice.urgent)
        except GloveError as fault:
            log.warning("a message was not spoken", code=fault.code, error=fault.message)
        finally:
            off()
        notice.attempts += 1
        # A reply that was still going on ends meanwhile too: only the message's own words count.
        said = next((text for text in reversed(heard) if text.strip() and notice.text.startswith(text.strip())), "")
        if not said:
            return False
        try:
            await session.agent.record(said)
        except GloveError as fault:
            log.error("what was said could not be kept", code=fault.code, error=fault.message)
        return True

    def _heard(self, session: Session, turn: UserTurn) -> None:
        for entry in [entry for entry in self._living if entry.session is session]:
            self._living.remove(entry)
            self._living.append(entry)
        self.events.emit(turn)


def speakable(text: str) -> str:
    """``text`` without what is no text: control characters, and halves of characters that no file could keep."""
    return " ".join("".join(" " if category(each) in ("Cc", "Cs") else each for each in text).split())


def can_be_heard(session: Session) -> bool:
    """Whether somebody could hear what is said in the room of ``session``."""
    health = session.room.health
    return session.voice.is_active and health.state != "down" and health.values.get("speaker", 1.0) > 0
