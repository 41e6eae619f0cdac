"""A daemon that is killed, or told to stop, at bad moments: nothing is lost and nothing happens twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.base.clock import blocking_sleep, perf_counter
from agents.everyday.book import EverydayBook
from agents.stores.sqlite import SqliteStore, list_conversations
from appliance.commands.transcripts import transcript
from appliance.daemon.instance import running_pid
from tests.appliance.conftest import ROOT

STOP_S = 5.0
"""It must be gone after 3 s; a machine that runs other tests meanwhile gets a little longer."""


class Lonely:
    """A daemon of ``lonely_daemon`` and what it tells."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.appliance.lonely_daemon", str(folder), *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.events: list[dict[str, Any]] = []
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def type(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read events until one that is ``wanted``."""
        while line := self._line():
            self.events.append(json.loads(line))
            if wanted(self.events[-1]):
                return self.events[-1]
        raise AssertionError(f"it ended: {self.events[-3:]}")

    def until_heard(self, part: str) -> None:
        self.until(lambda event: event["type"] == "agent_speech_stopped" and part in event["heard"])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> float:
        """Returns how many seconds it took; the exit code must be 0."""
        asked = perf_counter()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(10) == 0
        return perf_counter() - asked


def history(folder: Path) -> list[tuple[str, str]]:
    async def read() -> list[tuple[str, str]]:
        known, *others = await list_conversations(folder / "glove.db") or [None]
        assert not others
        if known is None:
            return []
        store = SqliteStore(folder / "glove.db", known.session_id)
        messages = await store.get_messages()
        await store.close()
        return [(message.sender, message.text) for message in messages]

    return asyncio.run(read())


def timers(folder: Path) -> list[str | None]:
    async def read() -> list[str | None]:
        book = EverydayBook(folder / "glove-everyday.db")
        rows = await book.timers()
        await book.close()
        return [row.name for row in rows]

    return asyncio.run(read())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_killed_in_the_middle_of_a_reply_and_of_ringing(folder: Path) -> None:
    first = Lonely(folder)
    first.type("set a tea timer for one second")
    first.until_heard("timer set")
    first.until(lambda event: event["type"] == "agent_speech_started")  # it rings
    first.kill()
    second = Lonely(folder)  # the lock of the dead is no obstacle
    second.until_heard("tea timer was due")
    second.type("stop")
    second.until_heard("Okay")
    second.type("what can you do")
    second.until(lambda event: event["type"] == "agent_speech_started")
    second.kill()
    assert timers(folder) == []  # what was silenced does not ring again
    third = Lonely(folder)
    third.type("what is two plus two")
    third.until_heard("4")
    assert third.stop() < STOP_S
    said = history(folder)
    assert [text for sender, text in said if sender == "user" and text in ("stop", "what can you do")] == [
        "stop",
        "what can you do",
    ]
    assert any(text.startswith("I can tell the time") or "I can" in text for _, text in said)


def test_killed_before_the_answer_the_question_is_kept_and_not_asked_again(folder: Path) -> None:
    first = Lonely(folder, "60000")
    first.type("How far is the moon?")
    first.until(lambda event: event["type"] == "user_turn")
    while ("user", "How far is the moon?") not in history(folder):
        blocking_sleep(0.02)
    first.kill()
    second = Lonely(folder, "50")
    second.type("Are you there?")
    second.until(lambda event: event["type"] == "agent_speech_stopped")
    second.kill()
    texts = [text for _, text in history(folder)]
    assert texts.count("How far is the moon?") == 1
    assert "was not answered" in texts[1]


def test_killed_while_it_speaks_the_transcript_does_not_claim_that_it_was_heard(folder: Path) -> None:
    first = Lonely(folder)
    first.type("what is two plus two")
    first.until_heard("4")
    first.type("what can you do")
    first.until(lambda event: event["type"] == "agent_speech_started")
    while history(folder)[-1][0] != "agent":
        blocking_sleep(0.02)
    first.kill()
    answers = [line for line in asyncio.run(transcript(folder / "glove.db", "")) if line.startswith("Glove: ")]
    assert [line.endswith("(how much of this was heard is not known)") for line in answers] == [False, True]


@pytest.mark.parametrize("delay_s", [0.0, 0.004])
def test_killed_while_a_timer_is_written_it_is_there_once_or_not_at_all(folder: Path, delay_s: float) -> None:
    first = Lonely(folder)
    first.type("set a bread timer for one hour")
    first.until(lambda event: event["type"] == "tool_use")
    blocking_sleep(delay_s)
    first.kill()
    assert timers(folder) in ([], ["bread"])


def test_asked_to_stop_it_cuts_its_reply_and_keeps_what_was_heard(folder: Path) -> None:
    daemon = Lonely(folder)
    daemon.type("what can you do")
    daemon.until(lambda event: event["type"] == "agent_speech_started")
    blocking_sleep(0.7)
    assert daemon.stop() < STOP_S
    heard = history(folder)[-1]
    assert heard[0] == "agent"
    assert 0 < len(heard[1]) < 60
    assert running_pid(folder / "run") is None


def test_the_second_signal_ends_it_at_once(folder: Path) -> None:
    daemon = Lonely(folder, "60000")
    daemon.type("How far is the moon?")
    daemon.until(lambda event: event["type"] == "user_turn")
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.send_signal(signal.SIGINT)
    # Whichever signal the process sees first, it is gone, and in an orderly way.
    assert daemon.process.wait(6) in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM)
