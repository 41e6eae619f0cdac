"""Files that nobody but this user may read, written in one step."""

from __future__ import annotations

import os
from pathlib import Path

from agents.base.errors import GloveError


def write_private(path: Path, content: bytes, mode: int = 0o600) -> Path:
    """Write ``content`` so that whoever reads ``path`` sees the old file or the new one, and return ``path``.

    Its folder is made, for this user alone, if need be.

    Raises:
        GloveError: ``ERR_LAN_FILES``, it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(content)
            file.flush()
            os.fsync(handle)
        fresh.replace(path)
    except OSError as fault:
        raise GloveError(
            "ERR_LAN_FILES",
            f"{path} cannot be written: {fault.strerror or fault}.",
            "Free some space, or set store.path to a folder that can be written.",
            fault,
        ) from fault
    return path
