"""The examples of the page about testing work as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "testing.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, str(PAGE), "exec"), {"__name__": "example"})
    out = capsys.readouterr().out
    for suite, check in (("check_store(", "starts_empty"), ("check_streaming_stt(", "connects_and_disconnects")):
        assert (check in out) is (suite in example)


def test_everything_that_is_named_is_there() -> None:
    import agents.testing

    table = PAGE.read_text(encoding="utf-8").split("\n\n")[2]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)", row.split("|")[1])}
    assert named == set(agents.testing.__all__)
    for name in agents.testing.__all__:
        assert getattr(agents.testing, name) is not None
