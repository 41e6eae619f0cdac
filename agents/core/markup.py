"""Text inside markup that a model reads: whatever it contains, it cannot end the element it stands in."""

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
