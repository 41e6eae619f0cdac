"""The items of an answer while they are made, and the events that tell of them."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from audio.pcm import Pcm
from realtime.serving.codec import AnyFormat, encoded, rate_hz
from realtime.serving.items import Item, Part, Speech

DELTA_MS = 200
"""Longest sound of one event."""


class Teller(Protocol):
    """Where the events of an answer go, and its items."""

    def tell(self, kind: str, **fields: Any) -> None:
        """Send an event of the answer."""
        ...

    def keep(self, item: Item) -> None:
        """``item`` has begun."""
        ...

    def kept(self, item: Item) -> None:
        """``item`` has ended."""
        ...


class MessageOutput:
    """What is said, as words alone or with its sound.

    Args:
        teller: of the answer.
        index: of the item in the answer.
        modality: ``audio`` or ``text``.
        sound: how the sound is sent.
        language: of the words.
    """

    def __init__(
        self, teller: Teller, index: int, modality: Literal["audio", "text"], sound: AnyFormat, language: str
    ) -> None:
        self._teller = teller
        self._spoken = modality == "audio"
        self._sound = sound
        self._part = Part("output_audio" if self._spoken else "output_text", "")
        self.item = Item("message", role="assistant", status="in_progress", language=language)
        self.speech = Speech(rate_hz(sound))
        if self._spoken:
            self.item.speech = self.speech
        self._place = {"item_id": self.item.id, "output_index": index}
        self._part_place = {**self._place, "content_index": 0}
        teller.tell("output_item.added", output_index=index, item=self.item.told())
        teller.keep(self.item)
        self.item.parts.append(self._part)
        teller.tell("content_part.added", **self._part_place, part=self._told_part())

    def write(self, text: str) -> None:
        """More words."""
        self._part.text = (self._part.text or "") + text
        kind = "output_audio_transcript.delta" if self._spoken else "output_text.delta"
        self._teller.tell(kind, **self._part_place, delta=text)

    def play(self, pcm: Pcm) -> None:
        """More sound."""
        step = self.speech.rate_hz * DELTA_MS // 1000
        for at in range(0, pcm.size, step):
            piece = pcm[at : at + step]
            self.speech.samples += piece.size
            self._teller.tell("output_audio.delta", **self._part_place, delta=encoded(piece, self._sound))

    def end(self, *, whole: bool) -> None:
        """It is complete, or cut."""
        tell, text = self._teller.tell, self._part.text or ""
        if whole:
            self.speech.tracker.finish()
        if self._spoken:
            tell("output_audio.done", **self._part_place)
            tell("output_audio_transcript.done", **self._part_place, transcript=text)
        else:
            tell("output_text.done", **self._part_place, text=text)
        tell("content_part.done", **self._part_place, part=self._told_part())
        self.item.status = "completed" if whole else "incomplete"
        tell("output_item.done", output_index=self._place["output_index"], item=self.item.told())
        self._teller.kept(self.item)
        if self._spoken and not whole:
            self._forget_unspoken()

    def _forget_unspoken(self) -> None:
        """Words that had no sound yet when the answer was cut were never said."""
        tracker, samples = self.speech.tracker, self.speech.samples
        self.item.heard = "complete" if tracker.complete(samples) else "interrupted"
        self._part.text = tracker.heard(samples)

    def _told_part(self) -> dict[str, Any]:
        if self._spoken:
            return {"type": "audio", "transcript": self._part.text}
        return {"type": "text", "text": self._part.text}


def tell_call(teller: Teller, index: int, item: Item) -> None:
    """Tell a whole call of a tool."""
    place = {"item_id": item.id, "output_index": index, "call_id": item.call_id}
    begun = {**item.told(), "status": "in_progress", "arguments": ""}
    teller.tell("output_item.added", output_index=index, item=begun)
    teller.keep(item)
    teller.tell("function_call_arguments.delta", **place, delta=item.arguments)
    teller.tell("function_call_arguments.done", **place, name=item.name, arguments=item.arguments)
    teller.tell("output_item.done", output_index=index, item=item.told())
    teller.kept(item)
