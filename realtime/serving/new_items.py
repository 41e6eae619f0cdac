"""Items of a conversation as clients write them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from realtime.serving.settings import Wire

_Id = Annotated[str, Field(min_length=1, max_length=64)]
_Status = Literal["completed", "incomplete", "in_progress"]


class InputText(Wire):
    """Typed words."""

    type: Literal["input_text"]
    text: str


class InputAudio(Wire):
    """Spoken ones, as base64 in the input's format; ``transcript`` alone stands for sound that is gone."""

    type: Literal["input_audio"]
    audio: str | None = None
    transcript: str | None = None


class InputImage(Wire):
    """A picture, as ``data:`` or web address."""

    type: Literal["input_image"]
    image_url: str
    detail: Literal["auto", "low", "high"] | None = None


class OutputText(Wire):
    """Words of the assistant's; ``text`` is how clients of older versions call the kind."""

    type: Literal["output_text", "text"]
    text: str


class OutputAudio(Wire):
    """The same, spoken."""

    type: Literal["output_audio"]
    audio: str | None = None
    transcript: str = ""


UserPart = Annotated[InputText | InputAudio | InputImage, Field(discriminator="type")]
AssistantPart = Annotated[OutputText | OutputAudio, Field(discriminator="type")]


class _NewItem(Wire):
    id: _Id | None = None
    object: Literal["realtime.item"] | None = None
    status: _Status | None = None


class UserMessage(_NewItem):
    """What a user says."""

    type: Literal["message"]
    role: Literal["user"]
    content: Annotated[tuple[UserPart, ...], Field(min_length=1, max_length=50)]


class SystemMessage(_NewItem):
    """What is to be known."""

    type: Literal["message"]
    role: Literal["system"]
    content: Annotated[tuple[InputText, ...], Field(min_length=1, max_length=50)]


class AssistantMessage(_NewItem):
    """What was answered."""

    type: Literal["message"]
    role: Literal["assistant"]
    content: Annotated[tuple[AssistantPart, ...], Field(min_length=1, max_length=50)]


class NewCall(_NewItem):
    """A call of a tool, in a conversation that is taken up again."""

    type: Literal["function_call"]
    name: Annotated[str, Field(min_length=1, max_length=64)]
    arguments: str
    call_id: _Id | None = None


class NewOutput(_NewItem):
    """What a tool of the client's has given back."""

    type: Literal["function_call_output"]
    call_id: _Id
    output: str


NewMessage = Annotated[UserMessage | SystemMessage | AssistantMessage, Field(discriminator="role")]
NewItem = Annotated[NewMessage | NewCall | NewOutput, Field(discriminator="type")]
