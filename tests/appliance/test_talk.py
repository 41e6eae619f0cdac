"""What ``glove talk`` accepts, and a whole conversation through it."""

from __future__ import annotations

import json
import sqlite3
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.base.errors import InputError
from appliance.commands.conversation import run_talk, talk
from appliance.commands.talk import TalkOptions, validated
from appliance.config.schema import GloveConfig
from appliance.streams import STREAM
from audio.io.pump import PumpRoom
from tests.appliance.conftest import SIMULATED, Ended
from tests.appliance.house import simulated

Glove = Callable[..., Ended]


@pytest.fixture
def question() -> Path:
    """A file that exists; its content does not matter."""
    path = Path("question.wav")
    path.write_bytes(b"RIFF")
    return path


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    "other",
    [
        {"out": Path("question.wav")},
        {"out": Path("./nowhere/../question.wav")},
        {"out": Path("out.wav"), "events": Path("question.wav")},
        {"out": Path("out.wav"), "events": Path("out.wav")},
    ],
)
def test_no_file_serves_twice(other: dict[str, Path], question: Path) -> None:
    Path("nowhere").mkdir()
    with pytest.raises(InputError, match="name the same file"):
        validated(TalkOptions(question, **other))
    assert question.read_bytes() == b"RIFF"


def test_events_that_cannot_be_written_leave_no_room_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[PumpRoom] = []
    close = PumpRoom.close

    async def closing(room: PumpRoom) -> None:
        closed.append(room)
        await close(room)

    monkeypatch.setattr(PumpRoom, "close", closing)
    options = TalkOptions(None, Path("out.wav"), tmp_path / "vanished" / "events.jsonl", "fast", ("hello",))
    with pytest.raises(InputError, match=r"--events: .*vanished"):
        run_talk(options, GloveConfig())
    assert len(closed) == 1


def test_a_link_to_the_input_is_the_input(question: Path) -> None:
    link = Path("link.wav")
    link.symlink_to(question)
    with pytest.raises(InputError, match="name the same file"):
        validated(TalkOptions(question, out=link))


@pytest.mark.parametrize(
    "options",
    [
        TalkOptions(STREAM, STREAM),
        TalkOptions(STREAM, Path("out.wav"), Path("events.jsonl")),
        TalkOptions(Path("question.wav"), STREAM, pace="fast"),
        TalkOptions(None, Path("out.wav"), say=("hello",)),
    ],
)
def test_what_makes_sense_is_accepted(options: TalkOptions, question: Path) -> None:
    assert validated(options) is options


def test_events_to_a_stream_are_refused(question: Path) -> None:
    with pytest.raises(InputError, match="--events needs a file"):
        validated(TalkOptions(question, Path("out.wav"), events=STREAM))


def test_a_typed_line_is_answered_and_recorded(glove: Glove) -> None:
    Path("glove.toml").write_text(SIMULATED)
    ended = glove("talk", "--say", "hello", "--out", "out.wav", "--events", "events.jsonl", "--pace", "fast")
    assert ended.code == 0, ended.err
    told = {event["type"]: event for event in events_of(Path("events.jsonl"))}
    assert told["user_turn"]["text"] == "hello"
    assert told["agent_speech_stopped"]["heard"] == "One two three."
    with wave.open("out.wav") as recording:
        assert (recording.getnchannels(), recording.getframerate()) == (2, 24_000)
        assert recording.getnframes() / 24_000 > told["agent_speech_stopped"]["t"]


def test_timers_ring_in_the_conversation_until_it_ends(glove: Glove) -> None:
    Path("glove.toml").write_text(SIMULATED.replace('provider = "simulated"', 'provider = "none"'))
    lines = ("--say", "Set a timer for 1 second.", "--say", "What time is it?")
    ended = glove("talk", *lines, "--out", "out.wav", "--events", "events.jsonl", "--pace", "fast")
    assert ended.code == 0, ended.err
    heard = [event["heard"] for event in events_of(Path("events.jsonl")) if event["type"] == "agent_speech_stopped"]
    assert "Your timer for 1 second is ringing." in heard


def test_a_rehearsal_leaves_no_trace(glove: Glove, tmp_path: Path) -> None:
    Path("glove.toml").write_text(SIMULATED)
    assert glove("talk", "--say", "hello", "--out", "out.wav", "--pace", "fast").code == 0
    assert not list(tmp_path.rglob("*.db"))


def test_a_named_store_keeps_the_conversation(glove: Glove, tmp_path: Path) -> None:
    store = tmp_path / "kept.db"
    Path("glove.toml").write_text(f'{SIMULATED}[store]\npath = "{store}"\n')
    assert glove("talk", "--say", "hello", "--out", "out.wav", "--pace", "fast").code == 0
    with sqlite3.connect(store) as kept:
        rows = "".join(str(row) for table in tables(kept) for row in kept.execute(f"select * from {table}"))
    assert "hello" in rows
    assert "One two three." in rows


def tables(connection: Any) -> list[str]:
    return [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]


@pytest.mark.parametrize("content", [b"", b"not a recording", b"RIFF\0\0\0\0WAVE"])
def test_an_unusable_recording_is_named_in_one_line(content: bytes, glove: Glove) -> None:
    Path("glove.toml").write_text(SIMULATED)
    Path("bad.wav").write_bytes(content)
    ended = glove("talk", "--in", "bad.wav", "--out", "out.wav", "--pace", "fast")
    assert ended.code == 2
    assert len(ended.err_lines) == 1
    assert "bad.wav" in ended.err


def test_without_its_key_a_configured_model_is_refused(glove: Glove) -> None:
    Path("glove.toml").write_text(SIMULATED.replace('provider = "simulated"', 'provider = "anthropic"'))
    ended = glove("talk", "--say", "hello", "--out", "out.wav", "--pace", "fast")
    assert ended.code == 2
    assert "ANTHROPIC_API_KEY" in ended.err_lines[-1]


async def test_a_typed_line_is_answered_in_its_own_language(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    lines = ("Wie spät ist es?", "What time is it?", "Stelle einen Timer auf fünf Minuten.")
    assert await talk(TalkOptions(None, tmp_path / "out.wav", events, "fast", lines), simulated()) == 0
    told = events_of(events)
    assert [event["language"] for event in told if event["type"] == "user_turn"][:3] == ["de", "en", "de"]
    heard = [event["heard"] for event in told if event["type"] == "agent_speech_stopped"]
    assert [words.split()[0] for words in heard[:2]] == ["Es", "It"]
