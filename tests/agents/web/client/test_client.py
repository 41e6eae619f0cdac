"""The browser's client: its modules under Node's own test runner, and their types where a compiler is at hand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from agents.web.assets import client_assets

HERE = Path(__file__).parent
REPO = HERE.parents[3]
CLIENT = REPO / "agents" / "web" / "client"


def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.skip("Node is not installed; it runs the tests of the browser's modules")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.removeprefix("v").split(".")[0]) < 20:
        pytest.skip(f"Node {version.strip()} is too old for the tests of the browser's modules; they need 20")
    return path


@pytest.mark.parametrize("file", sorted(path.name for path in HERE.glob("*.test.js")))
def test_the_modules_do_what_their_own_tests_say(file: str) -> None:
    ran = subprocess.run(
        [node(), "--test", "--test-reporter=tap", file], cwd=HERE, capture_output=True, text=True, timeout=120
    )
    passed = re.search(r"^# pass (\d+)$", ran.stdout, re.MULTILINE)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert passed is not None and int(passed[1]) > 3


def test_every_module_has_types_that_fit(tmp_path: Path) -> None:
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("the TypeScript compiler is not installed; it checks the types in the modules' comments")
    options = {
        **{"noEmit": True, "allowJs": True, "checkJs": True, "strict": True, "skipLibCheck": True, "types": []},
        **{"target": "es2023", "module": "nodenext", "lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"]},
    }
    config = {"compilerOptions": options, "files": [str(CLIENT / "glove-client.js")]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    checked = subprocess.run([compiler, "-p", str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert checked.returncode == 0, checked.stdout


def test_the_modules_travel_with_the_package_and_reach_only_each_other() -> None:
    assets = client_assets()
    assert files("agents.web").joinpath("client", "glove-client.js").is_file()
    for name, asset in assets.items():
        source = asset.content.decode()
        for found in re.findall(r'^(?:import|export) .*?from "([^"]+)";', source, re.MULTILINE | re.DOTALL):
            assert found.startswith("./") and found[2:] in assets, f"{name} imports {found}"
    reached, waiting = set[str](), ["glove-client.js"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        # Worklets are not imported: they are loaded by their address.
        waiting += re.findall(r'(?:from |new URL\()"\./([^"]+)"', assets[name].content.decode())
    assert {name for name in assets if name.endswith(".js")} == reached


def test_no_module_writes_markup_or_runs_text() -> None:
    for name, asset in client_assets().items():
        if name.endswith(".js"):
            found = re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\b",
                asset.content.decode(),
            )
            assert found is None, f"{name}: {found and found[0]}"
