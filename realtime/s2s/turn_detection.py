"""Who finds out when the user begins and ends to speak: settings of each provider's own detection.

None in the place of one of them means that the host marks the turns.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

_Ms = Annotated[int, Field(ge=0, le=60_000)]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerVad(_Settings):
    """OpenAI: by the energy of the sound.

    Attributes:
        threshold: how loud is speech, 0…1.
        prefix_padding_ms: sound before the speech that belongs to it.
        silence_duration_ms: silence that ends a turn.
        idle_timeout_ms: silence after which the model speaks of itself; None for never.
        create_response: whether the model answers each turn.
        interrupt_response: whether speech of the user ends an answer.
    """

    type: Literal["server_vad"] = "server_vad"
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    prefix_padding_ms: _Ms = 300
    silence_duration_ms: _Ms = 500
    idle_timeout_ms: Annotated[int, Field(ge=5000, le=30_000)] | None = None
    create_response: bool = True
    interrupt_response: bool = True


class SemanticVad(_Settings):
    """OpenAI: by what is said, as ``ServerVad`` else; ``eagerness`` is how soon the model takes a pause for the end."""

    type: Literal["semantic_vad"] = "semantic_vad"
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    create_response: bool = True
    interrupt_response: bool = True


class ActivityDetection(_Settings):
    """Gemini: automatic activity detection; what is None is left to the provider.

    Attributes:
        start_sensitivity: how easily sound is taken for speech.
        end_sensitivity: how easily a pause is taken for the end.
        prefix_padding_ms: speech that it takes to begin a turn.
        silence_duration_ms: silence that ends a turn.
        interrupts: whether speech of the user ends an answer.
        turn_includes_all_input: whether a turn has the silence around it.
    """

    start_sensitivity: Literal["high", "low"] | None = None
    end_sensitivity: Literal["high", "low"] | None = None
    prefix_padding_ms: _Ms | None = None
    silence_duration_ms: _Ms | None = None
    interrupts: bool = True
    turn_includes_all_input: bool | None = None


OpenAITurnDetection = Annotated[ServerVad | SemanticVad, Field(discriminator="type")]
"""What OpenAI can do by itself."""
