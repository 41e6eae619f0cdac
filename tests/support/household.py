"""A household on virtual time: the whole daemon on a scripted sound card, and people whose speech is levels.

Real are the daemon, the device room with its supervisor and front end, the wake word's ear, attention, the turn engine,
the agent with its everyday tools, the timers and the conversations on disk. Scripted are the sound card, the detectors,
the recogniser (a level stands for a text), the voice (a tone per word) and the model, since hours of them would take
hours. Nothing that happened is kept for longer than an episode: whatever grows is the appliance's own.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.base.abort import AbortToken
from agents.base.errors import GloveError, GloveVoiceError
from agents.core.messages import ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.intents import IntentFirst
from agents.models.scripted import Call, Fail, Hang, PlainReply, Say, ScriptedModel
from appliance.config.schema import GloveConfig
from appliance.daemon import device
from appliance.daemon.daemon import Daemon
from appliance.daemon.device import run_device
from appliance.daemon.instance import Instance
from appliance.daemon.rooms import DEVICE
from appliance.session.build import Parts, load_parts
from audio.events import VoiceEvent
from audio.io.device import DeviceRoom, DeviceSettings
from audio.io.front_end import FrontEnd
from audio.io.scripted import ScriptedBackend, ScriptedDevice
from audio.pcm import FRAME_MS, FRAME_SAMPLES, Pcm
from audio.stt.base import SegmentStt, Transcript
from audio.tts.scripted import ScriptedVoice
from audio.vad.base import VadAdapter
from audio.voice import GloveVoice
from audio.wake.attention import Attending, AttentionSettings
from audio.wake.scripted import ScriptedWakeDetector
from tests.appliance.house import Inhabited, Room
from tests.support.session import LevelVad

WAKE_LEVEL = 7000
FIRST_LEVEL = 8000
STEP = 20
LEVELS = 48
"""So many utterances have levels of their own; then the first level is used again. All are about equally loud, so that
nobody seems to speak from another table."""

QUIET_FRAMES = 8
"""Frames that move at a time while nobody is listened to."""

CALM_FRAMES = 4
"""The same while it is waited for somebody to speak."""

STORY = " ".join(f"Once there was a house with {count} windows." for count in ("one", "two", "three", "four", "five"))


class Microphone(ScriptedDevice):
    """Hears what people say; what is said while it is away is lost."""

    def __init__(self) -> None:
        super().__init__("mic", "input")
        self.texts = [""] * LEVELS
        self.uttered = 0

    def speak(self, text: str, seconds: float) -> None:
        """Somebody says ``text`` in so many seconds."""
        slot = self.uttered % LEVELS
        self.uttered += 1
        self.texts[slot] = text
        self._sound(FIRST_LEVEL + STEP * slot, seconds)

    def call(self) -> None:
        """Somebody says the wake phrase."""
        self._sound(WAKE_LEVEL, 0.7)

    def text_of(self, sound: Pcm) -> str:
        """What was said in ``sound``, in order."""
        levels, places = np.unique(sound, return_index=True)
        said = sorted((int(place), int(level)) for level, place in zip(levels, places, strict=True))
        return " ".join(filter(None, (self._text(level) for _, level in said)))

    def _text(self, level: int) -> str:
        if level == WAKE_LEVEL:
            return "Hey, Jarvis,"
        return self.texts[(level - FIRST_LEVEL) // STEP] if level >= FIRST_LEVEL else ""

    def _sound(self, level: int, seconds: float) -> None:
        if self.present:
            self.said.extend([np.full(FRAME_SAMPLES, level, np.int16)] * round(seconds * 100))


class Loudness(list[Pcm]):
    """Takes what a speaker plays and keeps only how much of it sounded."""

    def __init__(self) -> None:
        super().__init__()
        self.sounding = 0

    def append(self, block: Pcm) -> None:
        self.sounding += bool(block.any())


class LevelStt(SegmentStt):
    """Knows which level means which text. Fails while ``broken``."""

    def __init__(self, microphone: Microphone, cost_s: float) -> None:
        self.cost_s = cost_s
        self.broken = False
        self._microphone = microphone

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        if self.broken:
            raise GloveVoiceError("ERR_STT_CONNECTION", "The recogniser was told to fail.")
        return Transcript(self._microphone.text_of(pcm), language or "en")


class HouseModel:
    """Tells stories and looks at the timers; ``mood`` says how it is."""

    name = "house"

    def __init__(self) -> None:
        self.mood = "well"
        self._script = ScriptedModel(self._reply, tokens_per_s=25.0, first_token_s=0.3)

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        try:
            return await self._script.prompt(request, notify, abort)
        finally:
            self._script.requests.clear()

    def _reply(self, request: PromptRequest) -> PlainReply:
        last = request.messages[-1]
        if self.mood == "failing":
            return [Say("Well, "), Fail(GloveError("ERR_MODEL_UNREACHABLE", "No route."), 0.5)]
        if self.mood == "hanging":
            return Hang()
        if last.tool_results:
            return "That is all."
        if "story" in last.text:
            return STORY
        if "look" in last.text:
            return [Say("Let me see. "), Call("list_timers", {})]
        return f"You said: {last.text}"


class QuietRoom(DeviceRoom):
    """A device room whose front end looks at several frames at a time while nothing is going on, as its thread does."""

    frames: Callable[[], int]

    async def _step_on_loop(self, front: FrontEnd) -> None:
        await asyncio.sleep(FRAME_MS / 2000)
        while True:
            front.step()
            await asyncio.sleep(self.frames() * FRAME_MS / 1000)

    def _wake(self) -> None:
        """The front end is on the loop: no thread needs to be woken."""
        if not self._called:
            self._called = True
            asyncio.get_running_loop().call_soon(self._deliver)


class LevelParts(Parts):
    """Parts whose voice detectors are thresholds."""

    def vad(self) -> VadAdapter:
        return LevelVad()


class Home:
    """The daemon of a household, and everything in the room that a person can touch.

    Attributes:
        daemon: it runs.
        microphone, speaker: of its sound card.
        model, stt, voice: the services it uses; their faults can be changed at any time.
        events: the last events of the device's room.
        faults: codes of the faults it told, counted.
    """

    def __init__(self, folder: Path) -> None:
        self.microphone = Microphone()
        self.speaker = ScriptedDevice("speaker", "output")
        self.sound = Loudness()
        self.speaker.played = self.sound
        self.model = HouseModel()
        self.stt = LevelStt(self.microphone, 0.1)
        self.partials = LevelStt(self.microphone, 0.05)
        self.voice = ScriptedVoice(vocabulary=("the",), rate_hz=16_000)
        self.voice.made = deque(maxlen=1)  # type: ignore[assignment]  # a voice per reply would be kept for ever
        self.events: deque[VoiceEvent] = deque(maxlen=2000)
        self.faults: dict[str, int] = {}
        self.folder = folder
        self.config = GloveConfig(
            speech={"stt": "simulated", "tts": "simulated"},  # type: ignore[arg-type]
            turns={"vad": "energy", "detector": "rules"},  # type: ignore[arg-type]
            model={"provider": "none"},  # type: ignore[arg-type]
            store={"path": str(folder / "glove.db")},  # type: ignore[arg-type]
            conversation={"greeting": False, "idle_s": 60},  # type: ignore[arg-type]
        )
        self.daemon = Daemon(self.config, Instance(folder / "run"), {DEVICE: run_device}, parts=self._load)
        self._followed: GloveVoice | None = None

    async def _load(self, config: GloveConfig) -> Parts:
        parts = await load_parts(config)
        mind = replace(parts.mind, model=IntentFirst(self.model))
        await mind.warm()
        return LevelParts(config, mind, self.stt, self.partials, self.voice, parts.judges, parts.troubles)

    async def open_room(self, _: Daemon) -> DeviceRoom:
        """The device room on the scripted sound card."""
        backend = ScriptedBackend(self.microphone, self.speaker)
        room = QuietRoom(DeviceSettings(echo="off", rate_hz=16_000), vad=LevelVad(), backend=backend)
        room.frames = backend.period = self._period
        return room

    async def attending(self, _: Daemon) -> Attending:
        """A wake word that is a level."""
        detector = ScriptedWakeDetector(lambda frame: int(frame.max()) == WAKE_LEVEL)
        return Attending(AttentionSettings(), detector)

    @property
    def device(self) -> GloveVoice:
        """The session of the device, whose events are followed. Raises ``LookupError`` while there is none."""
        session = self.daemon.rooms.find(DEVICE)
        if session is None:
            raise LookupError("the device has no session")
        if session.voice is not self._followed:
            self._followed = session.voice
            session.voice.events.on(VoiceEvent, self._note)
        return session.voice

    def _period(self) -> int:
        """How many frames the sound card may move at a time without anybody noticing."""
        session = self.daemon.rooms.find(DEVICE)
        if session is None or self.microphone.said or not session.room.player.idle:
            return 1
        if not session.voice.settled:
            return 1
        return QUIET_FRAMES if session.voice.attention == "asleep" else CALM_FRAMES

    @property
    def works(self) -> bool:
        """Whether the device has a session in a room that works."""
        session = self.daemon.rooms.find(DEVICE)
        return session is not None and session.room.health.state == "ok"

    @property
    def ringing(self) -> int:
        """How many timers ring."""
        return len(self.daemon.parts.mind.timers.ringing())

    @property
    def heard(self) -> str:
        """What could be heard of the appliance in this episode."""
        return " ".join(event.heard for event in self.of("agent_speech_stopped"))

    def of(self, kind: str) -> list[Any]:
        """The events of a kind in this episode."""
        return [event for event in self.events if event.type == kind]

    def turns(self) -> list[str]:
        """What was taken for turns in this episode."""
        return [event.text for event in self.of("user_turn")]

    def _note(self, event: VoiceEvent) -> None:
        self.events.append(event)
        if event.type == "error":
            code = str(getattr(event, "code", ""))
            self.faults[code] = self.faults.get(code, 0) + 1

    async def ask(self, text: str, seconds: float = 1.2) -> None:
        """Call the appliance and say ``text`` in the same breath."""
        self.microphone.call()
        await self.say(text, seconds)

    async def say(self, text: str, seconds: float = 1.0) -> None:
        """Say ``text``, and return when the last of it was captured."""
        self.microphone.speak(text, seconds)
        await asyncio.sleep(len(self.microphone.said) / 100 + 0.05)

    async def until(self, condition: Callable[[], Any], limit_s: float = 60.0) -> None:
        """Wait for ``condition``. Raises ``AssertionError`` with the last events when it does not come."""
        try:
            async with asyncio.timeout(limit_s):
                while not condition():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            last = [event.to_json() for event in list(self.events)[-12:]]
            raise AssertionError(f"not within {limit_s:g} s, mode {self.device.current_mode}: {last}") from None

    async def rest(self, limit_s: float = 120.0) -> None:
        """Wait until nothing is heard, thought or said, nobody is listened to, and the sound that tells so is over."""
        await self.until(self._rests, limit_s)

    def _rests(self) -> bool:
        session = self.daemon.rooms.find(DEVICE)
        quiet = session is None or session.room.player.idle
        return quiet and self.device.settled and self.device.attention == "asleep"

    def restore(self) -> None:
        """Make everything work again that an episode may have left broken."""
        self.model.mood, self.voice.fault = "well", None
        self.stt.broken = self.partials.broken = False
        self.microphone.present = self.speaker.present = True
        self.device.ptt_cancel()
        self.device.unmute()

    async def enter(self, name: str) -> Inhabited:
        """Somebody opens the page; close its session to leave."""
        session = await self.daemon.parts.session(Room(), name=name)
        visitor = Inhabited(session)
        await self.daemon.start_session(name, session)
        return visitor


@asynccontextmanager
async def household(folder: Path) -> AsyncIterator[Home]:
    """A household whose daemon runs; it is stopped at the end, and must stop. Call it on a virtual loop."""
    home = Home(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "open_room", home.open_room)
        patch.setattr(device, "attending", home.attending)
        running = asyncio.ensure_future(home.daemon.run())
        try:
            async with asyncio.timeout(60):
                while not home.works and not running.done():
                    await asyncio.sleep(0.1)
            if running.done():
                await running
            assert home.device.is_active
            yield home
        finally:
            home.daemon.stop()
            async with asyncio.timeout(10.0):
                await running
            gc.collect()
