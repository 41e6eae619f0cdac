"""The appliance on the local network: its certificate, its listeners, its announcement, and who may come in.

Nothing of it is there before it is switched on, and nothing is left after it was switched off.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import structlog

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.credentials import Secret
from agents.base.errors import GloveError
from agents.base.scope import Scope
from appliance.lan.addresses import host_label, lan_addresses
from appliance.lan.announce import Announcer
from appliance.lan.attempts import Attempts
from appliance.lan.authority import Authority, Leaf, certifiable, fingerprint
from appliance.lan.door import LanDoor
from appliance.lan.invitations import Invitations
from appliance.lan.paired import PairedDevices

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from appliance.config.schema import GloveConfig
    from appliance.web.server import ApiServer

log = structlog.get_logger(__name__)

LOOK_S = 15.0
"""How often addresses and the certificate are looked at."""


class LanState(Enum):
    """``off``: nothing is reachable. ``on``: it is, as far as there are addresses. The others lead there."""

    OFF = "off"
    OPENING = "opening"
    ON = "on"
    CLOSING = "closing"


MOVES = {
    LanState.OFF: {LanState.OPENING},
    LanState.OPENING: {LanState.ON, LanState.CLOSING},
    LanState.ON: {LanState.CLOSING},
    LanState.CLOSING: {LanState.OFF},
}


class Announcing(Protocol):
    """``appliance.lan.announce.Announcer``, or what stands in for it."""

    async def claim(self, addresses: Sequence[str]) -> str:
        """Find a host name that nobody has."""
        ...

    async def publish(self, port: int) -> None:
        """Announce it."""
        ...

    async def close(self) -> None:
        """Take it back."""
        ...


@dataclass(frozen=True)
class LanPlace:
    """Where the appliance is on the network, and what it keeps for that.

    Attributes:
        folder: of certificates and paired devices; None forgets them at the end.
        port: of https.
        name: host name wanted, ``auto`` for the machine's own.
        hosts: further names under which it is reached.
        addresses: tells the addresses to listen on.
        announcer: makes what announces a name.
        look_s: how often changes are looked for.
    """

    folder: Path | None
    port: int = 8443
    name: str = "auto"
    hosts: tuple[str, ...] = ()
    addresses: Callable[[], Sequence[str]] = lan_addresses
    announcer: Callable[[str], Announcing] = Announcer
    look_s: float = LOOK_S


@dataclass(frozen=True)
class Invite:
    """How a device is paired. Both addresses hold the token, in the fragment."""

    by_name: Secret
    by_address: Secret
    valid_s: float
    authority: str
    server: str


class Lan:
    """Switches the local network on and off.

    Args:
        place: where and what.
        make_app: makes the application behind the door.

    Attributes:
        devices: the paired devices.
        invitations: what they were paired with.
        door: who may come in.
        authority: vouches for the certificate; None before it was switched on for the first time.
        leaf: the certificate that is shown.
        on_revoked: called with the client whose session was ended.
        on_change: called when it was switched on or off, or when the addresses changed.
    """

    def __init__(self, place: LanPlace, make_app: Callable[[Lan], Starlette]) -> None:
        self._place = place
        self._temporary = tempfile.TemporaryDirectory(prefix="glove-lan-") if place.folder is None else None
        self.folder = place.folder or Path(self._temporary.name if self._temporary is not None else "")
        self.devices = PairedDevices(place.folder / "devices.json" if place.folder is not None else None)
        self.invitations = Invitations()
        self.door = LanDoor(self.names, self.devices, Attempts())
        self._make_app = make_app
        self._app: Starlette | None = None
        self._state = LanState.OFF
        self._turn = asyncio.Lock()
        self._scope = Scope("local network")
        self._watch: asyncio.Task[None] | None = None
        self._announcer: Announcing | None = None
        self._servers: dict[str, ApiServer] = {}
        self._told_faults: set[str] = set()
        self._tls: ssl.SSLContext | None = None
        self._addresses: tuple[str, ...] = ()
        self._host = ""
        self.authority: Authority | None = None
        self.leaf: Leaf | None = None
        self.on_revoked: Callable[[str], Awaitable[None]] | None = None
        self.on_change: Callable[[], None] | None = None

    @property
    def state(self) -> LanState:
        """See ``LanState``."""
        return self._state

    def names(self) -> tuple[str, ...]:
        """Names and addresses under which it is reached now."""
        own = (self._host,) if self._host else ()
        return (*own, *self._addresses, *(host.lower() for host in self._place.hosts))

    @property
    def port(self) -> int:
        """The port of https; the real one where 0 was asked for."""
        return next((server.port for server in self._servers.values()), self._place.port)

    @property
    def addresses(self) -> tuple[str, ...]:
        """``https`` addresses at which it listens, the name first."""
        if not self._servers:
            return ()
        hosts = [*([self._host] if self._host else []), *self._servers]
        return tuple(f"https://{bracketed(host)}:{self.port}/" for host in hosts)

    async def turn_on(self) -> None:
        """Be reachable; idempotent. Without an address it waits for one.

        Raises:
            GloveError: ``ERR_CERTIFICATE``, ``ERR_LAN_FILES``; ``ERR_PAGE_PORT``, the port is taken.
        """
        async with self._turn:
            if self._state is LanState.ON:
                return
            self._move(LanState.OPENING)
            try:
                self._announcer = self._place.announcer(host_label(self._place.name))
                self._app = self._make_app(self)
                await self._refresh(first=True)
            except BaseException:
                await self._shut()
                raise
            self._move(LanState.ON)
            self._changed()
            self._watch = self._scope.supervise(self._keep_up, "watch", Backoff(1.0, 60.0))

    async def turn_off(self) -> None:
        """Be reachable no longer, and forget invitations; idempotent."""
        async with self._turn:
            if self._state is LanState.ON:
                await self._shut()

    async def close(self) -> None:
        """Turn off for good; idempotent."""
        await self.turn_off()
        await self._scope.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def invite(self) -> Invite:
        """Invite a device.

        Raises:
            GloveError: ``ERR_LAN_OFF``; ``ERR_LAN_ADDRESS``, there is no address to come to.
        """
        if self._state is not LanState.ON or self.authority is None:
            raise GloveError("ERR_LAN_OFF", "Pairing is off.", "glove pair switches it on.")
        if not self._servers or self.leaf is None:
            raise GloveError(
                "ERR_LAN_ADDRESS",
                "This machine has no address on a local network at which it could be reached.",
                "Connect it to the network that the phone is in, then try again.",
            )
        token = self.invitations.issue()
        urls = [Secret(f"{address}pair#{token.reveal()}") for address in self.addresses]
        return Invite(
            urls[0],
            urls[1] if self._host else urls[0],
            self.invitations.valid_s,
            fingerprint(self.authority.certificate),
            fingerprint(self.leaf.certificate),
        )

    async def renew(self, *, authority: bool = False) -> None:
        """Make another certificate for the server, or another authority too. Raises as ``turn_on``."""
        async with self._turn:
            await asyncio.to_thread(self._make_authority if authority else self._load_authority)
            self._issue()

    async def revoke(self, device_id: str) -> str:
        """End the session of a device, with its rooms; returns its name. Raises as ``PairedDevices.revoke``."""
        device = self.devices.revoke(device_id)
        if self.on_revoked is not None:
            await self.on_revoked(f"device-{device.id}")
        return device.name

    def _move(self, state: LanState) -> None:
        if state not in MOVES[self._state]:
            raise RuntimeError(f"the local network cannot go from {self._state.value} to {state.value}")
        self._state = state

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(self._place.look_s)
            async with self._turn:
                if self._state is LanState.ON:
                    await self._refresh()

    async def _refresh(self, *, first: bool = False) -> None:
        """Follow the addresses of the machine, and keep the certificate fresh."""
        addresses = tuple(await asyncio.to_thread(self._place.addresses))
        moved = addresses != self._addresses
        if moved:
            self._addresses = addresses
            await self._claim()
        await self._keep_certificate()
        await self._listen(first=first)
        if moved and self._announcer is not None and self._servers:
            await self._announcer.publish(self.port)
        if moved and self._state is LanState.ON:
            self._changed()

    async def _claim(self) -> None:
        assert self._announcer is not None
        self._host = ""
        if not self._addresses:
            await self._announcer.close()
            return
        try:
            self._host = await self._announcer.claim(self._addresses)
        except OSError as fault:
            log.warning("the name cannot be announced; addresses work", error=fault.strerror or str(fault))

    async def _keep_certificate(self) -> None:
        if self.authority is None:
            await asyncio.to_thread(self._load_authority)
        if self.leaf is None or self.leaf.due(self._certified(), clock.wall()):
            self._issue()

    def _load_authority(self) -> None:
        authority = Authority.load(self.folder)
        if authority is None or authority.due(clock.wall()):
            self._make_authority()
        else:
            self.authority, self.leaf = authority, authority.leaf()
            self._show()

    def _make_authority(self) -> None:
        self.authority, self.leaf = Authority.make(self.folder, host_label(self._place.name), clock.wall()), None

    def _certified(self) -> list[str]:
        # A name outside the authority's constraints would spoil the whole certificate.
        return sorted({name for name in self.names() if certifiable(name)})

    def _issue(self) -> None:
        names = self._certified()
        if self.authority is not None and names:
            self.leaf = self.authority.issue(names, clock.wall())
            log.info("a certificate was made", names=names, until=self.leaf.certificate.not_valid_after_utc.isoformat())
            self._show()

    def _show(self) -> None:
        """Show the certificate to whoever comes from now on."""
        if self.leaf is None:
            return
        if self._tls is None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
            self._tls.set_alpn_protocols(["http/1.1"])
        self._tls.load_cert_chain(self.leaf.chain, self.leaf.key)

    async def _listen(self, *, first: bool) -> None:
        from appliance.web.server import serve

        for address in [address for address in self._servers if address not in self._addresses]:
            await self._servers.pop(address).close()
        for address in [address for address in self._addresses if address not in self._servers]:
            assert self._app is not None and self._tls is not None
            try:
                self._servers[address] = await serve(self._app, address, self.port, tls=self._tls)
            except GloveError as fault:
                if first and fault.code == "ERR_PAGE_PORT":
                    raise
                # An address that was found a moment ago may be gone, or not be ready yet: it is looked at again.
                if address not in self._told_faults:
                    log.warning("an address cannot be listened on", address=address, error=fault.message)
                self._told_faults.add(address)

    async def _shut(self) -> None:
        self._move(LanState.CLOSING)
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
        self.invitations.withdraw()
        if self._announcer is not None:
            await self._announcer.close()
        servers, self._servers = self._servers, {}
        await asyncio.gather(*(server.close() for server in servers.values()))
        self._addresses, self._host, self._app = (), "", None
        self._told_faults.clear()
        self._move(LanState.OFF)
        self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


def lan_folder(config: GloveConfig) -> Path | None:
    """Where certificates and paired devices are kept: beside the store; None where that is memory."""
    from appliance.session.mind import store_path

    store = store_path(config)
    return store.parent / "lan" if store is not None else None


def bracketed(host: str) -> str:
    """``host`` as it stands in an address."""
    return f"[{host}]" if ":" in host else host
