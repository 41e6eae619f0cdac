"""What the appliance says when no language model is connected: the truth, and how to change it."""

from __future__ import annotations

from agents.base.abort import AbortToken
from agents.base.language import primary, translated
from agents.core.messages import ModelResult
from agents.core.model import Notify, PromptRequest
from agents.models.alone import TOLD, abilities, answered, asked, known, say

_MARK = "honest"

_FULL = {
    "en": (
        "I can't answer that: no language model is connected.",
        "By myself I can {skills}.",
        "To connect a model, set ANTHROPIC_API_KEY, or the section model in glove.toml.",
    ),
    "de": (
        "Darauf kann ich nicht antworten: Es ist kein Sprachmodell verbunden.",
        "Allein kann ich {skills}.",
        "Um ein Modell zu verbinden, setze ANTHROPIC_API_KEY oder den Abschnitt model in glove.toml.",
    ),
    "es": (
        "No puedo responder a eso: no hay ningún modelo de lenguaje conectado.",
        "Por mi cuenta puedo {skills}.",
        "Para conectar un modelo, define ANTHROPIC_API_KEY o la sección model en glove.toml.",
    ),
    "fr": (
        "Je ne peux pas répondre à cela : aucun modèle de langage n'est connecté.",
        "Seul, je peux {skills}.",
        "Pour connecter un modèle, définissez ANTHROPIC_API_KEY ou la section model de glove.toml.",
    ),
    "it": (
        "Non posso rispondere: non è collegato alcun modello linguistico.",
        "Da solo posso {skills}.",
        "Per collegare un modello, imposta ANTHROPIC_API_KEY o la sezione model in glove.toml.",
    ),
    "pt": (
        "Não consigo responder a isso: nenhum modelo de linguagem está ligado.",
        "Sozinho consigo {skills}.",
        "Para ligar um modelo, defina ANTHROPIC_API_KEY ou a secção model em glove.toml.",
    ),
    "ja": (
        "言語モデルが接続されていないため、お答えできません。",
        "単体でできることは、{skills}です。",
        "モデルを接続するには、ANTHROPIC_API_KEY か glove.toml の model を設定してください。",
    ),
}
_SHORT = {
    "en": ("I can't answer that without a language model.", "That needs a language model, and none is connected."),
    "de": (
        "Das kann ich ohne Sprachmodell nicht beantworten.",
        "Dafür bräuchte ich ein Sprachmodell; es ist keines verbunden.",
    ),
    "es": ("No puedo responder a eso sin un modelo de lenguaje.", "Para eso necesito un modelo de lenguaje."),
    "fr": ("Je ne peux pas répondre sans modèle de langage.", "Pour cela, il me faudrait un modèle de langage."),
    "it": ("Non posso rispondere senza un modello linguistico.", "Per questo mi serve un modello linguistico."),
    "pt": ("Não consigo responder sem um modelo de linguagem.", "Para isso preciso de um modelo de linguagem."),
    "ja": ("言語モデルがないため、お答えできません。", "それには言語モデルが必要です。"),
}


class HonestModel:
    """A model adapter that calls no model.

    The first answer of a conversation says why, what the tools with sentences can do without a model, and how to
    connect one; later answers are one short sentence, not always the same. Results of tools and events from outside are
    told in their own words.
    """

    @property
    def name(self) -> str:
        """``none``."""
        return "none"

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """Answer with an honest sentence in the language of the turn (English where it is not known)."""
        abort.check()
        if not asked(request):
            return await say(request, notify, known(request), TOLD)
        return await say(request, notify, [*known(request), *_sentences(request)], _MARK)


def _sentences(request: PromptRequest) -> list[str]:
    language = primary(request.language)
    earlier = answered(request, _MARK)
    if earlier:
        variants = translated(_SHORT, language)
        return [variants[(earlier - 1) % len(variants)]]
    why, alone, connect = translated(_FULL, language)
    can = abilities(request, language)
    return [why, *([alone.format(skills=can)] if can else []), connect]
