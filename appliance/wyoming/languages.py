"""Which languages are understood and spoken here, for clients that choose a service by language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.base.errors import GloveVoiceError

if TYPE_CHECKING:
    from appliance.session.build import Parts

WHISPER = tuple(
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt "
    "la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc "
    "ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su".split()
)
"""Languages of the multilingual Whisper models, by how much of each they have heard."""


def understood(parts: Parts) -> tuple[str, ...]:
    """What the recogniser understands, BCP-47; first what is spoken here."""
    from audio.stt.whisper import WhisperStt

    config, stt = parts.config, parts.stt
    several = stt.is_multilingual if isinstance(stt, WhisperStt) else config.stt.provider != "local"
    others = WHISPER if several and config.speech.fixed_language is None else ()
    return tuple(dict.fromkeys((parts.language, *others)))


async def spoken(parts: Parts) -> tuple[str, ...]:
    """What the voices speak, BCP-47; first what is spoken here."""
    from audio.tts.espeak import espeak_languages

    if parts.config.speech.tts in ("hibari", "simulated"):
        return (parts.language,)
    try:
        known = await espeak_languages()
    except GloveVoiceError:
        return (parts.language,)
    primary = (entry.tag.split("-")[0] for entry in known)
    return tuple(dict.fromkeys((parts.language, *(tag for tag in primary if len(tag) <= 3))))
