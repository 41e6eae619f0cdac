"""The files of the page, read once from the package."""

from __future__ import annotations

from agents.web.assets import Asset, load_folder


def load_assets() -> dict[str, Asset]:
    """The files by name; nothing else can be asked for."""
    return load_folder("appliance", "page")
