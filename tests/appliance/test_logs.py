"""Log messages go to standard error, in the chosen form, without secrets."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from agents.base.credentials import Secret
from appliance.measured import logs


def test_json_is_one_object_per_line_with_time_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "json")
    structlog.get_logger("x").warning("pull failed", entry="whisper-base", tries=3)
    printed = capsys.readouterr()
    assert printed.out == ""
    told = json.loads(printed.err)
    assert (told["event"], told["level"], told["entry"], told["tries"]) == ("pull failed", "warning", "whisper-base", 3)
    assert told["timestamp"].endswith("+00:00")


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_secret_is_logged(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", style)  # type: ignore[arg-type]
    secret = Secret("sk-ant-very-hidden")
    structlog.get_logger().error("refused", url="https://h/?k=sk-ant-very-hidden", api_key="other-hidden", which=secret)
    logging.getLogger("library").error("refused with %s", "sk-ant-very-hidden")
    try:
        raise ValueError("bad header sk-ant-very-hidden")
    except ValueError:
        structlog.get_logger().exception("failed")
    printed = capsys.readouterr().err
    assert printed.count("refused") == 2
    assert "bad header" in printed
    assert "hidden" not in printed


def test_less_severe_messages_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("error", "text")
    structlog.get_logger().warning("one")
    logging.getLogger("library").warning("two")
    structlog.get_logger().error("three")
    printed = capsys.readouterr().err
    assert "three" in printed
    assert "one" not in printed
    assert "two" not in printed


def test_messages_of_libraries_look_like_ours(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning", "json")
    logging.getLogger("library").warning("careful")
    told = json.loads(capsys.readouterr().err)
    assert (told["event"], told["level"]) == ("careful", "warning")


def test_configuring_again_does_not_double_messages(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning", "text")
    logs.configure("warning", "text")
    logging.getLogger("library").warning("careful")
    assert capsys.readouterr().err.count("careful") == 1
