"""The daemon in LiveKit rooms: called by dispatch and webhook, within its limit, and left properly."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from livekit import api

from appliance.livekit.access import SECRET as SECRET_NAME
from appliance.livekit.feature import LIVEKIT, run_livekit
from appliance.web.page_room import run_page
from realtime.livekit.tokens import LiveKitAccess
from tests.appliance.house import House, house, simulated
from tests.peers.livekit_peer import LiveKitPeer, until
from tests.peers.livekit_server import free_ports, livekit_server

pytestmark = pytest.mark.realtime


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, livekit: LiveKitAccess) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(SECRET_NAME.upper(), livekit.secret.reveal())


@asynccontextmanager
async def daemon(folder: Path, access: LiveKitAccess, page: bool = False, **keys: Any) -> AsyncIterator[House]:
    """A daemon whose only rooms are those of the server."""
    port = free_ports(1)[0]
    config = simulated(
        livekit={"url": access.url, "key": access.key, "identity": "glove", **keys},
        page={"port": keys.pop("page_port", port)},
    )
    features: dict[str, Any] = {LIVEKIT: run_livekit, **({"page": run_page} if page else {})}
    async with house(folder, config, features) as running:
        await until(lambda: "livekit_join" in running.daemon.handlers)
        yield running


@asynccontextmanager
async def server_api(access: LiveKitAccess) -> AsyncIterator[api.LiveKitAPI]:
    async with api.LiveKitAPI(access.http_url, access.key, access.secret.reveal()) as server:
        yield server


async def dispatch(access: LiveKitAccess, room: str, agent_name: str) -> None:
    async with server_api(access) as server:
        await server.agent_dispatch.create_dispatch(api.CreateAgentDispatchRequest(agent_name=agent_name, room=room))


def names(running: House) -> list[str]:
    return sorted(entry.name for entry in running.daemon.rooms.living)


async def test_the_agent_is_always_in_its_room_and_answers_a_typed_line(livekit: LiveKitAccess, tmp_path: Path) -> None:
    room = f"home-{secrets.token_hex(4)}"
    async with daemon(tmp_path, livekit, room=room) as running:
        peer = await LiveKitPeer(livekit, room, "alice").join()
        await until(lambda: "glove" in peer.heard)
        await until(lambda: [message for message in peer.data if message["t"] == "ready"])
        await peer.room.local_participant.send_text("What is two plus three?", topic="lk.chat")
        await until(lambda: any("5" in text or "five" in text.lower() for text, _ in peer.captions), 20.0)
        assert peer.loud_since(0.0) is not None
        await peer.leave()
        await asyncio.sleep(0.5)
        assert names(running) == [f"{LIVEKIT}:{room}"]  # kept


async def test_two_appliances_share_the_calls_within_their_limits(livekit: LiveKitAccess, tmp_path: Path) -> None:
    agent, prefix = f"glove-{secrets.token_hex(3)}", secrets.token_hex(3)
    keys = {"dispatch": "agent", "agent_name": agent, "most_rooms": 1, "idle_s": 30}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with daemon(tmp_path / "a", livekit, **keys) as first, daemon(tmp_path / "b", livekit, **keys) as second:
        await asyncio.sleep(1.0)
        await dispatch(livekit, f"{prefix}-one", agent)
        await until(lambda: len(names(first)) + len(names(second)) == 1)
        await dispatch(livekit, f"{prefix}-two", agent)
        await until(lambda: len(names(first)) == len(names(second)) == 1)
        assert sorted([*names(first), *names(second)]) == [f"{LIVEKIT}:{prefix}-one", f"{LIVEKIT}:{prefix}-two"]
        await dispatch(livekit, f"{prefix}-three", agent)
        await asyncio.sleep(2.0)
        assert len(names(first)) == len(names(second)) == 1


async def test_a_room_without_people_is_left_and_a_deleted_one_at_once(livekit: LiveKitAccess, tmp_path: Path) -> None:
    agent, room = f"glove-{secrets.token_hex(3)}", f"call-{secrets.token_hex(3)}"
    async with daemon(tmp_path, livekit, dispatch="agent", agent_name=agent, idle_s=1.0) as running:
        await asyncio.sleep(0.5)
        peer = await LiveKitPeer(livekit, room, "alice").join()
        await dispatch(livekit, room, agent)
        await until(lambda: names(running) == [f"{LIVEKIT}:{room}"])
        await asyncio.sleep(2.0)
        assert names(running)
        await peer.leave()
        await until(lambda: not names(running), 15.0)
        again = f"{room}-again"
        peer = await LiveKitPeer(livekit, again, "alice").join()
        await dispatch(livekit, again, agent)
        await until(lambda: names(running) == [f"{LIVEKIT}:{again}"])
        async with server_api(livekit) as server:
            await server.room.delete_room(api.DeleteRoomRequest(room=again))
        await until(lambda: not names(running))
        await peer.leave()


async def test_a_signed_webhook_calls_the_agent_and_a_forged_one_does_not(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    with livekit_server(webhook=f"http://127.0.0.1:{port}/livekit/webhook") as server:
        keys = {"dispatch": "webhook", "prefix": "call-", "idle_s": 30}
        config = simulated(livekit={"url": server.access.url, "key": server.access.key, **keys}, page={"port": port})
        async with house(tmp_path, config, {LIVEKIT: run_livekit, "page": run_page}) as running:
            await until(lambda: "page" in running.daemon.facts and "livekit_join" in running.daemon.handlers)
            peer = await LiveKitPeer(server.access, "call-1", "alice").join()
            other = await LiveKitPeer(server.access, "another", "alice").join()
            await until(lambda: names(running) == [f"{LIVEKIT}:call-1"])
            forged = api.AccessToken("devkey", "wrong-wrong-wrong-wrong-wrong-wrong").with_sha256("AAAA").to_jwt()
            body = '{"event":"room_started","room":{"name":"call-2"}}'
            async with httpx.AsyncClient() as client:
                for headers in ({}, {"Authorization": forged}):
                    url = f"http://127.0.0.1:{port}/livekit/webhook"
                    answer = await client.post(url, content=body, headers=headers)
                    assert answer.status_code == 401
                big = await client.post(url, content="x" * 100_000)
                assert big.status_code == 413
            assert names(running) == [f"{LIVEKIT}:call-1"]
            await peer.leave()
            await other.leave()


async def test_a_room_is_joined_once_however_often_it_is_asked_for(livekit: LiveKitAccess, tmp_path: Path) -> None:
    room = f"call-{secrets.token_hex(3)}"
    async with daemon(tmp_path, livekit, idle_s=30) as running:
        join = running.daemon.handlers["livekit_join"]
        peer = await LiveKitPeer(livekit, room, "alice").join()
        await asyncio.gather(*(join({"room": room}) for _ in range(5)))
        await until(lambda: names(running) == [f"{LIVEKIT}:{room}"])
        await until(lambda: peer.present)
        await asyncio.sleep(1.0)
        assert peer.present == ["glove"] and not peer.gone
        assert (await running.daemon.handlers["livekit_leave"]({"room": room})) == {"left": True}
        await until(lambda: "glove" in peer.gone and not names(running))
        await peer.leave()
