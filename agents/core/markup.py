"""Text of others that a model reads: it cannot end the element it stands in, nor fill the model's context."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def escaped(text: str) -> str:
    """``text`` as the content of an element; characters that XML does not know become U+FFFD."""
    return escape(_NOT_XML.sub("\ufffd", text))


def attribute(text: str) -> str:
    """``text`` as the value of an attribute in double quotes, on one line."""
    return escape(_NOT_XML.sub("\ufffd", text), {'"': "&quot;", "\n": " ", "\r": " ", "\t": " "})


def shortened(text: str, limit: int, remedy: str = "") -> str:
    """``text``, or its first ``limit`` characters and a note that says so, and what the model can do about it."""
    if len(text) <= limit:
        return text
    told = f"Cut: these are the first {limit} of {len(text)} characters.{remedy}"
    return f"{text[:limit]}\n[{told}]"
