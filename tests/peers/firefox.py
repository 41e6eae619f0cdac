"""Firefox with a made-up microphone, driven over its own WebDriver BiDi socket."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

PREFERENCES = {
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    "media.autoplay.default": 0,
    "intl.accept_languages": "en",
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
}


class Firefox:
    """One tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._tab = ""

    async def open(self, address: str) -> None:
        """Go there; returns when the page has loaded."""
        if not self._tab:
            await self._ask("session.new", {"capabilities": {}})
            tree = await self._ask("browsingContext.getTree", {})
            self._tab = tree["contexts"][0]["context"]
        await self._ask("browsingContext.navigate", {"context": self._tab, "url": address, "wait": "complete"})

    async def evaluate(self, expression: str) -> Any:
        """A string, number or boolean that the page's ``expression`` has as its value."""
        target = {"context": self._tab}
        options = {"expression": expression, "target": target, "awaitPromise": True, "userActivation": True}
        answer = await self._ask("script.evaluate", options)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    async def until(self, condition: str, seconds: float = 30) -> None:
        """Wait for an expression to become true."""
        async with asyncio.timeout(seconds):
            while not await self.evaluate(f"Boolean({condition})"):
                await asyncio.sleep(0.1)

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(await self._socket.recv())
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]


@asynccontextmanager
async def firefox(profile: Path) -> AsyncIterator[Firefox]:
    """Run Firefox with its profile in ``profile``. Skips where there is none."""
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("Firefox is not installed (scripts/setup --dev installs it)")
    profile.mkdir()
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("\n".join(lines))
    process = await asyncio.create_subprocess_exec(
        *(path, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with connect(f"{await _address(process)}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        try:
            async with asyncio.timeout(10):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(60):
        async for line in process.stderr:
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line.decode()):
                return found[1]
    raise AssertionError(f"Firefox ended with {await process.wait()}")
