"""Files that browsers load, read once from a package, and the routes that serve them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

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

    def response(self) -> Response:
        """The file for a browser, which asks again before it uses its copy."""
        headers = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}
        return Response(self.content, media_type=self.media_type, headers=headers)


@cache
def load_folder(package: str, folder: str) -> dict[str, Asset]:
    """The files of a folder by name; nothing else can be asked for, so no path can lead out of it."""
    return {
        entry.name: Asset(entry.read_bytes(), MEDIA_TYPES[suffix])
        for entry in files(package).joinpath(folder).iterdir()
        if (suffix := PurePath(entry.name).suffix) in MEDIA_TYPES
    }


def client_assets() -> dict[str, Asset]:
    """The modules of ``glove-client.js``, by name."""
    return load_folder("agents.web", "client")


def asset_routes(path: str) -> list[BaseRoute]:
    """Routes to the client's modules under ``path``. They hold no secret and are there for everybody."""
    return [Route(f"{path}/{name}", _serve(asset)) for name, asset in client_assets().items()]


def _serve(asset: Asset) -> Callable[[Request], Response]:
    return lambda _: asset.response()
