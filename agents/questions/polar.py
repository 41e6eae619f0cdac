"""Yes, no, stop and skip, in the words of five languages.

Phrases are looked for longest first, so that "no problem" is no "no". What says both is understood as neither: a
question for permission must not be answered by accident.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from agents.base.language import primary, translated
from agents.models.spoken_words import words_of
from agents.models.utterance import readings


class Polarity(Enum):
    """What a short answer says."""

    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language, lower case, words parted by single spaces and contractions written out.

    Attributes:
        yes: they agree.
        no: they refuse what was asked.
        stop: they refuse the question itself.
        skip: they leave one part of it open.
        courtesies: words that may stand beside any of these.
    """

    yes: tuple[str, ...]
    no: tuple[str, ...]
    stop: tuple[str, ...]
    skip: tuple[str, ...]
    courtesies: frozenset[str] = field(default_factory=frozenset[str])


def _list(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split("|"))


PHRASES: dict[str, Phrases] = {
    "en": Phrases(
        yes=_list(
            "yes|yeah|yep|yup|yea|aye|sure|okay|ok|alright|all right|of course|certainly|definitely|absolutely|correct|"
            "right|that is right|that is correct|exactly|go ahead|go for it|do it|do that|do so|please do|you may|"
            "you can|fine|that is fine|sounds good|looks good|good|perfect|no problem|why not|by all means|i agree|"
            "agreed|approved|approve|i approve|confirm|confirmed|i confirm|let us do it|let us go|permission granted|"
            "allow it|allow|allowed|i do not mind|no objection|no objections"
        ),
        no=_list(
            "no|nope|nah|no way|not|never|do not|rather not|better not|not now|not yet|not really|no thanks|"
            "no thank you|of course not|certainly not|absolutely not|definitely not|please do not|negative|wrong|"
            "incorrect|that is wrong|denied|deny|reject|rejected|refuse|forbidden|leave it|do not do it|do not do that|"
            "you may not|not okay|not ok|not good|cannot|i would rather not|i disagree|disagree|do not allow"
        ),
        stop=_list(
            "stop|cancel|cancel that|cancel it|abort|never mind|nevermind|forget it|forget about it|forget that|"
            "stop it|stop that|stop asking|quit|scratch that|leave me alone|be quiet"
        ),
        skip=_list(
            "skip|skip it|skip that|skip this|skip this one|skip that one|pass|next|leave it empty|leave it blank|none|"
            "nothing|leave it out|no answer"
        ),
        courtesies=frozenset("please thanks thank you very much".split()),
    ),
    "de": Phrases(
        yes=_list(
            "ja|jawohl|jo|jep|jap|jup|doch|klar|na klar|aber klar|sicher|natürlich|selbstverständlich|gern|gerne|"
            "sehr gern|sehr gerne|okay|ok|in ordnung|einverstanden|passt|das passt|stimmt|das stimmt|richtig|"
            "das ist richtig|genau|korrekt|mach|mach das|mach es|mach mal|tu das|tu es|leg los|nur zu|gut|alles klar|"
            "von mir aus|meinetwegen|kein problem|warum nicht|bestätigt|bestätige|ich bestätige|erlaubt|erlauben|"
            "ich erlaube es|du darfst|darfst du|kannst du|kannst du machen|unbedingt|auf jeden fall|freilich|"
            "nichts dagegen|ich habe nichts dagegen|perfekt|super|prima"
        ),
        no=_list(
            "nein|nee|nö|ne|nicht|niemals|nie|keinesfalls|auf keinen fall|auf gar keinen fall|lieber nicht|"
            "besser nicht|jetzt nicht|noch nicht|nein danke|bloß nicht|bitte nicht|natürlich nicht|falsch|"
            "das ist falsch|stimmt nicht|das stimmt nicht|abgelehnt|verboten|lass das|lass es|lass das lieber|"
            "lass es lieber|lass mal|mach das nicht|du darfst nicht|darfst du nicht|nicht erlauben|nicht gut|"
            "nicht okay|nicht einverstanden|ich möchte nicht|ich will nicht|kein|keine"
        ),
        stop=_list(
            "stopp|stop|halt|abbrechen|abbruch|brich ab|brich das ab|vergiss es|egal|schon gut|hör auf|aufhören|"
            "schluss|lass mich in ruhe|nicht so wichtig|ach egal|ist egal"
        ),
        skip=_list(
            "überspringen|überspring|überspring das|überspringe das|weglassen|lass es weg|weiter|nächste|nächste frage|"
            "leer lassen|leer|keine angabe|nichts|passe|auslassen"
        ),
        courtesies=frozenset("bitte danke schön sehr vielen dank".split()),
    ),
    "fr": Phrases(
        yes=_list(
            "oui|ouais|ouaip|si|bien sûr|d'accord|okay|ok|certainement|absolument|tout à fait|exactement|c'est ça|"
            "c'est bon|c'est correct|correct|exact|vas y|allez y|fais le|faites le|volontiers|avec plaisir|"
            "pas de problème|pourquoi pas|entendu|parfait|je confirme|confirmé|je suis d'accord|bien|ça marche|"
            "tu peux|vous pouvez|autorisé|sans problème"
        ),
        no=_list(
            "non|nan|pas|jamais|surtout pas|plutôt pas|pas maintenant|pas encore|non merci|bien sûr que non|"
            "pas du tout|absolument pas|certainement pas|ne fais pas|ne le fais pas|c'est faux|faux|refusé|"
            "je refuse|interdit|pas d'accord|je ne suis pas d'accord|"
            "je préfère pas|je préfère que non|mieux vaut pas"
        ),
        stop=_list(
            "stop|arrête|arrêtez|annule|annuler|annulez|laisse tomber|laissez tomber|oublie|oublie ça|oubliez|"
            "ça suffit|peu importe|tant pis|abandonne"
        ),
        skip=_list("passe|passer|passons|suivant|suivante|sauter|saute|ignorer|ignore|rien|laisse vide|aucun|aucune"),
        courtesies=frozenset("merci s'il te vous plaît beaucoup".split()),
    ),
    "es": Phrases(
        yes=_list(
            "sí|si|claro|claro que sí|por supuesto|desde luego|vale|okay|ok|de acuerdo|correcto|exacto|exactamente|"
            "eso es|está bien|adelante|hazlo|hágalo|con gusto|sin problema|no hay problema|por qué no|perfecto|bueno|"
            "bien|confirmo|confirmado|estoy de acuerdo|permitido|puedes|puede|dale|venga|cómo no"
        ),
        no=_list(
            "no|nunca|jamás|mejor no|ahora no|todavía no|aún no|no gracias|claro que no|por supuesto que no|de ninguna "
            "manera|en absoluto|no lo hagas|no lo haga|no está bien|no es correcto|incorrecto|falso|rechazado|rechazo|"
            "prohibido|no estoy de acuerdo|prefiero que no|no quiero|déjalo"
        ),
        stop=_list(
            "para|basta|alto|cancela|cancelar|cancelado|olvídalo|olvida eso|no importa|da igual|"
            "detente|deja de preguntar"
        ),
        skip=_list("saltar|salta|sáltalo|omitir|omite|siguiente|paso|pasa|nada|ninguno|ninguna|dejar vacío"),
        courtesies=frozenset("por favor gracias muchas".split()),
    ),
    "ja": Phrases(
        yes=_list(
            "はい|はいお願いします|うん|ええ|そうです|そう|その通りです|その通り|いいです|いいですよ|いいよ|大丈夫です|大丈夫|お願いします|"
            "お願い|もちろん|もちろんです|わかりました|オッケー|オーケー|やって|やってください|どうぞ|了解|了解です|正しい|正しいです|"
            "合っています|合ってます|構いません|問題ありません|問題ない|許可します"
        ),
        no=_list(
            "いいえ|いえ|いや|ううん|いやです|嫌です|だめ|だめです|ダメ|ダメです|違います|違う|やめておきます|やめておく|結構です|"
            "いいえ結構です|しないで|しないでください|やらないで|やらないでください|許可しません|間違いです|間違っています|まだ|まだです|"
            "今はいいです|必要ありません|必要ない"
        ),
        stop=_list(
            "やめて|やめてください|止めて|止めてください|ストップ|キャンセル|キャンセルして|中止|中止して|もういい|もういいです|忘れて"
        ),
        skip=_list("スキップ|スキップして|飛ばして|飛ばしてください|次|次へ|なし|なしで|特になし|特にありません|パス"),
        courtesies=frozenset(("お願いします", "ください", "ありがとう", "ありがとうございます", "です")),
    ),
}

