"""Benches of the four faces of providers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from agents.base.credentials import Secret
from avatars.anam.api import AnamFace
from avatars.anam.passthrough import AnamPassthroughAdapter
from avatars.cloud import CloudAvatar
from avatars.livekit.anam import AnamLiveKitAvatar
from avatars.livekit.session import LiveKitAvatar
from avatars.livekit.tavus import TavusLiveKitAvatar
from avatars.tavus.api import TavusFace
from avatars.tavus.echo import TavusEchoAdapter
from tests.avatars import anam_service, tavus_service
from tests.avatars.scripted_face import ScriptedFace

LIVEKIT_URL = "wss://rooms.test"


@dataclass
class Page:
    """The page of a courier's face: remembers what it was handed."""

    messages: list[Mapping[str, Any]] = field(default_factory=list)
    broken: bool = False

    async def courier(self, message: Mapping[str, Any]) -> None:
        if self.broken:
            raise ConnectionError("the page has gone")
        self.messages.append(message)


@dataclass
class Bench:
    avatar: CloudAvatar
    outbound: Sequence[object]


def tavus_echo(service: tavus_service.TavusService, page: Page, **face: Any) -> TavusEchoAdapter:
    return TavusEchoAdapter(
        Secret(tavus_service.KEY),
        TavusFace("face-1", **face),
        page.courier,
        transport=httpx.ASGITransport(service.app),
    )


def anam_passthrough(service: anam_service.AnamService, page: Page) -> AnamPassthroughAdapter:
    return AnamPassthroughAdapter(
        Secret(anam_service.KEY), AnamFace("avatar-1"), page.courier, transport=httpx.ASGITransport(service.app)
    )


def tavus_livekit(service: tavus_service.TavusService, face: ScriptedFace, **options: Any) -> TavusLiveKitAvatar:
    return TavusLiveKitAvatar(
        Secret(tavus_service.KEY),
        TavusFace("face-1"),
        face,
        LIVEKIT_URL,
        lambda: f"token-{len(service.conversations) + 1}",
        transport=httpx.ASGITransport(service.app),
        **options,
    )


def anam_livekit(service: anam_service.AnamService, face: ScriptedFace, **options: Any) -> AnamLiveKitAvatar:
    return AnamLiveKitAvatar(
        Secret(anam_service.KEY),
        AnamFace("avatar-1"),
        face,
        LIVEKIT_URL,
        lambda: f"token-{len(service.tokens) + 1}",
        transport=httpx.ASGITransport(service.app),
        **options,
    )


@asynccontextmanager
async def tavus_echo_bench() -> AsyncIterator[Bench]:
    page = Page()
    yield Bench(tavus_echo(tavus_service.TavusService(), page), page.messages)


@asynccontextmanager
async def anam_passthrough_bench() -> AsyncIterator[Bench]:
    page = Page()
    yield Bench(anam_passthrough(anam_service.AnamService(), page), page.messages)


@asynccontextmanager
async def in_a_room(avatar: LiveKitAvatar, face: ScriptedFace) -> AsyncIterator[Bench]:
    yield Bench(avatar, face.log)
    await face.close()


def tavus_livekit_bench() -> Any:
    face = ScriptedFace()
    return in_a_room(tavus_livekit(tavus_service.TavusService(), face), face)


def anam_livekit_bench() -> Any:
    face = ScriptedFace()
    return in_a_room(anam_livekit(anam_service.AnamService(), face), face)


BENCHES = {
    "tavus": tavus_echo_bench,
    "anam": anam_passthrough_bench,
    "tavus-livekit": tavus_livekit_bench,
    "anam-livekit": anam_livekit_bench,
}
