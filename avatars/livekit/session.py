"""What faces in a LiveKit room have in common: the sound goes there as byte streams, and the face reports back."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from agents.base import clock
from audio.pcm import Pcm, wire_bytes
from avatars.cloud import RENEWAL_GAP_S, CloudAvatar, State
from avatars.contract import (
    AvatarError,
    AvatarView,
    RoomView,
    UtteranceCut,
    UtteranceDone,
    UtteranceStarted,
)
from avatars.lane import Lane
from avatars.livekit.playback import Playback, Settled
from avatars.livekit.protocol import (
    ACCEPTED,
    AUDIO_TOPIC,
    CLEAR_BUFFER,
    PLAYBACK_FINISHED,
    PLAYBACK_STARTED,
    REJECTED,
    read_report,
)
from avatars.livekit.wire import AvatarWire, ByteStream, Presence
from avatars.unplayed import Utterance

ARRIVAL_S = 30.0
"""How long a face may take to come into the room, in seconds."""

CALL_S = 5.0
"""How long the face may take to answer a call."""

WRITE_MS = 300
"""Longest sound in one write: just below what the SDK puts into one packet. An interruption waits for no more."""

MintToken = Callable[[], str]
"""A new token for the face's participant (kind ``agent``, on behalf of the agent). Asked for at each session."""


