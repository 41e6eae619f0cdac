"""Programs of others in environments of their own, kept between runs in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

INSTALL_S = 150


def environment(*requirements: str) -> Path:
    """The Python of an environment with exactly ``requirements``. Skips the test where it cannot be made."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("no uv on this machine")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:16]
    folder = cache / "glove-peers" / key
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists() and python.exists():
        return python
    for command in (
        [uv, "venv", "--clear", "--quiet", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", "--python", str(python), *requirements],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S)
        except subprocess.CalledProcessError as fault:
            pytest.skip(f"{' '.join(requirements)} cannot be installed: {fault.stderr.strip()[-200:]}")
        except subprocess.TimeoutExpired:
            pytest.skip(f"{' '.join(requirements)} could not be installed in {INSTALL_S} s")
    ready.touch()
    return python
