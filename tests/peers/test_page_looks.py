"""How the page looks and whom it leaves out: axe on phones and desktops, by day and by night; settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.peers.browser import Chromium, chromium, microphone, serious_faults, until_true
from tests.realtime.peer import until
from tests.realtime.server import place

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.realtime
LONG = "One two three four five six seven eight nine ten eleven twelve."
SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 800}}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser whose microphone hears nothing."""
    folder = tmp_path_factory.mktemp("chromium")
    silence = microphone(folder / "silence.wav", np.zeros(48_000 * 60, np.int16), 48_000)
    with chromium(folder / "profile", silence) as running:
        yield running


async def ready(page: Page, address: str) -> None:
    await page.goto(address)
    await page.wait_for_selector("body[data-mode=idle]")


async def say(page: Page, words: str) -> None:
    await page.fill("#typed", words)
    await page.press("#typed", "Enter")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
async def test_axe_finds_no_serious_fault(browser: Chromium, size: str, scheme: str) -> None:
    options: dict[str, Any] = {"viewport": SIZES[size], "color_scheme": scheme, "reduced_motion": "reduce"}
    async with place(LONG, "Yes.") as here, browser.page(**options) as page:
        await ready(page, here.server.address(here.token))
        assert await serious_faults(page) == [], "before anything was said"
        await say(page, "count")
        await page.wait_for_selector("body[data-mode=speaking]")
        await page.click("#stop")
        await page.wait_for_selector("[data-glove-heard=interrupted]")
        await here.house.session.mind.timers.set_timer(600, "tea")
        asking = asyncio.create_task(here.house.agent.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await page.wait_for_selector("[data-glove-blocking] input")
        await page.wait_for_selector("#timer-list li")
        await page.click("#total")
        await page.click("#talk")
        await page.wait_for_selector("#talk[aria-pressed=true]")
        assert await serious_faults(page) == [], "in the middle of a conversation"
        await page.click("#settings-open")
        await page.wait_for_selector("#settings[open]")
        assert await serious_faults(page) == [], "with the settings open"
        await page.keyboard.press("Escape")
        await page.wait_for_selector("#settings[open]", state="detached")
        assert await page.evaluate("document.activeElement.id") == "settings-open", "the focus is where it was"
        asking.cancel()
        await here.server.close()
        await page.wait_for_selector("#notice:not([hidden])")
        assert await serious_faults(page) == [], "with a fault"


async def test_what_was_chosen_is_kept_in_this_browser(browser: Chromium) -> None:
    async with place("Hallo.") as here, browser.page(color_scheme="light", locale="en-GB") as page:
        await ready(page, here.server.address(here.token))
        await page.click("#settings-open")
        await page.get_by_label("Appearance").select_option("dark")
        assert await page.get_attribute("html", "data-theme") == "dark"
        await page.get_by_label("Connection", exact=True).select_option("websocket")
        await page.wait_for_selector("body[data-mode=idle][data-via=websocket]")
        await page.click("#settings-open")
        await page.get_by_label("Language").select_option("de")
        await page.wait_for_selector("html[lang=de] body[data-mode=idle]")
        assert await page.get_attribute("html", "data-theme") == "dark"
        assert await page.inner_text("#talk-label") == "Sprechen"


async def test_another_microphone_is_taken_at_once(browser: Chromium) -> None:
    asked = (
        "const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices); window.asked = [];"
        "navigator.mediaDevices.getUserMedia = (how) => (asked.push(how.audio.deviceId?.ideal ?? ''), ask(how));"
    )
    async with place("Hello.") as here, browser.page() as page:
        await page.add_init_script(asked)
        await ready(page, here.server.address(here.token))
        await page.click("#talk")
        await page.wait_for_selector("#talk[aria-pressed=true]")
        await page.click("#settings-open")
        await page.wait_for_selector("#settings[open]")
        field = page.get_by_label("Microphone", exact=True)
        known = await field.locator("option").evaluate_all("all => all.map((option) => option.value)")
        assert len(known) > 1, "the browser's choice, and those that have names"
        await field.select_option(known[-1])
        await until_true(page, "asked.length === 2")
        assert await page.evaluate("asked") == ["", known[-1]]
        await page.click("#settings-close")
        await page.wait_for_selector("#talk[aria-pressed=true]")


async def test_both_sides_are_seen_in_the_wave_and_by_a_face(browser: Chromium) -> None:
    async with place(LONG) as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        await page.evaluate(
            "window.modes = []; const face = document.querySelector('[data-face]');"
            "face.addEventListener('face', (event) => modes.push(event.detail.mode));"
            "face.append(Object.assign(document.createElement('b'), { textContent: ':-)' }));"
            "window.loudest = 0; setInterval(() => (loudest = Math.max(loudest,"
            " Number(face.style.getPropertyValue('--agent-level')))), 20)"
        )
        assert await page.is_hidden(".orb"), "a face takes the place of the disc"
        await say(page, "count")
        await page.wait_for_selector("[data-face][data-mode=speaking]")
        await until_true(page, "loudest > 0.3")
        colours = "(() => { const c = document.getElementById('wave'); const d = c.getContext('2d')"
        lower = ".getImageData(0, c.height * 0.6, c.width, c.height * 0.3).data; return d.some((v) => v > 0); })()"
        assert await page.evaluate(colours + lower), "what is answered hangs below the line"
        await page.wait_for_selector("body[data-mode=idle]")
        seen = await page.evaluate("modes")
        assert "speaking" in seen and seen[-1] == "idle"


@pytest.mark.parametrize(
    ("quality", "grade"),
    [
        ({"via": "webrtc", "rtt_ms": 20, "loss": 0, "loss_up": None}, "good"),
        ({"via": "websocket", "rtt_ms": 300}, "fair"),
        ({"via": "webrtc", "rtt_ms": 20, "loss": 0, "loss_up": 0.12}, "poor"),
    ],
)
async def test_the_quality_of_the_connection_is_shown_and_named(
    browser: Chromium, quality: dict[str, Any], grade: str
) -> None:
    async with place() as here, browser.page(locale="en-GB") as page:
        await page.goto(here.http)
        await page.evaluate("async (q) => (await import('/quality.js')).showQuality(q)", quality)
        assert await page.get_attribute("#quality", "data-grade") == grade
        assert grade in (await page.get_attribute("#quality", "aria-label") or "").lower()


async def test_an_example_is_said_with_a_touch(browser: Chromium) -> None:
    async with place("It is set.") as here, browser.page(locale="en-GB") as page:
        await ready(page, here.server.address(here.token))
        await page.click("#examples button >> nth=0")
        await page.wait_for_selector("[data-glove-role=user] p:has-text('five minutes')")
        await page.wait_for_selector("#welcome", state="hidden")
        await until(lambda: here.house.session.voice.is_active, 5)