_EDGE = 2
"""A word of agreement counts only this near to the beginning or the end of what was said: in the middle of a longer
sentence it means something else ("what is a good name")."""

_LONGEST = 14
"""Whoever uses more words than this talks about something else."""

_SHORT = 4
"""Up to this many words everything counts wherever it stands."""


def phrases_of(language: str) -> Phrases:
    """The phrases of ``language``; English where there are none."""
    return translated(PHRASES, language)


def polarity(text: str, language: str) -> Polarity | None:
    """Whether ``text`` says yes or no; None if neither or both, or if it refuses the question itself."""
    said = spoken_words(text, language)
    if not said or len(said) > _LONGEST or is_stop(text, language) or (_asks(text) and len(said) > _EDGE):
        return None
    found: set[Polarity] = set()
    position = 0
    while position < len(said):
        meaning, length = _phrase_at(said, position, language)
        if meaning is not None and _counts(meaning, position, length, len(said)):
            found.add(meaning)
        position += length
    return found.pop() if len(found) == 1 else None


def is_stop(text: str, language: str) -> bool:
    """Whether ``text`` says nothing but that the user will not answer."""
    return _says_only(text, language, phrases_of(language).stop)


def is_skip(text: str, language: str) -> bool:
    """Whether ``text`` says nothing but that this part stays open."""
    return _says_only(text, language, phrases_of(language).skip)


