"""A conversation with a realtime provider that outlives its sessions.

Providers end sessions after minutes. The link replaces them in time, at a moment when nothing is heard, said or done,
recovers those that end of themselves, and says when it cannot. What the user says meanwhile is held and heard later.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import replace
from typing import Protocol

import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.pcm import Pcm
from realtime.link_plan import RotationPlan
from realtime.link_state import MOVES, STANDS, LinkMoved, LinkSettings, LinkState, SessionReplaced
from realtime.s2s.contract import S2SAdapter, S2SError, SessionConfig
from realtime.s2s.events import (
    Connected,
    Disconnected,
    ResponseStarted,
    S2SEvent,
    SessionExpiring,
    ToolCall,
    UserSpeechStarted,
    UserTranscript,
)

log = structlog.get_logger(__name__)

LOOK_S = 0.05
"""How often it is looked whether the moment for a replacement has come."""


RECENT_S = 1.0
"""How much from before the user was noticed is heard again where a session ended in the middle of what they said."""


MOST_WORDS = 32
"""Messages that may wait for a session."""


class LinkHost(Protocol):
    """Whose conversation it is."""

    async def config(self) -> SessionConfig:
        """What the next session begins with, the conversation so far included."""
        ...

    def idle(self) -> bool:
        """Whether nothing is being heard, said or done."""
        ...


class HeldSound:
    """Sound of the user that may have to be heard (again), the newest ``limit`` samples of it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._pieces: deque[Pcm] = deque()
        self.samples = 0
        self.dropped = 0

    def add(self, pcm: Pcm) -> None:
        """Keep ``pcm``; the oldest goes where there is too much."""
        self._pieces.append(pcm)
        self.samples += pcm.size
        while self.samples > self.limit and len(self._pieces) > 1:
            gone = self._pieces.popleft()
            self.samples -= gone.size
            self.dropped += gone.size

    def take(self) -> list[Pcm]:
        """All of it, oldest first; nothing is left."""
        pieces = list(self._pieces)
        self._pieces.clear()
        self.samples = 0
        return pieces


