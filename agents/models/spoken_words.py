"""Words that carry no meaning for a command, contractions, and how each language says signs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """The words of a language that carry no meaning for a command, and how it says signs.

    Attributes:
        leading: polite openings, longest match first.
        trailing: polite endings.
        courtesies: endings dropped only after a comma, where they cannot belong to what was said before.
        anywhere: hesitations.
        rewrites: contractions and spellings → plain words; applied to sentence templates too.
        signs: written sign → word.
        decimal_comma: whether "3,5" is a decimal and "1.000" a thousand.
    """

    leading: tuple[str, ...] = ()
    trailing: tuple[str, ...] = ()
    courtesies: tuple[str, ...] = ()
    anywhere: frozenset[str] = frozenset()
    rewrites: dict[str, str] = field(default_factory=dict[str, str])
    signs: dict[str, str] = field(default_factory=dict[str, str])
    decimal_comma: bool = True


_HESITATIONS = frozenset({"uh", "hmm", "hm", "mm", "mhm", "ah"})


def _signs(times: str, divided: str, percent: str, degrees: str) -> dict[str, str]:
    multiplied = dict.fromkeys("×*x", times)
    return {
        "+": "plus",
        "-": "minus",
        "−": "minus",
        "/": divided,
        "÷": divided,
        "%": percent,
        "°": degrees,
        **multiplied,
    }


LANGUAGES: dict[str, Words] = {
    "en": Words(
        leading=(
            "hey",
            "hi",
            "hello",
            "ok",
            "okay",
            "so",
            "well",
            "oh",
            "now",
            "and",
            "please",
            "alright",
            "yes",
            "yeah",
            "can you",
            "could you",
            "would you",
            "will you",
            "can you please",
            "could you please",
            "would you please",
            "would you mind",
            "i would like you to",
            "i want you to",
            "i need you to",
            "go ahead and",
            "just",
            "tell me",
            "do you know",
            "can you tell me",
            "could you tell me",
            "i would like to know",
            "i want to know",
        ),
        trailing=("please", "for me", "for me please", "right now", "thank you very much please"),
        courtesies=(
            "thank you",
            "thanks",
            "thank you very much",
            "thanks a lot",
            "would you",
            "will you",
            "okay",
            "ok",
        ),
        anywhere=_HESITATIONS | {"um", "uhm", "er", "erm"},
        rewrites={
            "what's": "what is",
            "whats": "what is",
            "how's": "how is",
            "who's": "who is",
            "where's": "where is",
            "when's": "when is",
            "that's": "that is",
            "it's": "it is",
            "there's": "there is",
            "i'm": "i am",
            "i'd": "i would",
            "i'll": "i will",
            "i've": "i have",
            "don't": "do not",
            "let's": "let us",
            "can't": "cannot",
            "doesn't": "does not",
            "isn't": "is not",
            "you're": "you are",
            "how'd": "how would",
        },
        signs=_signs("times", "divided by", "percent", "degrees"),
        decimal_comma=False,
    ),
    "de": Words(
        leading=(
            "hey",
            "hallo",
            "hi",
            "ok",
            "okay",
            "also",
            "na",
            "so",
            "und",
            "bitte",
            "ja",
            "gut",
            "ach",
            "kannst du",
            "könntest du",
            "kannst du bitte",
            "könntest du bitte",
            "würdest du",
            "würdest du bitte",
            "können sie",
            "könnten sie",
            "kannst du mir",
            "könntest du mir",
            "kannst du mir bitte",
            "kannst du mal",
            "kannst du mir sagen",
            "könntest du mir sagen",
            "sag mir",
            "sag mir bitte",
            "sag mal",
            "sage mir",
            "weißt du",
            "weisst du",
            "ich möchte wissen",
            "ich möchte dass du",
            "ich will wissen",
        ),
        trailing=("bitte", "für mich", "jetzt bitte", "bitte schön"),
        courtesies=("danke", "danke schön", "dankeschön", "vielen dank", "okay", "ok", "ja"),
        anywhere=_HESITATIONS | {"äh", "ähm", "öh", "öhm", "bitte"},
        rewrites={
            "wieviel": "wie viel",
            "wieviele": "wie viele",
            "gibt's": "gibt es",
            "geht's": "geht es",
            "gehts": "geht es",
            "wie's": "wie es",
            "ist's": "ist es",
            "hab's": "habe es",
            "hab": "habe",
            "wars": "war es",
            "weisst": "weißt",
            "heisst": "heißt",
            "grossen": "großen",
        },
        signs=_signs("mal", "geteilt durch", "prozent", "grad"),
    ),
    "fr": Words(
        leading=("s'il te plaît", "s'il vous plaît", "peux tu", "pouvez vous", "dis", "alors", "bonjour", "salut"),
        trailing=("s'il te plaît", "s'il vous plaît", "merci"),
        anywhere=_HESITATIONS | {"euh"},
        signs=_signs("fois", "divisé par", "pour cent", "degrés"),
    ),
    "es": Words(
        leading=("por favor", "puedes", "podrías", "oye", "hola", "bueno"),
        trailing=("por favor", "gracias"),
        anywhere=_HESITATIONS | {"eh"},
        signs=_signs("por", "entre", "por ciento", "grados"),
    ),
    "it": Words(
        leading=("per favore", "puoi", "potresti", "ciao", "allora"),
        trailing=("per favore", "grazie"),
        anywhere=_HESITATIONS | {"ehm"},
        signs=_signs("per", "diviso", "per cento", "gradi"),
    ),
    "pt": Words(
        leading=("por favor", "podes", "pode", "olá", "então"),
        trailing=("por favor", "obrigado", "obrigada"),
        anywhere=_HESITATIONS | {"hã"},
        signs=_signs("vezes", "dividido por", "por cento", "graus"),
    ),
}


def words_of(language: str) -> Words:
    """The words of a language; an unknown language has signs and hesitations only."""
    return LANGUAGES.get(language) or Words(anywhere=_HESITATIONS, signs=_signs("×", "÷", "%", "°"))
