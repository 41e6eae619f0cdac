"""Speech services on servers, as configured: recognisers and voices with this machine behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.base.credentials import Credentials
    from appliance.config import GloveConfig
    from audio.providers.openai_compatible.client import SpeechServer
    from audio.providers.standby import OnTrouble
    from audio.stt.base import SegmentStt, StreamingStt
    from audio.tts.base import TtsFactory

STREAMING = ("elevenlabs",)
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
    from audio.providers.elevenlabs.stt import ScribeStt
    from audio.stt.fallback import FallbackStt

    language = config.speech.fixed_language
    # Nobody would connect again where nothing takes over, so the recogniser itself never gives up.
    backoff = Backoff(first_s=0.5, cap_s=15.0, jitter=0.2, budget=None if local is None else 3)
    first = ScribeStt(
        _key("elevenlabs", "", credentials),
        model=config.stt.model,
        language=language,
        base_url=config.stt.url,
        backoff=backoff,
    )
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

        key = _key("elevenlabs", "", credentials)
        first: TtsFactory = ElevenLabsVoices(key, voice=tts.voice, model=tts.model, base_url=tts.url)
    else:
        from audio.providers.openai_compatible.tts import OpenAiVoices

        first = OpenAiVoices(_server(tts.url, credentials), tts.model, tts.voice)
    return first if tts.fallback == "none" else FallbackTts(first, local, on_trouble=on_trouble)


def _server(url: str, credentials: Credentials | None) -> SpeechServer:
    from audio.providers.openai_compatible.client import SpeechServer

    return SpeechServer(_key("openai", url, credentials), base_url=url, key_name=_secret("openai", url))


def _secret(provider: str, url: str) -> str:
    """The name of the secret. OpenAI's key is nobody else's business: another server has one of its own, or none."""
    return {"elevenlabs": "ELEVENLABS_API_KEY", "openai": "OPENAI_COMPAT_API_KEY" if url else "OPENAI_API_KEY"}.get(
        provider, ""
    )


def _key(provider: str, url: str, credentials: Credentials | None) -> str | None:
    from agents.base.credentials import Credentials

    keys = credentials or Credentials()
    name = _secret(provider, url)
    if provider == "openai" and url:
        secret = keys.get(name)
        return None if secret is None else secret.reveal()
    return keys.require(name).reveal()
