"""Who is in a room, as far as the agent has been told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.base.emitter import Emitter
from realtime.livekit.events import ParticipantConnected, ParticipantDisconnected
from realtime.livekit.tokens import ON_BEHALF

if TYPE_CHECKING:
    from livekit import rtc

KINDS = ("standard", "ingress", "egress", "sip", "agent", "connector")


class People:
    """Tells of everybody who comes and goes exactly once, whatever events there were.

    Args:
        events: emits ``ParticipantConnected`` and ``ParticipantDisconnected``.
    """

    def __init__(self, events: Emitter) -> None:
        self._events = events
        self._known: dict[str, ParticipantConnected] = {}
        self._sids: dict[str, str] = {}

    def __contains__(self, identity: str) -> bool:
        return identity in self._known

    @property
    def present(self) -> tuple[ParticipantConnected, ...]:
        """Everybody but the agent, in the order in which they came."""
        return tuple(self._known.values())

    @property
    def callers(self) -> tuple[ParticipantConnected, ...]:
        """People: neither other agents nor faces."""
        return tuple(each for each in self.present if each.kind in ("standard", "sip", "connector", "ingress"))

    def reconcile(self, room: rtc.Room) -> None:
        """Compare with who is there. Somebody who left and came back meanwhile has left and come back."""
        there = {each.identity: each for each in room.remote_participants.values()}
        for identity in list(self._known):
            if identity not in there or there[identity].sid != self._sids[identity]:
                self._gone(identity)
        for identity, participant in there.items():
            if identity not in self._known:
                self._came(participant)

    def clear(self) -> None:
        """Nobody is there any more."""
        for identity in list(self._known):
            self._gone(identity)

    def _came(self, who: rtc.RemoteParticipant) -> None:
        kind = KINDS[who.kind] if who.kind < len(KINDS) else "standard"
        known = ParticipantConnected(who.identity, who.name, kind, who.attributes.get(ON_BEHALF, ""))
        self._known[who.identity] = known
        self._sids[who.identity] = who.sid
        self._events.emit(known)

    def _gone(self, identity: str) -> None:
        del self._known[identity], self._sids[identity]
        self._events.emit(ParticipantDisconnected(identity))
