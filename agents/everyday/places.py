"""Time zones: the device's own, and those of cities and countries by name."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_MORE_CITIES = {
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "las vegas": "America/Los_Angeles",
    "san diego": "America/Los_Angeles",
    "portland": "America/Los_Angeles",
    "boston": "America/New_York",
    "washington": "America/New_York",
    "miami": "America/New_York",
    "atlanta": "America/New_York",
    "philadelphia": "America/New_York",
    "dallas": "America/Chicago",
    "houston": "America/Chicago",
    "austin": "America/Chicago",
    "munich": "Europe/Berlin",
    "münchen": "Europe/Berlin",
    "hamburg": "Europe/Berlin",
    "cologne": "Europe/Berlin",
    "köln": "Europe/Berlin",
    "frankfurt": "Europe/Berlin",
    "stuttgart": "Europe/Berlin",
    "leipzig": "Europe/Berlin",
    "geneva": "Europe/Zurich",
    "genf": "Europe/Zurich",
    "bern": "Europe/Zurich",
    "basel": "Europe/Zurich",
    "salzburg": "Europe/Vienna",
    "barcelona": "Europe/Madrid",
    "milan": "Europe/Rome",
    "mailand": "Europe/Rome",
    "naples": "Europe/Rome",
    "neapel": "Europe/Rome",
    "florence": "Europe/Rome",
    "venice": "Europe/Rome",
    "lyon": "Europe/Paris",
    "marseille": "Europe/Paris",
    "edinburgh": "Europe/London",
    "manchester": "Europe/London",
    "beijing": "Asia/Shanghai",
    "peking": "Asia/Shanghai",
    "mumbai": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata",
    "bangalore": "Asia/Kolkata",
    "bengaluru": "Asia/Kolkata",
    "osaka": "Asia/Tokyo",
    "kyoto": "Asia/Tokyo",
    "rio": "America/Sao_Paulo",
    "rio de janeiro": "America/Sao_Paulo",
    "cape town": "Africa/Johannesburg",
    "kapstadt": "Africa/Johannesburg",
    "abu dhabi": "Asia/Dubai",
    "tel aviv": "Asia/Jerusalem",
    "montreal": "America/Toronto",
    "ottawa": "America/Toronto",
    "utc": "UTC",
    "england": "Europe/London",
    "greenwich": "Europe/London",
    "california": "America/Los_Angeles",
    "kalifornien": "America/Los_Angeles",
    "texas": "America/Chicago",
    "florida": "America/New_York",
    "germany": "Europe/Berlin",
    "deutschland": "Europe/Berlin",
    "spain": "Europe/Madrid",
    "spanien": "Europe/Madrid",
    "uk": "Europe/London",
    "united kingdom": "Europe/London",
    "great britain": "Europe/London",
    "großbritannien": "Europe/London",
    "scotland": "Europe/London",
    "portugal": "Europe/Lisbon",
    "hawaii": "Pacific/Honolulu",
    "china": "Asia/Shanghai",
}


def system_zone() -> tzinfo:
    """The device's time zone: ``TZ``, else the zone that ``/etc/localtime`` links to, else UTC."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        localtime = Path("/etc/localtime")
        _, found, name = str(localtime.resolve()).partition("/zoneinfo/") if localtime.exists() else ("", "", "")
        if not found and localtime.is_file():
            with localtime.open("rb") as file:
                return ZoneInfo.from_file(file, key="local")
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


@lru_cache(maxsize=1)
def _places() -> dict[str, str]:
    """Names of cities, and of countries that have one time zone, in English and German → IANA zone."""
    from babel import Locale
    from babel.core import get_global

    places: dict[str, str] = {}
    zones = available_timezones()
    for locale in (Locale("en"), Locale("de")):
        for territory, names in get_global("territory_zones").items():
            if len(names) == 1 and territory in locale.territories:
                places[locale.territories[territory].lower()] = names[0]
        exemplars: dict[str, dict[str, Any]] = dict(locale.time_zones)
        places.update({entry["city"].lower(): zone for zone, entry in exemplars.items() if "city" in entry})
    for zone in sorted(zones):
        if "/" in zone and not zone.startswith(("Etc/", "SystemV/")):
            places.setdefault(zone.rsplit("/", 1)[1].replace("_", " ").lower(), zone)
    return {name: zone for name, zone in {**places, **_MORE_CITIES}.items() if zone in zones}


def find_zone(place: str) -> ZoneInfo | None:
    """The time zone of a city or country by its English or German name, or None."""
    name = place.strip().lower().removeprefix("the ").removesuffix(" city") if place.lower() != "mexico city" else place
    places = _places()
    for candidate in (place.strip().lower(), name, name.split(",")[0].strip()):
        if candidate in places:
            return ZoneInfo(places[candidate])
    return None
