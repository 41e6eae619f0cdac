"""Finds the configuration file, lays the environment over it, and remembers where each value came from."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from agents.base.errors import ConfigError
from appliance.config.faults import describe, unknown_key
from appliance.config.schema import GloveConfig, known_keys

SYSTEM_FILE = Path("/etc/glove/glove.toml")

_SHORT_NAMES = {"GLOVE_WEIGHTS_DIR": ("weights", "dir"), "GLOVE_WEIGHTS_SOURCES": ("weights", "sources")}
"""Variables that the weights store reads by itself; the long form of the same key wins over them."""


@dataclass(frozen=True)
class Loaded:
    """A valid configuration and its history.

    Attributes:
        config: the values in force.
        origins: for each key ``section.key``, where its value came from: ``default``, the file's path, or
            ``environment NAME``.
        file: the file that was read, or None.
    """

    config: GloveConfig
    origins: dict[str, str] = field(default_factory=dict[str, str])
    file: Path | None = None

    def rows(self) -> list[tuple[str, Any, str]]:
        """(key, value, origin) of every key, in order of declaration."""
        values = self.config.model_dump(mode="json")
        rows: list[tuple[str, Any, str]] = []
        for key in known_keys():
            section, name = key.split(".")
            rows.append((key, values[section][name], self.origins.get(key, "default")))
        return rows


def candidates() -> list[Path]:
    """The places where a configuration file is looked for when none is named, in order."""
    import platformdirs

    user = Path(platformdirs.user_config_dir("glove", appauthor=False))
    return [Path("glove.toml"), user / "glove.toml", SYSTEM_FILE]


def find(named: Path | None = None) -> Path | None:
    """The file to read: ``named``, else ``$GLOVE_CONFIG``, else the first candidate that exists, else None.

    Raises:
        ConfigError: a file that was asked for does not exist.
    """
    asked = named or (Path(os.environ["GLOVE_CONFIG"]) if os.environ.get("GLOVE_CONFIG") else None)
    if asked is None:
        return next((path for path in candidates() if path.is_file()), None)
    if not asked.is_file():
        source = "" if named else " (named by GLOVE_CONFIG)"
        what = "is a folder, not a file" if asked.is_dir() else "does not exist"
        raise ConfigError("ERR_CONFIG_MISSING", f"Configuration file {asked}{source} {what}.")
    return asked


def load(named: Path | None = None) -> Loaded:
    """Read the file (see ``find``) and the environment, and validate.

    Raises:
        ConfigError: the first problem, naming its key and where it was set.
    """
    values, origins, file = _gather(named)
    try:
        config = GloveConfig(**values)
    except ValidationError as fault:
        first, *others = describe(fault, origins, list(known_keys()))
        more = f" ({len(others)} more: glove config check)" if others else ""
        raise ConfigError(first.code, first.message + more, first.remedy) from None
    return Loaded(config, origins, file)


def check(named: Path | None = None) -> list[ConfigError]:
    """Every problem of the configuration that ``load`` would read; empty when it is valid."""
    try:
        values, origins, _ = _gather(named)
    except ConfigError as fault:
        return [fault]
    try:
        GloveConfig(**values)
    except ValidationError as fault:
        return describe(fault, origins, list(known_keys()))
    return []


def _gather(named: Path | None) -> tuple[dict[str, Any], dict[str, str], Path | None]:
    """The merged values before validation, where each came from, and the file."""
    file = find(named)
    from_file = _read_toml(file) if file else {}
    from_environment = _read_environment()
    origins = {key: str(file) for key in (*from_file, *_leaves(from_file))}
    origins |= {key: f"environment {_variable(key)}" for key in _leaves(from_environment)}
    return _merge(from_file, from_environment), origins, file


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as fault:
        raise ConfigError("ERR_CONFIG_SYNTAX", f"{path} is not valid TOML: {fault}.", cause=fault) from fault
    except UnicodeDecodeError as fault:
        raise ConfigError("ERR_CONFIG_SYNTAX", f"{path} is not a text file in UTF-8.", cause=fault) from fault
    except OSError as fault:
        raise ConfigError("ERR_CONFIG_MISSING", f"{path} cannot be read: {fault.strerror}.", cause=fault) from fault


def _read_environment() -> dict[str, Any]:
    """Keys set by ``GLOVE_SECTION__KEY`` as a nested mapping of strings; empty variables count as not set."""
    for name in os.environ:
        _reject_misnamed(name)
    values: dict[str, Any] = {name: value for name, value in EnvSettingsSource(GloveConfig)().items() if value}
    for variable, (section, key) in _SHORT_NAMES.items():
        if os.environ.get(variable):
            values.setdefault(section, {}).setdefault(key, os.environ[variable])
    return values


def _reject_misnamed(variable: str) -> None:
    """Raise for a variable that looks like a key of ours and is none; it would be ignored silently otherwise."""
    prefix, _, rest = variable.upper().partition("_")
    if prefix != "GLOVE":
        return
    section, separator, key = rest.lower().partition("__")
    known_section = section in GloveConfig.model_fields
    if separator and not known_section:
        raise unknown_key(f"{section}.{key}", f"environment {variable}", list(known_keys()))
    if known_section and not separator and os.environ[variable]:
        raise ConfigError(
            "ERR_CONFIG_UNKNOWN_KEY",
            f"The environment variable {variable} names a section without a key.",
            f"Write GLOVE_{section.upper()}__KEY.",
        )


def _variable(key: str) -> str:
    section, _, name = key.partition(".")
    long = f"GLOVE_{section}__{name}".upper()
    short = next((variable for variable, path in _SHORT_NAMES.items() if ".".join(path) == key), None)
    return short if short and long not in os.environ else long


def _leaves(values: Mapping[str, Any]) -> list[str]:
    """``section.key`` of everything set in a nested mapping (deeper levels belong to their key)."""
    keys: list[str] = []
    for section, inner in values.items():
        keys += [f"{section}.{name}" for name in cast(dict[str, Any], inner)] if isinstance(inner, dict) else [section]
    return keys


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for section, inner in over.items():
        below = merged.setdefault(section, {})
        if isinstance(below, dict):  # a section that is no table is reported as it stands
            merged[section] = {**cast(dict[str, Any], below), **inner}
    return merged
