"""The steps of a script: what the client must send next, what the server says, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from realtime.testing.dialect import Told, Violation

if TYPE_CHECKING:
    from realtime.testing.session import PeerSession


class Step:
    """One step."""

    async def play(self, session: PeerSession) -> None:
        """Do it. Raises ``Violation`` if the client does something else."""
        raise NotImplementedError


@dataclass(frozen=True)
class Expect(Step):
    """The next message of the client, sound apart, is of ``kind``.

    Attributes:
        kind: as the dialect names it: the ``type`` of OpenAI's messages, the key of Gemini's.
        where: values in it, by path (``item.call_id``, ``clientContent.turns.0.role``).
        check: called with the message; returns whether it is right. None for no check.
    """

    kind: str
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    check: Callable[[Told], bool] | None = None

    async def play(self, session: PeerSession) -> None:
        told = await session.next_message()
        kind = session.dialect.kind(told)
        if kind != self.kind:
            raise Violation(f"expected {self.kind}, and the client sent {kind}")
        for path, wanted in self.where.items():
            found = at(told, path)
            if found != wanted:
                raise Violation(f"{self.kind}: {path} is {found!r} instead of {wanted!r}")
        if self.check is not None and not self.check(told):
            raise Violation(f"{self.kind} is not as expected: {told}")


@dataclass(frozen=True)
class Hear(Step):
    """So many more samples of the user's sound arrive."""

    samples: int

    async def play(self, session: PeerSession) -> None:
        await session.hear(self.samples)


Words = Told | Iterable[Told]


class Say(Step):
    """The server sends messages, or what a function makes of the session so far (``session.last`` is the newest)."""

    def __init__(self, *words: Words | Callable[[PeerSession], Words]) -> None:
        self._words = words

    async def play(self, session: PeerSession) -> None:
        for words in self._words:
            told = words(session) if callable(words) else words
            for message in (cast("Told", told),) if isinstance(told, Mapping) else told:
                await session.say(message)

    def __repr__(self) -> str:
        return f"Say({len(self._words)})"


@dataclass(frozen=True)
class Pause(Step):
    """Nothing for so many seconds."""

    seconds: float

    async def play(self, session: PeerSession) -> None:
        await session.pause(self.seconds)


@dataclass(frozen=True)
class Garbage(Step):
    """Something that is no message of the protocol."""

    data: str | bytes

    async def play(self, session: PeerSession) -> None:
        await session.channel.send(self.data)


@dataclass(frozen=True)
class Close(Step):
    """The server closes, with a code and its words."""

    code: int = 1000
    reason: str = ""

    async def play(self, session: PeerSession) -> None:
        await session.channel.close(self.code, self.reason)


@dataclass(frozen=True)
class Cut(Step):
    """The connection breaks without a close frame (1006)."""

    async def play(self, session: PeerSession) -> None:
        session.channel.cut()


@dataclass(frozen=True)
class Deaf(Step):
    """For so many seconds the server neither reads nor answers pings, as on a half-open connection; None for ever."""

    seconds: float | None = None

    async def play(self, session: PeerSession) -> None:
        session.channel.hear(False)
        if self.seconds is not None:
            await session.pause(self.seconds)
            session.channel.hear(True)


@dataclass(frozen=True)
class UntilGone(Step):
    """The client closes."""

    async def play(self, session: PeerSession) -> None:
        await session.gone()


def at(told: object, path: str) -> object:
    """The value at ``path`` (names and indexes between dots), or None if there is none."""
    for name in path.split("."):
        if isinstance(told, Mapping):
            told = told.get(name)
        elif isinstance(told, list) and name.isdigit() and int(name) < len(told):
            told = told[int(name)]
        else:
            return None
    return told
