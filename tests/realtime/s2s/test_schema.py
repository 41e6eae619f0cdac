"""Schemas of tools as Gemini takes them."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types

from realtime.s2s.gemini.schema import gemini_schema

TABLE: list[tuple[object, dict[str, Any]]] = [
    (None, {"type": "object", "properties": {}}),
    ([], {"type": "object", "properties": {}}),
    ({"type": "object"}, {"type": "object", "properties": {}}),
    ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
    ({"type": ["null"]}, {"type": "string", "nullable": True}),
    ({"const": 3}, {"enum": [3]}),
    ({"const": 3, "enum": [3, 4]}, {"enum": [3, 4]}),
    ({"type": "array", "items": {"type": "integer", "multipleOf": 2}}, {"type": "array", "items": {"type": "integer"}}),
    ({"anyOf": [{"type": "string", "$comment": "x"}, True]}, {"anyOf": [{"type": "string"}]}),
    (
        {
            "$schema": "x",
            "additionalProperties": False,
            "description": "d",
            "type": "object",
            "required": ["$ref"],
            "properties": {"$ref": {"type": "string", "examples": ["a"]}, "odd": True},
        },
        {
            "description": "d",
            "type": "object",
            "required": ["$ref"],
            "properties": {"$ref": {"type": "string"}},
        },
    ),
]


@pytest.mark.parametrize(("told", "taken"), TABLE, ids=[str(index) for index in range(len(TABLE))])
def test_what_gemini_takes(told: object, taken: dict[str, Any]) -> None:
    assert gemini_schema(told) == taken


@pytest.mark.parametrize("told", [told for told, _ in TABLE if not (isinstance(told, dict) and "const" in told)])
def test_the_vendors_own_type_takes_it(told: object) -> None:
    types.Schema.model_validate(gemini_schema(told))
