from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest
import structlog

from agents.base.credentials import Credentials, Secret, redact_secrets
from agents.base.errors import ConfigError


def write(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "credentials.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def reveal(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def test_environment_then_systemd_then_file(tmp_path: Path) -> None:
    systemd = tmp_path / "systemd"
    systemd.mkdir()
    (systemd / "some_api_key").write_text("from-systemd\n", encoding="utf-8")
    write(tmp_path, 'some_api_key = "from-file"\n')
    environ = {"SOME_API_KEY": "from-environment", "CREDENTIALS_DIRECTORY": str(systemd)}
    assert reveal(Credentials([tmp_path], environ).get("some_api_key")) == "from-environment"
    del environ["SOME_API_KEY"]
    assert reveal(Credentials([tmp_path], environ).get("Some-Api-Key")) == "from-systemd"
    (systemd / "some_api_key").unlink()
    assert reveal(Credentials([tmp_path], environ).get("some_api_key")) == "from-file"
    assert Credentials([tmp_path], environ).get("other_key") is None


def test_an_empty_value_is_no_value(tmp_path: Path) -> None:
    write(tmp_path, 'some_key = "from-file"\n')
    assert reveal(Credentials([tmp_path], {"SOME_KEY": "  "}).get("some_key")) == "from-file"
    write(tmp_path, 'some_key = ""\n')
    assert Credentials([tmp_path], {}).get("some_key") is None


def test_the_first_folder_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    write(second, 'one = "second"\ntwo = "second"\n')
    write(first, 'one = "first"\n')
    credentials = Credentials([first, tmp_path / "missing", second], {})
    assert reveal(credentials.get("one")) == "first"
    assert reveal(credentials.get("two")) == "second"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_a_file_that_others_may_read_is_refused_with_the_command_that_mends_it(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path, 'some_key = "hush-hush"\n', mode)
    with pytest.raises(ConfigError) as raised:
        Credentials([tmp_path], {}).get("some_key")
    assert raised.value.code == "ERR_CREDENTIALS_PERMISSIONS"
    assert f"chmod 600 {path}" in str(raised.value)
    assert "hush-hush" not in str(raised.value)


def test_a_broken_file_is_refused_without_quoting_it(tmp_path: Path) -> None:
    path = write(tmp_path, "some_key = hush-hush\n")
    with pytest.raises(ConfigError) as raised:
        Credentials([tmp_path], {}).get("some_key")
    assert raised.value.code == "ERR_CREDENTIALS_FORMAT"
    assert str(path) in str(raised.value)
    assert "line 1" in str(raised.value)
    assert "hush" not in str(raised.value)
    assert raised.value.cause is None


def test_a_value_that_is_not_text_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "some_key = 12345\n")
    with pytest.raises(ConfigError, match="must be text") as raised:
        Credentials([tmp_path], {}).get("some_key")
    assert "12345" not in str(raised.value)


def test_a_missing_secret_says_how_to_set_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        Credentials([tmp_path], {}).require("some_api_key")
    assert raised.value.code == "ERR_CREDENTIALS_MISSING"
    assert "SOME_API_KEY" in str(raised.value)
    assert str(tmp_path / "credentials.toml") in str(raised.value)


@pytest.mark.parametrize("name", ["../passwd", "a/b", "", "a b", "_x", "a.b"])
def test_a_name_cannot_lead_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a name"):
        Credentials([tmp_path], {"CREDENTIALS_DIRECTORY": str(tmp_path)}).get(name)


def test_by_default_the_users_folder_and_the_machines_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "glove").mkdir()
    write(tmp_path / "glove", 'test_only_key = "mine"\n')
    assert reveal(Credentials().get("test_only_key")) == "mine"
    monkeypatch.setitem(os.environ, "TEST_ONLY_KEY", "from-environment")
    assert reveal(Credentials().get("test_only_key")) == "from-environment"


def test_a_secret_does_not_print_itself() -> None:
    secret = Secret("sk-very-secret-1")
    shown = f"{secret} {secret!r} {secret!s} {[secret]} {'%s' % secret} {secret:>8}"  # noqa: UP031
    assert "very" not in shown
    assert secret.reveal() == "sk-very-secret-1"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)


def test_secrets_compare_by_value() -> None:
    assert Secret("same-value") == Secret("same-value")
    assert Secret("same-value") != Secret("other-value")
    assert Secret("same-value") != "same-value"
    assert len({Secret("same-value"), Secret("same-value")}) == 1


def redacted(**event: object) -> dict[str, object]:
    return dict(redact_secrets(None, "info", dict(event)))


def test_known_secrets_are_masked_wherever_they_turn_up() -> None:
    Secret("sk-known-0815")
    event = redacted(
        event="calling with sk-known-0815 now",
        url="https://x/?q=sk-known-0815",
        nested={"headers": [("x", "Bearer sk-known-0815")], "sk-known-0815": 1},
        error=ValueError("bad sk-known-0815"),
        raw=b"sk-known-0815",
    )
    assert "0815" not in repr(event)
    assert event["event"] == "calling with *** now"


def test_the_longer_secret_is_masked_whole() -> None:
    Secret("sk-overlap")
    Secret("sk-overlap-and-more")
    assert redacted(event="sk-overlap-and-more")["event"] == "***"


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "apikey",
        "API-KEY",
        "key",
        "token",
        "access_token",
        "client.secret",
        "password",
        "Authorization",
    ],
)
def test_text_under_a_telling_name_is_masked(name: str) -> None:
    assert redacted(**{name: "anything"}) == {name: "***"}
    assert redacted(request={name: ["anything"]}) == {"request": {name: "***"}}


@pytest.mark.parametrize(
    "field",
    [{"tokens": "12"}, {"first_token": 0.21}, {"key": None}, {"monkey": "bobo"}, {"max_token": 5}, {"ok": True}],
)
def test_what_is_no_secret_stays_readable(field: dict[str, object]) -> None:
    assert redacted(**field) == field


def test_short_values_do_not_black_out_the_log() -> None:
    Secret("1")
    assert redacted(event="111 requests")["event"] == "111 requests"


def test_a_value_that_contains_itself_does_not_hang_the_log() -> None:
    loop: dict[str, object] = {}
    loop["again"] = loop
    assert "…" in repr(redacted(data=loop))


def test_tracebacks_are_masked_in_a_real_log(capsys: pytest.CaptureFixture[str]) -> None:
    Secret("sk-in-traceback")
    logger = structlog.wrap_logger(
        structlog.PrintLogger(),
        processors=[structlog.processors.format_exc_info, redact_secrets, structlog.processors.JSONRenderer()],
    )
    try:
        raise RuntimeError("refused: sk-in-traceback")
    except RuntimeError:
        logger.exception("failed", api_key="whatever")
    out = json.loads(capsys.readouterr().out)
    assert "sk-in-traceback" not in json.dumps(out)
    assert "RuntimeError" in out["exception"]
    assert out["api_key"] == "***"