def spoken_words(text: str, language: str) -> list[str]:
    """The words of ``text``: lower case, without punctuation and hesitations, contractions written out."""
    found = readings(text, language)
    if not found:
        return []
    hesitations = words_of(language).anywhere - phrases_of(language).courtesies
    said = found[-1].text.lower().split()
    return [word for word in said if word not in hesitations] or said


def _counts(meaning: Polarity, position: int, length: int, total: int) -> bool:
    at_an_edge = position < _EDGE or position + length > total - _EDGE
    return meaning is Polarity.NO or total <= _SHORT or at_an_edge


def _phrase_at(said: list[str], position: int, language: str) -> tuple[Polarity | None, int]:
    known, longest = _table(primary(language))
    for length in range(min(longest, len(said) - position), 0, -1):
        meaning = known.get(tuple(said[position : position + length]))
        if meaning is not None:
            return meaning, length
    return None, 1


@lru_cache(maxsize=8)
def _table(language: str) -> tuple[dict[tuple[str, ...], Polarity], int]:
    phrases = phrases_of(language)
    known = {tuple(phrase.split()): Polarity.YES for phrase in phrases.yes}
    known.update({tuple(phrase.split()): Polarity.NO for phrase in phrases.no})
    return known, max(map(len, known))


def _says_only(text: str, language: str, wanted: tuple[str, ...]) -> bool:
    said = spoken_words(text, language)
    bare = [word for word in said if word not in phrases_of(language).courtesies] or said
    joined = " ".join(bare)
    once = " ".join(dict.fromkeys(bare))
    return joined in wanted or once in wanted or "".join(bare) in wanted


def _asks(text: str) -> bool:
    return re.search(r"[?？]\s*$", text) is not None
