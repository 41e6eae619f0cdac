"""Numbers, dates and e-mail addresses as people say them."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import pairwise

from agents.base.language import primary, translated
from agents.models.utterance import readings
from agents.questions.ordinals import with_digits
from agents.web.tools.arguments import EMAIL

_AT = ("at sign", "at", "klammeraffe", "ät", "arobase", "arroba", "アットマーク", "アット")
_DOT = ("dot", "punkt", "point", "punto", "ドット")
_DASH = ("dash", "hyphen", "minus", "bindestrich", "tiret", "guion", "guión", "ハイフン")
_UNDERSCORE = ("underscore", "unterstrich", "souligné", "guion bajo", "guión bajo", "アンダーバー")
_DAYS: dict[str, dict[str, int]] = {
    "en": {"today": 0, "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2, "yesterday": -1},
    "de": {"heute": 0, "morgen": 1, "übermorgen": 2, "gestern": -1},
    "fr": {"aujourd'hui": 0, "demain": 1, "après demain": 2, "hier": -1},
    "es": {"hoy": 0, "mañana": 1, "pasado mañana": 2, "ayer": -1},
    "ja": {"今日": 0, "明日": 1, "明後日": 2, "昨日": -1},
}


def spoken_number(text: str, language: str) -> float | None:
    """The one number in ``text``, in digits or words; None if there is none or more than one."""
    found = readings(text, language)
    words = found[0].text.split() if found else []
    numbers = [float(word) for word in words if re.fullmatch(r"\d+(?:\.\d+)?", word)]
    if len(numbers) != 1:
        return None
    negative = any(word.lower() in ("minus", "-", "moins", "menos") for word in words)
    value = -numbers[0] if negative else numbers[0]
    return int(value) if value.is_integer() else value


def spoken_email(text: str) -> str | None:
    """The e-mail address in ``text`` ("anna at example dot com"), or None."""
    address = text.strip().rstrip(".。!?").lower()
    for words, sign in ((_UNDERSCORE, "_"), (_AT, "@"), (_DOT, "."), (_DASH, "-")):
        alternatives = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        spaced = rf"\s*(?<!\w)(?:{alternatives})(?!\w)\s*" if words[0].isascii() else rf"\s*(?:{alternatives})\s*"
        if sign not in address:
            address = re.sub(spaced, sign, address)
    bare = re.sub(r"\s+", "", address)
    return bare if re.fullmatch(EMAIL, bare) else None


def spoken_date(text: str, language: str, today: date) -> date | None:
    """The day that ``text`` names: ISO, "tomorrow", a weekday (the next one), or day and month; None without any.

    A date without a year is the next such day.
    """
    language = primary(language)
    if (iso := re.search(r"\d{4}-\d{2}-\d{2}", text)) is not None:
        try:
            return date.fromisoformat(iso[0])
        except ValueError:
            return None
    said = [reading.text.lower() for reading in readings(text, language)]
    for name, days in sorted(translated(_DAYS, language).items(), key=lambda entry: -len(entry[0])):
        if any(name in sentence for sentence in said):
            return today + timedelta(days=days)
    words = _numbered(said, language)
    month = _named(words, _months(language))
    if month is not None:
        return _day_of(month, [int(word) for word in words if word.isdecimal()], today)
    weekday = _named(words, _weekdays(language))
    if weekday is not None:
        return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    return _japanese(text, today) if language == "ja" else None


def _numbered(said: list[str], language: str) -> list[str]:
    """The words of a date with numbers and ordinals as digits; "twenty twenty seven" is a year."""
    if not said:
        return []
    found = readings(" ".join(with_digits(said[-1].split(), language)), language)
    words = found[0].text.lower().split() if found else []
    for index, pair in enumerate(pairwise(words)):
        if all(word.isdecimal() and len(word) == 2 for word in pair) and pair[0] in ("19", "20"):
            return [*words[:index], "".join(pair), *words[index + 2 :]]
    return words


def _day_of(month: int, numbers: list[int], today: date) -> date | None:
    days = [number for number in numbers if 1 <= number <= 31]
    years = [number for number in numbers if number > 1900]
    if len(days) != 1 or len(years) > 1 or len(days) + len(years) != len(numbers):
        return None
    try:
        if years:
            return date(years[0], month, days[0])
        this_year = date(today.year, month, days[0])
        return this_year if this_year >= today else date(today.year + 1, month, days[0])
    except ValueError:
        return None


def _japanese(text: str, today: date) -> date | None:
    match = re.search(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})日", text)
    if match is None:
        return None
    return _day_of(int(match[2]), [int(match[3]), *([int(match[1])] if match[1] else [])], today)


def _named(words: list[str], names: dict[str, int]) -> int | None:
    found = {names[word] for word in words if word in names}
    return found.pop() if len(found) == 1 else None


def _months(language: str) -> dict[str, int]:
    from babel.dates import get_month_names

    return {
        name.lower().rstrip("."): number
        for width in ("wide", "abbreviated")
        for number, name in get_month_names(width, locale=_known(language)).items()
    }


def _weekdays(language: str) -> dict[str, int]:
    from babel.dates import get_day_names

    return {name.lower(): number for number, name in get_day_names("wide", locale=_known(language)).items()}


def _known(language: str) -> str:
    from babel import localedata

    return language if localedata.exists(language) else "en"
