"""Test doubles and checks for those who build on this agent framework; no test framework is needed.

    from agents.testing import Call, RecordingSubscriber, ScriptedModel, run_virtual

They are strict: a script that is not used up fails, and so does a request or a question that no script expected.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.base.clock import run_virtual
    from agents.core.store_conformance import check_store
    from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel, When
    from agents.testing.display import Answer, ScriptedDisplay, Unanswered
    from agents.testing.steps import Steps, left_behind, sweep
    from agents.testing.stores import FaultyStore, InterruptingStore
    from agents.testing.subscriber import RecordingSubscriber

_HOMES = {
    "agents.base.clock": ("run_virtual",),
    "agents.core.store_conformance": ("check_store",),
    "agents.models.scripted": ("Call", "Fail", "Hang", "Say", "ScriptedModel", "When"),
    "agents.testing.display": ("Answer", "ScriptedDisplay", "Unanswered"),
    "agents.testing.steps": ("Steps", "left_behind", "sweep"),
    "agents.testing.stores": ("FaultyStore", "InterruptingStore"),
    "agents.testing.subscriber": ("RecordingSubscriber",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "Call",
    "Fail",
    "FaultyStore",
    "Hang",
    "InterruptingStore",
    "RecordingSubscriber",
    "Say",
    "ScriptedDisplay",
    "ScriptedModel",
    "Steps",
    "Unanswered",
    "When",
    "check_store",
    "left_behind",
    "run_virtual",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
