"""The typed configuration: what can be set, with defaults that work without any key and without a network.

``appliance.config.file`` finds, reads and merges the sources; this module only says what is valid.
"""

from __future__ import annotations

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from appliance.config.keeping import (
    ConversationConfig,
    LogConfig,
    MetricsConfig,
    SimulatedConfig,
    SkillsConfig,
    StoreConfig,
    WeightsConfig,
)
from appliance.config.places import (
    DeviceConfig,
    LiveKitConfig,
    PageConfig,
    RoomsConfig,
    ServeConfig,
    WakeConfig,
    WebConfig,
    WyomingConfig,
)
from appliance.config.speech import (
    EngineConfig,
    ModelConfig,
    S2sConfig,
    SpeechConfig,
    SttConfig,
    TtsConfig,
    TurnsConfig,
)
from appliance.config.values import Section


class GloveConfig(BaseSettings):
    """The whole configuration. ``GloveConfig()`` is the embedded defaults; it reads no file and no environment."""

    model_config = SettingsConfigDict(
        env_prefix="GLOVE_", env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
    )

    speech: SpeechConfig = SpeechConfig()
    stt: SttConfig = SttConfig()
    tts: TtsConfig = TtsConfig()
    engine: EngineConfig = EngineConfig()
    s2s: S2sConfig = S2sConfig()
    turns: TurnsConfig = TurnsConfig()
    model: ModelConfig = ModelConfig()
    device: DeviceConfig = DeviceConfig()
    wake: WakeConfig = WakeConfig()
    page: PageConfig = PageConfig()
    rooms: RoomsConfig = RoomsConfig()
    web: WebConfig = WebConfig()
    wyoming: WyomingConfig = WyomingConfig()
    serve: ServeConfig = ServeConfig()
    livekit: LiveKitConfig = LiveKitConfig()
    conversation: ConversationConfig = ConversationConfig()
    store: StoreConfig = StoreConfig()
    skills: SkillsConfig = SkillsConfig()
    weights: WeightsConfig = WeightsConfig()
    simulated: SimulatedConfig = SimulatedConfig()
    log: LogConfig = LogConfig()
    metrics: MetricsConfig = MetricsConfig()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take constructor arguments only: the loader merges the sources itself to know where each value came from."""
        return (init_settings,)


def known_keys() -> dict[str, str]:
    """Every key, ``section.key``, with its description."""
    keys: dict[str, str] = {}
    for section, field in GloveConfig.model_fields.items():
        model = field.annotation
        assert isinstance(model, type) and issubclass(model, Section)
        for name, inner in model.model_fields.items():
            keys[f"{section}.{name}"] = inner.description or ""
    return keys
