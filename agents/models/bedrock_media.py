"""Images, documents and films in the format of Bedrock's Converse."""

from __future__ import annotations

import base64
import re
from typing import Any

from agents.core.messages import ContentPart, media_note

MEDIA: frozenset[str] = frozenset({"image", "document", "video"})
"""Kinds of parts that the format takes beside text, as data only: addresses are not fetched."""

_DEFAULT = {"image": "png", "document": "pdf", "video": "mp4"}

_KNOWN = {
    "image": {"png", "jpeg", "gif", "webp"},
    "document": {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
    "video": {"mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"},
}

_SUBTYPES = {
    "jpg": "jpeg",
    "plain": "txt",
    "markdown": "md",
    "x-markdown": "md",
    "msword": "doc",
    "vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "vnd.ms-excel": "xls",
    "vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "quicktime": "mov",
    "x-matroska": "mkv",
    "x-flv": "flv",
    "x-ms-wmv": "wmv",
    "3gpp": "three_gp",
}

_MAX_NAME = 200
_MAX_NUMBER = 6


class MediaWires:
    """Parts of one request: no two documents in it may bear the same name."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def of(self, part: ContentPart) -> dict[str, Any]:
        """``part`` as the format takes it, or a note in its place."""
        form, data = _format(part), _data(part)
        if form is None or not data:
            return {"text": media_note(part)}
        block: dict[str, Any] = {"format": form, "source": {"bytes": data}}
        if part.type == "document":
            block["name"] = self._name(part.name or "document")
        return {part.type: block}

    def _name(self, name: str) -> str:
        """A name in the alphabet that is allowed; the model reads it, so its file name's dot is not missed."""
        clean = re.sub(r"\s+", " ", re.sub(r"[^A-Za-z0-9\s()\[\]-]", " ", name)).strip() or "document"
        clean = clean[: _MAX_NAME - _MAX_NUMBER]
        chosen, number = clean, 1
        while chosen in self._names:
            number += 1
            chosen = f"{clean} ({number})"
        self._names.add(chosen)
        return chosen


def _format(part: ContentPart) -> str | None:
    """The format's word for the kind of file; None for what it does not know."""
    if part.type not in MEDIA or part.source is None:
        return None
    subtype = part.source.media_type.partition(";")[0].rpartition("/")[2].strip().lower()
    form = _SUBTYPES.get(subtype, subtype) or _DEFAULT[part.type]
    return form if form in _KNOWN[part.type] else None


def _data(part: ContentPart) -> bytes:
    source = part.source
    if source is None or source.type != "base64" or not source.data:
        return b""
    try:
        return base64.b64decode(source.data, validate=True)
    except ValueError:
        return b""
