"""How symbols are said, per language."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spoken:
    """The words of one language for what is written in symbols.

    Attributes:
        symbols: symbols that are said between or beside words and numbers.
        degrees: what follows a number before °C, °F and °.
        degree: the same after exactly one.
        currencies: sign to (one, many, hundredth).
        small_joint: between the whole and the hundredths of an amount.
        dot: the full stop in an address.
        at: the at sign in an address.
        minus: before a negative number.
        number: before a number marked with #.
        about: before a number marked with ~ or ≈.
        joined: whether words are written without spaces.
    """

    symbols: dict[str, str]
    degrees: dict[str, str]
    degree: dict[str, str]
    currencies: dict[str, tuple[str, str, str]]
    small_joint: str
    dot: str
    at: str
    minus: str
    number: str
    about: str
    joined: bool = field(default=False)


ENGLISH = Spoken(
    symbols={
        "%": "percent",
        "‰": "per mille",
        "&": "and",
        "+": "plus",
        "=": "equals",
        "×": "times",
        "÷": "divided by",
        "±": "plus or minus",
        "<": "less than",
        ">": "greater than",
        "≤": "at most",
        "≥": "at least",
        "≠": "is not",
        "§": "section",
        "²": "squared",
        "³": "cubed",
        "^": "to the power of",
        "→": "to",
    },
    degrees={"C": "degrees Celsius", "F": "degrees Fahrenheit", "": "degrees"},
    degree={"C": "degree Celsius", "F": "degree Fahrenheit", "": "degree"},
    currencies={
        "$": ("dollar", "dollars", "cents"),
        "€": ("euro", "euros", "cents"),
        "£": ("pound", "pounds", "pence"),
        "¥": ("yen", "yen", ""),
    },
    small_joint="and",
    dot="dot",
    at="at",
    minus="minus",
    number="number",
    about="about",
)
GERMAN = Spoken(
    symbols={
        "%": "Prozent",
        "‰": "Promille",
        "&": "und",
        "+": "plus",
        "=": "gleich",
        "×": "mal",
        "÷": "geteilt durch",
        "±": "plus minus",
        "<": "kleiner als",
        ">": "größer als",
        "≤": "höchstens",
        "≥": "mindestens",
        "≠": "ungleich",
        "§": "Paragraf",
        "²": "Quadrat",
        "³": "hoch drei",
        "^": "hoch",
        "→": "nach",
    },
    degrees={"C": "Grad Celsius", "F": "Grad Fahrenheit", "": "Grad"},
    degree={"C": "Grad Celsius", "F": "Grad Fahrenheit", "": "Grad"},
    currencies={
        "$": ("Dollar", "Dollar", "Cent"),
        "€": ("Euro", "Euro", "Cent"),
        "£": ("Pfund", "Pfund", "Pence"),
        "¥": ("Yen", "Yen", ""),
    },
    small_joint="und",
    dot="Punkt",
    at="ät",
    minus="minus",
    number="Nummer",
    about="etwa",
)
SPANISH = Spoken(
    symbols={
        "%": "por ciento",
        "&": "y",
        "+": "más",
        "=": "igual a",
        "×": "por",
        "÷": "dividido entre",
        "±": "más o menos",
        "<": "menor que",
        ">": "mayor que",
        "≤": "como máximo",
        "≥": "como mínimo",
        "≠": "distinto de",
        "²": "al cuadrado",
        "³": "al cubo",
        "^": "elevado a",
        "→": "a",
    },
    degrees={"C": "grados Celsius", "F": "grados Fahrenheit", "": "grados"},
    degree={"C": "grado Celsius", "F": "grado Fahrenheit", "": "grado"},
    currencies={
        "$": ("dólar", "dólares", "centavos"),
        "€": ("euro", "euros", "céntimos"),
        "£": ("libra", "libras", "peniques"),
        "¥": ("yen", "yenes", ""),
    },
    small_joint="con",
    dot="punto",
    at="arroba",
    minus="menos",
    number="número",
    about="unos",
)
FRENCH = Spoken(
    symbols={
        "%": "pour cent",
        "&": "et",
        "+": "plus",
        "=": "égale",
        "×": "fois",
        "÷": "divisé par",
        "±": "plus ou moins",
        "<": "inférieur à",
        ">": "supérieur à",
        "≤": "au plus",
        "≥": "au moins",
        "≠": "différent de",
        "²": "au carré",
        "³": "au cube",
        "^": "puissance",
        "→": "à",
    },
    degrees={"C": "degrés Celsius", "F": "degrés Fahrenheit", "": "degrés"},
    degree={"C": "degré Celsius", "F": "degré Fahrenheit", "": "degré"},
    currencies={
        "$": ("dollar", "dollars", "cents"),
        "€": ("euro", "euros", "centimes"),
        "£": ("livre", "livres", "pence"),
        "¥": ("yen", "yens", ""),
    },
    small_joint="et",
    dot="point",
    at="arobase",
    minus="moins",
    number="numéro",
    about="environ",
)
JAPANESE = Spoken(
    symbols={
        "%": "パーセント",
        "&": "と",
        "+": "プラス",
        "=": "イコール",
        "×": "かける",
        "÷": "わる",
        "±": "プラスマイナス",
        "<": "小なり",
        ">": "大なり",
        "≤": "以下",
        "≥": "以上",
        "²": "の二乗",
        "³": "の三乗",
        "→": "から",
    },
    degrees={"C": "度", "F": "度", "": "度"},
    degree={"C": "度", "F": "度", "": "度"},
    currencies={
        "$": ("ドル", "ドル", "セント"),
        "€": ("ユーロ", "ユーロ", "セント"),
        "£": ("ポンド", "ポンド", "ペンス"),
        "¥": ("円", "円", ""),
    },
    small_joint="",
    dot="ドット",
    at="アットマーク",
    minus="マイナス",
    number="番号",
    about="約",
    joined=True,
)

_LANGUAGES = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH, "ja": JAPANESE}


def spoken(language: str) -> Spoken | None:
    """The words of ``language`` (a BCP-47 tag); None where there are none: its voice then says symbols its own way."""
    return _LANGUAGES.get(language.split("-")[0].lower())
