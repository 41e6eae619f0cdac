"""Speech services on servers, as configured: recognisers and voices with this machine behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from agents.base.backoff import Backoff
    from agents.base.credentials import Credentials
    from appliance.config.schema import GloveConfig
    from audio.providers.openai_compatible.client import SpeechServer
    from audio.providers.standby import OnTrouble
    from audio.stt.base import SegmentStt, StreamingStt
    from audio.tts.base import TtsFactory

log = structlog.get_logger(__name__)

STREAMING = ("elevenlabs", "deepgram", "cartesia")
"""Providers whose recogniser is always a running session."""


def is_streaming(config: GloveConfig) -> bool:
    """Whether the recogniser is a running session. A Wyoming service counts as one only once ``settled`` says so."""
    stt = config.stt
    return stt.provider in STREAMING or (stt.provider == "wyoming" and stt.streaming == "on")


async def settled(config: GloveConfig) -> GloveConfig:
    """``config`` with what it leaves to a Wyoming service decided: whether that hears while one speaks.

    A service that cannot be asked now is later asked for whole utterances, which all of them understand.
    """
    stt = config.stt
    if stt.provider != "wyoming" or stt.streaming != "auto":
        return config
    from audio.providers.socket import ConnectionEnded, ConnectionRefused
    from audio.providers.wyoming.link import address_of
    from audio.providers.wyoming.offer import ask_offer
    from audio.providers.wyoming.wire import WireFault

    try:
        streams = (await ask_offer(address_of(stt.url, "stt.url"))).streams_transcripts
    except (ConnectionRefused, ConnectionEnded, WireFault) as fault:
        log.warning("a recogniser does not say what it can do", url=stt.url, reason=str(fault))
        streams = False
    return config.model_copy(update={"stt": stt.model_copy(update={"streaming": "on" if streams else "off"})})


def speech_secrets(config: GloveConfig) -> tuple[str, ...]:
    """Names of the secrets that the configured speech services take, each once."""
    named = [_secret(section.provider, section.url) for section in (config.stt, config.tts)]
    return tuple(dict.fromkeys(name for name in named if name))


def stream_recogniser(
    config: GloveConfig,
    local: SegmentStt | None,
    on_trouble: OnTrouble | None = None,
    credentials: Credentials | None = None,
) -> StreamingStt | None:
    """The recogniser of one session where it is a streaming one; None where it is not.

    Args:
        config: which service.
        local: takes over while the service is in trouble.
        on_trouble: told of trouble, at most once per half minute.
        credentials: where keys come from.

    Raises ``ConfigError`` (``ERR_CREDENTIALS_MISSING``) without the service's key.
    """
    if not is_streaming(config):
        return None
    from agents.base.backoff import Backoff
    from audio.stt.fallback import FallbackStt

    # Nobody would connect again where nothing takes over, so the recogniser itself never gives up.
    backoff = Backoff(first_s=0.5, cap_s=15.0, jitter=0.2, budget=None if local is None else 3)
    first = _streaming(config, backoff, credentials)
    language = config.speech.fixed_language
    return first if local is None else FallbackStt(first, local, language=language, on_trouble=on_trouble)


def segment_recogniser(
    config: GloveConfig,
    local: SegmentStt | None,
    on_trouble: OnTrouble | None = None,
    credentials: Credentials | None = None,
) -> SegmentStt | None:
    """The recogniser of whole utterances: the service's with ``local`` behind it, or ``local``. See above."""
    from audio.stt.fallback import FallbackSegmentStt

    stt, primary = config.stt, config.speech.default_language
    if stt.provider == "openai":
        from audio.providers.openai_compatible.stt import OpenAiStt

        first: SegmentStt = OpenAiStt(_server(stt.url, credentials), stt.model, primary=primary)
    elif stt.provider == "wyoming" and not is_streaming(config):
        from audio.providers.wyoming.link import address_of
        from audio.providers.wyoming.stt import WyomingSegmentStt

        first = WyomingSegmentStt(address_of(stt.url, "stt.url"), stt.model, primary=primary)
    else:
        return local
    return first if local is None else FallbackSegmentStt(first, local, on_trouble=on_trouble)


def service_voices(
    config: GloveConfig,
    local: TtsFactory,
    on_trouble: OnTrouble | None = None,
    credentials: Credentials | None = None,
) -> TtsFactory:
    """The service's voices with ``local`` behind them, or ``local``. Raises as ``stream_recogniser``."""
    from audio.tts.fallback import FallbackTts

    tts = config.tts
    if tts.provider == "local":
        return local
    if tts.provider == "elevenlabs":
        from audio.providers.elevenlabs.tts import ElevenLabsVoices

        key = _required("elevenlabs", credentials)
        first: TtsFactory = ElevenLabsVoices(key, voice=tts.voice, model=tts.model, base_url=tts.url)
    elif tts.provider == "wyoming":
        from audio.providers.wyoming.link import address_of
        from audio.providers.wyoming.tts import WyomingVoices

        first = WyomingVoices(address_of(tts.url, "tts.url"), tts.voice)
    else:
        from audio.providers.openai_compatible.tts import OpenAiVoices

        first = OpenAiVoices(_server(tts.url, credentials), tts.model, tts.voice)
    return first if tts.fallback == "none" else FallbackTts(first, local, on_trouble=on_trouble)


def _streaming(config: GloveConfig, backoff: Backoff, credentials: Credentials | None) -> StreamingStt:
    stt, language = config.stt, config.speech.fixed_language
    if stt.provider == "wyoming":
        from audio.providers.wyoming.link import address_of
        from audio.providers.wyoming.stt import WyomingStt

        primary = config.speech.default_language
        address = address_of(stt.url, "stt.url")
        return WyomingStt(address, stt.model, language=language, primary=primary, backoff=backoff)
    key = _required(stt.provider, credentials)
    if stt.provider == "deepgram":
        from audio.providers.deepgram.stt import DeepgramStt

        return DeepgramStt(key, model=stt.model, language=language, base_url=stt.url, backoff=backoff)
    if stt.provider == "cartesia":
        from audio.providers.cartesia.stt import CartesiaStt

        return CartesiaStt(key, model=stt.model, language=language, base_url=stt.url, backoff=backoff)
    from audio.providers.elevenlabs.stt import ScribeStt

    return ScribeStt(key, model=stt.model, language=language, base_url=stt.url, backoff=backoff)


def _server(url: str, credentials: Credentials | None) -> SpeechServer:
    from agents.base.credentials import Credentials
    from audio.providers.openai_compatible.client import SpeechServer

    name = _secret("openai", url)
    if not url:
        return SpeechServer(_required("openai", credentials), key_name=name)
    secret = (credentials or Credentials()).get(name)
    return SpeechServer(None if secret is None else secret.reveal(), base_url=url, key_name=name)


def _secret(provider: str, url: str = "") -> str:
    """The name of the secret. OpenAI's key is nobody else's business: another server has one of its own, or none."""
    if provider == "openai" and url:
        return "OPENAI_COMPAT_API_KEY"
    return "" if provider in ("local", "wyoming") else f"{provider.upper()}_API_KEY"


def _required(provider: str, credentials: Credentials | None) -> str:
    from agents.base.credentials import Credentials

    return (credentials or Credentials()).require(_secret(provider)).reveal()
