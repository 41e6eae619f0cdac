"""Multicast DNS on loopback, with a second responder as the neighbour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from zeroconf import IPVersion
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from appliance.lan.addresses import host_label, lan_addresses
from appliance.lan.announce import SERVICES, Announcer

pytestmark = pytest.mark.realtime
HERE = ("127.0.0.1",)


def nobody() -> set[str]:
    return set()


def neighbour() -> AsyncZeroconf:
    return AsyncZeroconf(interfaces=list(HERE), ip_version=IPVersion.V4Only)


async def found(ear: AsyncZeroconf, service: str, label: str) -> AsyncServiceInfo | None:
    return await ear.async_get_service_info(service, f"Glove on {label}.{service}", 2000)


async def test_it_is_found_under_its_name_while_it_is_announced_and_not_afterwards() -> None:
    label = f"glove-{uuid4().hex[:8]}"
    announcer = Announcer(label, nobody)
    assert await announcer.claim(HERE) == f"{label}.local"
    await announcer.publish(8443)
    ear = neighbour()
    seen = {service: Gone() for service in SERVICES}
    try:
        for service in SERVICES:
            info = await found(ear, service, label)
            assert info is not None and info.port == 8443
            assert info.server == f"{label}.local." and info.parsed_addresses() == list(HERE)
            assert set(info.properties) == {b"path", b"version"}  # nothing that is a secret
            await ear.async_add_service_listener(service, seen[service])
        await until(lambda: all(f"Glove on {label}.{service}" in each.there for service, each in seen.items()))
        await announcer.close()
        await announcer.close()
        await until(
            lambda: not any(f"Glove on {label}.{service}" in each.there for service, each in seen.items())
        )  # goodbyes, not time-outs
    finally:
        await announcer.close()
        await ear.async_close()


async def test_a_name_that_a_neighbour_has_is_left_to_it() -> None:
    label = f"glove-{uuid4().hex[:8]}"
    other = neighbour()
    taken = AsyncServiceInfo(
        "_http._tcp.local.",
        f"{label}._http._tcp.local.",
        port=80,
        server=f"{label}.local.",
        parsed_addresses=["10.9.8.7"],
    )
    announcer, own = Announcer(label, nobody), Announcer(label, lambda: {"10.9.8.7"})
    try:
        await (await other.async_register_service(taken))
        assert await announcer.claim(HERE) == f"{label}-2.local"
        assert await own.claim(HERE) == f"{label}.local"  # another program of this machine has announced it
    finally:
        await announcer.close()
        await own.close()
        await other.async_close()


class Gone:
    """Which services are there, as a listener sees it."""

    def __init__(self) -> None:
        self.there: set[str] = set()

    def add_service(self, _: Any, __: str, name: str) -> None:
        self.there.add(name)

    def update_service(self, _: Any, __: str, name: str) -> None:
        self.there.add(name)

    def remove_service(self, _: Any, __: str, name: str) -> None:
        self.there.discard(name)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("wanted", "label"),
    [
        ("Glove", "glove"),
        ("kitchen.local", "kitchen"),
        ("Küche 1", "k-che-1"),
        ("localhost", "glove"),
        ("---", "glove"),
    ],
)
def test_a_name_is_made_fit_for_the_network(wanted: str, label: str) -> None:
    assert host_label(wanted) == label


def test_only_addresses_of_home_networks_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {
        "127.0.0.1",
        "::1",
        "8.8.8.8",
        "192.168.1.7",
        "fe80::1",
        "fd00::2",
        "10.0.0.9",
        "2001:db8::1",
        "100.64.0.1",
    }
    monkeypatch.setattr("appliance.lan.addresses.all_addresses", lambda: every)
    assert lan_addresses() == ("10.0.0.9", "192.168.1.7", "fd00::2")
