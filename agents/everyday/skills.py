"""What the everyday tools can do, in words: for "what can you do" and for the answer without a model."""

from __future__ import annotations

from collections.abc import Iterable

from agents.everyday.phrases import enumeration

LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "ja")

_SKILLS: dict[str, tuple[str, ...]] = {
    "get_time": (
        "tell the time and the date",
        "Uhrzeit und Datum sagen",
        "decir la hora y la fecha",
        "donner l'heure et la date",
        "dire l'ora e la data",
        "dizer as horas e a data",
        "時刻と日付のお知らせ",
    ),
    "set_timer": (
        "run timers and alarms",
        "Timer und Wecker stellen",
        "poner temporizadores y alarmas",
        "régler des minuteurs et des alarmes",
        "impostare timer e sveglie",
        "definir temporizadores e alarmes",
        "タイマーとアラーム",
    ),
    "calculate": ("do sums", "rechnen", "calcular", "calculer", "fare calcoli", "fazer contas", "計算"),
    "convert_units": (
        "convert units",
        "Einheiten umrechnen",
        "convertir unidades",
        "convertir des unités",
        "convertire unità di misura",
        "converter unidades",
        "単位の換算",
    ),
    "add_to_list": (
        "keep your shopping list",
        "deine Einkaufsliste führen",
        "llevar tu lista de la compra",
        "tenir votre liste de courses",
        "tenere la lista della spesa",
        "manter a lista de compras",
        "買い物リスト",
    ),
    "remember": (
        "remember things for you",
        "mir Dinge für dich merken",
        "recordar cosas por ti",
        "retenir des choses pour vous",
        "ricordare cose per te",
        "lembrar coisas por si",
        "メモ",
    ),
}


def skills(names: Iterable[str], language: str) -> list[str]:
    """What the named tools can do, each as the end of "I can …", in one of ``LANGUAGES`` (others: English)."""
    known = set(names)
    column = LANGUAGES.index(language) if language in LANGUAGES else 0
    return [texts[column] for name, texts in _SKILLS.items() if name in known]


def enumerate_skills(names: Iterable[str], language: str) -> str:
    """``skills`` as one phrase; empty if the names hold none."""
    return enumeration(skills(names, language), language)
