"""Sees to it that a turn does not leave the user in silence: a sound, a word of patience, an honest end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from agents.base import clock
from agents.base.abort import AbortToken
from audio import earcons
from audio.io.player import Player
from audio.phrases import phrase
from audio.reply import Reply

TOO_SLOW = "too slow"

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
    played = player.played_total
    while not reply.void and not token.aborted:
        if player.played_total != played and not player.idle:  # a sink that stands still is silence
            reply.sounds()
        played = player.played_total
        now = clock.now()
        # Work that nobody hears (a subagent talks for a minute) is a sign of life, but silence to the user.
        quiet_since = max(began, reply.last_heard, reply.last_words)
        cue_at = quiet_since + cue_s
        patience_at = quiet_since + give_up_s
        end_at = max(began, reply.last_sign) + give_up_s * (TOOL_PATIENCE if reply.tools_open else 1)
        if not cued and not reply.audible and now >= cue_at:
            cued = True
            reply.sound(earcons.thinking(player.rate_hz))
        if reply.tools_open and now >= patience_at and not patient:
            patient = True
            reply.say(phrase("still_working", reply.language))
        elif now >= end_at:
            on_too_slow()
            if awaited:
                reply.dismiss(phrase("too_slow", reply.language))
            token.abort(TOO_SLOW)
            return
        # Signs of life only put these moments off, so it is enough to look again when the next of them has come, or a
        # tool has begun or ended.
        reply.tools_changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(min((at for at in (cue_at, patience_at, end_at) if at > now), default=now)):
                await reply.tools_changed.wait()
