"""What is said around a question, in several languages; the question itself is in the words of whoever asks it."""

from __future__ import annotations

from agents.base.language import primary, translated

_SENTENCES: dict[str, dict[str, str]] = {
    "permission": {
        "en": "May I use {tool}?",
        "de": "Darf ich {tool} verwenden?",
        "fr": "Puis-je utiliser {tool} ?",
        "es": "¿Puedo usar {tool}?",
        "ja": "{tool}を使ってもいいですか？",
    },
    "permission_with": {
        "en": "May I use {tool}, with {details}?",
        "de": "Darf ich {tool} verwenden, mit {details}?",
        "fr": "Puis-je utiliser {tool}, avec {details} ?",
        "es": "¿Puedo usar {tool}, con {details}?",
        "ja": "{tool}を使ってもいいですか？{details}です。",
    },
    "yes_or_no": {
        "en": "Please say yes or no.",
        "de": "Bitte sag ja oder nein.",
        "fr": "Dis oui ou non, s'il te plaît.",
        "es": "Di sí o no, por favor.",
        "ja": "はい、か、いいえ、で答えてください。",
    },
    "go_ahead": {
        "en": "Shall I go ahead?",
        "de": "Soll ich das so machen?",
        "fr": "Est-ce que je peux y aller ?",
        "es": "¿Sigo adelante?",
        "ja": "このまま進めてもいいですか？",
    },
    "step": {
        "en": "Step {number}: {step}",
        "de": "Schritt {number}: {step}",
        "fr": "Étape {number} : {step}",
        "es": "Paso {number}: {step}",
        "ja": "手順{number}、{step}",
    },
    "one_of": {
        "en": "You can say {options}.",
        "de": "Du kannst {options} sagen.",
        "fr": "Tu peux dire {options}.",
        "es": "Puedes decir {options}.",
        "ja": "{options}、からお選びください。",
    },
    "one_of_again": {
        "en": "I did not catch which one. Please say {options}, or a number.",
        "de": "Ich habe nicht verstanden, was davon. Bitte sag {options}, oder eine Nummer.",
        "fr": "Je n'ai pas compris lequel. Dis {options}, ou un numéro.",
        "es": "No he entendido cuál. Di {options}, o un número.",
        "ja": "どれか分かりませんでした。{options}、または番号で答えてください。",
    },
    "again": {
        "en": "Once more, please. {question}",
        "de": "Noch einmal, bitte. {question}",
        "fr": "Encore une fois, s'il te plaît. {question}",
        "es": "Otra vez, por favor. {question}",
        "ja": "もう一度お願いします。{question}",
    },
    "number": {
        "en": "I need a number.",
        "de": "Ich brauche eine Zahl.",
        "fr": "Il me faut un nombre.",
        "es": "Necesito un número.",
        "ja": "数字で答えてください。",
    },
    "email": {
        "en": "I need an e-mail address, such as: name at example dot com.",
        "de": "Ich brauche eine E-Mail-Adresse, zum Beispiel: Name ät Beispiel Punkt de.",
        "fr": "Il me faut une adresse e-mail, par exemple : nom arobase exemple point fr.",
        "es": "Necesito una dirección de correo, por ejemplo: nombre arroba ejemplo punto com.",
        "ja": "メールアドレスを教えてください。",
    },
    "date": {
        "en": "I need a date, such as the third of May.",
        "de": "Ich brauche ein Datum, zum Beispiel den dritten Mai.",
        "fr": "Il me faut une date, par exemple le trois mai.",
        "es": "Necesito una fecha, por ejemplo el tres de mayo.",
        "ja": "日付を教えてください。例えば、5月3日です。",
    },
    "optional": {
        "en": "You can also say: skip.",
        "de": "Du kannst auch sagen: überspringen.",
        "fr": "Tu peux aussi dire : passer.",
        "es": "También puedes decir: saltar.",
        "ja": "スキップもできます。",
    },
    "required": {
        "en": "This one is needed.",
        "de": "Das wird gebraucht.",
        "fr": "Cette réponse est nécessaire.",
        "es": "Esta respuesta es necesaria.",
        "ja": "これは必要です。",
    },
    "field": {
        "en": "{label}?",
        "de": "{label}?",
        "fr": "{label} ?",
        "es": "¿{label}?",
        "ja": "{label}は？",
    },
    "read_back": {
        "en": "I have: {values}. Is that right?",
        "de": "Ich habe: {values}. Stimmt das?",
        "fr": "J'ai noté : {values}. C'est correct ?",
        "es": "Tengo: {values}. ¿Es correcto?",
        "ja": "{values}、でよろしいですか？",
    },
    "which_field": {
        "en": "What shall I change: {options}?",
        "de": "Was soll ich ändern: {options}?",
        "fr": "Que dois-je changer : {options} ?",
        "es": "¿Qué cambio: {options}?",
        "ja": "どれを直しますか？{options}です。",
    },
    "nothing": {"en": "nothing", "de": "nichts", "fr": "rien", "es": "nada", "ja": "なし"},
    "yes": {"en": "yes", "de": "ja", "fr": "oui", "es": "sí", "ja": "はい"},
    "no": {"en": "no", "de": "nein", "fr": "non", "es": "no", "ja": "いいえ"},
    "or": {"en": "or", "de": "oder", "fr": "ou", "es": "o", "ja": "または"},
    "anything": {
        "en": "I have a question about {subject}. What shall I note down?",
        "de": "Ich habe eine Frage zu {subject}. Was soll ich eintragen?",
        "fr": "J'ai une question sur {subject}. Que dois-je noter ?",
        "es": "Tengo una pregunta sobre {subject}. ¿Qué anoto?",
        "ja": "{subject}について質問があります。何と答えますか？",
    },
    "unanswered": {
        "en": "I heard no answer, so I will leave that.",
        "de": "Ich habe keine Antwort gehört, deshalb lasse ich das.",
        "fr": "Je n'ai pas entendu de réponse, alors je laisse cela.",
        "es": "No he oído ninguna respuesta, así que lo dejo.",
        "ja": "お返事がなかったので、これはやめておきます。",
    },
    "given_up": {
        "en": "Sorry, I did not understand your answer, so I will leave that.",
        "de": "Entschuldigung, ich habe deine Antwort nicht verstanden, deshalb lasse ich das.",
        "fr": "Désolé, je n'ai pas compris ta réponse, alors je laisse cela.",
        "es": "Perdona, no he entendido tu respuesta, así que lo dejo.",
        "ja": "すみません、お答えが分からなかったので、これはやめておきます。",
    },
}

_TERMINAL = (".", "!", "?", "。", "！", "？", ":", "…")


def phrase(key: str, language: str, **values: object) -> str:
    """The sentence ``key`` in ``language`` (BCP-47), in English where there is no translation."""
    return translated(_SENTENCES[key], language).format(**values)


def sentence(text: str) -> str:
    """``text`` with an end, so that a voice pauses after it."""
    bare = " ".join(text.split())
    return bare if not bare or bare.endswith(_TERMINAL) else f"{bare}."


def either(items: list[str], language: str) -> str:
    """``items`` as a choice: "red, green or blue"."""
    if len(items) < 2:
        return "".join(items)
    word = phrase("or", language)
    if primary(language) == "ja":
        return f"{'、'.join(items[:-1])}、{word}{items[-1]}"
    return f"{', '.join(items[:-1])} {word} {items[-1]}"
