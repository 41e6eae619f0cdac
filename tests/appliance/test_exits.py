"""Exit codes and the one line on standard error, for every way a command can end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import pytest

from agents.base.errors import ConfigError, GloveError, GloveVoiceError, InputError
from appliance import entry
from appliance.commands import exits
from tests.appliance.conftest import Ended, glove_process

Glove = Callable[..., Ended]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, ""),
        (["version"], 0, ""),
        (["--version"], 0, ""),
        (["talk", "--help"], 0, ""),
        (["weights", "--help"], 0, ""),
        (["config", "check"], 0, ""),
        ([], 2, "Usage: glove"),
        (["tlak"], 2, "Did you mean talk?"),
        (["xyzzy"], 2, "glove --help lists the commands"),
        (["--nope"], 2, "See glove --help"),
        (["version", "--nope"], 2, "See glove version --help"),
        (["weights"], 2, "Missing command"),
        (["weights", "lost"], 2, "No such command"),
        (["weights", "pull", "xyzzy"], 2, "xyzzy"),
        (["weights", "pull", "--nope"], 2, "No such option: --nope. See glove weights pull --help."),
        (["--log-level", "loud", "version"], 2, "'error'. See glove --help."),
        (["ptt"], 2, "toggle, cancel. See glove ptt --help."),
        (["ptt", "sideways"], 2, "Invalid value for 'action': 'sideways' is not one of"),
        (["talk"], 2, "--out"),
        (["talk", "--out", "o.wav"], 2, "--in"),
        (["talk", "--in", "none.wav", "--out", "o.wav"], 2, "There is no recording none.wav"),
        (["talk", "--in", ".", "--out", "o.wav"], 2, "is a folder"),
        (["talk", "--say", " ", "--out", "o.wav"], 2, "--say is empty"),
        (["talk", "--say", "x", "--out", "none/o.wav"], 2, "the folder none does not exist"),
        (["talk", "--say", "x", "--out", "."], 2, "is a folder"),
        (["talk", "--say", "x", "--out", "o.wav", "--pace", "slow"], 2, "slow"),
        (["talk", "--in", "-", "--out", "-", "--pace", "fast"], 2, "--pace"),
        (["listen"], 2, "WAV"),
        (["listen", "none.wav"], 2, "none.wav"),
        (["say"], 2, "TEXT"),
        (["say", "…"], 2, "nothing in the text"),
        (["say", "x", "--out", "none/o.wav"], 2, "--out: none/o.wav"),
        (["say", "x", "--out", "o.wav", "--language", "../../x"], 2, "language"),
        (["--config", "none.toml", "config", "show"], 2, "none.toml does not exist"),
        (["config", "show", "--config", "."], 2, "is a folder"),
        (["config", "check", "--config", "none.toml"], 2, "none.toml does not exist"),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_the_exit_code_and_the_line(arguments: list[str], code: int, said: str, glove: Glove) -> None:
    ended = glove(*arguments)
    assert (ended.code, "Traceback" in ended.err) == (code, False), ended.err
    assert said in ended.err
    if code and arguments:
        assert len(ended.err_lines) == 1
        assert ended.err.startswith("glove: ")


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (InputError("ERR_X", "Bad."), 2),
        (ConfigError("ERR_X", "Bad."), 2),
        (GloveError("ERR_X", "Bad."), 1),
        (GloveVoiceError("ERR_X", "Bad."), 1),
        (ZeroDivisionError("Bad."), 1),
        (OSError(28, "Bad."), 1),
        (KeyboardInterrupt(), 130),
        (SystemExit(3), 3),
    ],
)
def test_how_faults_end(fault: BaseException, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise fault

    assert exits.guarded(fail) == code
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    assert len(printed.splitlines()) == (1 if code in (1, 2) else 0)


def test_debug_shows_where(glove: Glove) -> None:
    ended = glove("--debug", "talk", "--in", "none.wav", "--out", "o.wav")
    assert ended.code == 2
    assert "Traceback" in ended.err
    assert ended.err_lines[-1].startswith("glove: There is no recording none.wav")


def test_debug_after_the_terminator_is_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[str]] = []
    monkeypatch.setattr(entry, "_dispatch", lambda arguments: taken.append(arguments))
    entry.run(["say", "--debug", "--", "--debug"])
    assert taken == [["say", "--", "--debug"]]


def test_a_message_of_several_lines_is_printed_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    exits.say_error("one\ntwo\r\n  three")
    assert capsys.readouterr().err == "glove: one two three\n"


def test_a_reader_that_goes_away_is_no_drama() -> None:
    child = glove_process("config", "show", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.close()
    _, err = child.communicate(timeout=60)
    assert child.returncode == 1
    assert err == ""


def test_ctrl_c_is_quiet() -> None:
    child = glove_process(
        "say", "-", "--out", "o.wav", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdin is not None
    # The pipe takes more than it can hold only once the command is reading from it.
    child.stdin.write("word " * 100_000)
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_request_to_terminate_ends_like_ctrl_c(number: signal.Signals, code: int) -> None:
    tidied: list[str] = []

    def work() -> int:
        try:
            signal.raise_signal(number)
        finally:
            tidied.append("all in order")
        return 0

    assert exits.guarded(work) == code
    assert tidied
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_request_to_terminate_is_heard_where_ctrl_c_is_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert exits.guarded(lambda: signal.raise_signal(signal.SIGTERM)) == 143
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert exits.guarded(lambda: signal.raise_signal(signal.SIGHUP)) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
