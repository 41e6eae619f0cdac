"""The files of the page, read once from the package."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What a page is made of; other files in its folder are not served."""


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    media_type: str


@cache
def load_assets() -> dict[str, Asset]:
    """The files by name; nothing else can be asked for, so no path can lead out of the folder."""
    return {
        entry.name: Asset(entry.read_bytes(), MEDIA_TYPES[suffix])
        for entry in files("appliance").joinpath("page").iterdir()
        if (suffix := PurePath(entry.name).suffix) in MEDIA_TYPES
    }
