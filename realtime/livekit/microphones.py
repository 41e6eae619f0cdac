"""The microphones of a room: which of them are subscribed to, and their sound on its way into the mix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import structlog

from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from realtime.livekit.speakers import SpeakerMix
from realtime.livekit.tokens import ON_BEHALF

if TYPE_CHECKING:
    from livekit import rtc

log = structlog.get_logger(__name__)

STREAM_FRAMES = 50
"""Frames (1 s) that the SDK keeps of a track that is not read in time; then the oldest go. It would keep all."""

FRAME_MS = 20

OnSound = Callable[[str, Pcm], None]
"""Called with an identity and its sound at 16 kHz."""


class Microphones:
    """Subscribes to what may be heard, and reads it.

    Args:
        mix: where the sound goes.
        scope: owns the readers.
        on_sound: called with every piece of sound.
    """

    def __init__(self, mix: SpeakerMix, scope: Scope, on_sound: OnSound) -> None:
        self._mix = mix
        self._scope = scope
        self._on_sound = on_sound
        self._readers: dict[str, asyncio.Task[None]] = {}

    @property
    def open(self) -> int:
        """How many microphones are being read."""
        return len(self._readers)

    def consider(self, publication: rtc.RemoteTrackPublication, participant: rtc.RemoteParticipant) -> None:
        """Subscribe to a track if it is somebody's voice and may be heard; unsubscribe if it may not."""
        from livekit import rtc

        if publication.kind != rtc.TrackKind.KIND_AUDIO:
            return
        wanted = not speaks_for_another(participant) and self._mix.wants(participant.identity)
        if wanted != publication.subscribed:
            publication.set_subscribed(wanted)

    def begin(self, track: rtc.RemoteTrack, participant: rtc.RemoteParticipant) -> None:
        """A track is subscribed to: read it."""
        from livekit import rtc

        if not isinstance(track, rtc.RemoteAudioTrack) or speaks_for_another(participant):
            return
        self.end(track.sid)
        if not self._mix.add(track.sid, participant.identity):
            log.warning("too many microphones: one is not heard", identity=participant.identity)
            return
        reading = self._read(track, participant.identity)
        self._readers[track.sid] = self._scope.spawn(reading, f"microphone of {participant.identity}")

    def end(self, track: str) -> None:
        """A track is gone; unknown ones are ignored."""
        self._mix.remove(track)
        if (reader := self._readers.pop(track, None)) is not None:
            reader.cancel()

    def mute(self, track: str) -> None:
        """A track is muted: what has arrived of it is not heard any more."""
        self._mix.forget(track)

    def reconcile(self, room: rtc.Room) -> None:
        """Make up for events that never came: read what is there, and nothing else."""
        there: set[str] = set()
        for participant in room.remote_participants.values():
            for publication in participant.track_publications.values():
                self.consider(publication, participant)
                if (track := publication.track) is not None:
                    there.add(track.sid)
                    if track.sid not in self._readers:
                        self.begin(track, participant)
        for track in [track for track in self._readers if track not in there]:
            self.end(track)

    def end_all(self) -> None:
        """Read nothing any more."""
        for track in list(self._readers):
            self.end(track)

    async def _read(self, track: rtc.RemoteAudioTrack, identity: str) -> None:
        from livekit import rtc

        sid = track.sid
        # The SDK resamples and mixes down: any rate and any number of channels comes as mono at 16 kHz.
        stream = rtc.AudioStream.from_track(
            track=track,
            capacity=STREAM_FRAMES,
            sample_rate=CAPTURE_RATE_HZ,
            num_channels=1,
            frame_size_ms=FRAME_MS,
        )
        try:
            async for event in stream:
                pcm = np.frombuffer(event.frame.data, np.int16).copy()
                self._mix.push(sid, pcm)
                self._on_sound(identity, pcm)
        finally:
            await stream.aclose()
            if self._readers.get(sid) is asyncio.current_task():
                self._readers.pop(sid)
                self._mix.remove(sid)


def speaks_for_another(participant: rtc.Participant) -> bool:
    """Whether a participant's voice is the agent's own or another's: hearing it would be hearing twice."""
    return bool(participant.attributes.get(ON_BEHALF))
