"""What the voice says by itself when there is no answer to speak, in several languages."""

from __future__ import annotations

_PHRASES: dict[str, dict[str, str]] = {
    "not_understood": {
        "en": "Sorry, I did not catch that.",
        "de": "Entschuldigung, das habe ich nicht verstanden.",
        "es": "Perdona, no te he entendido.",
        "fr": "Désolé, je n'ai pas compris.",
        "ja": "すみません、聞き取れませんでした。",
    },
    "too_slow": {
        "en": "Sorry, that is taking too long. Please try again.",
        "de": "Entschuldigung, das dauert zu lange. Bitte versuche es noch einmal.",
        "es": "Perdona, esto tarda demasiado. Inténtalo de nuevo.",
        "fr": "Désolé, cela prend trop de temps. Réessaie, s'il te plaît.",
        "ja": "すみません、時間がかかりすぎています。もう一度お願いします。",
    },
    "still_working": {
        "en": "I am still working on it.",
        "de": "Ich bin noch dabei.",
        "es": "Todavía estoy en ello.",
        "fr": "J'y travaille encore.",
        "ja": "まだ処理中です。",
    },
    "unreachable": {
        "en": "Sorry, I cannot reach my language model right now.",
        "de": "Entschuldigung, ich erreiche mein Sprachmodell gerade nicht.",
        "es": "Perdona, ahora mismo no puedo conectar con mi modelo de lenguaje.",
        "fr": "Désolé, je n'arrive pas à joindre mon modèle de langage.",
        "ja": "すみません、今は言語モデルに接続できません。",
    },
    "hard_of_hearing": {
        "en": "Sorry, I cannot use my speech recognition right now.",
        "de": "Entschuldigung, ich kann meine Spracherkennung gerade nicht benutzen.",
        "es": "Perdona, ahora mismo no puedo usar mi reconocimiento de voz.",
        "fr": "Désolé, je ne peux pas utiliser ma reconnaissance vocale pour le moment.",
        "ja": "すみません、今は音声認識を使えません。",
    },
    "taken_over": {
        "en": "My realtime service is out of reach. I go on without it.",
        "de": "Mein Echtzeitdienst ist nicht erreichbar. Ich mache ohne ihn weiter.",
        "es": "No puedo conectar con mi servicio en tiempo real. Sigo sin él.",
        "fr": "Mon service en temps réel est injoignable. Je continue sans lui.",
        "ja": "リアルタイムサービスに接続できません。そのまま続けます。",
    },
    "failed": {
        "en": "Sorry, something went wrong.",
        "de": "Entschuldigung, da ist etwas schiefgegangen.",
        "es": "Perdona, algo ha salido mal.",
        "fr": "Désolé, quelque chose s'est mal passé.",
        "ja": "すみません、問題が発生しました。",
    },
}


def phrase(key: str, language: str) -> str:
    """The sentence ``key`` in ``language`` (BCP-47 primary tag), in English where there is no translation."""
    variants = _PHRASES[key]
    return variants.get(language, variants["en"])


def failure_phrase(code: str, language: str) -> str:
    """The sentence for an error ``code``."""
    match code:
        case "ERR_MODEL_UNREACHABLE" | "ERR_MODEL_RATE_LIMIT" | "ERR_MODEL_AUTH":
            return phrase("unreachable", language)
        case "ERR_STT_AUTH" | "ERR_STT_LIMIT":
            return phrase("hard_of_hearing", language)
        case _ if code.startswith("ERR_STT_"):  # saying it once more may help
            return phrase("not_understood", language)
        case _:
            return phrase("failed", language)
