"""Items of the conversation from what clients write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.resample import resample
from realtime.serving import new_items
from realtime.serving.codec import AnyFormat, decoded, rate_hz
from realtime.serving.items import Item, Part, new_id
from realtime.serving.limits import Limits
from realtime.serving.refusal import Refusal

AnyNewItem = (
    new_items.UserMessage
    | new_items.SystemMessage
    | new_items.AssistantMessage
    | new_items.NewCall
    | new_items.NewOutput
)


@dataclass(frozen=True)
class Made:
    """An item, and the parts of it whose words are still in sound of 16 kHz."""

    item: Item
    sounds: Sequence[tuple[Part, Pcm]] = ()


def made_item(new: AnyNewItem, sound: AnyFormat, limits: Limits) -> Made:
    """The item that ``new`` describes; ``sound`` is the format of its sound. Raises ``Refusal``."""
    item_id = new.id or new_id("item")
    made = Made(Item("message", id=item_id))
    match new:
        case new_items.NewCall():
            call_id = new.call_id or new_id("call")
            item = Item("function_call", id=item_id, call_id=call_id, name=new.name, arguments=new.arguments)
            made = Made(item)
        case new_items.NewOutput():
            made = Made(Item("function_call_output", id=item_id, call_id=new.call_id, output=new.output))
        case _:
            made = _message(new, item_id, sound)
    item = made.item
    length = len(item.arguments) + len(item.output) + sum(len(part.text or "") for part in item.parts if _counts(part))
    if length > limits.text_chars:
        raise Refusal("string_above_max_length", f"An item has more than {limits.text_chars} characters.", param="item")
    return made


def _counts(part: Part) -> bool:
    return part.kind != "input_image"


def _message(
    new: new_items.UserMessage | new_items.SystemMessage | new_items.AssistantMessage, item_id: str, sound: AnyFormat
) -> Made:
    item = Item("message", id=item_id, role=new.role)
    sounds: list[tuple[Part, Pcm]] = []
    for index, given in enumerate(new.content):
        match given:
            case new_items.InputText():
                item.parts.append(Part("input_text", given.text))
            case new_items.InputImage():
                item.parts.append(Part("input_image", given.image_url))
            case new_items.OutputText():
                item.parts.append(Part("output_text", given.text))
            case new_items.OutputAudio():
                item.parts.append(Part("output_audio", given.transcript))
            case new_items.InputAudio():
                part = Part("input_audio", given.transcript)
                item.parts.append(part)
                if given.audio and not given.transcript:
                    pcm = decoded(given.audio, sound, f"item.content.{index}.audio")
                    sounds.append((part, resample(pcm, rate_hz(sound), CAPTURE_RATE_HZ)))
    if sounds:
        item.known.clear()
    return Made(item, sounds)
