"""Async tests run on virtual time unless they are marked ``realtime``; a test that sleeps costs nothing."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path

import pytest

from agents.base.clock import run_virtual

REPO = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("GLOVE_SHARED", REPO.parent / "shared"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "realtime: an async test that needs the real clock (sockets, subprocesses)")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    test = pyfuncitem.obj(**arguments)
    if pyfuncitem.get_closest_marker("realtime"):
        asyncio.run(test)
    else:
        run_virtual(test)
    return True


@pytest.fixture(scope="session")
def shared_audio() -> Path:
    """The folder of recordings beside a developer's clone; tests that need it are skipped elsewhere."""
    folder = SHARED / "audio"
    if not folder.is_dir():
        pytest.skip("no recordings beside this clone")
    return folder