class SessionLink:
    """One session after the other.

    Args:
        first: the first session, not connected.
        host: whose conversation it is.
        settings: of the link.

    Attributes:
        events: passes on the events of the session in force, and emits ``LinkMoved`` and ``SessionReplaced``.
        adapter: the session in force.
        rotations: planned replacements so far.
        recoveries: unplanned ones.
    """

    def __init__(self, first: S2SAdapter, host: LinkHost, settings: LinkSettings | None = None) -> None:
        self.events = Emitter()
        self.adapter = first
        self.state = LinkState.DOWN
        self.rotations = 0
        self.recoveries = 0
        self._host = host
        self._settings = settings or LinkSettings()
        self._scope = Scope("realtime link")
        self._backoff = Backoff(
            first_s=0.25, cap_s=4.0, budget=self._settings.attempts, recover_s=self._settings.recover_s
        )
        self._rate_hz = first.input_format.rate_hz
        self._held = HeldSound(self._samples(self._settings.held_s))
        self._recent = HeldSound(self._samples(RECENT_S))
        self._plan = RotationPlan(None, self._settings)
        self._stir = asyncio.Event()
        self._in_turn = False
        self._busy_since_rotating = False
        self._healthy_since = self._gone_at = 0.0
        self._ended: GloveError | None = None
        self._turn_ended = False
        self._renewing = False
        self._words: deque[tuple[str, bool]] = deque(maxlen=MOST_WORDS)
        self._lines: deque[str] = deque(maxlen=MOST_WORDS)
        self._off = lambda: None

    @property
    def stands(self) -> bool:
        """Whether a session hears the user at this moment."""
        return self.state in STANDS and self.adapter.is_connected

    @property
    def dropped_samples(self) -> int:
        """Sound of the user that no session ever heard, in samples."""
        return self._held.dropped + self.adapter.dropped_samples

    async def start(self) -> None:
        """Open the first session.

        Raises:
            S2SError: it did not come about; ``start`` may be called again.
            RuntimeError: started or closed already.
        """
        if self.state is not LinkState.DOWN:
            raise RuntimeError("a link is started once")
        self._move(LinkState.OPENING)
        try:
            config = await self._host.config()
            self._still_wanted()
            connected = await self._open(self.adapter, config)
        except BaseException:
            if not self._closed:
                self.adapter = self.adapter.successor()
                self._held.take()
                self._move(LinkState.DOWN)
            raise
        self._adopt(self.adapter, connected, LinkState.LIVE)
        self._scope.spawn(self._keep(), "keep")

    def start_lost(self, fault: GloveError) -> None:
        """The first session cannot be opened now: go on trying, as after any other loss."""
        self._move(LinkState.OPENING)
        self._move(LinkState.LOST, fault)
        self._scope.spawn(self._keep(), "keep")

    async def close(self) -> None:
        """End the session; idempotent."""
        if self.state is not LinkState.CLOSED:
            self._move(LinkState.CLOSED)
        await self._scope.close()
        self._off()
        await self.adapter.disconnect()

    def send_audio(self, pcm: Pcm) -> None:
        """Sound of the user in the adapter's ``input_format``; held while no session can hear it."""
        if self.state in (LinkState.DOWN, LinkState.LOST, LinkState.CLOSED):
            return
        if self.state is not LinkState.LIVE or not self.adapter.is_connected:
            self._held.add(pcm)
        if self.stands:
            self._recent.add(pcm)
            self.adapter.send_audio(pcm)

    def begin_turn(self) -> None:
        """The user begins to speak (manual turns)."""
        self._in_turn = True
        self._busy_since_rotating = True
        if self.stands:
            self.adapter.begin_turn()
        else:
            self._held.take()

    def end_turn(self, *, respond: bool) -> None:
        """The user has spoken (manual turns). Without a session it is heard once there is one."""
        if self.stands:
            self._in_turn = False
            self.adapter.end_turn(respond=respond)
        elif not respond:
            self._in_turn = False
            self._held.take()
        else:
            self._turn_ended = True

    def write(self, text: str) -> None:
        """The user has written a line, which is answered. One that is to be recovered has it in its history."""
        if self.stands:
            self._busy_since_rotating = True
            self.adapter.inject_text(text, respond=True, role="user")
        if self.state in (LinkState.ROTATING, LinkState.RESUMING):
            self._lines.append(text)

    def inject(self, text: str, *, respond: bool) -> None:
        """Tell the model something that is no turn of the user; kept until there is a session to tell it to."""
        if self.stands:
            self._busy_since_rotating = True
            self.adapter.inject_text(text, respond=respond, role="system")
        elif self.state in (LinkState.RESUMING, LinkState.RECOVERING, LinkState.LIVE):
            self._words.append((text, respond))

    def renew(self) -> None:
        """Begin another session with what the host now says of the conversation, at the next good moment."""
        self._renewing = True
        self._plan.now()
        self._stir.set()

    async def _keep(self) -> None:
        """Look after the sessions, one after the other."""
        while True:
            if self.state is LinkState.LOST:
                await self._return()
            elif not self.adapter.is_connected:
                await self._recover()
            elif self._plan.is_due(idle=self._host.idle()):
                await self._rotate()
            else:
                await self._wait()

    async def _wait(self) -> None:
        """Until something has happened, or it is time to look whether the session is to be replaced."""
        until = self._plan.earliest - clock.now()
        self._stir.clear()
        try:
            async with asyncio.timeout(LOOK_S if until <= 0 else None if until == math.inf else until):
                await self._stir.wait()
        except TimeoutError:
            return

    async def _rotate(self) -> None:
        old = self.adapter
        handle = None if self._renewing else old.resume_handle
        if handle is not None and old.capabilities.closes_before_resuming:
            await self._resume(old, handle)
            return
        try:
            config = await self._host.config()
        except GloveError as fault:
            log.error("a session could not be replaced yet", provider=old.provider, code=fault.code)
            self._plan.later()
            return
        self._busy_since_rotating = False
        self._held.take()
        self._lines.clear()
        self._move(LinkState.ROTATING)
        successor = old.successor()
        try:
            connected = await self._open(successor, replace(config, resume=handle))
        except S2SError as fault:
            log.warning("a session could not be replaced yet", provider=old.provider, code=fault.code)
            self._keep_old(fault)
            return
        pressed = clock.now() >= self._plan.latest
        if old.is_connected and self._busy_since_rotating and not pressed:
            # What happened meanwhile is known to the old session alone.
            self._keep_old(None)
            await successor.disconnect()
            return
        gone_s = 0.0 if old.is_connected else clock.now() - self._gone_at
        self._adopt(successor, connected, LinkState.LIVE)
        await old.disconnect()
        self._replaced("renewed" if self._renewing else "rotated", connected, gone_s)

    def _keep_old(self, fault: S2SError | None) -> None:
        self._held.take()
        self._lines.clear()
        self._plan.later()
        self._move(LinkState.LIVE if self.adapter.is_connected else LinkState.RECOVERING, fault)

    async def _resume(self, old: S2SAdapter, handle: str) -> None:
        self._lines.clear()
        self._move(LinkState.RESUMING)
        self._off()
        self._gone_at = clock.now()
        await old.disconnect()
        successor = old.successor()
        try:
            config = await self._host.config()
            connected = await self._open(successor, replace(config, history=(), resume=handle))
        except GloveError as fault:
            self._lines.clear()
            log.info("a session could not be resumed", provider=old.provider, code=fault.code)
            self._move(LinkState.RECOVERING, fault)
            return
        self._adopt(successor, connected, LinkState.LIVE)
        self._replaced("rotated", connected, clock.now() - self._gone_at)

    async def _recover(self) -> None:
        """Another session for one that has ended; the link is lost if none comes about in time."""
        self._backoff.healthy(max(0.0, self._gone_at - self._healthy_since))
        fault = self._ended
        if self.state is not LinkState.RECOVERING:
            self._move(LinkState.RECOVERING, fault)
        lasting = isinstance(fault, S2SError) and fault.lasting
        try:
            async with asyncio.timeout(self._settings.outage_s - (clock.now() - self._gone_at)):
                while not lasting and not self._backoff.exhausted:
                    wait_s = 0.0 if self._backoff.attempts == 0 else self._backoff.next_delay()
                    self._backoff.attempts = max(1, self._backoff.attempts)
                    await asyncio.sleep(wait_s)
                    try:
                        await self._again("recovered")
                    except GloveError as failed:
                        fault, lasting = failed, isinstance(failed, S2SError) and failed.lasting
                    else:
                        self.recoveries += 1
                        return
        except TimeoutError:
            log.info("no session came about in time", provider=self.adapter.provider)
        self._held.take()
        self._words.clear()
        self._in_turn = self._turn_ended = False
        self._move(LinkState.LOST, fault)

    async def _return(self) -> None:
        """Try again, further and further apart; somebody else answers meanwhile."""
        waits = Backoff(first_s=self._settings.return_s, cap_s=self._settings.return_cap_s)
        while True:
            await asyncio.sleep(waits.next_delay())
            while not self._host.idle():
                await asyncio.sleep(LOOK_S)
            try:
                await self._again("returned")
            except GloveError as fault:
                log.info("still no session", provider=self.adapter.provider, code=fault.code)
            else:
                self._backoff.reset()
                return

    async def _again(self, why: str) -> None:
        successor = self.adapter.successor()
        connected = await self._open(successor, await self._host.config())
        if why == "returned" and not self._host.idle():
            # Somebody began to talk to whoever answers instead.
            await successor.disconnect()
            raise S2SError("ERR_S2S_CONNECTION", "The moment was not right.")
        gap_s = 0.0 if why == "returned" else clock.now() - self._gone_at
        self._adopt(successor, connected, LinkState.LIVE)
        self._replaced(why, connected, gap_s)

    async def _open(self, adapter: S2SAdapter, config: SessionConfig) -> Connected:
        """Connect, and tell what the provider says of the session."""
        told: list[Connected] = []
        off = adapter.events.on(Connected, told.append)
        try:
            await adapter.connect(config)
        except BaseException:
            await adapter.disconnect()
            raise
        finally:
            off()
        return told[0]

    def _adopt(self, adapter: S2SAdapter, connected: Connected, state: LinkState) -> None:
        self._off()
        self.adapter = adapter
        self._off = adapter.events.on(S2SEvent, self._told)
        life_s = connected.expires_in_s
        self._plan = RotationPlan(adapter.capabilities.session_limit_s if life_s is None else life_s, self._settings)
        self._healthy_since = clock.now()
        self._ended = None
        self._renewing = False
        self._move(state)
        self.events.emit(connected)
        while self._words:
            text, respond = self._words.popleft()
            adapter.inject_text(text, respond=respond, role="system")
        while self._lines:
            adapter.inject_text(self._lines.popleft(), respond=True, role="user")
        if adapter.manual_turns and self._in_turn:
            adapter.begin_turn()
        for pcm in self._held.take():
            adapter.send_audio(pcm)
        if self._turn_ended:
            self._turn_ended = self._in_turn = False
            adapter.end_turn(respond=True)

    def _replaced(self, why: str, connected: Connected, gap_s: float) -> None:
        if why == "rotated":
            self.rotations += 1
            self._backoff.healthy(self._settings.recover_s)
        log.info("session replaced", provider=self.adapter.provider, why=why, gap_ms=round(gap_s * 1000))
        self.events.emit(SessionReplaced(why, connected.resumed, gap_s))

    @property
    def _closed(self) -> bool:
        return self.state is LinkState.CLOSED

    def _still_wanted(self) -> None:
        if self._closed:
            raise S2SError("ERR_S2S_CONNECTION", "The session was given up while it was being opened.")

    def _told(self, event: S2SEvent) -> None:
        if isinstance(event, Disconnected):
            self._ended, self._gone_at = event.fault, clock.now()
            self._hear_again()
            self._stir.set()
        elif isinstance(event, UserSpeechStarted):
            self._recent.limit = self._samples(self._settings.held_s)
        elif isinstance(event, SessionExpiring):
            self._plan.expires(event.time_left_s)
            self._stir.set()
        elif isinstance(event, ResponseStarted | ToolCall) or (isinstance(event, UserTranscript) and event.final):
            self._busy_since_rotating = True
            self._heard()
        self.events.emit(event)

    def _heard(self) -> None:
        """The session knows what the user has said so far."""
        self._recent.limit = self._samples(RECENT_S)

    def _hear_again(self) -> None:
        """The session has ended: what it was hearing is for the next one."""
        unheard = self._recent.take()
        if self._recent.limit > self._samples(RECENT_S) or self._in_turn:
            for pcm in unheard:
                self._held.add(pcm)
        self._heard()

    def _samples(self, seconds: float) -> int:
        return round(seconds * self._rate_hz)

    def _move(self, state: LinkState, fault: GloveError | None = None) -> None:
        before, self.state = self.state, state
        assert state in MOVES[before], f"{before} to {state}"
        self.events.emit(LinkMoved(before, state, fault))
