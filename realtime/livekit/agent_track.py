"""The agent's voice on its way into a room: taken from a player in real time, and next to nothing of it under way.

The SDK's source would take a second of sound and play it whatever happens. So it is given 40 ms at most; everything
else waits in the player, where it can be paused, counted and thrown away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from agents.base.errors import GloveError
from audio.pcm import Pcm, silence, wire_bytes
from realtime.livekit.track_player import TrackPlayer

if TYPE_CHECKING:
    from livekit import rtc

log = structlog.get_logger(__name__)

LEAD_S = 0.04
"""How much sound the source holds: a loop that is late by less than this is not heard."""

SOURCE_MS = 100
"""Size of the source's queue. It is never filled: a full one would make ``capture_frame`` wait."""

CHUNK_S = 0.02

TAIL_S = 0.1
"""Silence after a reply: the listener's buffer gives its last sound only when something follows."""

STUCK_S = 2.0
"""A source that has not taken 20 ms in this time never will."""


class AgentTrack:
    """A published track and the player behind it.

    Args:
        rate_hz: of the track.
        name: of the track.
        on_stuck: called when the source takes nothing any more; ``renew`` it then.

    Attributes:
        player: what is to be said.
        flowing: whether sound is taken from the player; while it is not, nothing is lost and nothing counts as played.
        publication: the published track, or None.
    """

    def __init__(self, rate_hz: int, name: str, on_stuck: Callable[[], None] = lambda: None) -> None:
        self.player = TrackPlayer(rate_hz, self._ahead, self._drop)
        self.player.on_queued = self._wake
        self.player.on_resumed = self._wake
        self.flowing = False
        self.publication: rtc.LocalTrackPublication | None = None
        self._rate_hz = rate_hz
        self._name = name
        self._on_stuck = on_stuck
        self._source: rtc.AudioSource | None = None
        self._written = 0
        self._sound_end = 0
        self._tail = 0
        self._news = asyncio.Event()

    async def publish(self, room: rtc.Room) -> None:
        """Publish the track in ``room``. Raises ``GloveError`` (``ERR_LIVEKIT_PUBLISH``)."""
        from livekit import rtc
        from livekit.rtc.participant import PublishTrackError

        if self._source is None:
            self.renew()
        assert self._source is not None
        track = rtc.LocalAudioTrack.create_audio_track(self._name, self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        try:
            self.publication = await room.local_participant.publish_track(track, options)
        except PublishTrackError as fault:
            raise GloveError(
                "ERR_LIVEKIT_PUBLISH",
                f"The agent's voice could not be published: {fault}",
                "The token must allow its holder to publish.",
                fault,
            ) from fault

    async def republish(self, room: rtc.Room) -> None:
        """Publish afresh, from a source of its own: what held the old one up is gone with it."""
        from livekit.rtc.participant import UnpublishTrackError

        old, self.publication = self.publication, None
        self.renew()
        if old is not None:
            try:
                await room.local_participant.unpublish_track(old.sid)
            except UnpublishTrackError as fault:
                log.info("the old track was gone already", error=repr(fault))
        await self.publish(room)

    def renew(self) -> None:
        """Use another source."""
        from livekit import rtc

        self._source = rtc.AudioSource(self._rate_hz, 1, queue_size_ms=SOURCE_MS)
        self._written = self._sound_end = 0

    async def feed(self) -> None:
        """Bring sound from the player into the source, until cancelled."""
        chunk = round(CHUNK_S * self._rate_hz)
        while True:
            source = self._source
            if source is None or not self.flowing or not self._due:
                self._news.clear()
                await self._news.wait()
                continue
            if (queued_s := source.queued_duration) > LEAD_S - CHUNK_S / 2:
                await asyncio.sleep(queued_s - LEAD_S + CHUNK_S)
                continue
            pcm = self._next(chunk)
            if pcm.size == 0:
                await asyncio.sleep(CHUNK_S / 4)
                continue
            await self._capture(source, pcm)

    def start(self) -> None:
        """Let sound flow."""
        self.flowing = True
        self._wake()

    def stop(self) -> None:
        """Let no more sound flow; what has not left stays in the player."""
        self.flowing = False

    async def close(self) -> None:
        """Give the source back; idempotent."""
        self.flowing = False
        source, self._source = self._source, None
        if source is not None:
            await source.aclose()

    @property
    def _due(self) -> bool:
        player = self.player
        return (player.has_queued and not player.paused) or player.sounding or self._tail > 0

    def _next(self, chunk: int) -> Pcm:
        """What goes into the source now; nothing while the end of a stretch is leaving."""
        player = self.player
        if player.paused:
            # ``sounding`` stays true in a pause: wait in ``feed`` for the resumption, after the tail.
            return self._silence(chunk)
        if player.has_queued:
            pcm = player.pull(min(chunk, player.queued_samples))
            self._sound_end = self._written + pcm.size
            self._tail = round(TAIL_S * self._rate_hz)
            return pcm
        if player.sounding and self._ahead() == 0:
            player.pull(chunk)  # nothing came: the player learns that it has run dry
        return self._silence(chunk)

    def _silence(self, chunk: int) -> Pcm:
        if self._tail <= 0:
            return silence(0)
        self._tail -= chunk
        return silence(chunk)

    async def _capture(self, source: rtc.AudioSource, pcm: Pcm) -> None:
        from livekit import rtc

        self._written += pcm.size
        frame = rtc.AudioFrame(wire_bytes(pcm), self._rate_hz, 1, pcm.size)
        try:
            async with asyncio.timeout(STUCK_S):
                await source.capture_frame(frame)
        except TimeoutError:
            if source is self._source:
                log.warning("the agent's track takes no sound any more")
                self.stop()
                self._on_stuck()

    def _ahead(self) -> int:
        """Samples of sound in the source."""
        if self._source is None:
            return 0
        left = self._written - round(self._source.queued_duration * self._rate_hz)
        return max(0, self._sound_end - left)

    def _drop(self) -> None:
        self._sound_end = self._written
        if self._source is not None:
            self._source.clear_queue()
            self._tail = round(TAIL_S * self._rate_hz)
            self._wake()

    def _wake(self) -> None:
        self._news.set()
