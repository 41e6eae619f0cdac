"""What a Wyoming service says of itself when it is asked."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from wyoming.info import Describe, Info

from audio.providers.socket import ConnectionEnded
from audio.providers.wyoming.link import Address, DialWyoming, Link, dial_wyoming
from audio.providers.wyoming.wire import parsed

DESCRIBE_S = 3.0
"""How long a service may think about what it is, in seconds."""

_MOST_NOISE = 1_000


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore")

    @field_validator("*", mode="before")
    @classmethod
    def _null_is_nothing(cls, value: Any, info: Any) -> Any:
        """Services of all ages leave fields away or write null."""
        return cls.model_fields[info.field_name].get_default(call_default_factory=True) if value is None else value


class Model(_Told):
    """A model, voice or wake word: its ``name`` and the ``languages`` (BCP-47) and ``phrase`` it knows, if said."""

    name: str = ""
    languages: list[str] = Field(default_factory=list[str])
    phrase: str = ""


class Program(_Told):
    """A program behind a service."""

    name: str = ""
    models: list[Model] = Field(default_factory=list[Model])
    voices: list[Model] = Field(default_factory=list[Model])
    supports_transcript_streaming: bool = False
    supports_synthesize_streaming: bool = False


class Offer(_Told):
    """What can be had from one address: recognisers, voices, wake words."""

    asr: list[Program] = Field(default_factory=list[Program])
    tts: list[Program] = Field(default_factory=list[Program])
    wake: list[Program] = Field(default_factory=list[Program])

    @property
    def streams_transcripts(self) -> bool:
        """Whether the recogniser, the first one, says what it hears while it hears it."""
        return bool(self.asr) and self.asr[0].supports_transcript_streaming

    @property
    def streams_speech(self) -> bool:
        """Whether the voice, the first one, speaks text that is not complete."""
        return bool(self.tts) and self.tts[0].supports_synthesize_streaming

    def wake_word(self, wanted: str) -> Model | None:
        """The wake word named ``wanted``, with or without a version, spaces or underscores."""
        models = [model for program in self.wake for model in program.models]
        plain = _plain(wanted)
        exact = next((model for model in models if _plain(model.name) == plain), None)
        return exact or next((model for model in models if _plain(model.name).startswith(f"{plain} v")), None)


async def described(link: Link) -> Offer:
    """Ask the service at the other end of ``link``. Raises ``ConnectionEnded``, also where it does not say."""
    try:
        async with asyncio.timeout(DESCRIBE_S):
            await link.send(Describe().event())
            for _ in range(_MOST_NOISE):
                event = await link.receive()
                if Info.is_type(event.type):
                    return parsed(Offer, event)
    except TimeoutError:
        raise ConnectionEnded(reason="it does not say what it is") from None
    raise ConnectionEnded(reason="it talks, and does not say what it is")


async def ask_offer(address: Address, dial: DialWyoming = dial_wyoming) -> Offer:
    """Ask the service at ``address``. Raises ``ConnectionRefused`` and ``ConnectionEnded``."""
    link = await dial(address)
    try:
        return await described(link)
    finally:
        await link.close()


def _plain(name: str) -> str:
    return name.lower().replace("_", " ").strip()
