"""Sentences answer first, and only what they understand entirely; everything else reaches the model untouched."""

from __future__ import annotations

import gc
import time
from typing import Any

import pytest
from pydantic import BaseModel

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import ConfigError
from agents.core.events import AgentEvent, ModelResponseComplete, TextDelta, ToolUse
from agents.core.glove import Glove
from agents.core.messages import ContentPart, Message, ModelResult, ToolResult, ToolResultData
from agents.core.model import PromptRequest, Sentences
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.everyday import everyday_tools
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook
from agents.models.intents import IntentFirst
from agents.models.matcher import SentenceMatcher
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore


class LampArgs(BaseModel):
    room: str
    percent: int = 100


async def _lamp(args: LampArgs, ctx: ToolContext) -> ToolResultData:
    return ToolResultData(data=args.model_dump(), speech=f"{args.room}: {args.percent}")


async def _noop(args: NoArgs, ctx: ToolContext) -> ToolResultData:
    return ToolResultData(speech="Stopped.")


LAMP = Tool(
    "lamp",
    "Switch a lamp.",
    _lamp,
    LampArgs,
    sentences=(
        Sentences("en", ("turn on the {room} (light|lamp)",), {"room": ("kitchen", "living room")}),
        Sentences("en", ("dim the {room} light to {percent} percent",), {"room": ("kitchen",), "percent": (0, 100)}),
        Sentences("de", ("mach das licht (im|in der) {room} an",), {"room": ("Küche", "Wohnzimmer")}),
    ),
)
HALT = Tool("halt", "Stop.", _noop, NoArgs, sentences=(Sentences("en", ("stop",)), Sentences("de", ("stopp",))))


def _understood(text: str, tools: list[Tool[Any]], language: str) -> bool:
    model = IntentFirst(ScriptedModel())
    model.warm(tools)
    return model.complete(text, language)


class Listener:
    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    async def __call__(self, event: AgentEvent) -> None:
        self.events.append(event)

    record = __call__


async def _prompt(
    model: IntentFirst, message: Message, tools: tuple[Tool[Any], ...] = (LAMP, HALT), language: str | None = "en"
) -> tuple[ModelResult, list[AgentEvent]]:
    listener = Listener()
    request = PromptRequest("", [message], [tool.spec() for tool in tools], "reply_1", language)
    return await model.prompt(request, listener, AbortToken()), listener.events


async def test_a_known_sentence_becomes_a_tool_call_without_the_model() -> None:
    model = IntentFirst(ScriptedModel())
    result, events = await _prompt(model, Message(sender="user", text="Turn on the living room light, please."))
    (message,) = result.messages
    (call,) = message.tool_calls or ()
    assert (call.tool_name, call.input_args) == ("lamp", {"room": "living room"})
    assert (call.id or "").startswith("intent_")
    assert (message.id, result.stop_reason) == ("reply_1", "tool_use")
    assert [type(event) for event in events] == [ToolUse, ModelResponseComplete]


async def test_two_sentences_are_two_calls_only_if_both_are_known() -> None:
    model = IntentFirst(ScriptedModel(["A model answers."]))
    result, _ = await _prompt(model, Message(sender="user", text="Stop. Turn on the kitchen light."))
    assert [call.tool_name for call in result.messages[0].tool_calls or ()] == ["halt", "lamp"]
    result, _ = await _prompt(model, Message(sender="user", text="Stop. What do you think of lights?"))
    assert result.messages[0].text == "A model answers."


async def test_other_speech_reaches_the_model_untouched() -> None:
    inner = ScriptedModel(["Hi."])
    text = "I wonder whether to turn on the kitchen light"
    await _prompt(IntentFirst(inner), Message(sender="user", text=text))
    assert inner.requests[0].messages[0].text == text
    assert inner.requests[0].reply_id == "reply_1"


