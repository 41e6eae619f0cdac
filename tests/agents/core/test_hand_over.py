"""A tool hands its question over to whoever sees to the display, and goes on with the answer."""

from __future__ import annotations

from typing import Any

import pytest

from agents.core.display import DisplayManager, SlotPushed
from agents.core.events import ToolUseResult
from agents.core.glove import Glove
from agents.core.tool import ToolContext
from agents.models.scripted import Call, ScriptedModel
from tests.agents.core.scene import Ear, tool


@pytest.mark.parametrize(
    ("payload", "renderer"),
    [
        ({"renderer": "confirm_action", "title": "Sure?"}, "confirm_action"),
        ({"title": "Sure?"}, "generic"),
        ({"renderer": "", "title": "Sure?"}, "generic"),
        ({"renderer": 7}, "generic"),
        ("Sure?", "generic"),
        (None, "generic"),
    ],
)
async def test_the_payload_says_what_shows_it(payload: Any, renderer: str) -> None:
    async def ask(_: Any, context: ToolContext) -> Any:
        return await context.hand_over(payload)

    display, ear, shown = DisplayManager(), Ear(), []

    def answer(event: SlotPushed) -> None:
        shown.append((event.slot.renderer, event.slot.input, event.slot.blocking))
        display.resolve(event.slot.id, "yes")

    display.events.on(SlotPushed, answer)
    glove = Glove(model=ScriptedModel([[Call("ask")], "Fine."]), display=display).fold(tool("ask", ask))
    await glove.add_subscriber(ear).build().process_request("go")
    assert shown == [(renderer, payload, True)]
    assert ear.of(ToolUseResult)[0].result.data == "yes"
