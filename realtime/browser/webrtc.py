"""Calls over WebRTC: an offer comes in, an answer goes out, and whoever then connects is let into the room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from agents.base import clock
from agents.base.credentials import Secret
from agents.base.errors import GloveError
from agents.base.scope import Scope
from realtime.browser.caller import Socket
from realtime.browser.limits import TokenBucket
from realtime.browser.protocol import MAX_MESSAGE_BYTES
from realtime.browser.webrtc_offer import Reach, checked, plain_address, refused, with_addresses

if TYPE_CHECKING:
    from aiortc import RTCConfiguration, RTCIceTransport, RTCPeerConnection

    from realtime.browser.webrtc_peer import Peer

log = structlog.get_logger(__name__)

CONNECT_S = 10.0
"""How long a caller may take from its offer to an open data channel."""

MOST_CONNECTING = 4
"""Callers that may be on their way at once; each holds sockets and a thread meanwhile."""

OFFERS_PER_S = 1.0
OFFERS_BURST = 10.0

RELEASE_S = 5.0

Serve = Callable[[Socket], Awaitable[None]]


@dataclass(frozen=True)
class IceServers:
    """What helps two sides to reach each other beyond one network.

    Attributes:
        stun: addresses such as ``stun:stun.example.org:3478``; the first is used here, all by pages.
        turn: address of a relay, such as ``turn:turn.example.org:3478?transport=udp``; empty for none.
        turn_user: its user.
        turn_credential: its password.
        relay_only: reach callers through the relay alone.
    """

    stun: tuple[str, ...] = ()
    turn: str = ""
    turn_user: str = ""
    turn_credential: Secret | None = field(default=None)
    relay_only: bool = False

    @property
    def elsewhere(self) -> bool:
        """Whether callers beyond the network of this machine are to be reached."""
        return bool(self.stun or self.turn)

    @property
    def relay_address(self) -> str:
        """The address of the relay, where it is written as one; empty otherwise."""
        place = self.turn.partition(":")[2].partition("?")[0]
        host = place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0]
        return plain_address(host) or ""

    def for_page(self) -> list[dict[str, object]]:
        """``iceServers`` of the page's ``RTCPeerConnection``. Holds the credential: only for admitted callers."""
        servers: list[dict[str, object]] = [{"urls": list(self.stun)}] if self.stun else []
        if self.turn:
            credential = "" if self.turn_credential is None else self.turn_credential.reveal()
            servers.append({"urls": [self.turn], "username": self.turn_user, "credential": credential})
        return servers

    def configuration(self) -> RTCConfiguration:
        """The same for this side."""
        from aiortc import RTCConfiguration, RTCIceServer
        from aiortc.rtcconfiguration import RTCIceTransportPolicy

        servers = [RTCIceServer(urls=list(self.stun))] if self.stun else []
        if self.turn:
            credential = None if self.turn_credential is None else self.turn_credential.reveal()
            servers.append(RTCIceServer(urls=[self.turn], username=self.turn_user, credential=credential))
        policy = RTCIceTransportPolicy.RELAY if self.relay_only else RTCIceTransportPolicy.ALL
        return RTCConfiguration(iceServers=servers, iceTransportPolicy=policy)


