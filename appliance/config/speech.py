"""Who hears, speaks and thinks, and how turns are taken."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from appliance.config.values import LANGUAGE_TAG, Ms, Section, address, wyoming_has_url


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
        if value != "auto" and not LANGUAGE_TAG.fullmatch(value):
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

    _is_address = field_validator("url")(address)
    _has_url = model_validator(mode="after")(wyoming_has_url)


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

    _is_address = field_validator("url")(address)
    _has_url = model_validator(mode="after")(wyoming_has_url)


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
        return address(value)


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
