"""Sentences before models: what a tool understands by itself needs no language model."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from agents.base.abort import AbortToken
from agents.base.clock import infer
from agents.base.language import translated
from agents.core.events import ModelResponseComplete, TextDelta, ToolUse
from agents.core.messages import Message, ModelResult, ToolCall, ToolResult
from agents.core.model import ModelAdapter, Notify, PromptRequest, ToolSpec
from agents.core.tool import Tool
from agents.models.matcher import LONGEST_CHARS, Match, SentenceMatcher
from agents.models.told import newest, news

PREFIX = "intent_"
"""Ids of tool calls that came from a sentence begin with this."""

_OR_MODEL = f"{PREFIX}or_model_"
"""Beginning of the ids of those whose failure the model answers."""

_COMPILE_COST_S = 0.1
_SPOKEN_MESSAGE_CHARS = 200
_FALLBACKS = {
    "en": {"success": "Done.", "error": "Sorry, that did not work.", "aborted": "Okay, I left it."},
    "de": {"success": "Erledigt.", "error": "Das hat leider nicht geklappt.", "aborted": "Gut, ich habe es gelassen."},
    "fr": {"success": "C'est fait.", "error": "Désolé, cela n'a pas marché.", "aborted": "D'accord, j'arrête."},
    "es": {"success": "Hecho.", "error": "Lo siento, no ha funcionado.", "aborted": "De acuerdo, lo dejo."},
    "it": {"success": "Fatto.", "error": "Mi dispiace, non ha funzionato.", "aborted": "Va bene, lascio stare."},
    "pt": {"success": "Feito.", "error": "Desculpe, não funcionou.", "aborted": "Está bem, deixei."},
    "ja": {
        "success": "できました。",
        "error": "すみません、うまくいきませんでした。",
        "aborted": "わかりました、やめました。",
    },
}


class _Compiled:
    """The matchers of the last few tool sets; a tool set is known by the identity of its sentences."""

    def __init__(self, size: int = 8) -> None:
        self._size = size
        self._matchers: OrderedDict[tuple[object, ...], tuple[SentenceMatcher, list[ToolSpec]]] = OrderedDict()

    @staticmethod
    def _key(tools: Sequence[ToolSpec]) -> tuple[object, ...]:
        return tuple((tool.name, *map(id, tool.sentences)) for tool in tools if tool.sentences)

    def known(self, tools: Sequence[ToolSpec]) -> bool:
        """Whether nothing needs compiling."""
        return self._key(tools) in self._matchers

    def get(self, tools: Sequence[ToolSpec]) -> SentenceMatcher:
        """The matcher of ``tools``, compiled on first use (about 0.1 s for sixty tools' worth of sentences)."""
        key = self._key(tools)
        if key not in self._matchers:
            # The specs are kept with the matcher: an id is only unique while its object lives.
            self._matchers[key] = (SentenceMatcher(tools), list(tools))
            while len(self._matchers) > self._size:
                self._matchers.popitem(last=False)
        self._matchers.move_to_end(key)
        return self._matchers[key][0]


_shared = _Compiled()


def _specs(tools: Iterable[ToolSpec | Tool[Any]]) -> list[ToolSpec]:
    return [tool.spec() if isinstance(tool, Tool) else tool for tool in tools]


class IntentFirst:
    """A model adapter that answers known sentences itself and hands everything else to ``inner``, untouched.

    A fresh user message that consists of known sentences becomes tool calls (ids prefixed ``intent_``); their results
    are answered in the tools' own words, followed by the events that were told with the message. Neither costs a model
    call, unless a tool cannot help and its sentences hand over to ``inner``.

    Args:
        inner: the model in force.
    """

    def __init__(self, inner: ModelAdapter) -> None:
        self._inner = inner
        self._tools: list[ToolSpec] = []

    @property
    def name(self) -> str:
        """``intents+`` and the name of the model in force."""
        return f"intents+{self._inner.name}"

    @property
    def inner(self) -> ModelAdapter:
        """The model in force."""
        return self._inner

    def warm(self, tools: Iterable[ToolSpec | Tool[Any]]) -> None:
        """Compile the sentences of ``tools`` ahead of the first turn. Blocks; call it off the loop.

        Raises:
            ConfigError: ``ERR_SENTENCES`` for a malformed template.
        """
        self._tools = _specs(tools)
        _shared.get(self._tools)

    def complete(self, text: str, language: str | None = None) -> bool:
        """Whether ``text`` is already a complete command for the tools of the last turn (or of ``warm``)."""
        return bool(self._tools) and bool(_shared.get(self._tools).match(text, language))

    def language_of(self, text: str, language: str | None = None) -> str | None:
        """The language of the sentences that understand ``text``, ``language`` first; None if none do."""
        matches = _shared.get(self._tools).match(text, language) if self._tools else []
        return matches[0].language if matches else None

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer ``request`` from sentences, or let ``inner`` do it. Raises what ``inner`` raises, and ``Aborted``."""
        abort.check()
        last = newest(request.messages)
        if last is not None and last.sender == "user":
            if last.tool_results:
                if not any(map(_handed_over, last.tool_results)) and all(map(_from_sentence, last.tool_results)):
                    return await self._speak(last.tool_results, request, notify)
            elif _is_plain_turn(last):
                matches = await self._match(last.text, request)
                abort.check()
                if matches:
                    return await self._call(matches, request, notify)
        return await self._inner.prompt(request, notify, abort)

    async def _match(self, text: str, request: PromptRequest) -> list[Match]:
        tools = list(request.tools)
        self._tools = tools
        if len(text) > LONGEST_CHARS or not any(tool.sentences for tool in tools):
            return []
        if not _shared.known(tools):
            await infer(lambda: _shared.get(tools), cost_s=_COMPILE_COST_S)
        return _shared.get(tools).match(text, request.language)

    async def _call(self, matches: list[Match], request: PromptRequest, notify: Notify) -> ModelResult:
        calls = [
            ToolCall(
                tool_name=match.tool,
                input_args=match.arguments,
                id=f"{_OR_MODEL if match.hands_over else PREFIX}{uuid.uuid4().hex[:12]}",
                provider_options={"language": match.language},
            )
            for match in matches
        ]
        for call in calls:
            await notify(ToolUse(call.id or "", call.tool_name, call.input_args))
        await notify(ModelResponseComplete("", request.reply_id, tuple(calls), "tool_use"))
        message = Message(sender="agent", id=request.reply_id, tool_calls=calls)
        return ModelResult(messages=[message], stop_reason="tool_use")

    async def _speak(self, results: list[ToolResult], request: PromptRequest, notify: Notify) -> ModelResult:
        sentences = [spoken_result(result, request.language or "en") for result in results]
        sentences += news(request.messages)
        text = " ".join(filter(None, dict.fromkeys(sentences)))
        for index, sentence in enumerate(filter(None, dict.fromkeys(sentences))):
            await notify(TextDelta(sentence if index == 0 else f" {sentence}", request.reply_id))
        await notify(ModelResponseComplete(text, request.reply_id, (), "end_turn"))
        return ModelResult(messages=[Message(sender="agent", id=request.reply_id, text=text)], stop_reason="end_turn")


def _from_sentence(result: ToolResult) -> bool:
    return (result.call_id or "").startswith(PREFIX)


def _handed_over(result: ToolResult) -> bool:
    return (result.call_id or "").startswith(_OR_MODEL) and result.result.status == "error"


def _is_plain_turn(message: Message) -> bool:
    """Whether a message is simply what a user said: no pictures, no notices from inside."""
    if message.framework_context is not None or message.is_compaction_request or message.is_skill_injection:
        return False
    return all(part.type == "text" for part in message.content or ())


def spoken_result(result: ToolResult, language: str) -> str:
    """The sentence a tool result is answered with: its own speech, a short message, or a plain phrase."""
    data = result.result
    if data.speech is not None:
        return data.speech
    if data.message and _can_be_said(data.message):
        return data.message
    if data.status == "success" and isinstance(data.data, str) and 0 < len(data.data) <= _SPOKEN_MESSAGE_CHARS:
        return data.data
    return translated(_FALLBACKS, language)[data.status]


def _can_be_said(message: str) -> bool:
    """Whether a message is a sentence for people: short, one line, and no code like ``TOOL_INPUT_INVALID``."""
    return len(message) <= _SPOKEN_MESSAGE_CHARS and "\n" not in message and " " in message and "(after " not in message