class WebRtcCalls:
    """Answers offers, for all rooms. Each caller who connects in time is served and cleaned up afterwards.

    Args:
        ice: STUN and TURN.
        connect_s: see ``CONNECT_S``.
        offers_per_s: offers that are answered, after the first ten.
    """

    def __init__(
        self, ice: IceServers | None = None, *, connect_s: float = CONNECT_S, offers_per_s: float = OFFERS_PER_S
    ) -> None:
        self.ice = ice or IceServers()
        self.connect_s = connect_s
        self._scope = Scope("webrtc calls")
        self._offers = TokenBucket(offers_per_s, OFFERS_BURST, clock.now)
        self._connecting = 0
        self._callers: set[Peer] = set()
        self._negotiating: set[Peer] = set()
        self._releases: set[asyncio.Task[None]] = set()

    @property
    def callers(self) -> int:
        """Connections that exist, open or on their way."""
        return len(self._callers)

    async def answer(
        self, offer: str, serve: Serve, caller_address: str | None = None, door_address: str | None = None
    ) -> str:
        """The answer (SDP) to ``offer``.

        Args:
            offer: SDP with all its candidates; nothing is trickled.
            serve: serves the caller once it has connected, see ``BrowserRoom.serve``.
            caller_address: where the offer came from. Beside it, only the configured relay and, with a STUN server or
                a relay, public addresses are tried.
            door_address: address of this machine at which the offer arrived: the call listens there and nowhere else,
                unless a STUN server or a relay is to bring it further. None listens everywhere.

        Raises:
            GloveError: ``ERR_WEBRTC_OFFER`` for an offer that the room does not take, ``ERR_WEBRTC_BUSY`` when too many
                callers are on their way, ``ERR_OPUS`` or ``ERR_WEBRTC_LIBRARY`` where calls are not possible here.
        """
        if self._scope.closed or self._connecting >= MOST_CONNECTING or not self._offers.take():
            raise _busy()
        checked(offer)
        self._connecting += 1
        try:
            reach = Reach(plain_address(caller_address), self.ice.elsewhere, self.ice.relay_address)
            door = None if self.ice.elsewhere else plain_address(door_address)
            return await self._admit(with_addresses(offer, reach), serve, door)
        except BaseException:
            self._connecting -= 1
            raise

    async def close(self) -> None:
        """End all connections; idempotent."""
        await self._scope.close()
        # Callers who were answered a moment ago have nobody who attends to them. Those who are being answered are given
        # back afterwards: aiortc forgets the sockets that it is opening when it is closed meanwhile.
        await asyncio.gather(*(self._release(peer) for peer in self._callers - self._negotiating))
        if self._releases:
            await asyncio.wait(self._releases, timeout=RELEASE_S)

    async def _admit(self, offer: str, serve: Serve, door: str | None) -> str:
        from aiortc import RTCPeerConnection

        from realtime.browser.opus import library
        from realtime.browser.webrtc_peer import Peer

        library()
        connection = RTCPeerConnection(self.ice.configuration())
        peer = Peer(connection)
        self._callers.add(peer)
        self._negotiating.add(peer)
        try:
            try:
                async with asyncio.timeout(self.connect_s):
                    answer = await _negotiate(connection, peer, offer, door)
            finally:
                self._negotiating.discard(peer)
            if self._scope.closed:
                raise _busy()
        except BaseException:
            await self._release(peer)
            raise
        self._scope.spawn(self._attend(peer, serve), "caller")
        return answer

    async def _attend(self, peer: Peer, serve: Serve) -> None:
        try:
            if not await self._connected(peer):
                return
            watch = self._scope.spawn(peer.watch(), "watch")
            watch.add_done_callback(lambda _: peer.end())
            try:
                await serve(peer)
            finally:
                watch.cancel()
        finally:
            await self._release(peer)

    async def _connected(self, peer: Peer) -> bool:
        try:
            async with asyncio.timeout(self.connect_s):
                await peer.opened.wait()
        except TimeoutError:
            log.info("a caller did not connect in time", seconds=self.connect_s)
        finally:
            self._connecting -= 1
        return peer.opened.is_set() and not peer.over

    async def _release(self, peer: Peer) -> None:
        # aiortc cannot be closed a second time when the first was cancelled half-way: it has a task of its own.
        releasing = asyncio.create_task(peer.release(), name="webrtc calls/release")
        self._releases.add(releasing)
        releasing.add_done_callback(self._releases.discard)
        releasing.add_done_callback(lambda _: self._callers.discard(peer))
        _, late = await asyncio.wait([releasing], timeout=RELEASE_S)
        if late:
            log.warning("a connection could not be given back in time", seconds=RELEASE_S)


def _busy() -> GloveError:
    return GloveError("ERR_WEBRTC_BUSY", "Too many calls at once.", "Try again in a few seconds.")


async def _negotiate(connection: RTCPeerConnection, peer: Peer, offer: str, door: str | None) -> str:
    from aiortc import RTCRtpSender, RTCSessionDescription

    from realtime.browser.webrtc_taps import limit_pieces, listen_only_at, tap_receiver

    transceiver = connection.getTransceivers()[0]
    opus = [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType.lower() == "audio/opus"]
    transceiver.setCodecPreferences(opus)
    try:
        await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        tap_receiver(transceiver.receiver, peer.hear)
        if connection.sctp is not None:
            limit_pieces(connection.sctp, 2 * MAX_MESSAGE_BYTES, peer.too_much)
        if door is not None:
            for transport in _transports(connection):
                listen_only_at(transport, door)
        await connection.setLocalDescription(await connection.createAnswer())
    except (GloveError, TimeoutError):
        raise
    except Exception as fault:
        # aiortc checks an offer by using it: whatever it raises says that the offer is unusable.
        raise refused("it cannot be used", fault) from fault
    return connection.localDescription.sdp


def _transports(connection: RTCPeerConnection) -> set[RTCIceTransport]:
    lines = [transceiver.receiver.transport for transceiver in connection.getTransceivers()]
    if connection.sctp is not None:
        lines.append(connection.sctp.transport)
    return {line.transport for line in lines}
