"""Takes the markup out of a line of text: links, addresses, emphasis, HTML. What it stands for remains.

Every pattern is bounded or anchored so that the work grows only with the length of the text.
"""

from __future__ import annotations

import html
import re

from audio.spoken import Spoken

_AUTOLINK = re.compile(r"<((?:https?://|mailto:|www\.)[^<>\s]{1,2000})>")
_BREAK = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|td|th|h[1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?(?: \"[^\"]{0,300}\")?\)")
_REFERENCE = re.compile(r"!?\[([^\[\]]*)\]\[[^\[\]]{0,200}\]")
_FOOTNOTE = re.compile(r"\[(?:\^[^\[\]]{1,60}|\d{1,3})\](?!\()")
_LINK_TAIL = re.compile(r"\]\((?:https?:|mailto:|www\.|[/#])[^()\s]{0,2000}\)?")
_URL = re.compile(r"(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"'`|)\]}、。，！？「」（）]+", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z]+://)?(?:[^/?#@]*@)?(?:www\.)?([^/?#:]*)", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])(?:mailto:)?[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_INNER_DOT = re.compile(r"(?<=[^\W\d_]{2})\.(?=[a-z]{2,10}(?![^\W_]))")
_EMOTICON = re.compile(r"(?<!\S)(?:[:;=8][-']?[()DPpO3]{1,3}|<3|\^_?\^)(?!\S)")
_ESCAPE = re.compile(r"\\([^\w\s])")
_EDGE_UNDERSCORES = re.compile(r"(?<!\w)_+|_+(?!\w)|(?<=[^\w\s])_+|_+(?=[^\w\s])")
_SPACES = re.compile(r"\s+")


def without_markup(line: str, words: Spoken | None) -> str:
    """The text of ``line`` without markup, its white space made single.

    Links become their text, addresses of pages the name of the site, addresses of mail readable; ``words`` say the dot
    and the at sign in them.
    """
    line = _SPACES.sub(" ", line)
    line = _AUTOLINK.sub(r" \1 ", line)
    line = _TAG.sub("", _BREAK.sub(" ", line))
    line = html.unescape(line)
    line = _LINK.sub(r"\1", line)
    line = _REFERENCE.sub(r"\1", line)
    line = _LINK_TAIL.sub("", _FOOTNOTE.sub("", line))
    line = _EMAIL.sub(lambda m: say_address(m.group().removeprefix("mailto:"), words), line)
    line = _URL.sub(lambda m: _say_url(m.group(), words), line)
    line = _EMOTICON.sub("", line)
    line = _INNER_DOT.sub(f" {words.dot} " if words else " ", line)
    line = _ESCAPE.sub(r"\1", line).replace("\\", " ")
    return _SPACES.sub(" ", _without_emphasis(line))


def say_address(address: str, words: Spoken | None) -> str:
    """A mail address or host name for the ear."""
    if words is None:
        return address
    out = address.replace("_", " ").replace("@", f" {words.at} ").replace(".", f" {words.dot} ")
    return out.replace("+", " plus ")


def _say_url(url: str, words: Spoken | None) -> str:
    bare = url.rstrip(".,;:!?*_~")
    host = _HOST.match(bare)
    return (say_address(host.group(1), words) if host else "") + url[len(bare) :].replace("*", "").replace("_", "")


def _without_emphasis(line: str) -> str:
    line = line.replace("*", "").replace("`", "").replace("~~", "")
    return _EDGE_UNDERSCORES.sub("", line).replace("_", " ").replace("[", "").replace("]", "")
