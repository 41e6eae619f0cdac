"""The grammar of ``/name`` in what a user wrote."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

DirectiveKind = Literal["hook", "skill"]

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
# White space or an end of the text on both sides, and a second slash is neither: paths are left alone.
_TOKEN = re.compile(rf"(?<!\S)/({_NAME})(?!\S)")
_WHOLE_NAME = re.compile(_NAME)


@dataclass(frozen=True)
class Directive:
    """One token that names something registered. ``start`` is its place in the text as it came, in characters."""

    kind: DirectiveKind
    name: str
    start: int


@dataclass(frozen=True)
class Parsed:
    """A text and what it calls.

    Attributes:
        text: with a marker in the place of each token that is bound; everything else is as it came.
        directives: in the order of the text, repetitions included.
    """

    text: str
    directives: tuple[Directive, ...] = ()

    def names(self, kind: DirectiveKind) -> list[str]:
        """Names of one kind, in order."""
        return [directive.name for directive in self.directives if directive.kind == kind]


def parse(text: str, hooks: Collection[str] = (), skills: Collection[str] = ()) -> Parsed:
    """Find ``/name`` in ``text``; a name binds if it is a hook, else if it is a skill, and else it is plain text.

    Names are compared exactly, letter case included.
    """
    found: list[Directive] = []

    def marked(token: re.Match[str]) -> str:
        name = token[1]
        kind: DirectiveKind = "hook" if name in hooks else "skill"
        if kind == "skill" and name not in skills:
            return token[0]
        found.append(Directive(kind, name, token.start()))
        return marker(kind, name)

    return Parsed(_TOKEN.sub(marked, text), tuple(found))


def marker(kind: DirectiveKind, name: str) -> str:
    """What the model reads where a directive was."""
    return f"[invoked_extension__{kind}_{name}]"


def can_be_written(name: str) -> bool:
    """Whether ``/name`` can ever be found in a text."""
    return _WHOLE_NAME.fullmatch(name) is not None
