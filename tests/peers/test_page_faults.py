"""What the page says and does when something is wrong: with the microphone, the tab, the machine, the room."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from appliance.web.api import make_app, serve
from appliance.web.auth import new_token
from tests.peers.browser import FLAGS, Chromium, chromium, microphone, until_true
from tests.realtime.peer import House, until
from tests.realtime.server import place

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.realtime
LONG = "One two three four five six seven eight nine ten eleven twelve."
WATCHED = (
    "window.streams = []; const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
    "navigator.mediaDevices.getUserMedia = async (how) => { const s = await ask(how); streams.push(s); return s; };"
)


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


async def open_microphone(page: Page) -> None:
    await page.click("#talk")
    await page.wait_for_selector("#talk[aria-pressed=true]")


async def say(page: Page, words: str) -> None:
    await page.fill("#typed", words)
    await page.press("#typed", "Enter")


async def notice(page: Page, words: str) -> str:
    """What the page says, once it says ``words``."""
    await page.wait_for_selector(f"#notice:has-text('{words}')")
    return await page.inner_text("#notice")


@pytest.mark.parametrize(
    ("fault", "what", "remedy"),
    [
        ("NotFoundError", "No microphone was found", "Plug one in"),
        ("NotAllowedError", "The microphone is blocked", "Allow it"),
        ("NotReadableError", "cannot be used: in use", "Close other apps"),
    ],
)
async def test_a_microphone_that_is_not_given_is_explained_until_it_is(
    browser: Chromium, fault: str, what: str, remedy: str
) -> None:
    refuse = (
        "window.refuse = true; const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
        "navigator.mediaDevices.getUserMedia = (how) => refuse"
        f" ? Promise.reject(new DOMException('in use', '{fault}')) : ask(how);"
    )
    async with place("Hello.") as here, browser.page(locale="en-GB") as page:
        await page.add_init_script(refuse)
        await ready(page, here.server.address(here.token))
        await page.click("#talk")
        assert remedy in await notice(page, what)
        assert await page.get_attribute("#talk", "aria-pressed") == "false"
        await say(page, "hi")
        await page.wait_for_selector("[data-glove-role=agent]")
        await page.evaluate("window.refuse = false")
        await open_microphone(page)
        await page.wait_for_selector("#notice", state="hidden")


async def test_a_permission_that_is_withdrawn_closes_the_microphone_and_says_so(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page(locale="en-GB") as page:
        await page.add_init_script(WATCHED)
        await ready(page, here.server.address(here.token))
        await open_microphone(page)
        await page.evaluate("const [t] = streams[0].getTracks(); t.stop(); t.dispatchEvent(new Event('ended'))")
        assert "Press Talk" in await notice(page, "The microphone was taken away")
        assert await page.get_attribute("#talk", "aria-pressed") == "false"
        await open_microphone(page)
        await page.wait_for_selector("#notice", state="hidden")


async def test_a_microphone_that_another_app_has_is_waited_for(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page(locale="en-GB") as page:
        await page.add_init_script(WATCHED)
        await ready(page, here.server.address(here.token))
        await open_microphone(page)
        await page.evaluate("streams[0].getTracks()[0].dispatchEvent(new Event('mute'))")
        assert "by itself" in await notice(page, "The microphone is silent")
        await page.evaluate("streams[0].getTracks()[0].dispatchEvent(new Event('unmute'))")
        await page.wait_for_selector("#notice", state="hidden")
        assert await page.get_attribute("#talk", "aria-pressed") == "true"


async def test_behind_another_tab_an_open_microphone_is_named_and_a_held_one_let_go(browser: Chromium) -> None:
    hide = (
        "(hidden) => { Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )
    async with place("Hello.") as here, browser.page(locale="en-GB") as page:
        await ready(page, here.server.address(here.token))
        voice = here.house.session.voice
        calls: list[str] = []
        cancel, up = voice.ptt_cancel, voice.ptt_up
        voice.ptt_cancel = lambda: (calls.append("cancel"), cancel())[1]  # type: ignore[method-assign]
        voice.ptt_up = lambda: (calls.append("up"), up())[1]  # type: ignore[method-assign]
        await page.hover("#talk")
        await page.mouse.down()
        await until(lambda: voice.ptt_held, 10)
        await page.evaluate(hide, True)
        await until(lambda: not voice.ptt_held, 5)
        assert calls == ["cancel"], "nobody knows whether it is still held: nothing was said"
        await page.evaluate(hide, False)
        await page.mouse.up()
        await page.wait_for_selector("#talk[aria-pressed=false]")
        await open_microphone(page)
        assert await page.title() == "Glove"
        await page.evaluate(hide, True)
        assert "is listening" in await page.title()
        await page.evaluate(hide, False)
        assert await page.title() == "Glove"


async def test_a_finger_that_slides_off_the_button_still_holds_it(browser: Chromium) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token))
        voice = here.house.session.voice
        calls: list[str] = []
        up = voice.ptt_up
        voice.ptt_up = lambda: (calls.append("up"), up())[1]  # type: ignore[method-assign]
        await page.hover("#talk")
        await page.mouse.down()
        await until(lambda: voice.ptt_held, 10)
        await page.mouse.move(5, 5)
        await asyncio.sleep(0.5)
        assert voice.ptt_held
        await page.mouse.up()
        await until(lambda: calls == ["up"], 5)
        await page.wait_for_selector("#talk[aria-pressed=false]")


@pytest.mark.parametrize(("via", "sender"), [("websocket", "WebSocket"), ("webrtc", "RTCDataChannel")])
async def test_after_a_minute_of_sleep_a_dead_connection_is_replaced(browser: Chromium, via: str, sender: str) -> None:
    async with place("Hello.") as here, browser.page() as page:
        await ready(page, here.server.address(here.token).replace("/#", f"/?via={via}#"))
        assert await page.get_attribute("body", "data-via") == via
        await page.evaluate(
            "window.modes = []; const note = () => modes.push(document.body.dataset.mode);"
            "new MutationObserver(note).observe(document.body, { attributes: true });"
            f"const sent = {sender}.prototype.send; {sender}.prototype.send = () => undefined;"
            # The next connection is a living one again.
            f"setTimeout(() => ({sender}.prototype.send = sent), 4500);"
            "const now = Date.now.bind(Date); Date.now = () => now() + 60_000"
        )
        await until_true(page, "modes.includes('connecting') && document.body.dataset.mode === 'idle'")
        await say(page, "hi")
        await page.wait_for_selector("[data-glove-role=agent]")


@pytest.mark.parametrize("same_token", [True, False])
async def test_a_server_that_restarts_in_mid_reply_is_found_again_or_explained(
    browser: Chromium, same_token: bool
) -> None:
    async with place(LONG) as here, browser.page(locale="en-GB") as page:
        await ready(page, here.server.address(here.token))
        await say(page, "count")
        await page.wait_for_selector("body[data-mode=speaking]")
        await here.server.close()
        assert "network" in await notice(page, "Connection lost")
        await page.wait_for_selector("body[data-mode=lost], body[data-mode=connecting]")
        assert await page.is_disabled("#talk") and await page.is_disabled("#stop")
        house = House(["I am back."])
        token = here.token if same_token else new_token()
        server = await serve(make_app(house.open, token), port=here.server.port)
        try:
            if same_token:
                await page.wait_for_selector("body[data-mode=idle]")
                await page.wait_for_selector("#notice", state="hidden")
                await say(page, "hello?")
                await page.wait_for_selector("[data-glove-role=agent] p:has-text('I am back.')")
            else:
                assert "glove run" in await notice(page, "not valid any more")
                await say(page, "hello?")
                assert await page.input_value("#typed") == "hello?", "what could not be sent is kept"
        finally:
            await server.close()


async def test_an_address_that_is_not_secure_is_named_before_anybody_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = "--host-resolver-rules=MAP glove.test 127.0.0.1"
    monkeypatch.setattr("tests.peers.browser.FLAGS", (*FLAGS, rules))
    silence = microphone(tmp_path / "silence.wav", np.zeros(48_000, np.int16), 48_000)
    with chromium(tmp_path / "profile", silence) as running:
        async with place("Hello.", hosts=["glove.test"]) as here, running.page(allowed=False, locale="en-GB") as page:
            await ready(page, here.server.address(here.token).replace("127.0.0.1", "glove.test"))
            assert not await page.evaluate("isSecureContext")
            assert "localhost" in await notice(page, "secure addresses only")
            await page.click("#talk")
            assert await page.get_attribute("#talk", "aria-pressed") == "false"
            await page.click("#settings-open")
            await page.keyboard.press("Escape")
            await say(page, "hi")
            await page.wait_for_selector("[data-glove-role=agent] p:has-text('Hello.')")
