"""Makes sure that the packages this application imports are its own.

The folders are the import names (``agents``, ``audio``, …) because the application is installed alone; another
distribution that brings a package of the same name would otherwise take its place silently. This module imports none of
them, since they may be the wrong ones.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

FLOORS = ("agents", "audio", "realtime", "avatars", "appliance")

_REMEDY = "Install the appliance in an environment of its own (scripts/setup, pipx or uv tool)."


def foreign_floor(names: Sequence[str] = FLOORS) -> str | None:
    """One sentence about the first package in ``names`` that does not lie beside this one, or None if all do."""
    home = Path(__file__).resolve().parent.parent
    for name in names:
        found = _location(name)
        if found is None:
            return f"The package {name} is missing from {home}. {_REMEDY}"
        if found.parent != home:
            return f"The package {name} at {found} is not this application's own, which is in {home}. {_REMEDY}"
    return None


def _location(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin else None
