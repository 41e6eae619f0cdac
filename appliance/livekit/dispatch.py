"""Agent dispatch: the server calls an appliance into a room, one of all that have registered, by how busy they are.

This is the worker's half of the protocol that LiveKit servers speak at ``/agent``: protobuf messages over a WebSocket.
The connection goes out from here, so an appliance behind a router can be called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from agents.base.errors import GloveError
from agents.base.scope import Scope
from appliance.livekit.stays import Stay, Stays
from realtime.livekit.tokens import LiveKitAccess

if TYPE_CHECKING:
    from livekit.protocol import agent as wire
    from websockets.asyncio.client import ClientConnection

log = structlog.get_logger(__name__)

STATUS_S = 2.5
"""How often the server is told how busy this appliance is."""

OPEN_S = 10.0
TOKEN_S = 60
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class WorkerIdentity:
    """As what an appliance registers.

    Attributes:
        agent_name: rooms ask for it; empty registers for every new room.
        identity: of the agent in the rooms.
        name: of the agent in the rooms, for people.
        prefix: names of the rooms that are joined begin with it.
        version: of the appliance.
    """

    agent_name: str = ""
    identity: str = "glove"
    name: str = "Glove"
    prefix: str = ""
    version: str = ""


class Dispatcher:
    """One registration at a time.

    Args:
        access: the server.
        worker: as what to register.
        stays: joins and leaves.
        on_registered: called with the server's name for this worker.
    """

    def __init__(
        self,
        access: LiveKitAccess,
        worker: WorkerIdentity,
        stays: Stays,
        on_registered: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._access = access
        self._worker = worker
        self._stays = stays
        self._on_registered = on_registered
        self._jobs: dict[str, str] = {}

    async def run(self) -> None:
        """Register and take calls, until the connection ends.

        Raises:
            GloveError: ``ERR_LIVEKIT_AUTH``, ``ERR_LIVEKIT_CONNECTION``; rooms that were joined are not left.
        """
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        url = f"{self._access.socket_url.rstrip('/')}/agent?protocol=1"
        headers = {"Authorization": f"Bearer {self._token()}"}
        scope = Scope("livekit dispatch")
        try:
            async with connect(url, additional_headers=headers, open_timeout=OPEN_S, max_size=MOST_BYTES) as socket:
                await self._register(socket)
                scope.spawn(self._tell_status(socket), "status")
                async for data in socket:
                    await self._take(socket, scope, data)
            raise GloveError("ERR_LIVEKIT_CONNECTION", "The LiveKit server has ended the registration.")
        except InvalidStatus as fault:
            if fault.response.status_code in (401, 403):
                raise GloveError(
                    "ERR_LIVEKIT_AUTH",
                    "The LiveKit server does not accept the key.",
                    "Check livekit.key and the secret livekit_api_secret.",
                    fault,
                ) from fault
            raise _gone(fault) from fault
        except (OSError, TimeoutError, WebSocketException) as fault:
            raise _gone(fault) from fault
        finally:
            await scope.close()

    async def _register(self, socket: ClientConnection) -> None:
        from livekit.protocol import agent as wire
        from livekit.protocol.models import ParticipantPermission

        allowed = ParticipantPermission(can_publish=True, can_subscribe=True, can_publish_data=True, agent=True)
        request = wire.RegisterWorkerRequest(
            type=wire.JobType.JT_ROOM,
            agent_name=self._worker.agent_name,
            version=self._worker.version,
            allowed_permissions=allowed,
            ping_interval=30,
        )
        await socket.send(wire.WorkerMessage(register=request).SerializeToString())

    async def _take(self, socket: ClientConnection, scope: Scope, data: str | bytes) -> None:
        from google.protobuf.message import DecodeError
        from livekit.protocol import agent as wire

        message = wire.ServerMessage()
        try:
            message.ParseFromString(data if isinstance(data, bytes) else data.encode())
        except DecodeError as fault:
            log.warning("the LiveKit server sent what is no message", error=str(fault))
            return
        match message.WhichOneof("message"):
            case "register":
                log.info("registered with the LiveKit server", worker=message.register.worker_id)
                self._on_registered(message.register.worker_id)
            case "availability":
                await self._offer(socket, message.availability.job)
            case "assignment":
                self._assigned(socket, scope, message.assignment.job)
            case "termination":
                if (room := self._jobs.pop(message.termination.job_id, None)) is not None:
                    self._stays.leave(room)
            case _:
                pass

    async def _offer(self, socket: ClientConnection, job: wire.Job) -> None:
        """Say whether the agent could come."""
        from livekit.protocol import agent as wire

        room = job.room.name
        free = self._stays.load < 1.0 and room not in self._stays.rooms and room.startswith(self._worker.prefix)
        answer = wire.AvailabilityResponse(
            job_id=job.id,
            available=free,
            participant_identity=self._worker.identity,
            participant_name=self._worker.name,
        )
        await socket.send(wire.WorkerMessage(availability=answer).SerializeToString())

    def _assigned(self, socket: ClientConnection, scope: Scope, job: wire.Job) -> None:
        # The server's own token for the job is wider and runs out; the agent joins with one of its own, as always.
        self._jobs[job.id] = job.room.name
        try:
            stay = self._stays.join(job.room.name)
        except GloveError as fault:
            log.warning("the agent cannot take a call", room=job.room.name, code=fault.code)
            scope.spawn(self._tell_job(socket, job.id, "JS_FAILED", fault.message), "refusal")
            return
        scope.spawn(self._follow(socket, job.id, stay), f"job in {job.room.name}")

    async def _follow(self, socket: ClientConnection, job_id: str, stay: Stay) -> None:
        await self._tell_job(socket, job_id, "JS_RUNNING")
        fault = await asyncio.shield(stay.over)
        self._jobs.pop(job_id, None)
        await self._tell_job(
            socket,
            job_id,
            "JS_SUCCESS" if fault is None or fault.code == "ERR_LIVEKIT_ROOM_ENDED" else "JS_FAILED",
            "" if fault is None else fault.message,
        )

    async def _tell_job(self, socket: ClientConnection, job_id: str, status: str, error: str = "") -> None:
        from livekit.protocol import agent as wire
        from websockets.exceptions import ConnectionClosed

        update = wire.UpdateJobStatus(job_id=job_id, status=status, error=error)
        try:
            await socket.send(wire.WorkerMessage(update_job=update).SerializeToString())
        except ConnectionClosed:
            log.info("the LiveKit server was not told about a call", job=job_id, status=status)

    async def _tell_status(self, socket: ClientConnection) -> None:
        from livekit.protocol import agent as wire

        while True:
            load = self._stays.load
            status = wire.WorkerStatus.WS_FULL if load >= 1.0 else wire.WorkerStatus.WS_AVAILABLE
            update = wire.UpdateWorkerStatus(status=status, load=load, job_count=len(self._stays.rooms))
            await socket.send(wire.WorkerMessage(update_worker=update).SerializeToString())
            await asyncio.sleep(STATUS_S)

    def _token(self) -> str:
        from livekit.api import AccessToken, VideoGrants

        token = AccessToken(self._access.key, self._access.secret.reveal())
        return token.with_grants(VideoGrants(agent=True)).with_ttl(timedelta(seconds=TOKEN_S)).to_jwt()


def _gone(fault: Exception) -> GloveError:
    return GloveError("ERR_LIVEKIT_CONNECTION", "The LiveKit server cannot be reached.", "Check livekit.url.", fault)
