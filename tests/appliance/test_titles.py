"""Names that strangers chose."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.web.titles import one_line
from tests.appliance.network import network


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("\x1b]0;owned\x07Ann's\nphone", "]0;owned Ann's phone"),
        ("\u202eenohp", "enohp"),
        ("  Küche \u0000 2 📱 ", "Küche 2 📱"),
        ("\x1b\x9b\x7f", ""),
    ],
)
def test_nothing_commands_the_terminal_of_whoever_lists_it(given: str, kept: str) -> None:
    assert one_line(given) == kept


@pytest.mark.realtime
async def test_a_phone_and_its_room_are_listed_without_escape_sequences(tmp_path: Path) -> None:
    async with network(tmp_path) as here:
        phone = here.phone()
        told = (await phone.pair(here.token(), "\x1b[2J\u202ePhone")).json()
        assert told["name"] == "[2J Phone"
        room = await phone.ask("POST", "/api/rooms", json={"title": "\x1b[31mRed"})
        assert room.json()["title"] == "[31mRed"
