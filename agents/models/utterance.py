"""What a recogniser wrote, made ready for sentence templates: the one place where spoken text is normalised.

Punctuation, capitals at sentence starts, contractions, fillers, signs and number words differ from speaker to speaker
and from recogniser to recogniser; the meaning does not. Every piece remembers which part of the original text it came
from, so free text ("remember that Anna has two cats") is taken as it was said.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from agents.models.numberwords import format_digits, parse_number
from agents.models.spoken_words import Words, words_of

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|½|[ap]\.\s?m\b\.?|[^\W\d_]+(?:'[^\W\d_]+)*|[+×*/÷=%°−-]", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?…。？！])[\"'”»)]*\s+(?=[^\s])")
_ABBREVIATION = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|bzw|ca|nr|z\.\s?b|[ap]\.\s?m)|\b\w)\.$", re.IGNORECASE)


@dataclass(frozen=True)
class Piece:
    """One word as templates see it, and where it stands in the original text (characters ``start`` to ``end``)."""

    text: str
    start: int
    end: int
    after_comma: bool = False


@dataclass(frozen=True)
class Utterance:
    """A sentence ready for matching: ``pieces`` joined by single spaces, tied to the ``original`` text."""

    original: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """What templates are matched against."""
        return " ".join(piece.text for piece in self.pieces)

    def source(self, start: int, end: int) -> str:
        """The original text behind characters ``start`` to ``end`` of ``text``."""
        covered: list[Piece] = []
        position = 0
        for piece in self.pieces:
            if position < end and position + len(piece.text) > start:
                covered.append(piece)
            position += len(piece.text) + 1
        return self.original[covered[0].start : covered[-1].end] if covered else ""


def split_sentences(text: str) -> list[str]:
    """The sentences of ``text``, abbreviations kept together."""
    parts: list[str] = []
    for part in _SENTENCE_END.split(text.strip()):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] = f"{parts[-1]} {part}"
        elif part.strip():
            parts.append(part)
    return parts


def readings(sentence: str, language: str) -> list[Utterance]:
    """The ways to read ``sentence``, the most likely first, without duplicates.

    Fillers are dropped first; the whole sentence follows because a filler may be the message ("thank you", "hello").
    Number words become digits first; the words themselves follow because a template may contain one.
    """
    words = words_of(language)
    original = unicodedata.normalize("NFC", sentence).replace("’", "'")
    pieces = _tokens(original, words)
    spoken = [piece for piece in pieces if piece.text.lower() not in words.anywhere] or pieces
    found: list[Utterance] = []
    for variant in (_without_fillers(spoken, words), spoken, pieces):
        for ready in (_with_digits(variant, language), variant):
            utterance = Utterance(original, tuple(_spoken_signs(ready, words)))
            if utterance.text and all(utterance.text != other.text for other in found):
                found.append(utterance)
    return found


def plain_template(template: str, language: str) -> str:
    """A sentence template with contractions resolved and digits set apart as they are in what is said."""
    rewrites = words_of(language).rewrites
    outside = r"(?![^\s\[\](){}<>|]*[}>])"
    apart = re.sub(rf"(?<=[^\W\d_])(?=\d){outside}|(?<=\d)(?=[^\W\d_]){outside}", " ", template.replace("’", "'"))
    return re.sub(rf"[^\W\d_]+(?:'[^\W\d_]+)*{outside}", lambda match: rewrites.get(match[0].lower(), match[0]), apart)


def _tokens(original: str, words: Words) -> list[Piece]:
    pieces: list[Piece] = []
    last_end = 0
    for match in _TOKEN.finditer(original):
        gap = original[last_end : match.start()]
        comma = "," in gap or ";" in gap
        token, start, end = match[0], match.start(), match.end()
        last_end = end
        if token in "-−":
            token = _dash(original, start)
            if not token:
                continue
        elif token[0].isdigit():
            token = _plain_number(token, words)
        elif token == "½":
            token = "0.5"
        elif token[0] in "aApP" and "." in token:
            token = f"{token[0].lower()}m"
        resolved = words.rewrites.get(token.lower(), token)
        pieces.extend(Piece(part, start, end, comma) for part in resolved.split())
    return pieces


def _dash(original: str, at: int) -> str:
    """A dash is a minus between numbers or before one; elsewhere it only joins words."""
    before, after = original[:at].rstrip(), original[at + 1 :]
    spaced = at == 0 or original[at - 1].isspace()
    if after[:1].isdigit() and (spaced or before[-1:].isdigit()):
        return "-"
    return "-" if spaced and before[-1:].isdigit() and after.lstrip()[:1].isdigit() else ""


def _plain_number(token: str, words: Words) -> str:
    """Digits as they are computed with: no thousands separators, a decimal point; clock times as two numbers."""
    if ":" in token:
        return token.replace(":", " ")
    group, point = (".", ",") if words.decimal_comma else (",", ".")
    if re.fullmatch(rf"\d{{1,3}}(?:{re.escape(group)}\d{{3}})+(?:{re.escape(point)}\d+)?", token):
        return token.replace(group, "").replace(point, ".")
    if token.count(point) == 1 and group not in token:
        return token.replace(point, ".")
    return token.replace(",", ".") if re.fullmatch(r"\d+[.,]\d+", token) else re.sub(r"[.,]", " ", token)


def _without_fillers(pieces: list[Piece], words: Words) -> list[Piece]:
    """Pieces without polite openings and endings; all of them when nothing else would be left."""
    rest = list(pieces)
    while (count := _opening(rest, words.leading)) and count < len(rest):
        rest = rest[count:]
    while True:
        count = _ending(rest, words.trailing)
        if not count:
            count = _ending(rest, words.courtesies)
            if not count or not rest[-count].after_comma:
                break
        if count >= len(rest):
            break
        rest = rest[:-count]
    return rest


def _opening(pieces: list[Piece], phrases: tuple[str, ...]) -> int:
    return max((len(p) for p in map(str.split, phrases) if _texts(pieces[: len(p)]) == p), default=0)


def _ending(pieces: list[Piece], phrases: tuple[str, ...]) -> int:
    return max((len(p) for p in map(str.split, phrases) if _texts(pieces[-len(p) :]) == p), default=0)


def _texts(pieces: list[Piece]) -> list[str]:
    return [piece.text.lower() for piece in pieces]


def _with_digits(pieces: list[Piece], language: str) -> list[Piece]:
    texts = _texts(pieces)
    result: list[Piece] = []
    position = 0
    while position < len(pieces):
        number = parse_number(texts, position, language)
        if number is None:
            result.append(pieces[position])
            position += 1
            continue
        value, count = number
        first, last = pieces[position], pieces[position + count - 1]
        if count == 1 and first.text[0].isdigit():
            result.append(first)
        else:
            result.append(Piece(format_digits(value), first.start, last.end, first.after_comma))
        position += count
    return result


def _spoken_signs(pieces: list[Piece], words: Words) -> list[Piece]:
    """Signs as words where they stand beside numbers; an equals sign is not said."""
    result: list[Piece] = []
    for index, piece in enumerate(pieces):
        text = piece.text.lower()
        previous = pieces[index - 1].text if index else ""
        following = pieces[index + 1].text if index + 1 < len(pieces) else ""
        numeric = previous[:1].isdigit() and following[:1].isdigit()
        if text == "=":
            continue
        if text in {"-", "−"} and following[:1].isdigit() and not previous[:1].isdigit():
            text = "minus"
        elif text in {"%", "°"} or (text in words.signs and numeric):
            text = words.signs.get(text, text)
        elif not text[0].isalnum():
            continue
        else:
            text = piece.text
        result.extend(Piece(part, piece.start, piece.end, piece.after_comma) for part in text.split())
    return result
