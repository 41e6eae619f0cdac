"""The control socket: one JSON object per line asks the running daemon for something, one line answers.

Only the user who runs the daemon (and the super-user) gets through: the socket is theirs alone, and the kernel is asked
who calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import structlog

from agents.base.errors import GloveError, InputError
from agents.base.scope import Scope
from appliance.daemon.instance import SOCKET, runtime_folder

log = structlog.get_logger(__name__)

LONGEST_LINE = 64 * 1024
MOST_CALLERS = 8
PATIENCE_S = 10.0
"""How long a caller may take to send its line, and a command to wait for its answer, in seconds."""

Handler = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Does what a request asks for and returns the answer's fields. ``GloveError`` becomes an answer too."""


class ControlServer:
    """Answers requests on a socket.

    Args:
        path: where the socket is made; whoever calls ``open`` holds the daemon's lock, so an old one is removed.
        handlers: by the request's ``do``.
    """

    def __init__(self, path: Path, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self._handlers = handlers
        self._server: asyncio.Server | None = None
        self._scope = Scope("control")
        self._callers = 0

    async def open(self) -> None:
        """Listen.

        Raises:
            GloveError: ``ERR_CONTROL``: the socket cannot be made.
        """
        try:
            self.path.unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            try:
                listener.bind(str(self.path))
                self.path.chmod(0o600)
                self._server = await asyncio.start_unix_server(self._called, sock=listener, limit=LONGEST_LINE)
            except BaseException:
                listener.close()
                raise
        except OSError as fault:
            raise GloveError(
                "ERR_CONTROL", f"The control socket {self.path} cannot be made: {fault.strerror or fault}.", None, fault
            ) from fault

    async def close(self) -> None:
        """Hang up and remove the socket; idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self.path.unlink(missing_ok=True)
        await self._scope.close(timeout_s=1.0)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._scope.closed or self._callers >= MOST_CALLERS or not _is_owner(writer):
            writer.close()
            return
        self._callers += 1
        try:
            await self._scope.spawn(self._serve(reader, writer), "caller")
        finally:
            self._callers -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    line = await reader.readline()
            except (TimeoutError, ValueError, ConnectionError):
                return  # silent, endless or gone
            if not line.endswith(b"\n"):
                return
            answer = await self._answer(line)
            try:
                writer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
                await writer.drain()
            except ConnectionError:
                return

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = _request(line)
            handler = self._handlers.get(str(request.get("do")))
            if handler is None:
                raise InputError("ERR_CONTROL_REQUEST", f"The daemon knows no request {request.get('do')!r}.")
            return {"ok": True, **await handler(request)}
        except GloveError as fault:
            kind = "input" if isinstance(fault, InputError) else "fault"
            return {"ok": False, "kind": kind, "code": fault.code, "message": fault.message, "remedy": fault.remedy}
        except Exception as fault:
            log.exception("a request failed")
            return {"ok": False, "kind": "fault", "code": "ERR_CONTROL", "message": f"The daemon failed: {fault}"}


def ask(request: Mapping[str, Any], folder: Path | None = None, *, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
    """Send ``request`` to the running daemon and return its answer. Blocks; for commands.

    Raises:
        GloveError: ``ERR_NOT_RUNNING`` when no daemon runs; what the daemon answered when it refused.
        InputError: ``ERR_CONTROL_REQUEST``: the request is longer than a daemon reads.
    """
    line = json.dumps(dict(request), ensure_ascii=False).encode(errors="replace") + b"\n"
    if len(line) > LONGEST_LINE:
        raise InputError("ERR_CONTROL_REQUEST", f"That is too long: at most {LONGEST_LINE // 1024} KiB are possible.")
    path = (folder or runtime_folder()) / SOCKET
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as caller:
        caller.settimeout(timeout_s)
        try:
            caller.connect(str(path))
            caller.sendall(line)
            with caller.makefile("rb") as stream:
                line = stream.readline(LONGEST_LINE)
        except (FileNotFoundError, ConnectionRefusedError) as fault:
            raise GloveError(
                "ERR_NOT_RUNNING", "The appliance does not run.", "Start it with glove run.", fault
            ) from fault
        except OSError as fault:
            raise GloveError(
                "ERR_CONTROL",
                f"The running appliance cannot be reached at {path}: {fault.strerror or fault}.",
                None,
                fault,
            ) from fault
    if not line:
        raise GloveError("ERR_CONTROL", "The running appliance hung up without an answer.", "See its log.")
    answer = _request(line)
    if answer.get("ok"):
        return answer
    kind = InputError if answer.get("kind") == "input" else GloveError
    raise kind(str(answer.get("code")), str(answer.get("message")), cast("str | None", answer.get("remedy")))


def _request(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise InputError("ERR_CONTROL_REQUEST", "A request is one JSON object on one line.", None, fault) from fault
    if not isinstance(value, dict):
        raise InputError("ERR_CONTROL_REQUEST", "A request is one JSON object on one line.")
    return cast("dict[str, Any]", value)


def _is_owner(writer: asyncio.StreamWriter) -> bool:
    peer = writer.get_extra_info("socket")
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", raw)
    return uid in (0, os.geteuid())
