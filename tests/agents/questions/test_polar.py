"""Yes, no, stop and skip, as people say them."""

from __future__ import annotations

import pytest

from agents.questions.polar import Polarity, is_skip, is_stop, polarity

YES = {
    "en": "Yes.|Yes, please.|Yeah, sure.|Okay, go ahead.|No problem.|Why not?|sure why not|Of course!|hmm, yes|Do it.|"
    "Yes, you can delete it.|I don't mind.|That's right.|By all means.|Uh, yes.|Yes, open the door, please.",
    "de": "Ja.|Ja, bitte.|Ja, mach das.|Mach das.|Von mir aus.|Natürlich!|Kein Problem.|Warum nicht?|Klar.|Gerne.|"
    "Ähm, ja.|Das stimmt.|In Ordnung.|Du darfst.",
    "fr": "Oui.|Oui, s'il te plaît.|D'accord.|Vas-y.|Pas de problème.|Bien sûr.|C'est ça.|Pourquoi pas ?",
    "es": "Sí.|Sí, por favor.|Claro que sí.|No hay problema.|De acuerdo.|Adelante.|Vale.",
    "ja": "はい|はい、お願いします。|はいお願いします|ええ|うん|いいですよ|もちろんです",
}
NO = {
    "en": "No.|No, thanks.|Nope.|I'd rather not.|Not really.|Of course not.|Don't.|Please don't.|No way!|Not now.|"
    "No, delete the other one.|Absolutely not.",
    "de": "Nein.|Nein, danke.|Lieber nicht.|Nee, lass mal.|Auf gar keinen Fall!|Nein, lass das lieber.|Bloß nicht.|"
    "Jetzt nicht.|Das stimmt nicht.",
    "fr": "Non.|Non merci.|Plutôt pas.|Pas maintenant.|Bien sûr que non.|Surtout pas.",
    "es": "No.|No, gracias.|Mejor no.|Claro que no.|Ahora no.",
    "ja": "いいえ|いいえ、結構です。|だめ|しないで|違います",
}
NEITHER = {
    "en": "Yes, but not now.|No, yes, I mean.|What is a good name for a cat?|Bananas are yellow.|"
    "Is that okay for the cat?||...|I'm not sure.|"
    "the weather in paris is fine for a walk in the park today and maybe tomorrow",
    "de": "Ja nein.|Wie spät ist es?|Was ist ein guter Name für eine Katze?|Bananen sind gelb.",
    "fr": "Quelle heure est-il ?|Oui et non.",
    "es": "¿Qué hora es?|Sí y no.",
    "ja": "今何時ですか？|バナナ",
}
STOP = {
    "en": "Stop.|Cancel.|Cancel that, please.|Never mind.|Forget it.|Stop, stop!",
    "de": "Stopp.|Abbrechen.|Vergiss es.|Schon gut.|Halt!",
    "fr": "Stop.|Annule.|Laisse tomber.|Arrête, s'il te plaît.",
    "es": "Para.|Cancelar.|Olvídalo.",
    "ja": "キャンセル|やめて|やめてください",
}
SKIP = {
    "en": "Skip.|Skip this one.|Next.|Leave it blank, please.",
    "de": "Überspringen.|Überspringen, bitte.|Weiter.",
    "fr": "Passe.|Suivant.",
    "es": "Saltar.|Siguiente, por favor.",
    "ja": "スキップ|次",
}


def each(corpus: dict[str, str]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in corpus.items() for text in texts.split("|")]


@pytest.mark.parametrize(("language", "text"), each(YES))
def test_yes(language: str, text: str) -> None:
    assert polarity(text, language) is Polarity.YES
    assert not is_stop(text, language) and not is_skip(text, language)


@pytest.mark.parametrize(("language", "text"), each(NO))
def test_no(language: str, text: str) -> None:
    assert polarity(text, language) is Polarity.NO
    assert not is_stop(text, language)


@pytest.mark.parametrize(("language", "text"), each(NEITHER))
def test_neither(language: str, text: str) -> None:
    assert polarity(text, language) is None
    assert not is_stop(text, language) and not is_skip(text, language)


@pytest.mark.parametrize(("language", "text"), each(STOP))
def test_stop(language: str, text: str) -> None:
    assert is_stop(text, language)
    assert polarity(text, language) is not Polarity.YES


@pytest.mark.parametrize(("language", "text"), each(SKIP))
def test_skip(language: str, text: str) -> None:
    assert is_skip(text, language)


@pytest.mark.parametrize("text", ["The bus stop is over there.", "Stop by my office tomorrow.", "Skip to my lou."])
def test_a_word_inside_a_sentence_refuses_nothing(text: str) -> None:
    assert not is_stop(text, "en") and not is_skip(text, "en")


@pytest.mark.parametrize("text", ["please tell me a joke about yes and no", "ok" * 5000, "\ud83d", "yes\x00"])
def test_odd_text_breaks_nothing(text: str) -> None:
    polarity(text, "en")
    is_stop(text, "xx")
