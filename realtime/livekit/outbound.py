"""Whether what the agent says really leaves: after a connection was restored, a track may be published and mute."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from agents.base import clock

if TYPE_CHECKING:
    from livekit import rtc

log = structlog.get_logger(__name__)

PATIENCE_S = 2.5
"""A track sends at least five packets a second, also in silence."""

LOOK_S = 0.25


async def packets_sent(room: rtc.Room, track_sid: str) -> int:
    """Packets that have left for all audio tracks of ``room``; ``track_sid`` is for the log. 0 where none did.

    Raises:
        RuntimeError: the room is not connected.
    """
    report = await room.get_rtc_stats()
    sent = 0
    for entry in report.publisher_stats:
        if entry.WhichOneof("stats") == "outbound_rtp" and entry.outbound_rtp.stream.kind == "audio":
            sent += entry.outbound_rtp.sent.packets_sent
    log.debug("packets sent", track=track_sid, packets=sent)
    return sent


async def flows(room: rtc.Room, track_sid: str, patience_s: float = PATIENCE_S) -> bool:
    """Whether packets of the agent leave within ``patience_s``; False as well where the room cannot be asked."""
    until = clock.now() + patience_s
    try:
        async with asyncio.timeout(patience_s + LOOK_S):
            before = await packets_sent(room, track_sid)
            while clock.now() < until:
                await asyncio.sleep(LOOK_S)
                if await packets_sent(room, track_sid) > before:
                    return True
    except (RuntimeError, TimeoutError) as fault:
        log.info("it cannot be told whether the agent is heard", error=repr(fault))
    return False
