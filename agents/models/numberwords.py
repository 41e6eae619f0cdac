"""Numbers written as words: "two hundred and five", "fünfundzwanzig", "trois cent" become digits.

The words from zero to ninety-nine and the hundreds come from the Unicode CLDR spell-out rules (``unicode-rbnf``) of the
language; larger numbers are composed from them by its multipliers. Articles that also mean one ("a", "ein", "une") are
left alone: only a sentence template can tell whether they count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from agents.base.errors import ConfigError

_LONGEST = 5
"""Most words that one CLDR entry below a hundred spans (French "quatre vingt dix neuf" has four)."""


@dataclass(frozen=True)
class Grammar:
    """How a language composes numbers.

    Attributes:
        articles: words for one that are articles too.
        multipliers: words that multiply what stands before them.
        joiners: words allowed after a multiplier ("hundred *and* five").
        points: words for the decimal point.
        halves: word sequences that add one half to the number before them.
        mixed: single words with a fraction of their own.
        spellings: words that CLDR only uses inside larger numbers, and their values.
        compound: whether multipliers are written inside one word ("zweihundert").
    """

    articles: frozenset[str] = frozenset()
    multipliers: dict[str, int] = field(default_factory=dict[str, int])
    joiners: frozenset[str] = frozenset()
    points: frozenset[str] = frozenset()
    halves: tuple[tuple[str, ...], ...] = ()
    mixed: dict[str, float] = field(default_factory=dict[str, float])
    spellings: dict[str, int] = field(default_factory=dict[str, int])
    compound: bool = False


GRAMMARS: dict[str, Grammar] = {
    "en": Grammar(
        articles=frozenset({"a", "an"}),
        multipliers={"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9},
        joiners=frozenset({"and"}),
        points=frozenset({"point"}),
        halves=(("and", "a", "half"), ("and", "half")),
    ),
    "de": Grammar(
        articles=frozenset({"ein", "eine", "einen", "einer", "einem", "eines"}),
        multipliers={
            "hundert": 100,
            "tausend": 1000,
            "million": 10**6,
            "millionen": 10**6,
            "milliarde": 10**9,
            "milliarden": 10**9,
        },
        joiners=frozenset({"und"}),
        points=frozenset({"komma"}),
        halves=(("und", "ein", "halb"), ("und", "eine", "halbe")),
        mixed={"anderthalb": 1.5, "eineinhalb": 1.5, "einundeinhalb": 1.5},
        compound=True,
    ),
    "es": Grammar(
        articles=frozenset({"un", "una", "uno"}),
        multipliers={"mil": 1000, "millón": 10**6, "millones": 10**6},
        points=frozenset({"coma", "punto"}),
        halves=(("y", "media"), ("y", "medio")),
        spellings={"ciento": 100},
    ),
    "fr": Grammar(
        articles=frozenset({"un", "une"}),
        multipliers={"cent": 100, "cents": 100, "mille": 1000, "million": 10**6, "millions": 10**6},
        joiners=frozenset({"et"}),
        points=frozenset({"virgule"}),
        halves=(("et", "demi"), ("et", "demie")),
        spellings={"quatre vingt": 80},
    ),
    "it": Grammar(
        articles=frozenset({"un", "una", "uno"}),
        multipliers={"cento": 100, "mille": 1000, "mila": 1000, "milione": 10**6, "milioni": 10**6},
        points=frozenset({"virgola"}),
        halves=(("e", "mezzo"), ("e", "mezza")),
        compound=True,
    ),
    "pt": Grammar(
        articles=frozenset({"um", "uma"}),
        multipliers={"mil": 1000, "milhão": 10**6, "milhões": 10**6},
        joiners=frozenset({"e"}),
        points=frozenset({"vírgula"}),
        halves=(("e", "meia"), ("e", "meio")),
        spellings={"cento": 100},
    ),
}


_NONE = Grammar()


def grammar(language: str) -> Grammar:
    """The grammar of a language; an empty one (digits only composed from CLDR words) where none is written."""
    return GRAMMARS.get(language, _NONE)


def one_words(language: str) -> tuple[str, ...]:
    """Words that mean one where a number is expected ("a minute", "eine Minute"), without the digit itself."""
    return tuple(sorted(grammar(language).articles))


@lru_cache(maxsize=16)
def number_table(language: str) -> dict[tuple[str, ...], int]:
    """CLDR words of 0 to 99 and of the full hundreds → value, keyed by lower-case words; articles are left out.

    Empty for a language that CLDR does not spell out.
    """
    from unicode_rbnf import RbnfEngine

    try:
        engine = RbnfEngine.for_language(language)
    except ValueError:
        return {}
    table: dict[tuple[str, ...], int] = {}
    for value in (*range(100), *range(100, 1000, 100)):
        for words in engine.format_number(value).text_by_ruleset.values():
            plain = words.replace("\u00ad", "").replace("-", " ").lower()
            for variant in (plain, plain.replace("ß", "ss")):
                table.setdefault(tuple(variant.split()), value)
    table.update({tuple(words.split()): value for words, value in grammar(language).spellings.items()})
    for article in grammar(language).articles:
        table.pop((article,), None)
    return table


def parse_number(words: list[str], start: int, language: str) -> tuple[float, int] | None:
    """Read the longest number that begins at ``words[start]`` (lower case; digits are words too).

    Returns:
        The value and how many words it took, or None.
    """
    if start >= len(words):
        return None
    rules = grammar(language)
    if words[start] in rules.mixed:
        return rules.mixed[words[start]], 1
    if words[start] in rules.articles and words[start + 1 : start + 2] and words[start + 1] in rules.multipliers:
        after = parse_number(words, start + 1, language)  # "a hundred", "eine Million"
        return (after[0], after[1] + 1) if after else None
    whole = _whole(words, start, language, rules)
    if whole is None:
        return _half_compound(words[start], language, rules)
    value, count = whole
    decimals = _decimals(words, start + count, language, rules)
    if decimals is not None:
        digits, taken = decimals
        return float(f"{int(value)}.{digits}"), count + taken
    for half in rules.halves:
        if tuple(words[start + count : start + count + len(half)]) == half:
            return value + 0.5, count + len(half)
    return value, count


def _whole(words: list[str], start: int, language: str, rules: Grammar) -> tuple[float, int] | None:
    """A number without fraction words. ``room`` is what the next part must stay below; a multiplier "
    "is always welcome."""
    total, group, room = 0.0, 0.0, float("inf")
    position = start
    while True:
        after_multiplier = position > start and 0 < room < float("inf")
        skipped = 1 if after_multiplier and words[position : position + 1] and words[position] in rules.joiners else 0
        step = _step(words, position + skipped, language, rules)
        if step is None and after_multiplier and words[position + skipped : position + skipped + 1]:
            step = _counted_article(words[position + skipped], language, rules)
        if step is None:
            break
        value, taken, is_multiplier = step
        if is_multiplier and not skipped:
            group = (group or 1.0) * value
            room = value
            if value >= 1000:
                total, group = total + group, 0.0
        elif not is_multiplier and value < room:
            group += value
            literal = words[position + skipped][0].isdigit()
            room = 100.0 if value >= 100 and not literal and value % 100 == 0 else 0.0
        else:
            break
        position += skipped + taken
    return (total + group, position - start) if position > start else None


