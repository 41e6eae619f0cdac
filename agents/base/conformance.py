"""How conformance suites complain: in the words of the rule that was broken."""

from __future__ import annotations


def same(found: object, wanted: object, rule: str) -> None:
    """Raise ``AssertionError`` with ``rule`` unless ``found`` is ``wanted``."""
    if found != wanted:
        raise AssertionError(f"{rule}: {found!r} instead of {wanted!r}")


def true(found: bool, rule: str) -> None:
    """Raise ``AssertionError`` with ``rule`` unless ``found``."""
    if not found:
        raise AssertionError(rule)
