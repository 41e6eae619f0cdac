"""An adapter from a few words: arguments first, then the environment, then defaults."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, cast

import structlog

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from agents.models.openai_compatible import is_loopback
from audio.providers.socket import websocket_url
from realtime.s2s.contract import S2SAdapter
from realtime.s2s.turn_detection import ActivityDetection, SemanticVad, ServerVad

if TYPE_CHECKING:
    from realtime.s2s.gemini.messages import GeminiSettings
    from realtime.s2s.openai.messages import OpenAISettings
    from realtime.s2s.socket_session import SessionDial

log = structlog.get_logger(__name__)

Provider = Literal["openai", "gemini"]
TurnDetection = ServerVad | SemanticVad | ActivityDetection | None
GetToken = Callable[[], Awaitable[str]]


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""Stands for "as the environment or the provider has it", since None already means that the host marks the turns."""


def create_s2s_adapter(
    provider: str | None = None,
    *,
    model: str | None = None,
    voice: str | None = None,
    turn_detection: TurnDetection | _Default = DEFAULT,
    api_key: str | None = None,
    get_token: GetToken | None = None,
    base_url: str | None = None,
    api_version: str | None = None,
    settings: OpenAISettings | GeminiSettings | None = None,
    environ: Mapping[str, str] | None = None,
    credentials: Credentials | None = None,
    dialler: SessionDial | None = None,
) -> S2SAdapter:
    """An adapter that is not connected.

    Args:
        provider: ``openai`` or ``gemini``; else ``S2S_PROVIDER``, else the first of the two whose key is set.
        model: else ``S2S_MODEL``.
        voice: else ``S2S_VOICE``; a voice of the session's configuration goes before both.
        turn_detection: of the provider; None if the host marks the turns; else ``S2S_TURN_DETECTION`` (``server_vad``,
            ``semantic_vad`` or ``manual``).
        api_key: else ``OPENAI_API_KEY`` or ``GEMINI_API_KEY``, from wherever secrets are kept. A server on this
            machine needs none.
        get_token: gives a key or token before each connection, instead of ``api_key``.
        base_url: address of the interface; else ``S2S_BASE_URL``.
        api_version: of Gemini's interface; else ``S2S_API_VERSION``.
        settings: everything else. What is set in it goes before the environment.
        environ: the environment; the process's own when None.
        credentials: where keys are looked up.
        dialler: opens connections; the network when None.

    Raises:
        ConfigError: ``ERR_S2S_PROVIDER``, none or an unknown one; ``ERR_S2S_SETTING``, a setting of the other provider;
            ``ERR_S2S_ADDRESS``; ``ERR_CREDENTIALS_MISSING`` and others as ``Credentials``.
    """
    environment = os.environ if environ is None else environ
    secrets = credentials or Credentials(environ=environment)
    chosen = _provider(provider or _read(environment, "S2S_PROVIDER"), secrets)
    address = base_url or _read(environment, "S2S_BASE_URL") or ""
    key = api_key or ""
    if not key and get_token is None and not (address and is_loopback(websocket_url(address))):
        key = secrets.require(f"{chosen}_api_key").reveal()
    told = {
        "model": model or _unless_set(settings, "model", environment),
        "voice": voice or _unless_set(settings, "voice", environment),
    }
    changes: dict[str, object] = {name: value for name, value in told.items() if value}
    if chosen == "openai":
        from realtime.s2s.openai.adapter import API, OpenAIRealtime
        from realtime.s2s.openai.messages import OpenAISettings

        _own(settings, OpenAISettings, chosen)
        changes.update(_detection(turn_detection, settings, "turn_detection", environment))
        taken = cast("OpenAISettings", settings) or OpenAISettings()
        return OpenAIRealtime(
            key, taken.model_copy(update=changes), get_token=get_token, base_url=address or API, dialler=dialler
        )
    from realtime.s2s.gemini.adapter import API as GEMINI_API
    from realtime.s2s.gemini.adapter import GeminiLive
    from realtime.s2s.gemini.messages import GeminiSettings

    _own(settings, GeminiSettings, chosen)
    changes.update(_detection(turn_detection, settings, "activity_detection", environment))
    version = api_version or _unless_set(settings, "api_version", environment)
    if version:
        changes["api_version"] = version
    return GeminiLive(
        key,
        (cast("GeminiSettings", settings) or GeminiSettings()).model_copy(update=changes),
        get_token=get_token,
        base_url=address or GEMINI_API,
        dialler=dialler,
    )


def _read(environment: Mapping[str, str], name: str) -> str | None:
    return environment.get(name, "").strip() or None


def _provider(named: str | None, secrets: Credentials) -> Provider:
    if named is None:
        for provider in ("openai", "gemini"):
            if secrets.get(f"{provider}_api_key") is not None:
                return provider
        raise ConfigError(
            "ERR_S2S_PROVIDER",
            "No provider of speech-to-speech is chosen, and no key of one is set.",
            "Set S2S_PROVIDER to openai or gemini, and OPENAI_API_KEY or GEMINI_API_KEY.",
        )
    if named in ("openai", "gemini"):
        return named
    if named == "openai-webrtc":
        raise ConfigError(
            "ERR_S2S_PROVIDER", "openai-webrtc is for browsers, which own their microphone.", "Choose openai."
        )
    raise ConfigError(
        "ERR_S2S_PROVIDER", f"There is no speech-to-speech provider {named!r}.", "Choose openai or gemini."
    )


def _unless_set(
    settings: OpenAISettings | GeminiSettings | None, name: str, environment: Mapping[str, str]
) -> str | None:
    """What the environment says of ``name``, unless the settings say something."""
    if settings is not None and name in settings.model_fields_set:
        return None
    return _read(environment, f"S2S_{name.upper()}")


def _own(settings: object, kind: type[object], provider: Provider) -> None:
    if settings is not None and not isinstance(settings, kind):
        raise ConfigError("ERR_S2S_SETTING", f"These are not settings of {provider}.", f"Use {kind.__name__}.")


def _detection(
    given: TurnDetection | _Default,
    settings: OpenAISettings | GeminiSettings | None,
    name: Literal["turn_detection", "activity_detection"],
    environment: Mapping[str, str],
) -> dict[str, object]:
    """The settings that change, by name: none where nobody says anything."""
    openai = name == "turn_detection"
    if given is not DEFAULT:
        if given is not None and isinstance(given, ActivityDetection) == openai:
            kinds = "ServerVad, SemanticVad" if openai else "ActivityDetection"
            raise ConfigError("ERR_S2S_SETTING", "This turn detection is another provider's.", f"Use {kinds} or None.")
        return {name: given}
    told = _read(environment, "S2S_TURN_DETECTION")
    if told is None or (settings is not None and name in settings.model_fields_set):
        return {}
    if told == "manual":
        return {name: None}
    if openai and told == "server_vad":
        return {name: ServerVad()}
    if openai and told == "semantic_vad":
        return {name: SemanticVad()}
    log.warning("setting ignored", setting="S2S_TURN_DETECTION", value=told)
    return {}