def _step(words: list[str], position: int, language: str, rules: Grammar) -> tuple[float, int, bool] | None:
    """One part of a number at ``position``: (value, words taken, whether it is a multiplier)."""
    if position >= len(words):
        return None
    word = words[position]
    if word in rules.multipliers:
        return float(rules.multipliers[word]), 1, True
    if word.replace(".", "", 1).lstrip("-").isdecimal():
        return float(word), 1, False
    table = number_table(language)
    for length in range(min(_LONGEST, len(words) - position), 0, -1):
        value = table.get(tuple(words[position : position + length]))
        if value is not None:
            return float(value), length, False
    if rules.compound:
        compound = _compound(word, language, rules)
        if compound is not None:
            return float(compound), 1, False
    return None


def _counted_article(word: str, language: str, rules: Grammar) -> tuple[float, int, bool] | None:
    """One at the end of a larger number ("cent un"), for words that are both article and numeral."""
    numeral = word in rules.articles and language != "en"
    return (1.0, 1, False) if numeral else None


def _compound(word: str, language: str, rules: Grammar) -> int | None:
    """A number written in one word with a multiplier inside ("zweitausendfünfhundertdrei")."""
    table = number_table(language)

    def read(part: str, limit: int) -> int | None:
        if (part,) in table:
            return table[part,]
        if part in rules.articles:
            return 1
        for name, factor in sorted(rules.multipliers.items(), key=lambda entry: -entry[1]):
            if factor > limit:
                continue
            left, found, right = part.partition(name)
            if not found:
                continue
            high = 1 if not left else read(left, factor - 1)
            rest = right.removeprefix("und")
            low = 0 if not rest else read(rest, factor - 1)
            if high is not None and low is not None and low < factor:
                return high * factor + low
        return None

    if not any(name in word for name in rules.multipliers):
        return None
    return read(word, 10**9)


def _half_compound(word: str, language: str, rules: Grammar) -> tuple[float, int] | None:
    """German "zweieinhalb": a number and a half in one word."""
    if not rules.compound or not word.endswith("einhalb"):
        return None
    value = number_table(language).get((word.removesuffix("einhalb"),))
    return None if value is None else (value + 0.5, 1)


def _decimals(words: list[str], position: int, language: str, rules: Grammar) -> tuple[str, int] | None:
    """Digits after a spoken decimal point: ("14", words taken) for "point one four" or "point fourteen"."""
    if position + 1 >= len(words) or words[position] not in rules.points:
        return None
    table = number_table(language)
    digits = ""
    at = position + 1
    while at < len(words):
        word = words[at]
        value = int(word) if word.isdecimal() else table.get((word,))
        if value is None and word in rules.articles:
            value = 1
        if value is None or (digits and value > 9):
            break
        digits += word if word.isdecimal() else str(value)
        at += 1
        if value > 9:
            break
    return (digits, at - position) if digits else None


def format_digits(value: float) -> str:
    """Digits as a sentence template reads them: no exponent, no trailing zeros.

    Raises:
        ConfigError: for a value that is not finite, which no caller should produce.
    """
    if value != value or value in (float("inf"), float("-inf")):
        raise ConfigError("ERR_NUMBER", "A number is not finite.")
    return str(int(value)) if value == int(value) else f"{value:.6f}".rstrip("0")
