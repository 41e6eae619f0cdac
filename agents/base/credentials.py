"""Secrets: where they come from, and how they stay out of everything that is printed.

A secret is looked up by name (``anthropic_api_key``) in the environment (``ANTHROPIC_API_KEY``), in systemd's
credentials (``$CREDENTIALS_DIRECTORY/anthropic_api_key``), and in ``credentials.toml`` files that nobody else may read.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, NoReturn, cast

from agents.base.errors import ConfigError

FILE_NAME = "credentials.toml"
MASK = "***"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SECRET_KEY = re.compile(
    r"(?:^|[_\-.])(?i:key|apikey|token|secret|password|passphrase|authorization)$"
    r"|(?<=[a-z])(?:Key|Token|Secret|Password|Passphrase)$"
)
_SHORTEST_MASKED = 6
"""Values shorter than this are not searched for in text: masking every "1" would leave nothing to read."""
_DEEPEST = 8

_known: set[str] = set()


class Secret:
    """A value that does not print itself. ``reveal`` is the only way to it.

    Making one also makes ``redact_secrets`` mask its value wherever it turns up.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        if len(value) >= _SHORTEST_MASKED:
            _known.add(value)

    def reveal(self) -> str:
        """The value, for handing to the service that it is for."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be pickled")


class Credentials:
    """Finds secrets.

    Args:
        folders: where ``credentials.toml`` may be, first match wins; the user's configuration folder and ``/etc/glove``
            when None.
        environ: the environment; the process's own when None.
    """

    def __init__(self, folders: Iterable[Path] | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._folders = tuple(folders) if folders is not None else _default_folders()
        self._environ = os.environ if environ is None else environ

    def get(self, name: str) -> Secret | None:
        """The secret called ``name`` (letters, digits, ``_`` and ``-``; case does not matter), or None.

        Raises:
            ConfigError: ``ERR_CREDENTIALS_PERMISSIONS``, a file that others may read, or that we may not;
                ``ERR_CREDENTIALS_FORMAT``, a file that is not TOML, or a value that is not text.
            ValueError: ``name`` is not a name.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name of a secret: {name!r}")
        key = name.lower().replace("-", "_")
        value = self._environ.get(key.upper(), "").strip() or self._from_systemd(key) or self._from_files(key)
        return Secret(value) if value else None

    def require(self, name: str) -> Secret:
        """The secret called ``name``.

        Raises:
            ConfigError: ``ERR_CREDENTIALS_MISSING``, and as ``get``.
        """
        secret = self.get(name)
        if secret is None:
            key = name.lower().replace("-", "_")
            raise ConfigError(
                "ERR_CREDENTIALS_MISSING",
                f"The secret {key} is not set.",
                f'Set the environment variable {key.upper()}, or write {key} = "…" into '
                f"{self._folders[0] / FILE_NAME if self._folders else FILE_NAME} (chmod 600).",
            )
        return secret

    def _from_systemd(self, key: str) -> str:
        folder = self._environ.get("CREDENTIALS_DIRECTORY")
        path = Path(folder) / key if folder else None
        if path is None or not path.is_file():
            return ""
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise _unreadable(path, fault) from fault

    def _from_files(self, key: str) -> str:
        for folder in self._folders:
            path = folder / FILE_NAME
            value = _read_private(path).get(key)
            if value is None:
                continue
            if not isinstance(value, str):
                raise ConfigError("ERR_CREDENTIALS_FORMAT", f"{key} in {path} must be text in quotes.")
            if value.strip():
                return value.strip()
        return ""


def _default_folders() -> tuple[Path, ...]:
    from platformdirs import user_config_path

    return (user_config_path("glove"), Path("/etc/glove"))


def _read_private(path: Path) -> dict[str, Any]:
    """The table in ``path``, {} if there is none. Permissions are asked of the open file, not of its name."""
    try:
        with path.open("rb") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            if mode & 0o077:
                raise ConfigError(
                    "ERR_CREDENTIALS_PERMISSIONS",
                    f"{path} holds secrets and may be read by others (mode {mode:o}).",
                    f"Run: chmod 600 {path}",
                )
            return tomllib.load(stream)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as fault:
        raise _unreadable(path, fault) from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        # The decoder's message may quote the line, and the line may be a secret: only its place is told.
        place = re.search(r"\(at [^)]*\)$", str(fault))
        raise ConfigError(
            "ERR_CREDENTIALS_FORMAT",
            f"{path} is not TOML{' ' + place.group() if place else ''}.",
            'Write name = "value".',
        ) from None


def _unreadable(path: Path, fault: OSError | UnicodeDecodeError) -> ConfigError:
    why = fault.strerror if isinstance(fault, OSError) else "it is not text"
    return ConfigError(
        "ERR_CREDENTIALS_PERMISSIONS", f"{path} cannot be read: {why}.", "It must belong to the user that runs Glove."
    )


def redact(text: str) -> str:
    """``text`` with the values of all known secrets masked."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def redact_secrets(logger: Any, method_name: str, event_dict: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor that masks secrets; it belongs behind ``format_exc_info``, just before the renderer.

    Masked are the values of known secrets anywhere in the event, and text under names that end in key, token, secret or
    password. Numbers are left alone: ``first_token`` may be a time.
    """
    return {key: _masked(key, value, 0) for key, value in event_dict.items()}


def _masked(key: object, value: object, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(key, str) and _SECRET_KEY.search(key):
        return MASK
    if isinstance(value, str):
        return redact(value)
    if depth >= _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        table = cast("Mapping[Any, Any]", value)
        return {_masked(None, name, depth + 1): _masked(name, item, depth + 1) for name, item in table.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = cast("Iterable[Any]", value)
        return [_masked(None, item, depth + 1) for item in items]
    text = repr(value)
    clean = redact(text)
    return value if clean == text else clean
