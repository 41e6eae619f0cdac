"""The control socket, the lock, and the commands that use them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.base.errors import GloveError, InputError
from appliance.daemon.control import LONGEST_LINE, MOST_CALLERS, ControlServer, ask
from appliance.daemon.instance import Instance, lock_store, ready_folder, running_pid, runtime_folder
from appliance.daemon.service import serve
from tests.appliance.conftest import Ended
from tests.appliance.house import simulated

Glove = Callable[..., Ended]


async def echo(request: object) -> dict[str, object]:
    return {"echo": request}


async def refuse(request: object) -> dict[str, object]:
    raise InputError("ERR_TEST", "No.", "Ask nicely.")


async def crash(request: object) -> dict[str, object]:
    raise KeyError("oops")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return ready_folder(tmp_path / "run" / "glove")


def server(folder: Path) -> ControlServer:
    return ControlServer(folder / "control.sock", {"echo": echo, "refuse": refuse, "crash": crash})


@pytest.mark.realtime
async def test_requests_are_answered_and_faults_come_back_as_they_are(folder: Path) -> None:
    control = server(folder)
    await control.open()
    assert stat.S_IMODE(control.path.stat().st_mode) == 0o600
    answer = await asyncio.to_thread(ask, {"do": "echo", "text": "grüß dich"}, folder)
    assert answer["echo"]["text"] == "grüß dich"
    with pytest.raises(InputError, match="No") as refused:
        await asyncio.to_thread(ask, {"do": "refuse"}, folder)
    assert (refused.value.code, refused.value.remedy) == ("ERR_TEST", "Ask nicely.")
    for request in ({"do": "crash"}, {"do": "unknown"}, {}):
        with pytest.raises(GloveError):
            await asyncio.to_thread(ask, request, folder)
    await control.close()
    await control.close()
    assert not control.path.exists()


@pytest.mark.realtime
@pytest.mark.parametrize(
    "rubbish",
    [b"\xff\x00\xfe\n", b"[1, 2]\n", b"null\n", b'{"do": "echo"', b"[" * 60_000 + b"\n", b"x" * 3 * LONGEST_LINE],
)
async def test_rubbish_does_not_hurt_the_next_caller(folder: Path, rubbish: bytes) -> None:
    control = server(folder)
    await control.open()
    reader, writer = await asyncio.open_unix_connection(str(control.path))
    try:
        writer.write(rubbish)
        writer.write_eof()
        answer = await reader.read()
        assert answer == b"" or json.loads(answer)["kind"] == "input"
    except ConnectionError:
        pass  # hung up in the middle of too much
    finally:
        writer.close()
    assert (await asyncio.to_thread(ask, {"do": "echo"}, folder))["ok"]
    await control.close()


@pytest.mark.realtime
async def test_what_a_shell_cannot_spell_or_nobody_would_listen_to_is_no_crash(folder: Path) -> None:
    control = server(folder)
    await control.open()
    answer = await asyncio.to_thread(ask, {"do": "echo", "text": "caf\udcff"}, folder)
    assert answer["echo"]["text"] == "caf?"
    with pytest.raises(InputError, match="too long"):
        await asyncio.to_thread(ask, {"do": "echo", "text": "x" * 100_000}, folder)
    await control.close()


@pytest.mark.realtime
async def test_callers_who_only_hold_the_line_do_not_keep_others_out_for_long(folder: Path) -> None:
    control = server(folder)
    await control.open()
    idle = [await asyncio.open_unix_connection(str(control.path)) for _ in range(MOST_CALLERS)]
    await asyncio.sleep(0.05)
    with pytest.raises(GloveError):
        await asyncio.to_thread(ask, {"do": "echo"}, folder)
    idle[0][1].close()
    await asyncio.sleep(0.05)
    assert (await asyncio.to_thread(ask, {"do": "echo"}, folder))["ok"]
    await control.close()
    for _, writer in idle:
        writer.close()


def test_the_second_daemon_names_the_first(folder: Path) -> None:
    first = Instance(folder)
    with pytest.raises(GloveError, match=f"process {os.getpid()}") as refused:
        Instance(folder)
    assert refused.value.code == "ERR_ALREADY_RUNNING"
    assert running_pid(folder) == os.getpid()
    first.release()
    first.release()
    assert running_pid(folder) is None
    Instance(folder).release()


def test_two_daemons_do_not_share_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "data" / "glove.db"
    held = lock_store(store)
    assert held is not None
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "other"))
    with pytest.raises(GloveError, match=f"process {os.getpid()}") as refused:
        serve(simulated(store))
    assert refused.value.code == "ERR_STORE_IN_USE" and "store.path" in str(refused.value.remedy)
    assert running_pid(tmp_path / "other") is None, "nothing is left behind"
    held.release()
    again = lock_store(store)
    assert again is not None
    again.release()


def test_a_store_that_cannot_be_locked_is_left_to_tell_so_itself(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    assert lock_store(tmp_path / "data" / "glove.db") is None


def test_a_runtime_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(GloveError, match="belongs to somebody else"):
        ready_folder(shared)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "own")
    (tmp_path / "own").mkdir(mode=0o700)
    with pytest.raises(GloveError, match="belongs to somebody else"):
        ready_folder(link)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_RUNTIME_DIR": "/run/user/7", "RUNTIME_DIRECTORY": "/run/glove:/run/other"}, Path("/run/glove")),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, Path("/run/user/7/glove")),
    ],
)
def test_where_the_runtime_folder_is(environ: dict[str, str], expected: Path) -> None:
    assert runtime_folder(environ) == expected


@pytest.mark.parametrize("command", [("status",), ("notify", "hello"), ("ptt", "down")])
def test_commands_say_so_when_nothing_runs(
    command: tuple[str, ...], glove: Glove, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ended = glove(*command)
    assert ended.code == 1
    assert ended.err == "glove: The appliance does not run. Start it with glove run.\n"


def test_a_socket_that_a_killed_daemon_left_is_no_daemon(
    glove: Glove, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(ready_folder(tmp_path / "glove") / "control.sock"))
    left.close()
    assert "does not run" in glove("status").err
