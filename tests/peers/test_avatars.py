"""Faces against what others have made: LiveKit's server, SDK and receiver, and the providers' own plugins."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agents.base.credentials import Secret
from audio.pcm import Pcm, wire_bytes
from avatars.conformance import speech
from avatars.contract import AvatarEvent, AvatarFault, UtteranceCut, UtteranceDone, UtteranceStarted
from avatars.livekit.room_wire import RoomWire
from avatars.livekit.tavus import TavusLiveKitAvatar
from avatars.livekit.wire import Presence
from avatars.tavus.api import TavusFace
from realtime.livekit.tokens import LiveKitAccess, mint_avatar_token
from tests.avatars import anam_service, tavus_service
from tests.peers.asgi import serving
from tests.peers.environments import environment
from tests.peers.livekit_peer import LiveKitPeer, until
from tests.peers.livekit_server import livekit_server

pytestmark = pytest.mark.realtime

PATIENCE_S = 170.0
"""A worker alone takes many seconds to start on a machine that does other things too."""

HERE = Path(__file__).parent
FACE = "tavus-avatar-agent"
PLUGINS = ("livekit-agents==1.8.9", "livekit-plugins-tavus==1.8.9", "livekit-plugins-anam==1.8.9")


@pytest.fixture(scope="module")
def access() -> Iterator[LiveKitAccess]:
    with livekit_server() as server:
        yield server.access


@pytest.fixture(scope="module")
def python() -> Path:
    return environment(*PLUGINS)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does other things too lets a worker fall behind by more than a face may."""
    monkeypatch.setattr("avatars.livekit.playback.GRACE_S", PATIENCE_S)
    monkeypatch.setattr("avatars.livekit.playback.CLEAR_S", PATIENCE_S)


