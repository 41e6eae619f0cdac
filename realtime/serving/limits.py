"""How much one client may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one session. Times are in seconds.

    Attributes:
        session_s: a session is ended after so long.
        idle_s: and after so long without a message.
        reads_s: so long a client may leave what it is sent unread.
        answer_s: so long the mind or the voice may give no sign while an answer is under way.
        buffer_s: sound that may wait to be committed.
        turn_s: a turn of this length is over even if the voice never stops.
        items: of the conversation; the oldest are forgotten beyond it.
        text_chars: of one text: an item, instructions, the result of a tool.
        tools: that a client may offer.
        out_of_band: answers beside the conversation that may be under way at the same time.
        unsent_events: events that may wait for the client to read; whoever makes more waits.
    """

    session_s: float = 3600.0
    idle_s: float = 900.0
    reads_s: float = 10.0
    answer_s: float = 60.0
    buffer_s: float = 300.0
    turn_s: float = 60.0
    items: int = 1000
    text_chars: int = 100_000
    tools: int = 128
    out_of_band: int = 4
    unsent_events: int = 64


DEFAULT = Limits()
