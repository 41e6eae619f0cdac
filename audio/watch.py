"""Sees to it that a turn does not leave the user in silence: a sound, a word of patience, an honest end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agents.base import clock
from agents.base.abort import AbortToken
from audio import earcons
from audio.io.player import Player
from audio.phrases import phrase
from audio.reply import Reply

TOO_SLOW = "too slow"

WATCH_S = 0.05
"""How often the watch looks at a turn."""

TOOL_PATIENCE = 4
"""How many times longer than a model a running tool may be silent before the turn is given up."""


async def watch(
    reply: Reply,
    token: AbortToken,
    player: Player,
    *,
    awaited: bool,
    cue_s: float,
    give_up_s: float,
    on_too_slow: Callable[[], None],
) -> None:
    """Look after ``reply`` until it is cut or its turn aborted.

    Args:
        reply: what the turn is spoken in.
        token: stops the turn; aborted when nothing has come of it for ``give_up_s``.
        player: what the user hears.
        awaited: whether the user waits for the reply; otherwise it is given up without a sound.
        cue_s: silence until a "still thinking" sound.
        give_up_s: silence until the turn is given up; while a tool runs, until a word of patience.
        on_too_slow: called before it is given up.
    """
    began, cued, patient = clock.now(), not awaited, not awaited
    heard = began
    played = player.played_total
    while not reply.void and not token.aborted:
        await asyncio.sleep(WATCH_S)
        if player.played_total != played:
            played = player.played_total
            reply.alive()
            heard = clock.now()
        silent_s = clock.now() - max(began, reply.last_sign)
        # Work that nobody hears (a subagent talks for a minute) is a sign of life, but silence to the user.
        quiet_s = clock.now() - max(heard, reply.last_words)
        if not cued and not reply.audible and quiet_s >= cue_s:
            cued = True
            reply.sound(earcons.thinking(player.rate_hz))
        if reply.tools_open and quiet_s >= give_up_s and not patient:
            patient = True
            reply.say(phrase("still_working", reply.language))
        elif silent_s >= give_up_s * (TOOL_PATIENCE if reply.tools_open else 1):
            on_too_slow()
            if awaited:
                reply.dismiss(phrase("too_slow", reply.language))
            token.abort(TOO_SLOW)
