"""An agent in a LiveKit room: its voice, everybody's microphones, and messages, as long as the room lives.

Connections break and servers restart. The SDK restores what it can; beyond that the transport joins anew, and after
either it sees to it that the agent is really heard and that nobody who is there was missed. Sound that could not leave
meanwhile waits in the player and was not heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.credentials import Secret
from agents.base.emitter import Emitter
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from realtime.livekit.agent_track import AgentTrack
from realtime.livekit.events import (
    ChatReceived,
    DataReceived,
    MicrophoneAudio,
    MicrophoneMuted,
    TransportConnected,
    TransportDisconnected,
    TransportFault,
    TransportInterrupted,
)
from realtime.livekit.messages import CHAT, TRANSCRIPTION, ChatReader, Outbox, data_sender, json_object, text_sender
from realtime.livekit.microphones import Microphones
from realtime.livekit.outbound import flows
from realtime.livekit.people import People
from realtime.livekit.speakers import Policy, SpeakerMix
from realtime.livekit.tokens import refuse_administration
from realtime.livekit.track_player import TrackPlayer
from realtime.livekit.transport_state import FINAL_REASONS, MOVES, TransportState

if TYPE_CHECKING:
    from livekit import rtc

log = structlog.get_logger(__name__)

JOIN_LIMIT_S = 15.0
"""A room that is not joined by then is not joined."""

ATTEMPTS = 12
"""How often the agent tries to come back before it gives the room up: for about a minute and a half."""

LEAVE_LIMIT_S = 2.0
RECONCILE_S = 5.0
"""How often it is looked whether somebody was missed."""

MOST_REPUBLISHED = 2
"""After so many tracks that nobody hears, the whole connection is made anew."""


@dataclass(frozen=True)
class TransportSettings:
    """How the agent takes part.

    Attributes:
        publish_agent_audio: whether the agent has a voice in the room; not where a face speaks for it.
        rate_hz: of its track.
        track_name: of its track.
        speakers: who is heard where several speak.
        listen_to: identity of the only one who is heard, for ``speakers`` = ``identity``.
    """

    publish_agent_audio: bool = True
    rate_hz: int = 24_000
    track_name: str = "agent-voice"
    speakers: Policy = "mix"
    listen_to: str = ""


class LiveKitTransport:
    """See the module.

    Args:
        url: of the server, with the scheme ws or wss.
        token: lets the agent into the room, once. A function is asked again when the agent has to come back: tokens
            run out.
        settings: how it takes part.

    Attributes:
        events: emits the dataclasses of ``realtime.livekit.events``.
        state: where the agent is.
        mix: everybody's microphones as one.
        people: who is there.
        rejoined: how often the whole connection was made anew.
        republished: how often the track was.
    """

    def __init__(
        self, url: str, token: Secret | Callable[[], Secret], settings: TransportSettings | None = None
    ) -> None:
        self.settings = settings or TransportSettings()
        self.events = Emitter()
        self.state = TransportState.IDLE
        self.mix = SpeakerMix(self.settings.speakers, self.settings.listen_to)
        self.people = People(self.events)
        self.rejoined = self.republished = 0
        self.hears_each = False
        """Whether ``MicrophoneAudio`` is emitted."""
        self._url = url
        self._token = token
        self._scope = Scope("livekit transport")
        self._track = AgentTrack(self.settings.rate_hz, self.settings.track_name, self._stuck)
        self._microphones = Microphones(self.mix, self._scope, self._heard)
        self._chat = ChatReader(self._scope, lambda text, who: self.events.emit(ChatReceived(text, who)))
        self._outbox = Outbox()
        self._ready = asyncio.Event()
        self._joining = asyncio.Lock()
        self._room: rtc.Room | None = None
        self._verifying: asyncio.Task[None] | None = None
        self._backoff = Backoff(first_s=0.5, cap_s=10.0, budget=ATTEMPTS, recover_s=30.0)
        self._joined_at = 0.0

    @property
    def player(self) -> TrackPlayer:
        """What the agent says; ``played`` counts what has left the source."""
        return self._track.player

    @property
    def is_connected(self) -> bool:
        """Whether the agent is in the room at this moment."""
        return self.state is TransportState.JOINED

    @property
    def over(self) -> bool:
        """Whether the agent is out of the room for good."""
        return self.state in (TransportState.ENDED, TransportState.CLOSED)

    @property
    def sdk_room(self) -> rtc.Room | None:
        """The SDK's room while the agent is in it: another one after it had to join anew."""
        return self._room if self.is_connected else None

    @property
    def room_name(self) -> str:
        """Name of the room, or empty before it was joined."""
        return "" if self._room is None else self._room.name

    @property
    def identity(self) -> str:
        """The agent's own, or empty before the room was joined."""
        return "" if self._room is None or not self._ready.is_set() else self._room.local_participant.identity

    async def connect(self) -> None:
        """Join the room; without effect where the agent is there already or returning. A failure may be retried.

        Raises:
            GloveError: ``ERR_LIVEKIT_TOKEN``, ``ERR_LIVEKIT_TOKEN_WIDE``, ``ERR_LIVEKIT_AUTH`` (the token is not
                accepted), ``ERR_LIVEKIT_CONNECTION`` (no room came about in time), ``ERR_LIVEKIT_PUBLISH``.
            RuntimeError: the transport has ended.
        """
        async with self._joining:
            if self.over:
                raise RuntimeError("this transport has ended")
            if self.state is not TransportState.IDLE:
                return
            self._move(TransportState.JOINING)
            try:
                await self._join()
            except BaseException:
                if not self.over:
                    self._move(TransportState.IDLE)
                raise
            self._scope.spawn(self._track.feed(), "voice")
            self._scope.spawn(self._outbox.run(self._speaker, self._ready), "messages")
            self._scope.spawn(self._watch(), "watch")
            self._settled(again=False)

    async def close(self) -> None:
        """Leave; idempotent."""
        told = self.state not in (TransportState.CLOSED, TransportState.ENDED, TransportState.IDLE)
        if self.state is not TransportState.CLOSED:
            self._move(TransportState.CLOSED)
        self._ready.clear()
        await self._scope.close()
        self._microphones.end_all()
        await self._leave()
        await self._track.close()
        self.people.clear()
        if told:
            self.events.emit(TransportDisconnected())

    def send_audio(self, pcm: Pcm, rate_hz: int) -> None:
        """Say more: it is played after everything before it, in real time, however fast it comes."""
        if self.settings.publish_agent_audio and not self.over:
            self.player.enqueue(pcm, rate_hz, self.player.generation)

    def end_audio(self) -> None:
        """What was said is complete: its last samples are not held back any more."""
        self.player.finish(self.player.generation)

    def clear(self) -> None:
        """Be silent: nothing that waits, here or in the SDK, is played any more."""
        self.player.next_generation()

    def send_data(self, message: Mapping[str, Any], topic: str = "", to: Sequence[str] = ()) -> None:
        """Send a JSON object, to everybody or ``to`` these identities. It leaves soon, in order.

        Raises:
            InputError: ``ERR_LIVEKIT_DATA``.
        """
        self._outbox.post(data_sender(message, topic, to))

    def send_chat(self, text: str) -> None:
        """Send a line to be read (``lk.chat``)."""
        self._outbox.post(text_sender(text, CHAT, {}))

    def transcribe(self, text: str, segment: str, *, final: bool, identity: str | None = None) -> None:
        """Show words (``lk.transcription``).

        Args:
            text: all words of the segment so far.
            segment: names it; later texts with the same name replace earlier ones.
            final: whether this is the last one.
            identity: who says them; the agent when None.
        """
        attributes = {"lk.segment_id": segment, "lk.transcription_final": "true" if final else "false"}
        track = self._track.publication
        if identity is None and track is not None:
            attributes["lk.transcribed_track_id"] = track.sid
        self._outbox.post(text_sender(text, TRANSCRIPTION, attributes, identity))

    async def _join(self) -> None:
        """Join, publish, and know who is there. Leaves nothing behind when it fails."""
        from livekit import rtc

        token = (self._token if isinstance(self._token, Secret) else self._token()).reveal()
        refuse_administration(token)
        room = self._room = rtc.Room()
        self._listen(room)
        try:
            async with asyncio.timeout(JOIN_LIMIT_S):
                await room.connect(self._url, token, rtc.RoomOptions(auto_subscribe=False, dynacast=False))
                if self.settings.publish_agent_audio:
                    await self._track.publish(room)
        except BaseException as fault:
            await self._leave()
            if isinstance(fault, TimeoutError | rtc.ConnectError):
                raise _refused(fault) from fault
            raise

    def _listen(self, room: rtc.Room) -> None:
        microphones = self._microphones
        handlers: dict[str, Callable[..., None]] = {
            "participant_connected": self._look,
            "participant_disconnected": self._look,
            "participant_attributes_changed": self._look,
            "track_published": microphones.consider,
            "track_subscribed": self._subscribed,
            "track_unsubscribed": self._unsubscribed,
            "track_muted": partial(self._muted, True),
            "track_unmuted": partial(self._muted, False),
            "data_received": self._data,
            "reconnecting": self._lost,
            "reconnected": self._restored,
            "disconnected": self._disconnected,
        }
        for event, handler in handlers.items():
            room.on(cast("Any", event), self._while_in(room, handler))
        room.register_text_stream_handler(CHAT, self._chat.take)

    def _while_in(self, room: rtc.Room, handler: Callable[..., None]) -> Callable[..., None]:
        """``handler`` while ``room`` is the one in force: one that was given up may have something to say."""

        def handle(*args: Any) -> None:
            if room is self._room:
                handler(*args)

        return handle

    def _settled(self, *, again: bool) -> None:
        """The agent is in the room."""
        self._move(TransportState.JOINED)
        self._joined_at = clock.now()
        self._ready.set()
        self._track.start()
        self.events.emit(TransportConnected(again))
        self._look()

    def _look(self, *_: Any) -> None:
        """See who is there and what may be heard."""
        room = self._room
        if room is not None and self.state is TransportState.JOINED:
            self.people.reconcile(room)
            self._microphones.reconcile(room)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(RECONCILE_S)
            self._look()

    def _lost(self) -> None:
        if self.state in (TransportState.JOINED, TransportState.RECONNECTING):
            told = self.state is TransportState.JOINED
            self._move(TransportState.RECONNECTING)
            self._ready.clear()
            self._track.stop()
            if told:
                self.events.emit(TransportInterrupted())

    def _restored(self) -> None:
        if self.state is TransportState.RECONNECTING:
            self._settled(again=True)
            self._verify_soon()

    def _stuck(self) -> None:
        if self.state is TransportState.JOINED:
            self._verify_soon()

    def _verify_soon(self) -> None:
        if self.settings.publish_agent_audio and (self._verifying is None or self._verifying.done()):
            self._verifying = self._scope.spawn(self._verify(), "verify")

    async def _verify(self) -> None:
        """Make sure that the agent is heard."""
        room, track = self._room, self._track
        for _ in range(MOST_REPUBLISHED + 1):
            if room is not self._room or room is None or self.state is not TransportState.JOINED:
                return
            sid = "" if track.publication is None else track.publication.sid
            if track.flowing and await flows(room, sid):
                return
            self.republished += 1
            log.warning("the agent is not heard: its track is published again", room=room.name)
            try:
                async with asyncio.timeout(JOIN_LIMIT_S):
                    await track.republish(room)
            except (GloveError, TimeoutError) as fault:
                log.warning("the track could not be published again", error=str(fault))
                break
            track.start()
        if self.state is TransportState.JOINED and room is self._room:
            fault = GloveError("ERR_LIVEKIT_MUTE", "Nobody in the room hears the agent; it joins again.")
            self.events.emit(TransportFault(fault))
            self._begin_rejoining()

    def _disconnected(self, reason: int) -> None:
        from livekit import rtc

        name = rtc.DisconnectReason.Name(reason)  # pyright: ignore[reportArgumentType]
        if self.over or self.state in (TransportState.IDLE, TransportState.REJOINING, TransportState.JOINING):
            return
        if name in FINAL_REASONS:
            self._end(name, GloveError(*FINAL_REASONS[name]))
        else:
            log.info("the room was lost", room=self.room_name, reason=name)
            self._begin_rejoining()

    def _begin_rejoining(self) -> None:
        told = self.state is TransportState.JOINED
        self._move(TransportState.REJOINING)
        self._ready.clear()
        self._track.stop()
        self._microphones.end_all()
        if told:
            self.events.emit(TransportInterrupted())
        self._scope.spawn(self._rejoin(), "rejoin")

    async def _rejoin(self) -> None:
        self._backoff.healthy(clock.now() - self._joined_at)
        await self._leave()
        fault: GloveError | None = None
        while not self._backoff.exhausted:
            await asyncio.sleep(self._backoff.next_delay())
            try:
                await self._join()
            except GloveError as failed:
                fault = failed
                log.info("the room cannot be joined yet", code=failed.code, error=failed.message)
                if failed.code in ("ERR_LIVEKIT_AUTH", "ERR_LIVEKIT_TOKEN", "ERR_LIVEKIT_TOKEN_WIDE"):
                    break
            else:
                self.rejoined += 1
                self._settled(again=True)
                self._verify_soon()
                return
        self._end("CONNECTION_TIMEOUT", fault or GloveError("ERR_LIVEKIT_CONNECTION", "The room is lost."))

    def _end(self, reason: str, fault: GloveError) -> None:
        self._move(TransportState.ENDED)
        self._ready.clear()
        self._track.stop()
        self._microphones.end_all()
        self.people.clear()
        log.info("the agent is out of the room", room=self.room_name, reason=reason)
        self.events.emit(TransportDisconnected(reason, fault))

    async def _leave(self) -> None:
        room, self._room = self._room, None
        if room is None:
            return
        try:
            async with asyncio.timeout(LEAVE_LIMIT_S):
                await room.disconnect()
        except TimeoutError:
            log.warning("the room does not let the agent go")

    def _speaker(self) -> rtc.LocalParticipant | None:
        return None if self._room is None else self._room.local_participant

    def _heard(self, identity: str, pcm: Pcm) -> None:
        if self.hears_each:
            self.events.emit(MicrophoneAudio(pcm, CAPTURE_RATE_HZ, identity))

    def _subscribed(self, track: rtc.RemoteTrack, _: rtc.TrackPublication, who: rtc.RemoteParticipant) -> None:
        self._microphones.begin(track, who)

    def _unsubscribed(self, track: rtc.RemoteTrack, _: rtc.TrackPublication, __: rtc.RemoteParticipant) -> None:
        self._microphones.end(track.sid)

    def _muted(self, muted: bool, who: rtc.Participant, publication: rtc.TrackPublication) -> None:
        if publication.track is not None and who.identity in self.people:
            if muted:
                self._microphones.mute(publication.track.sid)
            self.events.emit(MicrophoneMuted(who.identity, muted))

    def _data(self, packet: rtc.DataPacket) -> None:
        message = json_object(packet.data)
        if message is not None:
            who = None if packet.participant is None else packet.participant.identity
            self.events.emit(DataReceived(message, who, packet.topic or ""))

    def _move(self, state: TransportState) -> None:
        assert state in MOVES[self.state], f"{self.state} to {state}"
        self.state = state


def _refused(fault: BaseException) -> GloveError:
    """What a failed attempt to join means."""
    text = str(getattr(fault, "message", fault))
    if "401" in text or "403" in text or "invalid token" in text.lower():
        return GloveError(
            "ERR_LIVEKIT_AUTH",
            "The LiveKit server does not accept the token.",
            "Check livekit.key, the secret livekit_secret, and that the clocks of both machines agree.",
            fault,
        )
    what = "in time" if isinstance(fault, TimeoutError) else f"({text[:200]})"
    return GloveError(
        "ERR_LIVEKIT_CONNECTION", f"The room could not be joined {what}.", "Check livekit.url and the server.", fault
    )
