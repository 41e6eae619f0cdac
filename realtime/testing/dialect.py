"""What a scripted peer has to know of a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Told = Mapping[str, Any]
"""A message."""


class Violation(AssertionError):
    """A message is not one of the protocol, or not one of the script."""


class Dialect(Protocol):
    """One protocol. Both directions are checked with the types of the vendor's own SDK, where it is installed."""

    name: str

    def decode(self, message: str | bytes) -> Told:
        """A message of the client. Raises ``Violation``."""
        ...

    def kind(self, told: Told) -> str:
        """What kind of message of the client it is."""
        ...

    def samples(self, told: Told) -> int:
        """How many samples of sound it carries; 0 if it is no sound."""
        ...

    def encode(self, told: Told) -> str | bytes:
        """A message of the server, as it goes over the wire. Raises ``Violation``."""
        ...

    def check_request(self, path: str, headers: Mapping[str, str]) -> None:
        """Where the client connects to, and with which key. Raises ``Violation``."""
        ...
