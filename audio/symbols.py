"""Turns symbols beside words and numbers into words: amounts of money, degrees, signs of arithmetic."""

from __future__ import annotations

import re

from audio.spoken import Spoken

_DIGITS = r"\d+(?:[.,]\d+)*"
_NUMBER = rf"(?<![\d.,]){_DIGITS}"
_SIGNS = "$€£¥"
_BIG_WORDS = (
    "hundred|thousand|million|billion|trillion|Tausend|Million(?:en)?|Milliarden?|mil|mill(?:ón|ones)|"
    "milliards?|millions|[万億兆]"
)
_BIG = rf"(?: ?(?:{_BIG_WORDS})(?!\w))?"
_MONEY_BEFORE = re.compile(rf"([{_SIGNS}]) ?({_DIGITS})({_BIG})")
_MONEY_AFTER = re.compile(rf"({_NUMBER})({_BIG}) ?([{_SIGNS}])(?!\w)")
_HUNDREDTHS = re.compile(r"(.+)[.,](\d\d)")
_DEGREES = re.compile(rf"({_NUMBER}) ?° ?([CF](?!\w))?")
_MINUS = re.compile(r"(?<![^\s(\[])[-−](?=[\d$€£¥])")
_COUNT = re.compile(r"#(?=\d)")
_HASH_TAG = re.compile(r"#(?=\w)")
_ABOUT = re.compile(r"[~≈] ?(?=\d)")
_TIMES = re.compile(r"(?<=\d)( ?)\*( ?)(?=\d)")
_ARROWS = (("<->", "↔"), ("->", "→"), ("=>", "→"), ("⇒", "→"), ("➔", "→"), ("➜", "→"), ("==", "="))
_COMPARISONS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("−", "-"))
_LONELY = frozenset("<>=^→")
"""Signs that say something only between two terms."""


def join_signs(text: str) -> str:
    """Replace signs that are typed as several characters by one each, and the asterisk between numbers by ×."""
    text = _TIMES.sub(" × ", text).replace("℃", "°C").replace("℉", "°F")
    for typed, sign in _ARROWS + _COMPARISONS:
        text = text.replace(typed, sign)
    return text


def say_symbols(text: str, words: Spoken) -> str:
    """Say the symbols of ``text`` (single spaces, signs joined) in the words of its language."""
    text = _MINUS.sub(_spaced(words.minus, words), text)
    text = _MONEY_BEFORE.sub(lambda m: _money(m.group(2), m.group(3), m.group(1), words), text)
    text = _MONEY_AFTER.sub(lambda m: _money(m.group(1), m.group(2), m.group(3), words), text)
    text = _DEGREES.sub(lambda m: _degrees(m.group(1), m.group(2) or "", words), text)
    text = _HASH_TAG.sub("", _COUNT.sub(_spaced(words.number, words), text))
    text = _ABOUT.sub(_spaced(words.about, words), text)
    return re.sub(f" ?([{re.escape(''.join(words.symbols))}]) ?", lambda m: _symbol(m, words), text)


def _spaced(word: str, words: Spoken) -> str:
    return word if words.joined else f"{word} "


def _join(words: Spoken, *parts: str) -> str:
    return ("" if words.joined else " ").join(part for part in parts if part)


def _money(amount: str, big: str, sign: str, words: Spoken) -> str:
    one, many, hundredth = words.currencies[sign]
    if big:
        return _join(words, amount, big.strip(), many)
    split = _HUNDREDTHS.fullmatch(amount)
    if split is None or not hundredth:
        return _join(words, amount, one if amount == "1" else many)
    whole, rest = split.group(1), int(split.group(2))
    said = _join(words, whole, one if whole == "1" else many)
    if rest == 0:
        return said
    small = _join(words, str(rest), hundredth)
    return small if whole == "0" else _join(words, said, words.small_joint, small)


def _degrees(number: str, scale: str, words: Spoken) -> str:
    return _join(words, number, (words.degree if number == "1" else words.degrees)[scale])


def _symbol(match: re.Match[str], words: Spoken) -> str:
    sign, text = match.group(1), match.string
    before = match.start() > 0 and (text[match.start() - 1].isalnum() or text[match.start() - 1] in ")]")
    after = match.end() < len(text) and (text[match.end()].isalnum() or text[match.end()] in "([-")
    if sign in _LONELY and not (before and after):
        return " "
    word = words.symbols[sign]
    if words.joined:
        return word
    return f" {word} "
