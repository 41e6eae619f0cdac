"""Another web app speaks with the appliance, as the manual shows it: its page, its server, a real browser."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.peers.browser import Chromium, chromium, microphone
from tests.realtime.peer import until
from tests.realtime.server import Place, place

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.realtime
REPO = Path(__file__).parents[2]
MANUAL = REPO / "docs" / "web-client.md"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>House</title>
<p id="mode"></p><button id="talk">Talk</button><div id="chat"></div><script type="module" src="talk.js"></script>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser whose microphone hears a tone."""
    folder = tmp_path_factory.mktemp("chromium")
    tone = (8000 * np.sin(np.arange(48_000 * 60) * 2 * np.pi * 440 / 48_000)).astype(np.int16)
    with chromium(folder / "profile", microphone(folder / "tone.wav", tone, 48_000)) as running:
        yield running


def shown(name: str) -> str:
    """The file of that name in the manual."""
    found = re.search(rf"```\w+\n(?://|#) {re.escape(name)}\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@asynccontextmanager
async def app(folder: Path, here: Place) -> AsyncIterator[str]:
    """The address of the app, in a process of its own."""
    (folder / "bridge.py").write_text(shown("bridge.py"))
    (folder / "index.html").write_text(PAGE)
    (folder / "talk.js").write_text(shown("talk.js") + "\nObject.assign(window, { voice, ptt });\n")
    environment = {**os.environ, "ROOM": here.ws, "TOKEN": here.token, "PYTHONPATH": str(REPO)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", "bridge:app", "--port", "0"),
        cwd=folder,
        env=environment,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            async for line in process.stderr:
                if found := re.search(r"running on (http://\S+)", line.decode()):
                    break
            else:
                raise AssertionError("the app did not start")
        yield found[1]
    finally:
        process.terminate()
        await process.communicate()


async def ready(page: Page, address: str) -> None:
    await page.goto(address)
    await page.wait_for_function("window.voice?.state.connection === 'open'")


async def test_another_app_talks_types_and_shows_the_conversation(browser: Chromium, tmp_path: Path) -> None:
    async with place("It is noon.") as here, app(tmp_path, here) as address, browser.page() as page:
        await ready(page, address)
        assert await page.evaluate("[voice.state.mode, voice.state.isActive, voice.state.via]") == [
            "idle",
            False,
            "websocket",
        ]
        await page.evaluate("window.modes = []; voice.subscribe(({ mode }) => modes.push(mode)); null")
        await page.fill("[data-glove-role=input] input", "what time is it")
        await page.press("[data-glove-role=input] input", "Enter")
        await page.wait_for_selector("[data-glove-role=agent][data-glove-heard=complete] p:has-text('It is noon.')")
        await page.wait_for_function("voice.state.mode === 'idle'")
        assert "speaking" in await page.evaluate("modes")

        voice = here.house.session.voice
        calls: list[str] = []
        for name in ("ptt_down", "ptt_up", "ptt_cancel", "commit_turn", "interrupt"):
            done = getattr(voice, name)
            setattr(voice, name, lambda name=name, done=done: (calls.append(name), done())[1])
        heard: list[int] = []
        source = here.house.session.room.microphone
        push = source.push
        source.push = lambda pcm: (heard.append(pcm.size), push(pcm))[1]  # type: ignore[method-assign]

        # Held: recorded while it lasts.
        await page.hover("#talk")
        await page.mouse.down()
        await page.wait_for_selector("#mode:has-text('recording')")
        await until(lambda: len(heard) > 30, 10)
        await page.mouse.up()
        await page.wait_for_function("ptt.state.processing || ptt.state.busy || ptt.state.mode !== 'idle'")
        await until(lambda: calls[:2] == ["ptt_down", "ptt_up"], 10)
        await page.wait_for_function("!ptt.state.recording")

        # Clicked: open until the next click.
        calls.clear()
        await page.click("#talk")
        await page.wait_for_function("voice.state.enabled && voice.state.isActive")
        before = len(heard)
        await until(lambda: len(heard) > before + 20, 10)
        await page.evaluate("voice.commitTurn(); voice.interrupt(); voice.mute()")
        await until(lambda: voice.is_muted and {"commit_turn", "interrupt"} <= set(calls), 10)
        assert await page.evaluate("voice.state.isMuted")
        await page.evaluate("voice.stop()")
        assert await page.evaluate("[voice.state.enabled, voice.state.isMuted]") == [False, False]

        # Left for good; leaving twice is leaving once.
        await page.evaluate("ptt.close(); voice.close(); voice.close()")
        assert await page.evaluate("voice.state.connection") == "closed"


async def test_a_short_press_of_a_button_of_the_apps_own_is_recorded_long_enough(
    browser: Chromium, tmp_path: Path
) -> None:
    async with place("Hello.") as here, app(tmp_path, here) as address, browser.page() as page:
        await ready(page, address)
        await page.evaluate(
            "window.sent = []; const send = voice.send.bind(voice);"
            "voice.send = (m) => { if (m.t === 'ptt') sent.push([m.phase, performance.now()]); return send(m); };"
            "ptt.press(); const off = voice.subscribe((state) => state.recording && (off(), ptt.release()))"
        )
        await page.wait_for_function("sent.length === 2")
        (first, _), (second, _) = sent = await page.evaluate("sent")
        assert (first, second) == ("down", "up")
        began = await page.evaluate("ptt.pressedAt")
        assert sent[1][1] - began >= 350
        # A press while the recording is about to end goes on with it.
        await page.evaluate("sent.length = 0; ptt.press()")
        await page.wait_for_function("voice.state.recording")
        await page.evaluate("ptt.release(); ptt.press()")
        await asyncio.sleep(0.6)
        assert await page.evaluate("[voice.state.recording, sent.length]") == [True, 1]
        await page.evaluate("ptt.cancel()")
        assert await page.evaluate("[voice.state.recording, sent[1][0]]") == [False, "cancel"]


async def test_a_refused_microphone_is_an_error_in_the_state_and_no_exception(
    browser: Chromium, tmp_path: Path
) -> None:
    async with place("Hello.") as here, app(tmp_path, here) as address, browser.page(allowed=False) as page:
        await ready(page, address)
        await page.evaluate("voice.start()")
        assert await page.evaluate("[voice.state.error.code, voice.state.enabled]") == ["ERR_MIC_DENIED", False]
        assert "Allow it" in await page.inner_text("#mode")
        assert await page.evaluate("Object.isFrozen(voice.state)")
