"""The Wyoming server as a feature of the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast, get_args

from appliance.wyoming.answering import Answers
from appliance.wyoming.contract import Lent
from appliance.wyoming.languages import spoken, understood
from appliance.wyoming.server import WyomingServer
from audio.providers.wyoming.link import address_of

if TYPE_CHECKING:
    from appliance.daemon.daemon import Daemon
    from appliance.session.build import Parts
    from audio.wake.base import WakeDetector

WYOMING = "wyoming"


async def run_wyoming(daemon: Daemon) -> None:
    """Lend recogniser, voice, wake words and voice detection until cancelled.

    Raises:
        ConfigError: the port cannot be had; the daemon tries again.
    """
    config = daemon.config.wyoming
    parts = daemon.parts
    answers = Answers(parts.mind, daemon.config.conversation.idle_s) if config.handle else None
    server = WyomingServer(await lent_by(parts, answers), config.allow)
    address = address_of(config.listen, "wyoming.listen")
    try:
        await server.open(address)
        daemon.facts[WYOMING] = f"tcp://{address}"
        daemon.tell(WYOMING, f"Wyoming: tcp://{address}")
        await asyncio.Event().wait()
    except BaseException as fault:
        if not isinstance(fault, asyncio.CancelledError):
            daemon.tell(WYOMING, f"Wyoming: off. {fault}")
        raise
    finally:
        daemon.facts.pop(WYOMING, None)
        await server.close()
        if answers is not None:
            await answers.close()


async def lent_by(parts: Parts, answers: Answers | None = None) -> Lent:
    """What the parts of this process have to lend."""
    from appliance.commands.version import installed_version
    from audio.wake.micro import MicroWakeDetector, WakeWord

    def wake(names: Sequence[str]) -> WakeDetector:
        return MicroWakeDetector(cast("Sequence[WakeWord]", names))

    words = dict.fromkeys((parts.config.wake.word, *get_args(WakeWord)))
    return Lent(
        stt=parts.stt,
        stt_languages=understood(parts),
        voices=parts.voices,
        voice_languages=await spoken(parts),
        vad=parts.vad,
        wake=wake,
        wake_words=tuple(words),
        answer=answers,
        version=installed_version(),
    )
