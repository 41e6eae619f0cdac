"""A phone is paired in a real browser that trusts the machine's authority, from the code to the conversation."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes, serialization

from appliance.lan.network import Lan
from tests.appliance.network import HOST, Network, network
from tests.appliance.test_room_api import TOKEN, machine
from tests.peers.browser import FLAGS, Chromium, chromium, microphone, serious_faults

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.realtime
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
PICTURES = os.environ.get("GLOVE_PICTURES", "")
"""Folder for pictures of what was seen; none are made without it."""


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chromium]:
    """A browser that finds ``glove-test.local`` and is asked for its trust in each test."""
    rules = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
    monkeypatch.setattr("tests.peers.browser.FLAGS", (*FLAGS, rules))
    silence = microphone(tmp_path / "silence.wav", np.zeros(48_000, np.int16), 48_000)
    with chromium(tmp_path / "profile", silence) as running:
        yield running


@pytest.fixture
def trusting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Chromium, Path]]:
    """A browser that trusts the certificate of the network in the folder that comes with it."""
    from agents.base.clock import wall
    from appliance.lan.authority import Authority

    folder = tmp_path / "lan"
    Authority.make(folder, "test", wall()).issue([HOST], wall())
    authority = Authority.load(folder)
    leaf = authority.leaf() if authority is not None else None
    assert leaf is not None
    public = leaf.certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    digest = hashes.Hash(hashes.SHA256())
    digest.update(public)
    pin = base64.b64encode(digest.finalize()).decode()
    rules = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
    monkeypatch.setattr("tests.peers.browser.FLAGS", (*FLAGS, rules, f"--ignore-certificate-errors-spki-list={pin}"))
    silence = microphone(tmp_path / "silence.wav", np.zeros(48_000, np.int16), 48_000)
    with chromium(tmp_path / "profile", silence) as running:
        yield running, folder


def code(here: Network, lan: Lan) -> str:
    return f"https://{HOST}:{lan.port}/pair#{here.token()}"


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


async def test_a_phone_goes_from_the_code_to_the_conversation(trusting: tuple[Chromium, Path]) -> None:
    browser, folder = trusting
    async with network(folder, "It is noon.") as here, browser.page(**PHONE) as page:
        address = code(here, here.lan)
        await page.goto(address)
        await page.wait_for_selector("body[data-outcome=paired]")
        token = address.partition("#")[2]
        assert token not in page.url
        assert await page.evaluate("isSecureContext") and await page.evaluate("document.cookie") == ""
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await picture(page, "pair-phone")
        await page.click("#go")
        await page.wait_for_selector("body[data-mode=idle]")
        await page.fill("#typed", "what time is it")
        await page.press("#typed", "Enter")
        await page.wait_for_selector("[data-glove-role=agent] p")
        assert await page.inner_text("[data-glove-role=agent] p") == "It is noon."
        assert await page.is_hidden("#devices")
        (device,) = here.lan.devices.all
        assert device.name == "Linux"
        await here.lan.revoke(device.id)
        await page.wait_for_selector("body[data-mode=unpaired]")
        assert "glove pair" in await page.inner_text("#notice")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [("used", "used already"), ("expired", "expired"), ("wrong", "wrong or too old"), ("none", "no code")],
)
async def test_what_is_wrong_with_a_code_is_said(trusting: tuple[Chromium, Path], spoil: str, said: str) -> None:
    browser, folder = trusting
    async with network(folder) as here, browser.page(locale="en-GB", **PHONE) as page:
        address = code(here, here.lan)
        if spoil == "used":
            here.lan.invitations.redeem(address.partition("#")[2])
        elif spoil == "expired":
            here.lan.invitations._known[-1].expires_s = 0.0
        elif spoil == "wrong":
            address = address[:-1] + ("A" if address[-1] != "A" else "B")
        else:
            address = address.partition("#")[0]
        await page.goto(address)
        await page.wait_for_selector("body[data-outcome=refused]")
        assert said in await page.inner_text("#outcome")
        assert await page.is_hidden("#go")
        await picture(page, f"pair-{spoil}")
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            await page.wait_for_selector(f"html[data-theme={scheme}]")
            assert await serious_faults(page) == []


async def test_a_browser_that_knows_nothing_warns_and_loads_nothing(browser: Chromium, tmp_path: Path) -> None:
    from playwright.async_api import Error

    async with network(tmp_path / "other") as here, browser.page() as page:
        with pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
            await page.goto(code(here, here.lan))
        assert here.lan.devices.all == ()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_at_the_machine_a_device_is_invited_seen_and_removed(
    browser: Chromium, tmp_path: Path, scheme: str
) -> None:
    async with machine(tmp_path / "lan") as here, browser.page(color_scheme=scheme, locale="en-GB") as page:
        await page.goto(f"http://127.0.0.1:{here.port}/#token={TOKEN}")
        await page.wait_for_selector("body[data-mode=idle]")
        await page.click("#devices")
        await page.wait_for_selector("#nobody:not([hidden])")
        await page.click("#add")
        await page.wait_for_selector("#invitation:not([hidden])")
        assert await page.evaluate("document.querySelector('#code').naturalWidth") > 100
        assert re.fullmatch(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", await page.inner_text("#server"))
        assert "minutes" in await page.inner_text("#left")
        await picture(page, f"devices-{scheme}")
        assert await serious_faults(page) == []
        token = (await page.inner_text("#address")).partition("#")[2]
        assert len(token) == 32
        here.lan.invitations.redeem(token)
        here.lan.devices.add("Kitchen phone")
        await page.wait_for_selector("#paired button")
        assert "Kitchen phone" in await page.inner_text("#paired")
        assert await page.is_hidden("#invitation")
        await page.click("#paired button")
        await page.wait_for_selector("#nobody:not([hidden])")
        assert here.lan.devices.all == ()
        await page.click("#off")
        await page.wait_for_selector("#serving", state="hidden")
        assert here.lan.addresses == ()
