"""The talk button, as commands press it."""

from __future__ import annotations

from agents.base.errors import GloveError, InputError
from appliance.daemon.rooms import DEVICE, Rooms


def press(rooms: Rooms, action: object) -> str:
    """Move the talk button of the device and return what it is afterwards: ``held`` or ``released``.

    Args:
        rooms: where the device is.
        action: ``down``, ``up``, ``toggle`` or ``cancel``.

    Raises:
        InputError: ``ERR_PTT`` for another action.
        GloveError: ``ERR_PTT_ROOM`` when this machine's microphone is not in use.
    """
    session = rooms.find(DEVICE)
    if session is None:
        raise GloveError(
            "ERR_PTT_ROOM", "The microphone of this machine is not in use.", "Set device.enabled, or see glove status."
        )
    voice = session.voice
    match "up" if action == "toggle" and voice.ptt_held else "down" if action == "toggle" else action:
        case "down":
            voice.ptt_down()
        case "up":
            voice.ptt_up()
        case "cancel":
            voice.ptt_cancel()
        case _:
            raise InputError("ERR_PTT", f"The talk button cannot {action!r}.", "down, up, toggle or cancel.")
    return "held" if voice.ptt_held else "released"
