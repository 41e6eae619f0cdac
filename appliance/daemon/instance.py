"""One daemon per user and per store: the runtime folder with lock and socket, and the lock beside the store."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

import structlog

from agents.base.errors import GloveError

log = structlog.get_logger(__name__)

LOCK = "glove.pid"
SOCKET = "control.sock"


def runtime_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where a daemon of this user keeps its lock and its socket; not made yet.

    ``$RUNTIME_DIRECTORY`` (systemd), else ``$XDG_RUNTIME_DIR/glove``, else ``/run/glove`` for the super-user, else a
    folder of the user's own among the temporary files.
    """
    environ = os.environ if environ is None else environ
    if environ.get("RUNTIME_DIRECTORY"):
        return Path(environ["RUNTIME_DIRECTORY"].split(":")[0])
    if environ.get("XDG_RUNTIME_DIR"):
        return Path(environ["XDG_RUNTIME_DIR"]) / "glove"
    if os.geteuid() == 0:
        return Path("/run/glove")
    return Path(tempfile.gettempdir()) / f"glove-{os.geteuid()}"


def ready_folder(folder: Path) -> Path:
    """Make ``folder`` if need be, for this user alone, and return it.

    Raises:
        GloveError: ``ERR_RUNTIME_DIR``: it cannot be made, or belongs to somebody else.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as fault:
        raise GloveError(
            "ERR_RUNTIME_DIR",
            f"The runtime folder {folder} cannot be made: {fault.strerror or fault}.",
            "Set XDG_RUNTIME_DIR to a folder of your own.",
            fault,
        ) from fault
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise GloveError(
            "ERR_RUNTIME_DIR",
            f"The runtime folder {folder} belongs to somebody else, or others may write to it.",
            "Set XDG_RUNTIME_DIR to a folder of your own.",
        )
    return folder


class Held(Exception):
    """Somebody else holds a lock. ``pid``: which process, as far as it says."""

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__(f"{path} is held by process {pid}")
        self.pid = pid


class Lock:
    """A file that one process holds while it lives; the kernel drops it with the process, however that ends.

    Args:
        path: the file, which is made if need be and stays: removing it would race with the next holder.

    Raises:
        Held: another process, or another ``Lock`` of this one, holds it.
        OSError: the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _written(self._fd)
            self.release()
            raise Held(path, pid) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have it; idempotent."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)


class Instance:
    """The lock that one daemon holds while it lives.

    Args:
        folder: the runtime folder.

    Raises:
        GloveError: ``ERR_ALREADY_RUNNING`` names the process that holds it; ``ERR_RUNTIME_DIR``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = ready_folder(folder)
        try:
            self._lock = Lock(self.folder / LOCK)
        except Held as held:
            raise GloveError(
                "ERR_ALREADY_RUNNING",
                f"The appliance runs already{f' as process {held.pid}' if held.pid else ''}.",
                f"Stop it first{f': kill {held.pid}' if held.pid else ''}.",
                held,
            ) from held

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.folder / SOCKET

    def release(self) -> None:
        """Let another daemon start; idempotent."""
        self._lock.release()


def lock_store(store: Path) -> Lock | None:
    """Keep other daemons, of whatever user and runtime folder, from ringing the same timers; None where no file can be
    made beside the store, which is then told by the store itself.

    Raises:
        GloveError: ``ERR_STORE_IN_USE``.
    """
    path = store.with_name(f"{store.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Lock(path)
    except Held as held:
        who = f"process {held.pid}" if held.pid else "another process"
        raise GloveError(
            "ERR_STORE_IN_USE",
            f"The store {store} is in use by another appliance ({who}).",
            "Stop that one, or give this one a store of its own with store.path.",
            held,
        ) from held
    except OSError as fault:
        log.warning("the store cannot be locked", path=str(path), error=fault.strerror or str(fault))
        return None


def running_pid(folder: Path) -> int | None:
    """The process that holds the lock in ``folder``, or None."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written(fd)
    finally:
        os.close(fd)
    return None


def _written(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
