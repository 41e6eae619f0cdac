"""Scripted realtime providers, for those who build on speech-to-speech sessions; no test framework is needed.

    from realtime.testing import Expect, Say, ScriptedPeer, UntilGone, openai

They are strict: each message is checked with the vendor's own types, and a script that is not used up fails.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from realtime.testing import gemini, openai
    from realtime.testing.dialect import Dialect, Violation
    from realtime.testing.gemini import GeminiDialect
    from realtime.testing.openai import OpenAIDialect
    from realtime.testing.peer import Refuse, ScriptedPeer
    from realtime.testing.session import PeerSession
    from realtime.testing.steps import Close, Cut, Deaf, Expect, Garbage, Hear, Pause, Say, Step, UntilGone

_HOMES = {
    "realtime.testing.dialect": ("Dialect", "Violation"),
    "realtime.testing.gemini": ("GeminiDialect",),
    "realtime.testing.openai": ("OpenAIDialect",),
    "realtime.testing.peer": ("Refuse", "ScriptedPeer"),
    "realtime.testing.session": ("PeerSession",),
    "realtime.testing.steps": (
        "Close",
        "Cut",
        "Deaf",
        "Expect",
        "Garbage",
        "Hear",
        "Pause",
        "Say",
        "Step",
        "UntilGone",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_PARTS = ("gemini", "openai")

__all__ = [
    "Close",
    "Cut",
    "Deaf",
    "Dialect",
    "Expect",
    "Garbage",
    "GeminiDialect",
    "Hear",
    "OpenAIDialect",
    "Pause",
    "PeerSession",
    "Refuse",
    "Say",
    "ScriptedPeer",
    "Step",
    "UntilGone",
    "Violation",
    "gemini",
    "openai",
]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