@pytest.mark.parametrize(
    "message",
    [
        Message(sender="user", text="stop", framework_context="event"),
        Message(sender="user", text="stop", is_compaction_request=True),
        Message(sender="user", text="stop", content=[ContentPart(type="image")]),
        Message(sender="agent", text="stop"),
    ],
    ids=["event", "compaction", "picture", "agent"],
)
async def test_what_a_user_did_not_simply_say_is_not_matched(message: Message) -> None:
    inner = ScriptedModel(["model"])
    result, _ = await _prompt(IntentFirst(inner), message)
    assert result.messages[0].text == "model"


async def test_results_are_spoken_in_the_tools_own_words() -> None:
    results = [
        ToolResult(tool_name="halt", call_id="intent_1", result=ToolResultData(speech="Stopped.")),
        ToolResult(
            tool_name="lamp", call_id="intent_2", result=ToolResultData(status="error", message="No such room.")
        ),
    ]
    result, events = await _prompt(IntentFirst(ScriptedModel()), Message(sender="user", tool_results=results))
    assert result.messages[0].text == "Stopped. No such room."
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Stopped. No such room."
    assert isinstance(events[-1], ModelResponseComplete)
    assert events[-1].reply_id == "reply_1"


@pytest.mark.parametrize(
    ("data", "spoken"),
    [
        (ToolResultData(status="error", message="TOOL_INPUT_INVALID"), "Das hat leider nicht geklappt."),
        (ToolResultData(status="error", message="KeyError: 'x' (after 3 retries)"), "Das hat leider nicht geklappt."),
        (ToolResultData(status="aborted"), "Gut, ich habe es gelassen."),
        (ToolResultData(data="Zwölf Grad."), "Zwölf Grad."),
        (ToolResultData(data={"a": 1}), "Erledigt."),
    ],
)
async def test_results_without_speech_get_a_plain_sentence(data: ToolResultData, spoken: str) -> None:
    message = Message(sender="user", tool_results=[ToolResult(tool_name="x", call_id="intent_1", result=data)])
    result, _ = await _prompt(IntentFirst(ScriptedModel()), message, language="de")
    assert result.messages[0].text == spoken


async def test_results_of_the_models_own_calls_go_back_to_the_model() -> None:
    results = [
        ToolResult(tool_name="halt", call_id=call_id, result=ToolResultData(speech="Stopped."))
        for call_id in ("intent_1", "toolu_2")
    ]
    result, _ = await _prompt(IntentFirst(ScriptedModel(["mine"])), Message(sender="user", tool_results=results))
    assert result.messages[0].text == "mine"


async def test_language_of_the_turn_first_then_the_others() -> None:
    for language in ("de", "en", None):
        message = Message(sender="user", text="Mach das Licht in der Küche an.")
        result, _ = await _prompt(IntentFirst(ScriptedModel()), message, language=language)
        (call,) = result.messages[0].tool_calls or ()
        assert call.input_args == {"room": "Küche"}
        assert call.provider_options == {"language": "de"}


async def test_numbers_outside_their_range_do_not_match() -> None:
    assert _understood("Dim the kitchen light to thirty percent.", [LAMP], "en")
    assert _understood("Dim the kitchen light to 30%.", [LAMP], "en")
    assert not _understood("Dim the kitchen light to 300 percent.", [LAMP], "en")
    assert not _understood("Dim the kitchen light to thirty", [LAMP], "en")


async def test_an_aborted_turn_is_not_answered() -> None:
    abort = AbortToken()
    abort.abort()
    with pytest.raises(Aborted):
        await IntentFirst(ScriptedModel()).prompt(
            PromptRequest("", [Message(sender="user", text="stop")]), Listener(), abort
        )


async def test_complete_speaks_of_the_tools_last_offered() -> None:
    model = IntentFirst(ScriptedModel())
    assert not model.complete("stop", "en")
    model.warm([LAMP, HALT])
    assert model.complete("Stop.", "en")
    assert model.complete("Turn on the kitchen light", None)
    assert not model.complete("Turn on the", "en")


def test_a_known_sentence_tells_its_language() -> None:
    model = IntentFirst(ScriptedModel())
    assert model.language_of("Stopp!", "en") is None, "no tool is known yet"
    model.warm([LAMP, HALT])
    assert model.language_of("Stopp!", "en") == "de"
    assert model.language_of("Turn on the kitchen light", "de") == "en"
    assert model.language_of("Guten Appetit", "en") is None


