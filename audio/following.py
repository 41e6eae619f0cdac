"""Hearing from a player on the loop: its sink may call from a thread of the sound system."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from audio.io.base import AudioIO


def follow_player(io: AudioIO, on_started: Callable[[float], None], on_drained: Callable[[float], None]) -> None:
    """Have the player of ``io`` call both on this loop, with the time of the call on the media clock."""
    loop, owner = asyncio.get_running_loop(), threading.get_ident()

    def bring(effect: Callable[[float], None]) -> Callable[[], None]:
        def call() -> None:
            at = io.time_s
            if threading.get_ident() == owner:
                effect(at)
            else:
                loop.call_soon_threadsafe(effect, at)

        return call

    io.player.on_started = bring(on_started)
    io.player.on_drained = bring(on_drained)
