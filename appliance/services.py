"""Speech services on servers, as configured: recognisers and voices with this machine behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.base.backoff import Backoff
    from agents.base.credentials import Credentials
    from appliance.config import GloveConfig
    from audio.providers.openai_compatible.client import SpeechServer
    from audio.providers.standby import OnTrouble
    from audio.stt.base import SegmentStt, StreamingStt
    from audio.tts.base import TtsFactory

STREAMING = ("elevenlabs", "deepgram", "cartesia")
"""Providers whose recogniser is a running session."""


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
    if config.stt.provider not in STREAMING:
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
    if config.stt.provider != "openai":
        return local
    from audio.providers.openai_compatible.stt import OpenAiStt
    from audio.stt.fallback import FallbackSegmentStt

    server = _server(config.stt.url, credentials)
    first = OpenAiStt(server, config.stt.model, primary=config.speech.default_language)
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
    else:
        from audio.providers.openai_compatible.tts import OpenAiVoices

        first = OpenAiVoices(_server(tts.url, credentials), tts.model, tts.voice)
    return first if tts.fallback == "none" else FallbackTts(first, local, on_trouble=on_trouble)


def _streaming(config: GloveConfig, backoff: Backoff, credentials: Credentials | None) -> StreamingStt:
    stt, language = config.stt, config.speech.fixed_language
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
    return "" if provider == "local" else f"{provider.upper()}_API_KEY"


def _required(provider: str, credentials: Credentials | None) -> str:
    from agents.base.credentials import Credentials

    return (credentials or Credentials()).require(_secret(provider)).reveal()
