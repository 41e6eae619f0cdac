"""Chromium with a microphone made of a file, driven by Playwright.

One process serves many tests: each gets a profile of its own in it. What the microphone hears is fixed for a process.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import wave
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from audio.pcm import Pcm

if TYPE_CHECKING:
    from playwright.async_api import Page

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-fake-device-for-media-stream", "--mute-audio"),
    "--remote-debugging-port=0",
)


class Chromium:
    """A running browser. ``address`` is where it is driven."""

    def __init__(self, address: str) -> None:
        self.address = address

    @asynccontextmanager
    async def page(self, *, allowed: bool = True, **options: Any) -> AsyncIterator[Page]:
        """A page in a fresh profile. Errors of its scripts, and what its content policy refuses, fail the test.

        Args:
            allowed: whether the user lets pages use the microphone.
            options: of the browser context (viewport, locale, …).
        """
        from playwright.async_api import async_playwright

        faults: list[str] = []
        async with async_playwright() as playwright:
            browser = await playwright.chromium.connect_over_cdp(self.address)
            context = await browser.new_context(**options)
            if allowed:
                await context.grant_permissions(["microphone"])
            page = await context.new_page()
            page.set_default_timeout(20_000)
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            page.on("console", lambda line: faults.extend(_refusals(line.text)))
            try:
                yield page
            finally:
                await context.close()
        assert not faults


def _refusals(line: str) -> list[str]:
    return [line] if "Content Security Policy" in line else []


async def until_true(page: Page, expression: str) -> None:
    """Wait for an expression of the page's. (What a content policy allows no page, Playwright's own waiting needs.)"""
    async with asyncio.timeout(20):
        while not await page.evaluate(f"Boolean({expression})"):
            await asyncio.sleep(0.05)


async def serious_faults(page: Page) -> list[str]:
    """What axe finds serious or worse on the page as it stands: rule, element, and why."""
    axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="axe-playwright-python is not installed")
    found = (await axe.Axe().run(page)).response["violations"]
    return [
        f"{rule['id']}: {node['target']}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@contextmanager
def chromium(profile: Path, heard: Path) -> Iterator[Chromium]:
    """Run Chromium with its profile in ``profile`` and a microphone that hears the WAV file ``heard`` once, from when
    it is opened. Skips where there is no browser."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    path = os.environ.get("GLOVE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed (scripts/setup --dev installs it)")
    flags = [*FLAGS, f"--user-data-dir={profile}", f"--use-file-for-fake-audio-capture={heard}%noloop"]
    process = subprocess.Popen([path, *flags, "about:blank"], stderr=subprocess.PIPE, text=True)
    try:
        yield Chromium(_address(process))
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"DevTools listening on (ws://\S+)", line):
            return found[1]
    raise AssertionError(f"Chromium ended with {process.wait()}")


def microphone(path: Path, pcm: Pcm, rate_hz: int) -> Path:
    """Write what a browser's microphone shall hear."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.astype("<i2").tobytes())
    return path
