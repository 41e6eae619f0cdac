"""JSON Schema as Gemini takes it.

Gemini knows a part of OpenAPI 3.0 and refuses the whole session for one key that it does not know, so keys are let
through by name, never kept out by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_KEPT = frozenset(
    "title description format nullable enum required minItems maxItems minProperties maxProperties minLength maxLength"
    " pattern minimum maximum default example propertyOrdering".split()
)


def gemini_schema(schema: object) -> dict[str, Any]:
    """The part of a JSON Schema that Gemini understands; an object without properties for what is no schema.

    A type that may be null becomes ``nullable``, ``const`` an ``enum`` of one value.
    """
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}}
    told = cast("Mapping[str, Any]", schema)
    taken: dict[str, Any] = {key: told[key] for key in told if key in _KEPT}
    taken.update(_type(told.get("type")))
    if "const" in told and "enum" not in taken:
        taken["enum"] = [told["const"]]
    if isinstance(told.get("items"), Mapping):
        taken["items"] = gemini_schema(told["items"])
    if isinstance(told.get("anyOf"), list):
        taken["anyOf"] = [gemini_schema(one) for one in told["anyOf"] if isinstance(one, Mapping)]
    properties: object = told.get("properties")
    if isinstance(properties, Mapping):
        named = cast("Mapping[str, Any]", properties)
        taken["properties"] = {name: gemini_schema(one) for name, one in named.items() if isinstance(one, Mapping)}
    elif taken.get("type") == "object":
        taken["properties"] = {}
    return taken


def _type(told: object) -> dict[str, Any]:
    if isinstance(told, list):
        kinds = [kind for kind in cast("list[object]", told) if kind != "null"]
        nullable = {"nullable": True} if len(kinds) < len(cast("list[object]", told)) else {}
        return {"type": kinds[0] if kinds else "string", **nullable}
    return {"type": told} if isinstance(told, str) else {}
