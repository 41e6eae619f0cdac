"""A cascade as something that can be given a face: what the room's player really plays, as events of a speaker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from agents.base.emitter import Emitter
from audio.events import AgentSpeechStopped, Interrupted
from audio.io.player import Player
from audio.pcm import Pcm


@dataclass(frozen=True)
class SpokenAudio:
    """Sound that the player has just handed to its sink: mono samples at ``rate_hz``."""

    type: ClassVar[str] = "audio"
    pcm: Pcm = field(repr=False)
    rate_hz: int


class VoiceSpeaker:
    """Follows a cascade's player and events; ``attach_avatar`` takes it for a speaker, until ``close``.

    The face gets what is played, when it is played: a pause of the player is a pause of the face, and the player's
    count stays the truth about what was heard. With a face that carries the voice, the room's own sink must be silent
    (a LiveKit room that does not publish the agent's audio, a page that is muted).

    Args:
        events: of the session (``GloveVoice.events``).
        player: of its room.
    """

    def __init__(self, events: Emitter, player: Player) -> None:
        self.events = Emitter()
        self._player = player
        self._loop = asyncio.get_running_loop()
        self._played = player.played_total
        self._tapped_before = player.tap
        self._tap: Callable[[Pcm], None] = self._on_block
        player.tap = self._tap
        self._off = [events.on(Interrupted, self.events.emit), events.on(AgentSpeechStopped, self.events.emit)]

    def close(self) -> None:
        """Follow no more; idempotent."""
        for off in self._off:
            off()
        self._off = []
        if self._player.tap == self._tap:
            self._player.tap = self._tapped_before

    def _on_block(self, block: Pcm) -> None:
        """Called by the sink, perhaps in its own thread."""
        if self._tapped_before is not None:
            self._tapped_before(block)
        played, self._played = self._played, self._player.played_total
        if self._played > played:
            self._loop.call_soon_threadsafe(self._speak, block.copy(), self._player.generation)

    def _speak(self, block: Pcm, generation: int) -> None:
        if self._off and generation == self._player.generation:
            self.events.emit(SpokenAudio(block, self._player.rate_hz))
