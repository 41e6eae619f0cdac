"""How soon the agent is silent when somebody speaks over it, and how soon it is decided that it stays so.

Each recording is said over a long reply, on virtual time, through the real chain: voice detector, recognisers (in which
a recognition takes what it declares), turn engine, player. The echo of the reply is not mixed in; what is left of it
after cancellation is measured elsewhere.

* *silent*: from the onset of speech, as people have labelled it in recordings of their own, to the last sample that is
  heard;
* *loud*: the same from the first loud 10 ms of each recording (12 dB below its loud parts). Some begin with a click or
  the hiss of a microphone that is being switched on, for which nobody should fall silent, so this has no limit;
* *decided*: from the pause to the moment when the reply is cut, or goes on; not counting noise before the voice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from endpointing import Clip, levels

from agents.base.clock import run_virtual
from agents.models.scripted import ScriptedModel
from audio.events import Interrupted, PlaybackPaused, PlaybackResumed, VoiceEvent
from audio.io.pump import PumpRoom
from audio.io.wavfile import read_wav
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm, silence
from audio.stt.base import SegmentStt
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.scripted import ScriptedVoice
from audio.vad.silero import SileroVad
from audio.voice import GloveVoice

REPLY = "This is a long reply that nobody wants to hear to its end. " * 12
SPEAKS_S = 3.0
"""The recording begins so long after the session; the reply is well under way by then."""

SAID_S = 4.0
"""So much of each recording is said; the longest decision takes less."""

LEAST_GAP_S, MOST_GAP_S = 0.3, 1.0
"""A labelled onset counts after at least so much without speech, and so much of that is heard before it."""

LEAST_SPEECH_S = 0.25
"""Shorter labelled speech is a noise, or half a word."""

LATEST_S = 1.5
"""The reply must be silent so soon after an onset, or it never was."""


@dataclass
class BargingIn:
    """What came out, in milliseconds; ``missed``: recordings after which the reply went on."""

    silent_ms: list[float] = field(default_factory=list[float])
    loud_ms: list[float] = field(default_factory=list[float])
    decided_ms: list[float] = field(default_factory=list[float])
    missed: list[str] = field(default_factory=list[str])

    def silent_p(self, percent: float) -> float:
        """Percentile of the time from labelled onsets to silence."""
        return float(np.percentile(self.silent_ms, percent))

    def loud_p(self, percent: float) -> float:
        """Percentile of the time from the first loud sounds to silence."""
        return float(np.percentile(self.loud_ms, percent))

    def decided_p(self, percent: float) -> float:
        """Percentile of the time to a decision."""
        return float(np.percentile(self.decided_ms, percent))


class _Scene:
    """Source and sink: quiet, then the recording, then quiet."""

    def __init__(self, clip: Clip) -> None:
        begins = round(clip.begins_s * CAPTURE_RATE_HZ)
        said = clip.pcm[: begins + round(SAID_S * CAPTURE_RATE_HZ)]
        sound = np.concatenate((clip.quiet(SPEAKS_S), said, clip.quiet(1.5)))
        self._sound = sound[: sound.size // FRAME_SAMPLES * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES)
        self._tick = 0
        self.played: list[Pcm] = []

    def frame(self) -> Pcm | None:
        """The next 10 ms of the user."""
        self._tick += 1
        return self._sound[self._tick - 1] if self._tick <= len(self._sound) else None

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """Keep what is heard of the agent."""
        self.played.append(played)

    def close(self) -> None:
        """Nothing to do."""


def measure(clip: Clip, finals: SegmentStt, partials: SegmentStt | None, result: BargingIn) -> None:
    """Add what happens with ``clip`` to ``result``."""
    events, sound, rate_hz = run_virtual(_converse(clip, finals, partials))
    loudness = levels(clip.pcm)
    onset_s = SPEAKS_S + float(np.flatnonzero(loudness > np.percentile(loudness, 90) - 12)[0]) / 100
    verdicts = [event for event in events if isinstance(event, Interrupted | PlaybackResumed) and event.t > onset_s]
    paused = [event.t for event in events if isinstance(event, PlaybackPaused) and verdicts and event.t < verdicts[0].t]
    if not paused or not any(isinstance(event, Interrupted) for event in verdicts):
        result.missed.append(clip.name)
        return
    loud = np.flatnonzero(sound[: round(verdicts[0].t * rate_hz)])
    silent_s = (int(loud[-1]) + 1) / rate_hz
    result.loud_ms.append(1000 * max(0.0, silent_s - onset_s))
    result.decided_ms.append(1000 * (verdicts[0].t - max(paused[-1], onset_s)))


def onsets(folder: Path) -> Iterator[Clip]:
    """Each onset of speech labelled in ``vad/NN.scv`` of ``folder``, with what was heard before it, and its speech."""
    for labels in sorted((folder / "vad").glob("*.scv")):
        with read_wav(labels.with_suffix(".wav")) as audio:
            pcm = audio.read(CAPTURE_RATE_HZ)
        parts = _labelled(labels.read_text(encoding="utf-8"))
        for (begins, onset, before), (_, ends, speech) in pairwise(parts):
            if before or not speech or onset - begins < LEAST_GAP_S or ends - onset < LEAST_SPEECH_S:
                continue
            gap_s = min(MOST_GAP_S, onset - begins)
            first, last = (round(at * CAPTURE_RATE_HZ) for at in (onset - gap_s, ends))
            yield Clip(f"{labels.stem}@{onset:.2f}", pcm[first:last], "", "en", gap_s, gap_s + ends - onset)


def measure_onset(clip: Clip, result: BargingIn) -> None:
    """Add how soon the reply is silent after the onset in ``clip`` to ``result``; what is said does not matter."""
    stt = ScriptedSegmentStt(["I would like something else."] * 20, latency_s=0.25)
    _, sound, rate_hz = run_virtual(_converse(clip, stt, None))
    onset_s = SPEAKS_S + clip.begins_s
    heard = sound[: round((onset_s + LATEST_S) * rate_hz)]
    silent_s = (int(np.flatnonzero(heard)[-1]) + 1) / rate_hz
    result.silent_ms.append(1000 * max(0.0, silent_s - onset_s))


def _labelled(labels: str) -> list[tuple[float, float, bool]]:
    """Start, end (seconds) and whether it is speech, of each part of a recording."""
    cells = labels.strip().split(",")[1:]
    return [(float(cells[at]), float(cells[at + 1]), cells[at + 2] == "1") for at in range(0, len(cells) - 2, 3)]


async def _converse(clip: Clip, finals: SegmentStt, partials: SegmentStt | None) -> tuple[list[VoiceEvent], Pcm, int]:
    from agents.core.glove import Glove

    scene = _Scene(clip)
    room = PumpRoom(scene, scene)
    glove = Glove(model=ScriptedModel(lambda _: REPLY), system_prompt="Talk.").build()
    # A tone without gaps: the last sample before a pause is heard to the sample.
    tts = ScriptedVoice(word_ms=250, tone_ms=250)
    voice = GloveVoice(glove, room, stt=finals, tts=tts, vad=SileroVad(), partials=partials)
    events: list[VoiceEvent] = []
    voice.events.on(VoiceEvent, events.append)
    await voice.start()
    voice.say_to_agent("Talk to me.")
    await room.input_ended.wait()
    await voice.stop()
    return events, np.concatenate(scene.played) if scene.played else silence(0), room.player.rate_hz
