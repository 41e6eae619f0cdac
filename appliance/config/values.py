"""Kinds of values that several sections share, and what every section is."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

Ms = Annotated[int, Field(ge=0, le=600_000)]
"""A duration in milliseconds, at most ten minutes."""

WeightsSource = Literal["cache", "hub", "wheel"]

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")]
"""A name or an IPv4 address, without a port."""

TCP = re.compile(r"tcp://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")

LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def listed(value: object) -> object:
    """A list that may be written as one string, with commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def address(value: str) -> str:
    """An address of a speech service, or nothing."""
    if value and not (re.fullmatch(r"(https?|wss?|tcp)://[^\s/@]+(/\S*)?", value) and _has_place(value)):
        raise ValueError("an address such as http://localhost:8000/v1, without user name or password")
    return value


def _has_place(url: str) -> bool:
    """Whether ``url`` names a host, and a port that there can be if it names one."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0  # the port is only read, and checked, here
    except ValueError:
        return False


class _Served(Protocol):
    provider: str
    url: str


_ServedSection = TypeVar("_ServedSection", bound=_Served)


def wyoming_has_url(section: _ServedSection) -> _ServedSection:
    """Wyoming services are somebody's own: there is no address to fall back to."""
    if section.provider == "wyoming" and not TCP.fullmatch(section.url):
        raise ValueError("a url such as tcp://127.0.0.1:10300 for provider wyoming")
    return section


class Section(BaseModel):
    """Base of all sections: unknown keys are errors, values cannot change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)
