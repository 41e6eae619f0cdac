"""Tool calls of Gemini that wait for their results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class OpenCall:
    """A call: its id on the wire, None where the provider gave none, and the name of its tool."""

    wire_id: str | None
    name: str


class OpenCalls:
    """Results are sent with the name of the tool, which the provider wants back."""

    def __init__(self) -> None:
        self._open: dict[str, OpenCall] = {}
        self._unnamed = 0

    @property
    def any_open(self) -> bool:
        """Whether the model waits for a result."""
        return bool(self._open)

    def called(self, wire_id: str | None, name: str) -> str | None:
        """The id under which the host knows the call; None for one that is waited for already."""
        call_id = wire_id
        if call_id in self._open:
            return None
        if not call_id:
            self._unnamed += 1
            call_id = f"{name}#{self._unnamed}"
        self._open[call_id] = OpenCall(wire_id or None, name)
        return call_id

    def answer(self, call_id: str) -> OpenCall | None:
        """The call, which then waits no more; None if it does not wait."""
        return self._open.pop(call_id, None)

    def cancel(self, wire_ids: Iterable[str]) -> tuple[str, ...]:
        """The provider wants these no more. Returns those that waited."""
        return tuple(call_id for call_id in wire_ids if self._open.pop(call_id, None) is not None)
