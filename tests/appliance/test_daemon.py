"""The daemon: rooms side by side, speaking first, conversations that end, features that fail."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import pytest
import structlog

from agents.base.errors import ConfigError, GloveError, InputError
from agents.stores.sqlite import list_conversations
from appliance.commands.transcripts import listed, transcript
from appliance.config.schema import GloveConfig
from appliance.daemon.alerts import REPEAT_S
from appliance.daemon.control import ask
from appliance.daemon.daemon import Daemon
from appliance.daemon.instance import SOCKET, Instance, ready_folder
from appliance.daemon.rooms import MOST_NOTICES
from appliance.session.build import Parts
from audio.io.base import RoomHealth
from tests.appliance.house import House, Inhabited, house, simulated


async def test_a_timer_rings_in_the_room_used_last_until_somebody_says_stop(tmp_path: Path) -> None:
    async with house(tmp_path, simulated()) as home:
        device, page = await home.enter("device"), await home.enter("page")
        assert await device.say("set a timer for one minute") == "Timer set for 1 minute."
        await page.say("hello")
        await asyncio.sleep(62)
        assert page.heard[-1] == "Your timer for 1 minute is ringing."
        await device.say("hello")
        await asyncio.sleep(REPEAT_S + 6)
        assert device.heard[-1] == "Your timer for 1 minute is ringing."
        assert await device.say("stop") == "Okay."
        count = len(device.heard)
        await asyncio.sleep(10 * REPEAT_S)
        assert len(device.heard) == count


async def test_nobody_used_a_room_so_the_device_speaks_first_where_it_can_be_heard(tmp_path: Path) -> None:
    async with house(tmp_path, simulated()) as home:
        home.daemon.rooms.notify("The washing is done.", urgent=True)
        await asyncio.sleep(20)
        assert home.daemon.rooms.waiting == 1  # there is nowhere to say it
        device = await home.enter("device")
        await asyncio.sleep(10)
        assert device.heard == ["The washing is done."]
        device.room.told = RoomHealth("down", "no sound card")
        page = await home.enter("page")
        home.daemon.rooms.notify("It is raining.")
        await asyncio.sleep(10)
        assert (device.heard, page.heard) == (["The washing is done."], ["It is raining."])


async def test_what_happens_in_every_room_is_appended_to_a_file_when_that_is_wanted(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    for name in ("device", "page"):
        async with house(tmp_path, simulated(log={"events": str(log)})) as home:
            await (await home.enter(name)).say(f"what is two plus {len(name)}")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    told = [(line["room"], line["heard"]) for line in lines if line["type"] == "agent_speech_stopped"]
    assert told == [("device", "That is 8."), ("page", "That is 6.")]
    assert all(line["at"].endswith("+00:00") and line["t"] >= 0 for line in lines)
    assert log.stat().st_mode & 0o077 == 0


def test_a_file_for_events_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing/events\.jsonl cannot be written: No such file"):
        Daemon(simulated(log={"events": str(tmp_path / "missing" / "events.jsonl")}), Instance(tmp_path / "run"), {})


async def test_a_message_waits_for_a_polite_moment_and_is_part_of_the_conversation(tmp_path: Path) -> None:
    async with house(tmp_path, simulated()) as home:
        device = await home.enter("device")
        asking = asyncio.ensure_future(device.say("what can you do"))
        await asyncio.sleep(0.5)
        home.daemon.rooms.notify("Somebody is at the door.")
        await asking
        await asyncio.sleep(10)
        assert device.heard[-1] == "Somebody is at the door."
        assert await device.say("repeat that") == "Somebody is at the door."


async def test_a_message_is_spoken_and_kept_without_what_is_no_text(tmp_path: Path) -> None:
    async with house(tmp_path, simulated()) as home:
        device = await home.enter("device")
        home.daemon.rooms.notify("Somebody\x1b is\x00 at\ud800 the\ndoor.")
        await asyncio.sleep(10)
        assert device.heard == ["Somebody is at the door."]


@pytest.mark.realtime
@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "🙂 …"])
async def test_a_message_without_words_is_refused(tmp_path: Path, text: str) -> None:
    folder = ready_folder(tmp_path / "run")
    daemon = Daemon(simulated(), Instance(folder), {}, parts=no_parts)
    running = asyncio.ensure_future(daemon.run())
    while not (folder / SOCKET).exists():
        await asyncio.sleep(0.01)
    with pytest.raises(InputError, match="nothing to say"):
        await asyncio.to_thread(ask, {"do": "notify", "text": text}, folder)
    daemon.stop()
    await running


async def no_parts(_: GloveConfig) -> Parts:
    """Load for ever."""
    await asyncio.sleep(3600)
    raise AssertionError


async def test_too_many_messages_are_refused(tmp_path: Path) -> None:
    async with house(tmp_path, simulated()) as home:
        for number in range(MOST_NOTICES):
            home.daemon.rooms.notify(f"{number}")
        with pytest.raises(GloveError, match="wait to be spoken already"):
            home.daemon.rooms.notify("one more")


async def test_a_conversation_ends_after_idle_and_is_kept(tmp_path: Path) -> None:
    store = tmp_path / "glove.db"
    async with house(tmp_path, simulated(store, conversation={"idle_s": 300})) as home:
        device = await home.enter("device")
        await device.say("remember that the key is under the mat")
        first = device.session.agent.conversation_id
        await asyncio.sleep(290)
        await device.say("hello")
        assert device.session.agent.conversation_id == first
        await asyncio.sleep(320)
        assert device.session.agent.conversation_id is None
        assert "under the mat" in await device.say("what do you know about the key")
        second = device.session.agent.conversation_id
        assert second is not None and second != first and second.startswith("conversation_")
        assert await device.say("forget that") != ""
    assert first is not None
    assert {entry.session_id for entry in await list_conversations(store)} == {first, second}
    assert (await transcript(store, first))[1:4] == [
        "You: remember that the key is under the mat",
        "Glove: I'll remember: the key is under the mat.",
        "You: hello",
    ]


async def test_a_restart_within_the_idle_time_goes_on_with_the_conversation(tmp_path: Path) -> None:
    config = simulated(tmp_path / "glove.db")
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        await device.say("what is two plus two")
        first = device.session.agent.conversation_id
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        assert await device.say("repeat that") == "2 + 2 is 4." or device.heard
        assert device.session.agent.conversation_id == first
        page = await home.enter("page")
        await page.say("hello")
        assert page.session.agent.conversation_id != first


async def test_a_timer_that_nobody_heard_rings_again_after_a_restart(tmp_path: Path) -> None:
    config = simulated(tmp_path / "glove.db")
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        await device.say("set a tea timer for one minute")
        await asyncio.sleep(70)
        assert "tea" in device.heard[-1]
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        await asyncio.sleep(10)
        assert "tea" in device.heard[0]
        await device.say("stop")
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        await asyncio.sleep(30)
        assert device.heard == []


async def test_a_feature_that_fails_is_started_again_and_the_others_go_on(tmp_path: Path) -> None:
    starts: list[float] = []

    async def broken(daemon: Daemon) -> None:
        starts.append(asyncio.get_running_loop().time())
        raise GloveError("ERR_TEST", "It failed on purpose.")

    async with house(tmp_path, simulated(), {"broken": broken}) as home:
        device = await home.enter("device")
        assert await device.say("what is two plus two")
        await asyncio.sleep(120)
        gaps = [round(after - before) for before, after in pairwise(starts)]
        assert gaps[:4] == [1, 2, 4, 8]
        assert max(gaps) <= 30


async def test_the_watchdog_starves_when_the_sound_of_a_healthy_room_stands_still(tmp_path: Path) -> None:
    async with house(tmp_path, simulated()) as home:
        device = await home.enter("device")
        assert await _moves(home)
        await device.room.close()  # its sound stops without a word
        assert not await _moves(home)
        device.room.told = RoomHealth("degraded", "no microphone")
        assert await _moves(home)


async def _moves(home: House) -> bool:
    moving = True
    for _ in range(5):
        moving = home.daemon.frames_move()
        await asyncio.sleep(1)
    return moving


async def test_a_full_disk_does_not_silence_the_appliance(tmp_path: Path) -> None:
    config = simulated(tmp_path / "glove.db")
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        await device.say("what is two plus two")
        await _fill(device)
        assert await device.say("what is two plus three")
        assert device.session.agent.store_fault is not None
        assert home.daemon.status()["rooms"][0]["store"] != "ok"
        first = device.session.agent.conversation_id
    assert first is not None
    lines = await transcript(tmp_path / "glove.db", first)
    assert "You: what is two plus three" in lines  # there was room again at the end


async def test_a_conversation_is_found_in_the_list_by_its_first_words(tmp_path: Path) -> None:
    config = simulated(tmp_path / "glove.db")
    async with house(tmp_path, config) as home:
        device = await home.enter("device")
        await device.say("what is two plus two")
        await device.say("thank you")
        await asyncio.sleep(1)
        await (await home.enter("page")).say("remember that the key to the cellar hangs beside the door")
    lines = await listed(tmp_path / "glove.db")
    assert [line.split("  ")[-1] for line in lines] == [
        "remember that the key to the cellar han…",
        "what is two plus two",
    ]


async def test_a_message_that_waits_when_it_ends_is_reported(tmp_path: Path) -> None:
    with structlog.testing.capture_logs() as logs:
        async with house(tmp_path, simulated()) as home:
            assert home.daemon.rooms.notify("The washing is done.") is False
            await asyncio.sleep(20)
    (told,) = [entry for entry in logs if entry["event"] == "messages were not spoken"]
    assert (told["count"], told["log_level"]) == (1, "warning")


async def _fill(inhabited: Inhabited) -> None:
    """Let the conversation's file not grow any more."""
    store = inhabited.session.agent.store
    await store._file.read(lambda db: db.execute("PRAGMA max_page_count = 1").fetchall())  # type: ignore[union-attr]
    await store._file.read(lambda db: db.execute("PRAGMA query_only = ON").fetchall())  # type: ignore[union-attr]
