"""The devices that are paired, and their sessions: only digests of what their cookies hold are kept."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from agents.base import clock
from agents.base.errors import GloveError
from appliance.lan.invitations import digest
from appliance.lan.private_files import write_private
from appliance.web.titles import one_line

log = structlog.get_logger(__name__)

SECRET_BYTES = 32
ROTATE = timedelta(days=1)
"""A session gets another secret when it is used after this."""

REISSUE = timedelta(minutes=1)
"""A new secret that never came back was probably lost on the way; after this another one is sent."""

UNUSED = timedelta(days=90)
"""A session that was not used for so long is over."""

MOST_DEVICES = 32
LONGEST_NAME = 60


class PairedDevice(BaseModel):
    """A device and its session. ``offered`` is the digest of a newer secret that it has not used yet."""

    model_config = ConfigDict(extra="forbid")

    id: str
    name: str
    paired: AwareDatetime
    used: AwareDatetime
    secret: str
    rotated: AwareDatetime
    offered: str = ""


class _Kept(BaseModel):
    devices: list[PairedDevice]


class PairedDevices:
    """Knows the paired devices, in a file if there is one.

    Args:
        path: the file, or None for memory.
        now: the date and time; a clock that goes backwards ends no session.
    """

    def __init__(self, path: Path | None, now: Callable[[], datetime] = clock.wall) -> None:
        self._path = path
        self._now = now
        self._devices = _read(path)

    @property
    def all(self) -> tuple[PairedDevice, ...]:
        """The devices whose sessions go on, oldest first."""
        return tuple(device for device in self._devices if self._now() - device.used < UNUSED)

    def add(self, name: str) -> tuple[PairedDevice, str]:
        """Pair a device. Returns it with the secret for its cookie.

        Raises:
            GloveError: ``ERR_DEVICES_FULL``; ``ERR_LAN_FILES``, it could not be written down.
        """
        self._devices = list(self.all)
        if len(self._devices) >= MOST_DEVICES:
            raise GloveError(
                "ERR_DEVICES_FULL", f"{MOST_DEVICES} devices are paired already.", "glove pair revoke removes one."
            )
        secret, at = secrets.token_urlsafe(SECRET_BYTES), self._now()
        name = one_line(name)[:LONGEST_NAME] or "Device"
        device = PairedDevice(
            id=secrets.token_hex(4), name=name, paired=at, used=at, rotated=at, secret=digest(secret).hex()
        )
        self._devices.append(device)
        try:
            self._save()
        except GloveError:
            self._devices.remove(device)
            raise
        return device, secret

    def find(self, secret: str) -> PairedDevice | None:
        """The device whose cookie holds ``secret``."""
        wanted, found = digest(secret).hex(), None
        for device in self.all:
            if hmac.compare_digest(device.secret, wanted):
                found = device
            if device.offered and hmac.compare_digest(device.offered, wanted):
                found = device
        if found is not None and found.secret != wanted:
            found.secret, found.offered = found.offered, ""
            self._try_to_save()
        return found

    def renewed(self, device: PairedDevice) -> str | None:
        """Another secret for ``device`` if it is time for one; the old one works until the new one is used."""
        at = self._now()
        if at - device.rotated < (REISSUE if device.offered else ROTATE):
            return None
        secret = secrets.token_urlsafe(SECRET_BYTES)
        device.offered, device.rotated, device.used = digest(secret).hex(), at, at
        self._try_to_save()
        return secret

    def revoke(self, device_id: str) -> PairedDevice:
        """End the session of a device.

        Raises:
            GloveError: ``ERR_DEVICE_UNKNOWN``; ``ERR_LAN_FILES``, it would be back after a restart.
        """
        found = next((device for device in self._devices if device.id == device_id), None)
        if found is None:
            raise GloveError("ERR_DEVICE_UNKNOWN", f"No device {device_id!r} is paired.", "See glove pair list.")
        self._devices.remove(found)
        self._save()
        return found

    def _save(self) -> None:
        if self._path is not None:
            write_private(self._path, _Kept(devices=self._devices).model_dump_json(indent=1).encode())

    def _try_to_save(self) -> None:
        try:
            self._save()
        except GloveError as fault:
            log.error("the paired devices could not be written down", code=fault.code, error=fault.message)


def _read(path: Path | None) -> list[PairedDevice]:
    if path is None or not path.exists():
        return []
    try:
        return _Kept.model_validate_json(path.read_bytes()).devices
    except (OSError, ValidationError) as fault:
        # Letting nobody in is safe; the file is kept for whoever wants to look.
        spoilt = path.with_suffix(".spoilt")
        log.error("the paired devices cannot be read; pair them again", path=str(spoilt), error=type(fault).__name__)
        path.replace(spoilt)
        return []
