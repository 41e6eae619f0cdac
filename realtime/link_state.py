"""Where the connection with a realtime provider stands, and what may follow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from agents.base.errors import GloveError


class LinkState(Enum):
    """States of a ``SessionLink``.

    ==========  =============================================  =====================================================
    state       what it means                                  how it ends
    ==========  =============================================  =====================================================
    DOWN        not started                                    ``start``
    OPENING     the first session is being opened              it stands, or it failed (then DOWN)
    LIVE        a session stands                               its time is nearly over, or it ends
    ROTATING    its successor is being opened beside it        the successor takes over, or is given up
    RESUMING    it was closed to be resumed                    it stands again, or it must be recovered
    RECOVERING  it ended, and another is being tried for       one stands, or the budget is used up
    LOST        the budget is used up; somebody else answers   one stands again, and the moment is right
    CLOSED      over                                           never
    ==========  =============================================  =====================================================
    """

    DOWN = "down"
    OPENING = "opening"
    LIVE = "live"
    ROTATING = "rotating"
    RESUMING = "resuming"
    RECOVERING = "recovering"
    LOST = "lost"
    CLOSED = "closed"


_S = LinkState
MOVES: dict[LinkState, frozenset[LinkState]] = {
    _S.DOWN: frozenset({_S.OPENING, _S.CLOSED}),
    _S.OPENING: frozenset({_S.LIVE, _S.LOST, _S.DOWN, _S.CLOSED}),
    _S.LIVE: frozenset({_S.ROTATING, _S.RESUMING, _S.RECOVERING, _S.CLOSED}),
    _S.ROTATING: frozenset({_S.LIVE, _S.RECOVERING, _S.CLOSED}),
    _S.RESUMING: frozenset({_S.LIVE, _S.RECOVERING, _S.CLOSED}),
    _S.RECOVERING: frozenset({_S.LIVE, _S.LOST, _S.CLOSED}),
    _S.LOST: frozenset({_S.LIVE, _S.CLOSED}),
    _S.CLOSED: frozenset(),
}

STANDS = frozenset({LinkState.LIVE, LinkState.ROTATING})
"""States in which a session hears the user at this moment."""


@dataclass(frozen=True)
class LinkMoved:
    """The link has moved from ``before`` to ``state``; ``fault`` says why where something went wrong."""

    type: ClassVar[str] = "link"
    before: LinkState
    state: LinkState
    fault: GloveError | None = None


@dataclass(frozen=True)
class SessionReplaced:
    """Another session has taken over.

    Attributes:
        why: ``rotated`` (planned), ``recovered`` (the one before had ended), ``returned`` (after the link was lost) or
            ``renewed`` (another conversation).
        resumed: whether the provider went on with its own memory, instead of a replayed history.
        gap_s: seconds in which no session could hear the user; what was said in them is not lost.
    """

    type: ClassVar[str] = "session_replaced"
    why: str
    resumed: bool
    gap_s: float


@dataclass(frozen=True)
class LinkSettings:
    """How a link looks after its sessions; everything in seconds.

    Attributes:
        early_s: how long before the end of a session a moment for its replacement is looked for, at most a fifth of
            its length.
        last_s: how long before the end it is replaced whatever goes on.
        attempts: how many attempts in a row to recover a session may fail.
        outage_s: longest time without a session until somebody else answers.
        recover_s: seconds of health that give one attempt back.
        return_s: first wait before another attempt once the link is lost; doubles up to ``return_cap_s``.
        return_cap_s: longest such wait.
        held_s: how much sound of the user is kept while no session hears it; the oldest is dropped.
    """

    early_s: float = 120.0
    last_s: float = 8.0
    attempts: int = 4
    outage_s: float = 10.0
    recover_s: float = 60.0
    return_s: float = 30.0
    return_cap_s: float = 600.0
    held_s: float = 20.0
