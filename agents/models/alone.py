"""What the appliance says while the model it has cannot be used: what it knows by itself, and no more."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.abort import AbortToken
from agents.base.language import primary, translated
from agents.core.events import ModelResponseComplete, TextDelta
from agents.core.messages import Message, ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.intents import spoken_result
from agents.models.told import newest, news

MARK = "alone"
"""Key in ``Message.provider_options`` of the answers that were given alone."""

TOLD = "told"
"""Likewise of what was only passed on."""

_CAN = {
    "en": "By myself I can {skills}.",
    "de": "Allein kann ich {skills}.",
    "es": "Por mi cuenta puedo {skills}.",
    "fr": "Seul, je peux {skills}.",
    "it": "Da solo posso {skills}.",
    "pt": "Sozinho consigo {skills}.",
    "ja": "単体でできることは、{skills}です。",
}
_NEEDS_MODEL = {
    "en": ("That needs my language model.", "I can't answer that without my language model."),
    "de": ("Dafür brauche ich mein Sprachmodell.", "Ohne mein Sprachmodell kann ich das nicht beantworten."),
    "es": ("Para eso necesito mi modelo de lenguaje.", "Sin mi modelo de lenguaje no puedo responder a eso."),
    "fr": ("Pour cela, il me faut mon modèle de langage.", "Sans mon modèle de langage, je ne peux pas répondre."),
    "it": ("Per questo mi serve il mio modello linguistico.", "Senza il mio modello linguistico non posso rispondere."),
    "pt": ("Para isso preciso do meu modelo de linguagem.", "Sem o meu modelo de linguagem não posso responder."),
    "ja": ("それには言語モデルが必要です。", "言語モデルなしではお答えできません。"),
}


class AloneModel:
    """A model adapter that calls no model, for the time that the real one is in trouble.

    It tells what tools and events have brought, and otherwise that the question needs the model. The first time it also
    says what can be done without one.
    """

    @property
    def name(self) -> str:
        """``alone``."""
        return "alone"

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer in the language of the turn (English where it is not known)."""
        abort.check()
        if not asked(request):
            return await say(request, notify, known(request), TOLD)
        return await say(request, notify, [*known(request), *_excuse(request)], MARK)


async def say(request: PromptRequest, notify: Notify, sentences: Sequence[str], mark: str) -> ModelResult:
    """Answer ``request`` with ``sentences``; ``mark`` becomes a key of the message's ``provider_options``."""
    for index, sentence in enumerate(sentences):
        await notify(TextDelta(sentence if index == 0 else f" {sentence}", request.reply_id))
    text = " ".join(sentences)
    await notify(ModelResponseComplete(text, request.reply_id, (), "end_turn"))
    message = Message(sender="agent", id=request.reply_id, text=text, provider_options={mark: True})
    return ModelResult(messages=[message], stop_reason="end_turn")


def known(request: PromptRequest) -> list[str]:
    """Sentences about results and events that came since the last answer."""
    return [*_outcomes(request.messages, request.language or "en"), *news(request.messages)]


def asked(request: PromptRequest) -> bool:
    """Whether the newest thing asks for an answer, and is not a result or an event."""
    last = newest(request.messages)
    return last is None or not (last.tool_results or last.events)


def _outcomes(messages: Sequence[Message], language: str) -> list[str]:
    """Sentences for the tool results at the end; none if something was said since."""
    for message in reversed(messages):
        if message.tool_results:
            return list(filter(None, (spoken_result(result, language) for result in message.tool_results)))
        if message.framework_context not in ("event", "runtime"):
            break
    return []


def answered(request: PromptRequest, mark: str) -> int:
    """How many answers of the conversation carry ``mark``."""
    return sum(1 for message in request.messages if (message.provider_options or {}).get(mark))


def abilities(request: PromptRequest, language: str) -> str:
    """What the tools can do without a model, as one phrase; empty if there are none."""
    from agents.everyday.skills import enumerate_skills

    return enumerate_skills((tool.name for tool in request.tools if tool.sentences), language)


def _excuse(request: PromptRequest) -> list[str]:
    language = primary(request.language)
    earlier = answered(request, MARK)
    variants = translated(_NEEDS_MODEL, language)
    excuse = variants[earlier % len(variants)]
    can = "" if earlier else abilities(request, language)
    return [excuse, translated(_CAN, language).format(skills=can)] if can else [excuse]
