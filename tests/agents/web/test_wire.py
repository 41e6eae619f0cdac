"""Events as JSON, whatever tools put into them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.core.messages import Task
from agents.web.wire import to_json


def circular() -> list[Any]:
    made: list[Any] = ["round"]
    made.append(made)
    return made


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def strict(text: bytes) -> Any:
    """As browsers read it: NaN and infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (float("nan"), None),
        ([float("inf"), -float("inf")], [None, None]),
        ([10**5000], ["int"]),
        (b"\xff\x00", "bytes"),
        (circular(), ["round", "list"]),
        ({"a": circular(), 3: {"deep": 10**5000}}, {"a": ["round", "list"], "3": {"deep": "int"}}),
        ("half \ud800", "half \ud800"),
        ({"\ud800": 1}, {"\ud800": 1}),
        ("line\r\ndata: x\u2028", "line\r\ndata: x\u2028"),
        ({"__proto__": {"a": 1}}, {"__proto__": {"a": 1}}),
    ],
    ids=range(10),
)
def test_an_event_can_always_be_told_and_is_always_json(value: object, told: object) -> None:
    good = Task(id="t", content="sweep", activeForm="sweeping", status="pending")
    text = to_json({"type": "slot", "input": value, "good": [good]})
    assert b"\n" not in text and b"\r" not in text
    assert strict(text) == {"type": "slot", "input": told, "good": [good.model_dump()]}


def test_what_is_nested_without_end_is_cut_off() -> None:
    told = strict(to_json({"type": "slot", "input": nested(5000)}))
    depth = 0
    while isinstance(told := told["input"] if depth == 0 else told[0], list) and told:
        depth += 1
    assert 20 < depth < 500
