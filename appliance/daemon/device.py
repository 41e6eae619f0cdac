"""The room that this machine itself is: microphone, speaker, wake word, and the greeting."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from agents.base.clock import infer
from agents.base.errors import GloveError, GloveVoiceError
from agents.everyday.phrases import pick
from appliance.daemon.rooms import DEVICE, can_be_heard
from audio.events import RoomChanged

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from appliance.daemon.daemon import Daemon
    from audio.io.base import RoomHealth
    from audio.io.device import DeviceRoom
    from audio.providers.standby import OnTrouble
    from audio.wake.attention import Attending
    from audio.wake.base import WakeDetector

log = structlog.get_logger(__name__)

GREETING_LIMIT_S = 30.0


async def run_device(daemon: Daemon) -> None:
    """Listen and speak on this machine until cancelled; without a sound card, wait for one.

    Raises:
        GloveError: the room failed; the daemon starts it again.
    """
    session = None
    room = await open_room(daemon)
    failed: asyncio.Future[GloveError] = asyncio.get_running_loop().create_future()
    room.on_failed = lambda fault: None if failed.done() else failed.set_result(fault)
    try:
        session = await daemon.parts.session(room, name=DEVICE, attention=await attending(daemon))
        await daemon.start_session(DEVICE, session)
        voice = session.voice

        def changed(health: RoomHealth) -> None:
            daemon.tell(DEVICE, _told(daemon.config, health))
            voice.emit(RoomChanged(room.time_s, health.state, health.reason, health.values.get("erle_db")))

        room.on_health = changed
        daemon.tell(DEVICE, _told(daemon.config, room.health))
        greeter = asyncio.ensure_future(_greet(daemon)) if daemon.claim_greeting() else None
        try:
            raise await failed
        finally:
            if greeter is not None:
                greeter.cancel()
    finally:
        if session is not None:
            await session.close()
        await room.close()


async def open_room(daemon: Daemon) -> DeviceRoom:
    """The device room of the configuration, not opened yet."""
    from audio.io.device import DeviceRoom, DeviceSettings

    device = daemon.config.device
    settings = DeviceSettings(input=device.input, output=device.output, echo=device.echo)
    return DeviceRoom(settings, vad=await infer(daemon.parts.vad, cost_s=0.0))


async def attending(daemon: Daemon) -> Attending | None:
    """When the microphone counts; without a wake word detector only while the talk button is held."""
    from audio.wake.attention import Attending, AttentionSettings

    wake = daemon.config.wake
    if daemon.config.turns.mode == "manual":
        return None
    settings = AttentionSettings(mode=wake.mode, follow_up_s=wake.follow_up_s)
    if wake.mode != "wake":
        return Attending(settings)

    def in_trouble(fault: GloveError) -> None:
        daemon.tell("wake", f"Wake word: {fault}")

    try:
        return Attending(settings, await infer(lambda: wake_detector(daemon.config, in_trouble), cost_s=0.1))
    except GloveVoiceError as fault:
        daemon.tell("wake", f"Wake word: off, glove ptt works. {fault}")
        return Attending(replace(settings, mode="ptt"))


def wake_detector(config: GloveConfig, on_trouble: OnTrouble | None = None) -> WakeDetector:
    """What listens for the wake word; ``on_trouble`` is told of trouble with a service.

    Raises ``GloveVoiceError`` where nothing can.
    """
    from audio.wake.micro import MicroWakeDetector

    wake = config.wake
    if wake.provider == "local":
        return MicroWakeDetector((wake.word,))
    from audio.providers.wyoming.link import address_of
    from audio.providers.wyoming.wake import WyomingWakeDetector

    # The service's own phrase may be none of ours: then nobody listens while it is away.
    local = None if wake.name and wake.name != wake.word else MicroWakeDetector((wake.word,))
    address = address_of(wake.url, "wake.url")
    return WyomingWakeDetector(address, wake.name or wake.word, local=local, on_trouble=on_trouble)


def _told(config: GloveConfig, health: RoomHealth) -> str:
    if health.state == "ok":
        return f"Device: {listening(config)}"
    alone = " The page works without." if health.state == "down" and config.page.enabled else ""
    return f"Device: {health.reason}{alone}"


def listening(config: GloveConfig) -> str:
    """What makes the microphone count, for people."""
    match _mode(config):
        case "open":
            return "always listening"
        case "ptt":
            return "listening while glove ptt is down"
        case _:
            return f'listening after "{wake_words(config)}"'


def _mode(config: GloveConfig) -> str:
    """``wake.mode``, which does not count where turns are committed by hand: then only the talk button makes one."""
    return "ptt" if config.turns.mode == "manual" else config.wake.mode


def wake_words(config: GloveConfig) -> str:
    """The wake word as it is spoken."""
    wake = config.wake
    return ((wake.provider == "wyoming" and wake.name) or wake.word).replace("_", " ")


def greeting(config: GloveConfig) -> str:
    """What is said once the microphone listens."""
    language = config.speech.default_language
    if _mode(config) == "ptt":
        return pick(language, en="I am ready.", de="Ich bin bereit.")
    # Not the wake word itself: nobody wants a device that calls itself.
    return pick(language, en="I am listening.", de="Ich höre zu.")


async def _greet(daemon: Daemon) -> None:
    """Say once that the microphone listens, as soon as there is a speaker; not if that takes long."""
    try:
        async with asyncio.timeout(GREETING_LIMIT_S):
            while (session := daemon.rooms.find(DEVICE)) is None or not can_be_heard(session):
                await asyncio.sleep(0.1)
            await session.voice.announce(greeting(daemon.config))
    except TimeoutError:
        log.info("nobody was greeted: there is no speaker")
    except GloveError as fault:
        log.error("nobody was greeted", code=fault.code, error=fault.message)
