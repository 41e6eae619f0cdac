"""Telling the neighbours by multicast DNS (RFC 6762, 6763) that the appliance is here, and under which name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING

import structlog

from appliance.commands.version import installed_version
from appliance.lan.addresses import all_addresses

if TYPE_CHECKING:
    from zeroconf import ServiceInfo
    from zeroconf.asyncio import AsyncZeroconf

log = structlog.get_logger(__name__)

SERVICES = ("_glove._tcp.local.", "_https._tcp.local.")
ASK_MS = 1000
"""How long neighbours may take to say that a name is theirs."""

MOST_NAMES = 20
CLOSE_S = 2.0


class Announcer:
    """Claims a host name, and announces the page under it.

    Args:
        label: the name wanted, without ``.local``. If a neighbour has it, a number is added.
        own: all addresses of this machine; a name that leads to one of them is not a neighbour's.
    """

    def __init__(self, label: str, own: Callable[[], set[str]] = all_addresses) -> None:
        self._label = label
        self._own = own
        self._zeroconf: AsyncZeroconf | None = None
        self._addresses: Sequence[str] = ()
        self.host = f"{label}.local"

    async def claim(self, addresses: Sequence[str]) -> str:
        """Find a name that no neighbour has, in the networks of ``addresses``; returns it, with ``.local``.

        Raises:
            OSError: multicast is not possible here.
        """
        from zeroconf import IPVersion
        from zeroconf.asyncio import AsyncZeroconf

        await self.close()
        both = {ip_address(address).version for address in addresses}
        version = {frozenset({4}): IPVersion.V4Only, frozenset({6}): IPVersion.V6Only}.get(frozenset(both))
        self._addresses = addresses
        self._zeroconf = AsyncZeroconf(interfaces=list(addresses), ip_version=version or IPVersion.All)
        own = await asyncio.to_thread(self._own) | set(addresses)
        for number in range(1, MOST_NAMES + 1):
            self.host = f"{self._label}.local" if number == 1 else f"{self._label}-{number}.local"
            theirs = await self._addresses_of(self._zeroconf, self.host) - own
            if not theirs:
                break
            log.info("a neighbour has this name", host=self.host, addresses=sorted(theirs))
        return self.host

    async def publish(self, port: int) -> None:
        """Announce the page at ``port`` of the addresses that the name was claimed for."""
        if self._zeroconf is None:
            return
        for service in SERVICES:
            sent = await self._zeroconf.async_register_service(self._info(service, port), allow_name_change=True)
            await sent

    async def close(self) -> None:
        """Take back what was announced; idempotent, and done within a few seconds."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is None:
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                await zeroconf.async_close()
        except TimeoutError:
            log.warning("what was announced could not be taken back in time")

    async def _addresses_of(self, zeroconf: AsyncZeroconf, host: str) -> set[str]:
        from zeroconf import AddressResolver  # pyright: ignore[reportPrivateImportUsage] - public, but not in __all__

        asked = AddressResolver(f"{host}.")
        await asked.async_request(zeroconf.zeroconf, ASK_MS)
        return {text.split("%")[0] for text in asked.parsed_scoped_addresses()}

    def _info(self, service: str, port: int) -> ServiceInfo:
        from zeroconf.asyncio import AsyncServiceInfo

        return AsyncServiceInfo(
            service,
            f"Glove on {self.host.removesuffix('.local')}.{service}",
            port=port,
            properties={"path": "/", "version": installed_version()},
            server=f"{self.host}.",
            parsed_addresses=list(self._addresses),
        )
