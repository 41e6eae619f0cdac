"""Makes written text ready for the ear: what a voice would stumble over is said in words or left out."""

from __future__ import annotations

import re
import unicodedata

from audio.markup import without_markup
from audio.spoken import spoken
from audio.symbols import join_signs, say_symbols

_NEWLINE = re.compile(r"\r\n?|[\n\x0b\x0c\x85\u2028\u2029]")
_FENCE = re.compile(r"`{3,}")
_RULE = re.compile(r"\s*([-*_=~])(?: ?\1){2,}\s*")
_TABLE_RULE = re.compile(r"[\s:|+-]*\|[\s:|+-]*")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s+|$)")
_HEADING_END = re.compile(r"(?<=\s)#+\s*$")
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_BULLET = re.compile(r"\s*(?:[-+*•◦▪‣·–—●○]\s+)(?:\[[ xX]\]\s+)?")
_DEFINITION = re.compile(r"\s*\[[^\[\]]{1,200}\]:\s+\S.*")
_CELL_EDGE = re.compile(r" ?\|+ ?")
_EMPTY_BRACKETS = re.compile(r"\( ?\)|（ ?）|\" ?\"|“ ?”")
_BEFORE_MARK = re.compile(r" +(?=[,.;:!?…)])")
_COMMAS = re.compile(r"(?:, ?){2,}")
_SHOUTING = re.compile(r"([!?])\1{2,}")
_SPACES = re.compile(r"\s+")
_SILENT_KINDS = frozenset({"So", "Sk", "Cc", "Cf", "Cs", "Co", "Cn"})
_JOINERS = "\u200c\u200d"


class Speakable:
    """Makes one reply speakable, sentence by sentence; remembers when a sentence ends inside code or a comment.

    Args:
        language: BCP-47 tag of the reply. Symbols are said in English, German, Spanish, French and Japanese; in other
            languages they are left to the voice.
    """

    def __init__(self, language: str = "en") -> None:
        self._words = spoken(language)
        self.reset()

    def reset(self) -> None:
        """Begin a new reply."""
        self._in_code = False
        self._in_comment = False

    def feed(self, sentence: str) -> str:
        """The next sentence for the ear; "" if nothing of it can be said. Accepts any text and never raises."""
        lines = (self._line(line) for line in _NEWLINE.split(unicodedata.normalize("NFC", sentence)))
        return "\n".join(line for line in lines if line)

    def _line(self, line: str) -> str:
        line = self._without_comments(self._without_code(line))
        if not line or line.isspace():
            return ""
        if _RULE.fullmatch(line) or _TABLE_RULE.fullmatch(line) or _DEFINITION.fullmatch(line):
            return ""
        line = _strip_block_marks(line)
        line = without_markup(join_signs(line), self._words)
        line = _CELL_EDGE.sub(", ", line.strip(" |"))
        if self._words is not None:
            line = say_symbols(line, self._words)
        line = _tidy(_without_silent(line))
        return line if any(c.isalnum() for c in line) else ""

    def _without_code(self, line: str) -> str:
        """Drop what stands between fences; code is for the eye."""
        if line.lstrip().startswith("~~~"):
            self._in_code = not self._in_code
            return ""
        kept: list[str] = []
        for place, stretch in enumerate(_FENCE.split(line)):
            if place:
                self._in_code = not self._in_code
            if not self._in_code:
                kept.append(stretch)
        return " ".join(kept)

    def _without_comments(self, line: str) -> str:
        """Drop HTML comments."""
        kept: list[str] = []
        at = 0
        while at < len(line):
            end = line.find("-->" if self._in_comment else "<!--", at)
            if not self._in_comment:
                kept.append(line[at:] if end < 0 else line[at:end])
            if end < 0:
                break
            at = end + (3 if self._in_comment else 4)
            self._in_comment = not self._in_comment
        return "".join(kept)


def speakable(text: str, language: str = "en") -> str:
    """The whole of ``text`` for the ear, one line per line that can be said; "" if there is nothing to say."""
    return Speakable(language).feed(text)


def _strip_block_marks(line: str) -> str:
    line = _QUOTE.sub("", line, count=1) if _QUOTE.match(line) else line
    if _HEADING.match(line):
        return _HEADING_END.sub("", _HEADING.sub("", line, count=1))
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _without_silent(line: str) -> str:
    """Drop emoji, control characters and marks of direction; keep joiners inside words, which some scripts need."""
    out: list[str] = []
    for place, c in enumerate(line):
        if c < "\x7f":
            if c >= " ":
                out.append(c)
        elif c in _JOINERS:
            if 0 < place < len(line) - 1 and _is_letter(line[place - 1]) and _is_letter(line[place + 1]):
                out.append(c)
        elif not _is_silent(c):
            out.append(c)
    return "".join(out)


def _is_letter(c: str) -> bool:
    return unicodedata.category(c)[0] in "LM" and not _is_silent(c)


def _is_silent(c: str) -> bool:
    if "\ufe00" <= c <= "\ufe0f" or c == "\u20e3" or "\U000e0000" <= c <= "\U000e01ef":
        return True
    return c != "°" and unicodedata.category(c) in _SILENT_KINDS


def _tidy(line: str) -> str:
    line = _SPACES.sub(" ", _EMPTY_BRACKETS.sub("", line))
    line = _COMMAS.sub(", ", _BEFORE_MARK.sub("", line))
    return _SHOUTING.sub(r"\1", line).strip().lstrip(",;: ")
