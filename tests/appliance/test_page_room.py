"""The page as a room of the daemon: who may come in, and what happens when its port is taken."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import httpx
import pytest

from agents.models.discovery import Offer
from appliance.config.schema import GloveConfig
from appliance.daemon import service
from appliance.session import offers
from appliance.web.page_room import PAGE, run_page
from tests.appliance.house import House, house, simulated


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def served(home: House) -> str:
    async with asyncio.timeout(30):
        while PAGE not in home.daemon.facts:
            await asyncio.sleep(0.02)
    return str(home.daemon.facts[PAGE])


@pytest.mark.realtime
async def test_only_who_knows_the_token_may_come_in(tmp_path: Path) -> None:
    async with house(tmp_path, simulated(page={"port": free_port()}), {PAGE: run_page}) as home:
        address, _, token = (await served(home)).partition("/#token=")
        async with httpx.AsyncClient(trust_env=False) as browser:
            assert (await browser.get(f"{address}/")).status_code == 200
            assert (await browser.post(f"{address}/login", json={"token": "guessed"})).status_code == 403
            assert (await browser.post(f"{address}/login", json={"token": token})).status_code == 204
            assert token not in (await browser.get(f"{address}/health")).text
    async with httpx.AsyncClient(trust_env=False) as browser:
        with pytest.raises(httpx.ConnectError):
            await browser.get(f"{address}/")


@pytest.mark.realtime
async def test_it_is_reached_under_the_names_that_were_agreed_on_and_no_other(tmp_path: Path) -> None:
    config = simulated(page={"port": free_port(), "hosts": ["glove.local"]})
    async with house(tmp_path, config, {PAGE: run_page}) as home:
        address = (await served(home)).partition("/#token=")[0]
        async with httpx.AsyncClient(trust_env=False) as browser:
            assert (await browser.get(f"{address}/", headers={"Host": "glove.local:8765"})).status_code == 200
            assert (await browser.get(f"{address}/", headers={"Host": "other.local"})).status_code in (400, 403)


@pytest.mark.realtime
async def test_a_port_in_use_costs_the_page_and_nothing_else(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        async with house(tmp_path, simulated(page={"port": port}), {PAGE: run_page}) as home:
            async with asyncio.timeout(30):
                while not home.said:
                    await asyncio.sleep(0.02)
            device = await home.enter("device")
            assert "4" in await device.say("what is two plus two")
            assert "page.port" in home.said[0]
            other.close()
            await served(home)  # it comes when the port is free
        assert home.said[1].startswith("Page: http://127.0.0.1:")


def test_a_place_to_talk_is_needed() -> None:
    everything_off = GloveConfig(device={"enabled": False}, page={"enabled": False})  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"device\.enabled and page\.enabled"):
        service.features(everything_off)


async def test_a_model_server_nearby_is_offered_and_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found() -> list[Offer]:
        return [Offer("ollama", "http://127.0.0.1:11434/v1", ("small", "large"), "Ollama")]

    monkeypatch.setattr("agents.models.discovery.find_local_servers", found)
    (line,) = await offers.offers(GloveConfig())
    assert "not used" in line
    assert "GLOVE_MODEL__PROVIDER=ollama" in line
    assert await offers.offers(GloveConfig(model={"provider": "none"})) == []  # type: ignore[arg-type]