class Stage:
    """A room with an agent of LiveKit's SDK, a face whose provider is a stand-in, and the face's worker."""

    def __init__(self, access: LiveKitAccess, python: Path) -> None:
        self.access, self.python = access, python
        self.name = f"faces-{secrets.token_hex(4)}"
        self.agent = LiveKitPeer(access, self.name, "agent")
        self.service = tavus_service.TavusService()
        self.wire = RoomWire(FACE)
        self.worker: asyncio.subprocess.Process | None = None
        self.seen: list[Any] = []
        self.told: list[AvatarEvent] = []
        self.avatar = TavusLiveKitAvatar(
            Secret(tavus_service.KEY),
            TavusFace("face-1"),
            self.wire,
            access.socket_url,
            self.token,
            arrival_s=PATIENCE_S,
            transport=httpx.ASGITransport(self.service.app),
        )
        self.avatar.events.on(AvatarEvent, self.told.append)
        self._reading: asyncio.Task[None] | None = None

    def token(self) -> str:
        return mint_avatar_token(self.access, room=self.name, identity=FACE, on_behalf_of="agent").reveal()

    async def send_worker(self) -> None:
        """What the provider does when a conversation has begun."""
        self.worker = await asyncio.create_subprocess_exec(
            str(self.python),
            str(HERE / "avatar_worker.py"),
            self.access.socket_url,
            self.service.bodies[-1]["properties"]["livekit_room_token"],
            "agent",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._reading = asyncio.create_task(self._read(self.worker))

    async def _read(self, worker: asyncio.subprocess.Process) -> None:
        assert worker.stdout is not None
        async for line in worker.stdout:
            self.seen.append(json.loads(line))

    async def end_worker(self) -> None:
        if self.worker is not None and self.worker.returncode is None:
            self.worker.kill()
            await self.worker.wait()
        if self._reading is not None:
            await self._reading

    def segments(self) -> list[tuple[int, str]]:
        return [(one["bytes"], one["sha"]) for one in self.seen if one["event"] == "segment"]

    @property
    def ends(self) -> list[UtteranceDone | UtteranceCut]:
        return [one for one in self.told if isinstance(one, UtteranceDone | UtteranceCut)]

    def say(self, pcm: Pcm) -> None:
        self.avatar.send_audio(pcm, 24_000)
        self.avatar.end_utterance()


@asynccontextmanager
async def staged(access: LiveKitAccess, python: Path) -> AsyncIterator[Stage]:
    stage = Stage(access, python)
    await stage.agent.join()
    stage.wire.joined(stage.agent.room)
    try:
        await stage.avatar.connect()
        yield stage
        await stage.avatar.disconnect()
    finally:
        await stage.end_worker()
        await stage.agent.leave()


def play(access: LiveKitAccess, python: Path, scene: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S), staged(access, python) as stage:
            await scene(stage)

    asyncio.run(main())


def digest(pcm: Pcm) -> tuple[int, str]:
    data = wire_bytes(pcm)
    return len(data), hashlib.sha256(data).hexdigest()


def test_speech_before_the_worker_comes_arrives_whole_and_each_utterance_is_reported_once(
    access: LiveKitAccess, python: Path
) -> None:
    async def scene(stage: Stage) -> None:
        first, second = speech(1.2), speech(0.7)
        stage.say(first)
        stage.say(second)
        assert stage.wire.presence is Presence.AWAY
        await stage.send_worker()
        await until(lambda: len(stage.ends) == len(stage.segments()) == 2, PATIENCE_S)
        assert stage.segments() == [digest(first), digest(second)]
        assert [(one.type, one.utterance) for one in stage.ends] == [("utterance_done", 1), ("utterance_done", 2)]
        assert [one.played_s for one in stage.ends] == [pytest.approx(1.2, abs=0.11), pytest.approx(0.7, abs=0.11)]
        assert [one.utterance for one in stage.told if isinstance(one, UtteranceStarted)] == [1, 2]
        assert not any(isinstance(one, AvatarFault) for one in stage.told)

    play(access, python, scene)


def test_an_interruption_silences_the_worker_and_is_counted_once(access: LiveKitAccess, python: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.send_worker()
        stage.avatar.send_audio(speech(20.0), 24_000)
        await until(lambda: any(isinstance(one, UtteranceStarted) for one in stage.told), PATIENCE_S)
        await asyncio.sleep(1.0)
        stage.avatar.interrupt()
        after = speech(0.9)
        stage.say(after)
        await until(lambda: len(stage.ends) == 2 and stage.segments(), PATIENCE_S)
        cut = next(one["played_s"] for one in stage.seen if one["event"] == "clear")
        assert stage.ends == [UtteranceCut(1, pytest.approx(cut)), UtteranceDone(2, pytest.approx(0.9, abs=0.11))]
        assert 0.0 < cut < 20.0
        assert stage.segments()[-1] == digest(after)

    play(access, python, scene)


def test_a_face_that_no_worker_plays_for_refuses_to_be_cleared(access: LiveKitAccess, python: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S), staged(access, python) as stage:
            wire = RoomWire("bystander", needs_picture=False)
            wire.joined(stage.agent.room)
            peer = await LiveKitPeer(access, stage.name, "bystander").join()
            await until(lambda: wire.presence is Presence.HERE)
            with pytest.raises(Exception, match="supported"):
                await wire.call("lk.clear_buffer", "", 2.0)
            await peer.leave()
            await until(lambda: wire.presence is Presence.AWAY)
            wire.left()
            assert wire.presence is Presence.UNKNOWN
            with pytest.raises(ConnectionError):
                await wire.call("lk.clear_buffer", "", 2.0)

    asyncio.run(main())


def test_the_stand_ins_take_what_the_providers_own_plugins_send(python: Path) -> None:
    tavus, anam = tavus_service.TavusService(), anam_service.AnamService()

    async def main() -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S), serving(tavus.app) as tavus_url, serving(anam.app) as anam_url:
            process = await asyncio.create_subprocess_exec(
                str(python),
                str(HERE / "avatar_plugins.py"),
                tavus_url,
                tavus_service.KEY,
                anam_url,
                anam_service.KEY,
                stdout=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate()
            return json.loads(out)

    assert asyncio.run(main()) == {"pal": "p001", "conversation": "c001", "refused": 401, "session": "s001"}
    assert tavus.pals["p001"].layers is not None
    assert tavus.conversations["c001"].properties is not None
    assert anam.engines[0].personaConfig.avatarId == "avatar-9"
