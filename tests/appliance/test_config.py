"""Which value is in force, and how mistakes are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.base.errors import ConfigError
from appliance.config import file as configfile
from appliance.config.faults import nearest
from appliance.config.schema import GloveConfig, known_keys

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def usual_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here loads weights, so what the machine says about them would only be in the way."""
    monkeypatch.delenv("GLOVE_WEIGHTS_DIR", raising=False)
    monkeypatch.delenv("GLOVE_WEIGHTS_SOURCES", raising=False)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def redemption(value: int) -> str:
    return f"[turns]\nredemption_ms = {value}\n"


def test_without_any_source_the_embedded_defaults_are_in_force() -> None:
    loaded = configfile.load()
    assert loaded.config == GloveConfig()
    assert loaded.file is None
    assert {origin for _, _, origin in loaded.rows()} == {"default"}


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ((), 450),
        (("system",), 1),
        (("user", "system"), 2),
        (("here", "user", "system"), 3),
        (("variable", "here", "user", "system"), 4),
        (("option", "variable", "here", "user", "system"), 5),
        (("environment", "option", "variable", "here"), 6),
        (("environment",), 6),
        (("environment", "system"), 6),
    ],
    ids=lambda value: "+".join(value) or "none" if isinstance(value, tuple) else str(value),
)
def test_the_stronger_source_wins(
    sources: tuple[str, ...], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: Path | None = None
    for source in sources:
        if source == "system":
            write(tmp_path / "etc" / "glove.toml", redemption(1))
        elif source == "user":
            write(tmp_path / "home" / "glove" / "glove.toml", redemption(2))
        elif source == "here":
            write(Path("glove.toml"), redemption(3))
        elif source == "variable":
            monkeypatch.setenv("GLOVE_CONFIG", str(write(tmp_path / "variable.toml", redemption(4))))
        elif source == "option":
            named = write(tmp_path / "option.toml", redemption(5))
        elif source == "environment":
            monkeypatch.setenv("GLOVE_TURNS__REDEMPTION_MS", "6")
    assert configfile.load(named).config.turns.redemption_ms == expected


def test_environment_and_file_meet_in_one_section(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("glove.toml"), "[turns]\nredemption_ms = 300\nvad = 'energy'\n")
    monkeypatch.setenv("GLOVE_TURNS__REDEMPTION_MS", "600")
    loaded = configfile.load()
    origins = {key: origin for key, _, origin in loaded.rows()}
    assert (loaded.config.turns.redemption_ms, loaded.config.turns.vad) == (600, "energy")
    assert origins["turns.redemption_ms"] == "environment GLOVE_TURNS__REDEMPTION_MS"
    assert origins["turns.vad"] == "glove.toml"
    assert origins["turns.preroll_ms"] == "default"


@pytest.mark.parametrize(
    ("variables", "expected", "origin"),
    [
        ({"GLOVE_WEIGHTS_SOURCES": "cache,wheel"}, ("cache", "wheel"), "environment GLOVE_WEIGHTS_SOURCES"),
        ({"GLOVE_WEIGHTS__SOURCES": "cache"}, ("cache",), "environment GLOVE_WEIGHTS__SOURCES"),
        (
            {"GLOVE_WEIGHTS_SOURCES": "cache,wheel", "GLOVE_WEIGHTS__SOURCES": "hub"},
            ("hub",),
            "environment GLOVE_WEIGHTS__SOURCES",
        ),
    ],
)
def test_weights_sources_have_a_short_name_too(
    variables: dict[str, str], expected: tuple[str, ...], origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    loaded = configfile.load()
    assert loaded.config.weights.sources == expected
    assert {key: where for key, _, where in loaded.rows()}["weights.sources"] == origin


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOVE_TURNS__REDEMPTION_MS", "")
    assert configfile.load().config.turns.redemption_ms == 450


@pytest.mark.parametrize(
    ("toml", "code", "parts"),
    [
        ("[turns]\nredemtion_ms = 1", "UNKNOWN_KEY", ["turns.redemtion_ms", "glove.toml", "turns.redemption_ms?"]),
        ("[turn]\nredemption_ms = 1", "UNKNOWN_KEY", ["turn ", "glove.toml", "[turns]?"]),
        ("[speech]\nredemption_ms = 1", "UNKNOWN_KEY", ["speech.redemption_ms", "turns.redemption_ms?"]),
        ("[speech]\nxyzzy = 1", "UNKNOWN_KEY", ["speech.xyzzy", "glove config show"]),
        ("[model]\napi_key = 'sk-ant-123456'", "SECRET", ["model.api_key", "ANTHROPIC_API_KEY"]),
        ("[model]\npassword = 'hunter22'", "SECRET", ["model.password"]),
        ("anthropic_api_key = 'sk-ant-123456'", "SECRET", ["anthropic_api_key"]),
        ("[turns]\nredemption_ms = 'soon'", "VALUE", ["turns.redemption_ms", "a whole number", "'soon'"]),
        ("[turns]\nredemption_ms = 1.5", "VALUE", ["turns.redemption_ms", "a whole number"]),
        ("[turns]\nredemption_ms = -1", "VALUE", ["turns.redemption_ms", "at least 0"]),
        ("[turns]\nmode = 'auto'", "VALUE", ["turns.mode", '"vad"', '"manual"', "'auto'"]),
        ("[speech]\npartials = 'perhaps'", "VALUE", ["speech.partials", "true or false"]),
        ("[speech]\nlanguage = 'English'", "VALUE", ["speech.language", "language tag"]),
        ("[speech]\nprimary_language = 'auto'", "VALUE", ["speech.primary_language", "one language tag"]),
        ("[speech]\nlanguage = 3", "VALUE", ["speech.language", "text in quotes"]),
        ("speech = 3", "VALUE", ["speech", "a section"]),
        ("[model]\nbase_url = 'https://me:hunter22@host'", "VALUE", ["model.base_url", "without user name"]),
        ("[stt]\nurl = 'https://[::1'", "VALUE", ["stt.url", "an address such as"]),
        ("[tts]\nurl = 'https://host:99999'", "VALUE", ["tts.url", "an address such as"]),
        ("[weights]\nsources = []", "VALUE", ["weights.sources", "at least one"]),
        ("[weights]\nsources = ['floppy']", "VALUE", ["weights.sources", '"wheel"']),
        ("[turns]\nmode vad", "SYNTAX", ["glove.toml", "line 2"]),
    ],
)
def test_a_mistake_in_the_file_is_named(toml: str, code: str, parts: list[str]) -> None:
    write(Path("glove.toml"), toml)
    with pytest.raises(ConfigError) as caught:
        configfile.load()
    assert caught.value.code == f"ERR_CONFIG_{code}"
    for part in parts:
        assert part in str(caught.value)
    assert "sk-ant" not in str(caught.value)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "parts"),
    [
        ("GLOVE_TURNS__REDEMTION_MS", "1", ["GLOVE_TURNS__REDEMTION_MS", "turns.redemption_ms?"]),
        ("GLOVE_TURN__REDEMPTION_MS", "1", ["GLOVE_TURN__REDEMPTION_MS", "turns.redemption_ms?"]),
        ("GLOVE_TURNS__REDEMPTION_MS", "soon", ["GLOVE_TURNS__REDEMPTION_MS", "a whole number"]),
        ("GLOVE_MODEL__API_KEY", "sk-ant-123456", ["model.api_key", "ANTHROPIC_API_KEY"]),
        ("GLOVE_MODEL", "claude", ["GLOVE_MODEL ", "GLOVE_MODEL__KEY"]),
    ],
)
def test_a_mistake_in_the_environment_is_named(
    variable: str, value: str, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        configfile.load()
    for part in parts:
        assert part in str(caught.value)
    assert "sk-ant" not in str(caught.value)


def test_check_names_every_mistake() -> None:
    write(Path("glove.toml"), "[turns]\nmode = 'x'\nredemption_ms = 'y'\n[log]\nlevel = 'z'\n")
    assert [problem.message.split()[0] for problem in configfile.check()] == [
        "turns.mode",
        "turns.redemption_ms",
        "log.level",
    ]
    with pytest.raises(ConfigError, match="2 more: glove config check"):
        configfile.load()


def test_the_file_for_devices_is_valid() -> None:
    loaded = configfile.load(ROOT / "firmware-config" / "etc" / "glove" / "glove.toml")
    assert loaded.config.store.path == "/var/lib/glove/glove.db"


@pytest.mark.parametrize(("key", "expected"), [("spech", "[speech]"), ("log.levl", "log.level"), ("a.b", None)])
def test_the_nearest_key(key: str, expected: str | None) -> None:
    assert nearest(key, list(known_keys())) == expected


@pytest.mark.parametrize("wrong", ["glove.local:8765", "http://glove.local", "a b", "-", ""])
def test_a_name_of_the_page_is_a_plain_name(wrong: str) -> None:
    assert GloveConfig(page={"hosts": "glove.local, 192.168.1.7"}).page.hosts == ("glove.local", "192.168.1.7")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hosts"):
        GloveConfig(page={"hosts": [wrong]})  # type: ignore[arg-type]


def test_every_key_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    values = GloveConfig().model_dump(mode="json")
    for key, meaning in known_keys().items():
        section, name = key.split(".")
        row = f"| `{name}` | `{json.dumps(values[section][name], ensure_ascii=False)}` | {meaning}"
        part = page.partition(f"### [{section}]")[2].partition("###")[0]
        assert row in part, f"docs/configuration.md does not describe {key} as it is"
