"""One daemon per user: the runtime folder, the lock in it, and the socket beside the lock."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agents.base.errors import GloveError

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


class Instance:
    """The lock that one daemon holds while it lives; the kernel drops it with the process, however that ends.

    Args:
        folder: the runtime folder.

    Raises:
        GloveError: ``ERR_ALREADY_RUNNING`` names the process that holds it; ``ERR_RUNTIME_DIR``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = ready_folder(folder)
        self._fd: int | None = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            pid = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip()
            self.release()
            raise GloveError(
                "ERR_ALREADY_RUNNING",
                f"The appliance runs already{f' as process {pid}' if pid else ''}.",
                f"Stop it first{f': kill {pid}' if pid else ''}.",
                fault,
            ) from fault
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.folder / SOCKET

    def release(self) -> None:
        """Let another daemon start; idempotent. The file stays, since removing it would race with the next one."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)


def running_pid(folder: Path) -> int | None:
    """The process that holds the lock in ``folder``, or None."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(fd)
    return None