class LiveKitAvatar(CloudAvatar):
    """A face that joins the room of the agent. All opens, writes, closes and calls go through one lane.

    The room must not publish the agent's own sound, since the face does.

    Args:
        wire: the room, as seen by the face.
        livekit_url: of the room's server, as the provider and a page reach it.
        mint_token: makes the token with which the face joins.
        arrival_s: how long the face may take to come; then it is given up.
        renewal_gap_s: shortest time between two renewals.
    """

    sound_rate_hz: ClassVar[int] = 24_000
    lag_s: ClassVar[float] = 0.3

    def __init__(
        self,
        wire: AvatarWire,
        livekit_url: str,
        mint_token: MintToken,
        *,
        arrival_s: float = ARRIVAL_S,
        renewal_gap_s: float = RENEWAL_GAP_S,
    ) -> None:
        super().__init__(renewal_gap_s=renewal_gap_s)
        self._wire = wire
        self._url = livekit_url
        self._mint_token = mint_token
        self._arrival_s = arrival_s
        self._playback = Playback(self._unplayed)
        self._lane = Lane(f"{self.provider}/wire", self._fault)
        self._stream: ByteStream | None = None
        self._offs: Sequence[Callable[[], None]] = ()
        self._arrival: asyncio.TimerHandle | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._giving_up: asyncio.Task[None] | None = None

    @abstractmethod
    async def _begin(self, livekit_url: str, token: str) -> None:
        """Ask the provider to send the face into the room. As ``_open``."""

    async def _open(self) -> AvatarView:
        self._follow_room()
        try:
            await self._begin(self._url, self._mint_token())
        except BaseException:
            if not self.is_connected:
                self._leave_room()
            raise
        return RoomView(self._url, self.provider)

    def _follow_room(self) -> None:
        if not self._offs:
            self._offs = (
                self._wire.on_call(PLAYBACK_STARTED, self._on_started),
                self._wire.on_call(PLAYBACK_FINISHED, self._on_finished),
                self._wire.on_presence(self._on_presence),
            )

    def _leave_room(self) -> None:
        for off in self._offs:
            off()
        self._offs = ()

    def _listen(self, view: AvatarView) -> None:
        self._lane.resume()
        self._await_arrival()
        self._on_presence(self._wire.presence)

    async def _quiet(self) -> None:
        self._leave_room()
        for timer in (self._arrival, self._overdue):
            if timer is not None:
                timer.cancel()
        self._arrival = self._overdue = None
        await self._lane.close()
        await self._close_stream()

    def _await_arrival(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
        self._arrival = asyncio.get_running_loop().call_later(self._arrival_s, self._never_came)

    def _never_came(self) -> None:
        self._arrival = None
        if self._state is not State.CONNECTED:
            return
        fault = AvatarError(
            "ERR_AVATAR_ABSENT",
            f"The face did not come into the room within {self._arrival_s:.0f} s.",
            "Check that its provider can reach the LiveKit server, and that the token is for this room.",
        )
        self._giving_up = asyncio.get_running_loop().create_task(self._give_up(fault), name=f"{self.provider}/absent")

    async def _give_up(self, fault: AvatarError) -> None:
        async with self._door:
            if self.is_connected and not self._flowing:
                self._fault(fault)
                await self._end(fault)

    def _on_presence(self, presence: Presence) -> None:
        if presence is Presence.UNKNOWN:
            self._lane.pause()
        elif presence is Presence.HERE:
            if self._arrival is not None and self._state is State.CONNECTED:
                self._arrival.cancel()
                self._arrival = None
            self._lane.resume()
            self._flow()
        elif self._flowing:
            self.request_renewal()

    def _deliver(self, utterance: Utterance, pcm: Pcm) -> None:
        step = self.sound_rate_hz * WRITE_MS // 1000
        for at in range(0, pcm.size, step):
            data = wire_bytes(pcm[at : at + step])
            self._lane.put(lambda data=data: self._write(data), is_sound=True)

    def _deliver_end(self, utterance: Utterance) -> None:
        self._lane.put(self._close_stream)
        self._watch_reports()

    def _deliver_cut(self, cut: tuple[Utterance, ...]) -> None:
        self._lane.drop_sound()
        self._tell_all(self._playback.cut(cut, clock.now()))
        self._lane.put(self._close_stream)
        self._lane.put(self._clear)
        self._watch_reports()

    def _forget_delivery(self) -> None:
        self._lane.drop_sound()
        self._lane.put(self._close_stream)
        self._tell_all(self._playback.forget_cut())

    def _settle_played(self, utterance: Utterance) -> None:
        self._unplayed.over(utterance, clock.now())
        self._tell(utterance, UtteranceDone(utterance.number))

    def _drop_played(self) -> None:
        """Utterances are over when the face says so, not by the clock."""

    async def _write(self, data: bytes) -> None:
        if self._stream is None:
            attributes = {"sample_rate": str(self.sound_rate_hz), "num_channels": "1"}
            self._stream = await self._wire.open_stream(AUDIO_TOPIC, attributes)
        try:
            await self._stream.write(data)
        except BaseException:
            self._stream = None
            raise

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    async def _clear(self) -> None:
        try:
            answer = await self._wire.call(CLEAR_BUFFER, "", CALL_S)
            if answer == REJECTED:
                raise AvatarError(
                    "ERR_AVATAR_DELIVERY",
                    "The face does not take commands of this agent.",
                    "Its token must name this agent as the one it acts for.",
                )
        except Exception:
            self._tell_all(self._playback.forget_cut())
            raise

    def _on_started(self, caller: str, payload: str) -> str:
        if caller != self._wire.identity:
            return REJECTED
        utterance = self._playback.started(clock.now())
        if utterance is not None:
            self.events.emit(UtteranceStarted(utterance.number))
            self._watch_reports()
        return ACCEPTED

    def _on_finished(self, caller: str, payload: str) -> str:
        if caller != self._wire.identity:
            return REJECTED
        self._tell_all(self._playback.finished(read_report(payload), clock.now()))
        self._watch_reports()
        return ACCEPTED

    def _watch_reports(self) -> None:
        """See to it that an utterance of which nothing is reported ends as well."""
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        due = self._playback.next_due()
        if due is not None and self._flowing:
            self._overdue = asyncio.get_running_loop().call_at(due, self._on_overdue)

    def _on_overdue(self) -> None:
        self._overdue = None
        self._tell_all(self._playback.overdue(clock.now()))
        self._watch_reports()

    def _tell_all(self, settled: Sequence[Settled]) -> None:
        for one in settled:
            end = UtteranceCut if one.cut else UtteranceDone
            self._tell(one.utterance, end(one.utterance.number, one.played_s))
