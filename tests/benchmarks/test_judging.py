"""The judge of a lived-through conversation: it finds turns that nobody said and records that differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agents.core.messages import Message
from agents.stores.sqlite import SqliteStore
from benchmarks.judging import GREETING, judge
from benchmarks.recording import Recording
from benchmarks.virtual_room import Said

SAID = [Said("Hey Jarvis. What is seven times eight?", 10.0, 12.0), Said("", 20.0, 21.0)]
RING = "Your timer is ringing."


def turn(at: float, text: str) -> dict[str, Any]:
    return {"at": at, "type": "user_turn", "text": text}


def heard(at: float, text: str) -> dict[str, Any]:
    return {"at": at, "type": "agent_speech_stopped", "heard": text}


async def kept(folder: Path, *lines: tuple[str, str]) -> Path:
    path = folder / "glove.db"
    store = SqliteStore(path, "conversation_1")
    for sender, text in lines:
        await store.append_messages([Message(sender=sender, text=text)])  # type: ignore[arg-type]
    await store.close()
    return path


async def test_what_was_said_heard_and_kept_fits(tmp_path: Path) -> None:
    store = await kept(tmp_path, ("user", "What is 7 times 8?"), ("agent", "That is 56."))
    events = [heard(5, GREETING), turn(13, "What is 7 times 8?"), heard(15, "That is 56."), heard(30, RING)]
    verdict = await judge(store, events, SAID, "is ringing")
    assert (verdict.turns, verdict.invented, verdict.differing) == (1, [], [])


async def test_a_turn_that_nobody_said_is_found(tmp_path: Path) -> None:
    store = await kept(tmp_path, ("user", "7 times 8"), ("user", "7 times 8"), ("user", "That is 56."))
    events = [turn(13, "7 times 8"), turn(14, "7 times 8"), turn(22, "That is 56.")]
    verdict = await judge(store, events, SAID)
    assert verdict.invented == ["7 times 8", "That is 56."]


async def test_a_record_that_differs_is_found(tmp_path: Path) -> None:
    store = await kept(tmp_path, ("user", "What is 7 times 8?"), ("agent", "That is 56, and more."))
    verdict = await judge(store, [turn(13, "What is 7 times 8?"), heard(15, "That is 56.")], SAID)
    assert verdict.differing == ["not in the store: That is 56.", "only in the store: That is 56, and more."]


async def test_the_delay_ends_with_the_first_sound_after_the_line(tmp_path: Path) -> None:
    left, right = np.zeros(20_000, np.int16), np.zeros(20_000, np.int16)
    left[2_000:4_000], right[5_000:6_000] = 1_000, 1_000
    verdict = await judge(await kept(tmp_path), [], [])
    assert verdict.delays_s(Recording(left, right, 1_000), 8.0, SAID[:1]) == [1.001]


async def test_only_a_pause_without_a_sound_in_the_room_is_put_down_to_its_own_voice(tmp_path: Path) -> None:
    pauses: list[dict[str, Any]] = [{"at": at, "type": "playback_paused"} for at in (11.0, 20.5, 21.5, 30.0)]
    assert (await judge(await kept(tmp_path), pauses, SAID)).own_pauses == 1
