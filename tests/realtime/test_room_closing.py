"""A room that closes, and answers that are no JSON, whatever else is going on."""

from __future__ import annotations

import asyncio

import pytest

from appliance.web.room_book import RoomBook
from audio.io.base import AudioIO
from realtime.browser.protocol import BadMessage, parse
from tests.realtime.peer import MemorySocket, PageSession, until


async def test_a_room_that_closes_does_not_wait_for_a_session_that_is_not_there_yet() -> None:
    begun: list[AudioIO] = []

    async def never(_: str, sound: AudioIO) -> PageSession:
        begun.append(sound)
        await asyncio.Event().wait()
        raise AssertionError

    book, first, second = RoomBook(never), MemorySocket(), MemorySocket()
    calls = [asyncio.create_task(book.page.room.serve(socket)) for socket in (first, second)]
    await until(lambda: begun)
    async with asyncio.timeout(5):
        await book.close()
        await asyncio.gather(*calls)
    assert len(begun) == 1
    assert first.of("error")[0]["code"] == "ERR_ROOM_CLOSED" and first.closed is not None
    assert second.closed == (1001, "the room is closed")


async def test_a_caller_who_gives_up_while_the_session_is_opened_leaves_none_behind() -> None:
    begun: list[AudioIO] = []
    ended: list[AudioIO] = []

    async def slow(_: str, sound: AudioIO) -> PageSession:
        begun.append(sound)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(sound)
        raise AssertionError

    book = RoomBook(slow)
    call = asyncio.create_task(book.page.room.serve(MemorySocket()))
    await until(lambda: begun)
    call.cancel()
    await until(lambda: ended)
    await book.close()


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "[{}, NaN]"])
def test_an_answer_that_is_no_json_is_refused(value: str) -> None:
    with pytest.raises(BadMessage):
        parse(f'{{"t":"slot_resolve","id":"a","value":{value}}}')
