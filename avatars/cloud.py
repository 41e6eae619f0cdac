"""What all faces of providers have in common: sessions that can be renewed in the middle of a sentence."""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from audio.pcm import Pcm, silence
from audio.resample import StreamResampler
from avatars.contract import (
    AvatarAdapter,
    AvatarError,
    AvatarFault,
    AvatarView,
    Connected,
    Disconnected,
    UtteranceCut,
    UtteranceDone,
    ViewReady,
)
from avatars.unplayed import Unplayed, Utterance

log = structlog.get_logger(__name__)

RENEWAL_GAP_S = 10.0
"""Shortest time between the beginnings of two renewals, in seconds."""

RENEWALS = 6
"""Renewals in a row before a face is given up; each minute of a session that stands gives one back."""

HELD_S = 60.0
"""How much sound waits for a face that is not there, in seconds. The oldest is let go."""


class State(Enum):
    """Where a face's session is."""

    IDLE = "idle"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    RENEWING = "renewing"
    CLOSING = "closing"


_MOVES: Mapping[State, frozenset[State]] = {
    State.IDLE: frozenset({State.CONNECTING}),
    State.CONNECTING: frozenset({State.CONNECTED, State.IDLE}),
    State.CONNECTED: frozenset({State.RENEWING, State.CLOSING}),
    State.RENEWING: frozenset({State.CONNECTED, State.CLOSING}),
    State.CLOSING: frozenset({State.IDLE}),
}


