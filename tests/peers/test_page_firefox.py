"""The page in Firefox: that it opens, enters the room and shows an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.firefox import firefox
from tests.realtime.server import place

pytestmark = pytest.mark.realtime


async def test_the_page_enters_the_room_and_shows_an_answer_in_firefox(tmp_path: Path) -> None:
    async with place("It is noon.") as here, firefox(tmp_path / "profile") as tab:
        await tab.open(here.server.address(here.token).replace("/#", "/?via=websocket#"))
        await tab.until("document.body.dataset.mode === 'idle'")
        assert await tab.evaluate("document.body.dataset.via") == "websocket"
        line = "document.getElementById('typed').value = 'what time is it'"
        await tab.evaluate(f"{line}; document.getElementById('type').requestSubmit()")
        await tab.until("document.querySelector('[data-glove-role=agent] p')?.textContent === 'It is noon.'")
