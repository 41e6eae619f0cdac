"""The appliance hears itself: its own voice through the loudspeaker into the microphone, for as long as one likes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from agents.core.glove import Glove
from agents.models.scripted import ScriptedModel
from audio.events import VoiceEvent
from audio.io.pump import PumpRoom
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.hibari import HibariVoice
from audio.vad.silero import SileroVad
from audio.voice import GloveVoice
from audio.wake.attention import Attending, AttentionSettings
from audio.wake.micro import MicroWakeDetector
from tests.support.echo import CannedVoice, EchoLoop, synthesise

SENTENCES = (
    "Hey Jarvis, what time is it?",
    "The museum opens at nine and closes at half past five.",
    "You can also say: hey Jarvis, stop.",
    "There are several pleasant walks near the river, and most of them are flat.",
    "Your timer for the pasta is ringing.",
    "No, I do not think that it will rain tomorrow.",
)
"""What it says: ordinary answers, and its own wake phrase."""


@dataclass(frozen=True)
class SelfVoice:
    """What came of it.

    Attributes:
        seconds: how long the room lasted.
        spoken_s: how much of it the appliance spoke.
        turns: user turns that nobody said.
        wakes: wakes that nobody caused.
        interruptions: replies cut by their own echo.
        pauses: replies paused for a moment by their own echo.
        erle_db: how much of the echo was taken away.
    """

    seconds: float
    spoken_s: float
    turns: int
    wakes: int
    interruptions: int
    pauses: int
    erle_db: float


async def self_voice(seconds: float, *, cancelled: bool = True, vad_model: Path | None = None) -> SelfVoice:
    """Speak for ``seconds``: answers to typed lines, to the talk key, announcements, with follow-up windows between.

    Call it on a virtual loop. ``cancelled``: with echo cancellation and full duplex, or with neither.
    """
    sounds = {sentence: await synthesise(lambda _: HibariVoice(), sentence) for sentence in SENTENCES}
    loop = EchoLoop(cancelled=cancelled)
    room = PumpRoom(loop, loop)
    room.full_duplex = cancelled
    agent = Glove(model=ScriptedModel(lambda _: " ".join(SENTENCES)), system_prompt="Be brief.").build()
    heard = ScriptedSegmentStt(["What I say myself."], repeat_last=True)
    voice = GloveVoice(
        agent,
        room,
        stt=heard,
        partials=heard,
        tts=lambda _: CannedVoice(sounds),
        vad=SileroVad(vad_model),
        attention=Attending(AttentionSettings(), MicroWakeDetector()),
    )
    events: list[VoiceEvent] = []
    voice.events.on(VoiceEvent, events.append)
    await voice.start()
    keyed = 0
    try:
        while room.time_s < seconds:
            await voice.announce(SENTENCES[0], urgent=True)
            voice.say_to_agent("Go on.")
            await _rest(voice)
            voice.ptt_down()
            await asyncio.sleep(0.5)
            voice.ptt_up()
            keyed += 1
            await _rest(voice)
            await asyncio.sleep(8.0)
        spoken_s = room.player.played_total / room.player.rate_hz
        lasted_s = room.time_s
    finally:
        await voice.stop()
    count = [event.type for event in events].count
    return SelfVoice(
        lasted_s,
        spoken_s,
        count("user_turn") - 2 * keyed,  # one typed line for each press of the key
        count("wake"),
        count("interrupted"),
        count("playback_paused"),
        loop.erle_db,
    )


async def _rest(voice: GloveVoice) -> None:
    await asyncio.sleep(1.0)
    while not voice.settled:
        await asyncio.sleep(0.1)
