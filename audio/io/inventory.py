"""Which sound devices there are, and which one a name means."""

from __future__ import annotations

from collections.abc import Sequence

from audio.io.backend import DeviceInfo, Direction


def list_devices() -> list[DeviceInfo]:
    """The sound devices of this machine; empty when it has none.

    Raises:
        GloveVoiceError: ``ERR_AUDIO_BACKEND``, PortAudio is not installed.
    """
    from audio.io.portaudio import PortAudioBackend

    return list(PortAudioBackend().devices())


def choose_device(devices: Sequence[DeviceInfo], wanted: str, direction: Direction) -> DeviceInfo | None:
    """The device that ``wanted`` means, or None when there is none such now.

    Args:
        devices: the list to choose from.
        wanted: ``default``, an id, a name, or a part of a name in any case. An id or a whole name wins over a part; of
            several that match in part, the first of the list is meant.
        direction: only devices with channels in this direction count.
    """
    usable = [device for device in devices if device.channels(direction) > 0]
    if wanted == "default":
        marked = [device for device in usable if device.is_default(direction)]
        return (marked or usable or [None])[0]
    part = wanted.casefold()
    exact = [device for device in usable if part in (device.id.casefold(), device.name.casefold())]
    partial = [device for device in usable if part in device.id.casefold()]
    return (exact or partial or [None])[0]
