"""Checks plain JSON against the types of an SDK's parameters: known fields, none missing, values that fit.

pydantic's adapters read the ``Iterable`` fields of these types lazily and let unknown fields pass.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from typing import Any, get_args, get_origin

import typing_extensions
from pydantic import BaseModel

_WRAPPERS = (typing.Required, typing.NotRequired, typing.Annotated, typing_extensions.ReadOnly)


def fault(value: Any, wanted: Any, extra: Set[str] = frozenset(), path: str = "$") -> str | None:
    """What is wrong with ``value`` as ``wanted``, with the place; None if it fits. ``extra`` fields may be anything."""
    origin = get_origin(wanted)
    if origin in _WRAPPERS or wanted in _WRAPPERS:
        return fault(value, get_args(wanted)[0], extra, path)
    if origin in (typing.Union, types.UnionType):
        return _union_fault(value, get_args(wanted), extra, path)
    if typing_extensions.is_typeddict(wanted):
        return _table_fault(value, wanted, extra, path)
    if origin is typing.Literal:
        return None if value in get_args(wanted) else f"{path}: {value!r} is none of {get_args(wanted)}"
    if wanted in (Any, object):
        return None
    if origin is not None and issubclass(origin, Mapping):
        return None if isinstance(value, dict) else f"{path}: not an object"
    if origin is not None and issubclass(origin, Iterable):
        return _list_fault(value, get_args(wanted)[0], extra, path)
    if wanted is None or wanted is types.NoneType:
        return None if value is None else f"{path}: not null"
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return f"{path}: no model object"
    return _plain_fault(value, wanted, path)


def _plain_fault(value: Any, wanted: type, path: str) -> str | None:
    number = wanted is float and isinstance(value, int)
    fits = isinstance(value, get_origin(wanted) or wanted) and not (isinstance(value, bool) and wanted is not bool)
    return None if fits or number else f"{path}: {value!r} is no {wanted}"


def _union_fault(value: Any, members: Sequence[Any], extra: Set[str], path: str) -> str | None:
    faults = [fault(value, member, extra, path) for member in members]
    # The deepest complaint is about the member that was meant.
    return None if None in faults else max((one for one in faults if one), key=lambda one: one.split(":")[0].count("."))


def _list_fault(value: Any, item: Any, extra: Set[str], path: str) -> str | None:
    if not isinstance(value, list):
        return f"{path}: not a list"
    faults = (fault(one, item, extra, f"{path}.{index}") for index, one in enumerate(value))
    return next((one for one in faults if one), None)


def _table_fault(value: Any, wanted: Any, extra: Set[str], path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path}: not an object"
    hints, required = _fields(wanted)
    if missing := required - set(value):
        return f"{path}: lacks {sorted(missing)}"
    if unknown := set(value) - set(hints) - extra:
        return f"{path}: {wanted.__name__} knows no {sorted(unknown)}"
    faults = (fault(one, hints[key], extra, f"{path}.{key}") for key, one in value.items() if key not in extra)
    return next((one for one in faults if one), None)


@cache
def _fields(wanted: Any) -> tuple[dict[str, Any], frozenset[str]]:
    return typing_extensions.get_type_hints(wanted), wanted.__required_keys__
