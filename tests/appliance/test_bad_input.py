"""Conversations that should not go well: each ends in a clear line or in sane behaviour, and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.models.scripted import ScriptedModel
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from tests.appliance.conftest import ROOT, SIMULATED, Ended, glove_process

Glove = Callable[..., Ended]
STORED = f'{SIMULATED}[store]\npath = "store.db"\n'
LONG_REPLY = " ".join(f"Sentence number {number} is spoken." for number in range(40))


@pytest.fixture(autouse=True)
def simulated() -> None:
    Path("glove.toml").write_text(STORED)


def recording(path: str, pcm: Pcm, *, channels: int = 1, rate_hz: int = CAPTURE_RATE_HZ) -> Path:
    with wave.open(path, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(np.repeat(pcm.astype("<i2"), channels).tobytes())
    return Path(path)


def spoken(seconds: float = 1.5) -> Pcm:
    """Bursts at the rhythm of syllables over a quiet room, which the energy detector takes for a voice."""
    rng = np.random.default_rng(7)
    size = int(seconds * CAPTURE_RATE_HZ)
    syllables = np.sin(2 * np.pi * 4 * np.arange(size) / CAPTURE_RATE_HZ) > -0.8
    voice = rng.normal(0, 4000, size) * syllables
    room = rng.normal(0, 8, CAPTURE_RATE_HZ)
    return np.concatenate((room, voice + rng.normal(0, 8, size), room, room)).clip(-32_000, 32_000).astype(np.int16)


def events_of(path: str = "events.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def turns() -> list[str]:
    return [event["text"] for event in events_of() if event["type"] == "user_turn"]


def talk(glove: Glove, *arguments: str | Path) -> Ended:
    return glove("talk", *arguments, "--out", "out.wav", "--events", "events.jsonl", "--pace", "fast")


@pytest.mark.parametrize("what", ["silence", "noise", "music"])
@pytest.mark.usefixtures("weights_here")
def test_where_nobody_speaks_nothing_is_answered(what: str, glove: Glove) -> None:
    Path("glove.toml").write_text('[model]\nprovider = "none"\n')
    t = np.arange(4 * CAPTURE_RATE_HZ) / CAPTURE_RATE_HZ
    chord = sum(np.sin(2 * np.pi * hz * t) for hz in (220, 277, 330)) * (1 + np.sin(2 * np.pi * 2 * t)) * 1500
    sounds = {"silence": 0 * t, "noise": np.random.default_rng(1).normal(0, 3000, t.size), "music": chord}
    ended = talk(glove, "--in", recording("in.wav", sounds[what].clip(-32_000, 32_000)))
    assert (ended.code, ended.err) == (0, "")
    assert turns() == []
    with wave.open("out.wav") as out:
        assert out.getnframes() / 24_000 >= 4.0


def test_sixty_four_channels_are_one_user(glove: Glove) -> None:
    assert talk(glove, "--in", recording("in.wav", spoken(), channels=64)).code == 0
    assert turns() == ["What can I do this evening?"]


def test_a_recording_cut_short_is_heard_as_far_as_it_goes_and_said_to_be_short(glove: Glove) -> None:
    whole = recording("in.wav", np.concatenate((spoken(), np.zeros(5 * CAPTURE_RATE_HZ, np.int16)))).read_bytes()
    Path("in.wav").write_bytes(whole[: 44 + spoken().nbytes + 1])
    ended = talk(glove, "--in", "in.wav")
    assert ended.code == 0
    assert ended.err_lines == ["glove: in.wav holds less than its header promises; what is there is heard."]
    assert turns() == ["What can I do this evening?"]


def test_a_recording_that_can_be_read_only_once_is_heard(glove: Glove) -> None:
    content = recording("in.wav", spoken()).read_bytes()
    os.mkfifo("pipe.wav")
    feeder = threading.Thread(target=lambda: Path("pipe.wav").write_bytes(content), daemon=True)
    feeder.start()
    ended = talk(glove, "--in", "pipe.wav")
    feeder.join(timeout=10)
    assert (ended.code, ended.err) == (0, "")
    assert turns() == ["What can I do this evening?"]
    with wave.open("out.wav") as out:
        left = np.frombuffer(out.readframes(out.getnframes()), "<i2")[::2]
    assert np.abs(left).max() > 2000


def test_half_a_character_costs_no_event(glove: Glove) -> None:
    ended = talk(glove, "--say", "caf\udce9")
    assert (ended.code, ended.err) == (0, "")
    assert turns() == ["caf\udce9"]


def test_a_typed_text_of_100_kb_is_answered_and_stored_whole(glove: Glove) -> None:
    line = ("many words " * 10_000).strip()
    ended = talk(glove, "--say", line)
    assert (ended.code, ended.err) == (0, "")
    assert turns() == [line]
    assert messages() == [line, "One two three."]


def test_an_answer_of_100_kb_is_cut_where_it_stops_being_heard(glove: Glove, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "many words. " * 9_000
    monkeypatch.setattr("appliance.session.mind._simulated", lambda _: ScriptedModel(lambda request: line))
    ended = talk(glove, "--in", recording("in.wav", spoken()))
    assert (ended.code, ended.err) == (0, "")
    heard = messages()[-1]
    assert 300 < len(heard) < 10_000
    assert line.startswith(heard.strip())


def test_with_a_button_the_recording_is_one_press(glove: Glove) -> None:
    Path("glove.toml").write_text(STORED.replace("[turns]", '[turns]\nmode = "manual"'))
    pauses = np.concatenate((spoken(), np.zeros(3 * CAPTURE_RATE_HZ, np.int16), spoken()))
    ended = talk(glove, "--in", recording("in.wav", pauses))
    assert ended.code == 0, ended.err
    assert turns() == ["What can I do this evening?"]
    assert messages()[-1] == "One two three."


@pytest.mark.usefixtures("weights_here")
def test_a_conversation_needs_no_network(glove: Glove, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something went to the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    Path("glove.toml").write_text('[model]\nprovider = "none"\n')
    ended = talk(glove, "--say", "What is two plus two?")
    assert (ended.code, ended.err) == (0, "")
    assert any("4" in event["heard"] for event in events_of() if event["type"] == "agent_speech_stopped")


def test_weights_that_cannot_be_fetched_are_one_line(glove: Glove, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GLOVE_WEIGHTS_DIR", "GLOVE_WEIGHTS_SOURCES"):
        monkeypatch.delenv(name, raising=False)
    Path("glove.toml").write_text('[speech]\nstt = "whisper-base"\n[weights]\ndir = "none"\nsources = ["cache"]\n')
    ended = talk(glove, "--say", "hello")
    assert ended.code == 1
    assert len(ended.err_lines) == 1
    assert "whisper-base" in ended.err


def test_a_full_disk_is_one_line_and_the_recording_plays_up_to_there() -> None:
    limit = 200_000

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    program = [sys.executable, "-c", "from appliance.entry import main; main()", "talk", "--out", "out.wav"]
    arguments = ["--in", str(recording("in.wav", spoken())), "--pace", "fast"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOVE_STORE__PATH": "memory"}
    ended = subprocess.run(
        [*program, *arguments], env=environment, preexec_fn=small_disk, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stderr == "glove: There is no room left to write out.wav. Free some space and try again.\n"
    with wave.open("out.wav") as out:
        assert 44 + out.getnframes() * 4 == Path("out.wav").stat().st_size


def test_a_reader_that_goes_away_ends_the_conversation_quietly() -> None:
    child = glove_process(
        *("talk", "--in", "-", "--out", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=False,
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(bytes(64_000))
    child.stdin.flush()
    child.stdout.read(480)
    child.stdout.close()
    assert child.wait(timeout=60) == 0
    assert child.stderr is not None
    assert [json.loads(line)["type"] for line in child.stderr.read().splitlines()] == ["mode", "mode"]
    child.stdin.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_it_the_store_holds_what_was_heard(number: signal.Signals) -> None:
    Path("glove.toml").write_text(STORED.replace("One two three.", LONG_REPLY))
    child = glove_process(
        *("talk", "--say", "hello", "--out", "out.wav", "--events", "events.jsonl"), stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not Path("events.jsonl").exists() or "agent_speech_started" not in Path("events.jsonl").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.6)
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (128 + number, "")
    cut = next(event for event in events_of() if event["type"] == "interrupted")
    assert messages()[-1].strip() == cut["heard"].strip() != LONG_REPLY
    with wave.open("out.wav") as out:
        assert 44 + out.getnframes() * 4 == Path("out.wav").stat().st_size


def messages() -> list[str]:
    """The texts of the stored conversation."""
    with sqlite3.connect("store.db") as store:
        return [json.loads(body)["text"] for (body,) in store.execute("select body from messages order by position")]