class CloudAvatar(AvatarAdapter):
    """A face whose session is opened and closed over HTTP, and whose provider may end it at any time.

    Sound that comes while no face hears it waits (``HELD_S``). What had been given to a session that ended, and was not
    played, is given to the next.

    Args:
        renewal_gap_s: shortest time between two renewals.
    """

    carries_voice: ClassVar[bool] = True
    sound_rate_hz: ClassVar[int]
    lag_s: ClassVar[float] = 0.5

    def __init__(self, *, renewal_gap_s: float = RENEWAL_GAP_S) -> None:
        super().__init__()
        self._state = State.IDLE
        self._view: AvatarView | None = None
        self._door = asyncio.Lock()
        self._unplayed = Unplayed(self.sound_rate_hz, HELD_S, self.lag_s)
        self._resampler: StreamResampler | None = None
        self._flowing = False
        self._gap_s = renewal_gap_s
        self._backoff = self._new_backoff()
        self._renewed_at = -math.inf
        self._stands_since = 0.0
        self._renewal: asyncio.Task[AvatarError | None] | None = None

    @property
    def is_connected(self) -> bool:
        """Whether a session stands; also while it is being renewed."""
        return self._state in (State.CONNECTED, State.RENEWING)

    @property
    def view(self) -> AvatarView | None:
        """Where the face can be seen now, or None."""
        return self._view

    @property
    def unplayed_s(self) -> float | None:
        """Seconds of the given sound that were not played yet."""
        return self._unplayed.seconds(clock.now())

    async def connect(self) -> None:
        """As the contract says."""
        async with self._door:
            if self.is_connected:
                return
            self._move(State.CONNECTING)
            self._unplayed.cut()
            self._unplayed.hold(clock.now())
            try:
                view = await self._open()
            except BaseException:
                self._move(State.IDLE)
                raise
            self._backoff = self._new_backoff()
            self._stand(view)

    async def disconnect(self) -> None:
        """As the contract says. What is being said is cut; a provider that does not answer does not hinder it."""
        renewal = self._renewal
        if renewal is not None and not renewal.done() and renewal is not asyncio.current_task():
            renewal.cancel()
            await asyncio.wait({renewal})
        async with self._door:
            if self.is_connected:
                await self._end(None)

    async def renew(self) -> None:
        """As the contract says. Calls while a renewal is under way wait for that one; none where no session stands."""
        renewal = self.request_renewal()
        if renewal is None:
            return
        await asyncio.wait({renewal})
        if not renewal.cancelled() and (fault := renewal.result()) is not None:
            raise fault

    def request_renewal(self) -> asyncio.Task[AvatarError | None] | None:
        """``renew`` without waiting for it. Returns the task, which does not raise; None where no session stands."""
        if self._state is State.CONNECTED:
            self._move(State.RENEWING)
            self._stop_flow()
            self._renewal = asyncio.get_running_loop().create_task(self._renew(), name=f"{self.provider}/renewal")
        return self._renewal if self._state is State.RENEWING else None

    def send_audio(self, pcm: Pcm, rate_hz: int) -> int | None:
        """As the contract says."""
        if not self.is_connected or pcm.size == 0:
            return None
        utterance = self._unplayed.open
        if utterance is None:
            self._drop_played()
            utterance, self._resampler = self._unplayed.begin(), None
        if self._resampler is None or self._resampler.in_rate_hz != rate_hz:
            self._give(utterance, self._flush())
            self._resampler = StreamResampler(rate_hz, self.sound_rate_hz)
        self._give(utterance, self._resampler.push(pcm).copy())
        return utterance.number

    def end_utterance(self) -> None:
        """As the contract says."""
        utterance = self._unplayed.open
        if not self.is_connected or utterance is None:
            return
        self._give(utterance, self._flush())
        utterance.ended = True
        if self._flowing:
            self._deliver_end(utterance)

    def interrupt(self) -> None:
        """As the contract says."""
        self._resampler = None
        if not self.is_connected:
            return
        cut = self._unplayed.cut()
        if self._flowing:
            self._deliver_cut(cut)
        else:
            self._tell_cut(cut)

    @abstractmethod
    async def _open(self) -> AvatarView:
        """Begin a session at the provider. Leaves nothing open when it raises ``AvatarError`` or is cancelled."""

    @abstractmethod
    async def _close(self) -> None:
        """End the provider's session, if there is one. May raise ``AvatarError``."""

    @abstractmethod
    def _deliver(self, utterance: Utterance, pcm: Pcm) -> None:
        """Send sound, at ``sound_rate_hz``."""

    @abstractmethod
    def _deliver_end(self, utterance: Utterance) -> None:
        """Send that ``utterance`` is complete."""

    @abstractmethod
    def _deliver_cut(self, cut: tuple[Utterance, ...]) -> None:
        """Send that the face falls silent, and see that ``cut`` is told."""

    @abstractmethod
    def _forget_delivery(self) -> None:
        """The session that was sent to is gone: drop what is on its way to it."""

    @abstractmethod
    def _settle_played(self, utterance: Utterance) -> None:
        """``utterance`` was played as a whole, by the clock, by a session that is gone."""

    def _listen(self, view: AvatarView) -> None:
        """A session stands. Faces that come later than their session override this."""
        self._flow()

    async def _quiet(self) -> None:
        """The session ends: stop all tasks of one's own."""

    def _drop_played(self) -> None:
        self._unplayed.forget_played(clock.now())

    def _fault(self, error: AvatarError) -> None:
        self.events.emit(AvatarFault(error))

    def _tell_cut(self, cut: tuple[Utterance, ...]) -> None:
        for utterance in cut:
            self._tell(utterance, UtteranceCut(utterance.number))

    def _tell(self, utterance: Utterance, end: UtteranceDone | UtteranceCut) -> None:
        """How ``utterance`` ended, unless that was told."""
        if not utterance.settled:
            utterance.settled = True
            self.events.emit(end)

    def _flow(self) -> None:
        """The face hears from now on: it gets what has waited for it."""
        if self._flowing or self._state is not State.CONNECTED:
            return
        self._flowing = True
        for rest in self._unplayed.release(clock.now()):
            if rest.pcm.size:
                self._deliver(rest.utterance, rest.pcm)
            elif rest.utterance.ended:
                self._settle_played(rest.utterance)
                continue
            if rest.utterance.ended:
                self._deliver_end(rest.utterance)

    def _stop_flow(self) -> None:
        """The face hears nothing from now on."""
        self._unplayed.hold(clock.now())
        if self._flowing:
            self._flowing = False
            self._forget_delivery()

    async def _end(self, fault: AvatarError | None) -> None:
        """Close the session. The caller holds the door, or is the renewal."""
        self._move(State.CLOSING)
        self._stop_flow()
        self._tell_cut(self._unplayed.cut())
        try:
            await self._quiet()
            await self._close_softly()
        finally:
            self._view = None
            self._move(State.IDLE)
            self.events.emit(Disconnected(fault))

    async def _renew(self) -> AvatarError | None:
        async with self._door:
            self._backoff.healthy(clock.now() - self._stands_since)
            if self._backoff.exhausted:
                fault = _never_lasts(self.provider)
                await self._end(fault)
                return fault
            again = False
            while True:
                await self._wait_turn(again)
                again = True
                self._renewed_at = clock.now()
                await self._close_softly()
                try:
                    view = await self._open()
                except AvatarError as fault:
                    if fault.lasting or self._backoff.exhausted:
                        await self._end(fault)
                        return fault
                    self._fault(fault)
                else:
                    self._stand(view)
                    return None

    async def _wait_turn(self, again: bool) -> None:
        """Until another session may be asked for. ``again``: after an attempt that failed."""
        delay_s = self._backoff.next_delay()
        due = self._renewed_at + self._gap_s
        await clock.sleep_until(max(due, clock.now() + delay_s) if again else due)

    async def _close_softly(self) -> None:
        try:
            await self._close()
        except AvatarError as fault:
            # The provider ends sessions by itself as well; nobody waits for this one any more.
            log.warning("a face's session was not ended", provider=self.provider, code=fault.code, error=fault.message)

    def _stand(self, view: AvatarView) -> None:
        self._view = view
        self._stands_since = clock.now()
        self._move(State.CONNECTED)
        self.events.emit(Connected())
        self.events.emit(ViewReady(view))
        self._listen(view)

    def _give(self, utterance: Utterance, pcm: Pcm) -> None:
        if pcm.size == 0:
            return
        self._unplayed.add(utterance, pcm, clock.now())
        if self._flowing:
            self._deliver(utterance, pcm)

    def _flush(self) -> Pcm:
        resampler, self._resampler = self._resampler, None
        return silence(0) if resampler is None else resampler.flush()

    def _move(self, to: State) -> None:
        if to not in _MOVES[self._state]:
            raise RuntimeError(f"a face does not go from {self._state.value} to {to.value}")
        self._state = to

    def _new_backoff(self) -> Backoff:
        return Backoff(first_s=self._gap_s, cap_s=60.0, budget=RENEWALS)


def _never_lasts(provider: str) -> AvatarError:
    return AvatarError(
        "ERR_AVATAR_LIMIT",
        f"Sessions of {provider} end as soon as they have begun.",
        "Look at the plan of the account, and at what the provider's dashboard says about them.",
    )