def test_a_new_set_of_tools_is_compiled_anew() -> None:
    for index in range(12):
        tool = Tool("t", "", _noop, NoArgs, sentences=(Sentences("en", (f"say word{index}x",)),))
        assert _understood(f"say word{index}x", [tool], "en")
        assert not _understood(f"say word{index - 1}x", [tool], "en")
        del tool
        gc.collect()


@pytest.mark.parametrize(
    "sentences",
    [
        Sentences("en", ("turn on the {lamp}",)),
        Sentences("en", ("turn (on the lamp",)),
        Sentences("en", ("turn on {lamp}",), {"lamp": {"unknown": True}}),
    ],
    ids=["missing list", "bracket", "strange list"],
)
def test_a_broken_template_names_its_tool(sentences: Sentences) -> None:
    with pytest.raises(ConfigError, match="broken"):
        SentenceMatcher([Tool("broken", "", _noop, NoArgs, sentences=(sentences,)).spec()])


async def test_long_text_is_never_matched_and_costs_nothing() -> None:
    model = IntentFirst(ScriptedModel(["long"]))
    started = time.process_time()
    result, _ = await _prompt(model, Message(sender="user", text="stop " * 20_000))
    assert result.messages[0].text == "long"
    assert time.process_time() - started < 0.05


def test_a_miss_costs_milliseconds() -> None:
    book = EverydayBook()
    tools = [tool.spec() for tool in everyday_tools(book, TimerBook(book))]
    matcher = SentenceMatcher(tools)
    texts = [
        "I think we should set a timer for the meeting because people talk too long.",
        "Tell me a story about a timer that runs for five minutes.",
        "What is the capital of France?",
        "Add a little more salt to the soup and stir it for a while, then taste it.",
    ]
    for text in texts:
        assert not matcher.match(text, "en")
    started = time.process_time()
    for _ in range(5):
        for text in texts:
            matcher.match(text, "en")
    # About 2 ms each where nothing else runs; the margin is for busy machines.
    assert (time.process_time() - started) / (5 * len(texts)) < 0.010


async def test_a_whole_turn_needs_no_model() -> None:
    listener = Listener()
    agent = Glove(model=IntentFirst(ScriptedModel()), store=MemoryStore("talk"))
    agent.fold(LAMP).fold(HALT).add_subscriber(listener).build()
    reply = await agent.process_request("Turn on the kitchen light.", language="en")
    assert reply.text == "kitchen: 100"
    history = await agent.store.get_messages()
    assert [message.sender for message in history] == ["user", "agent", "user", "agent"]
    assert [event.type for event in listener.events if not isinstance(event, TextDelta)][:2] == [
        "tool_use",
        "model_response_complete",
    ]


async def test_everyday_tools_answer_through_an_agent() -> None:
    book = EverydayBook()
    timers = TimerBook(book)
    agent = Glove(model=IntentFirst(ScriptedModel()), store=MemoryStore("talk"))
    for tool in everyday_tools(book, timers):
        agent.fold(tool)
    agent.build()
    assert (await agent.process_request("What's 17 + 25?", language="en")).text == "That is 42."
    assert (await agent.process_request("Sag das bitte noch mal.", language="de")).text == "That is 42."
    assert (await agent.process_request("Setz Milch auf die Einkaufsliste.", language="de")).text.startswith("Milch")
    assert (await agent.process_request("What's on my shopping list?", language="en")).text == (
        "On the shopping list is Milch."
    )


def test_restricted_free_text_must_fit_entirely() -> None:
    year = {"year": {"wildcard": True, "pattern": r"^\d{4}$"}}
    tool = Tool("history", "", _noop, NoArgs, sentences=(Sentences("en", ("what happened in {year}",), year),))
    assert _understood("What happened in 1969?", [tool], "en")
    assert not _understood("What happened in Rome?", [tool], "en")
    assert not _understood("What happened in 1969 in Rome?", [tool], "en")
