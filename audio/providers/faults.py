"""What can go wrong with a speech service, in the words and codes of the voice pipeline.

Codes, for ``STT`` and ``TTS`` alike: ``ERR_STT_CONNECTION`` (it cannot be reached), ``ERR_STT_DISCONNECTED`` (it went
away), ``ERR_STT_LIMIT`` (it is busy, or the account is used up), ``ERR_STT_AUTH`` (the key was not accepted),
``ERR_STT_REQUEST`` (it does not take what is asked of it).
"""

from __future__ import annotations

from typing import Literal

from agents.base.errors import GloveError, GloveVoiceError
from agents.models.faults import Account
from audio.providers.socket import ConnectionEnded, ConnectionRefused

Side = Literal["STT", "TTS"]

_CODES = {
    "ERR_MODEL_AUTH": "AUTH",
    "ERR_MODEL_RATE_LIMIT": "LIMIT",
    "ERR_MODEL_UNREACHABLE": "CONNECTION",
    "ERR_MODEL_REQUEST": "REQUEST",
}
_LASTING = ("_AUTH", "_REQUEST")


def lasting(fault: GloveError) -> bool:
    """Whether another attempt would fail in the same way until somebody changes something."""
    return fault.code.endswith(_LASTING)


def voice_fault(fault: GloveError, side: Side) -> GloveVoiceError:
    """A fault of a provider of models as one of ``side``."""
    kind = _CODES.get(fault.code)
    code = f"ERR_{side}_{kind}" if kind else fault.code
    what = "Speech could not be recognised." if side == "STT" else "The voice could not speak."
    return GloveVoiceError(code, f"{what} {fault.message}", fault.remedy)


def refused(fault: ConnectionRefused, side: Side, account: Account) -> GloveVoiceError:
    """What a failed handshake means."""
    if fault.status is None:
        words = account.clean(fault.words)
        return GloveVoiceError(
            f"ERR_{side}_CONNECTION", f"{account.provider} could not be reached ({words}).", "Check the network."
        )
    return voice_fault(account.refusal(set(), fault.status, fault.words), side)


def ended(fault: ConnectionEnded, side: Side, account: Account) -> GloveVoiceError:
    """What the end of a connection means. Policy violations (1008) are how services refuse a key or a request."""
    words = account.clean(fault.reason)
    told = f"code {fault.code}{f', {words}' if words else ''}"
    return GloveVoiceError(
        f"ERR_{side}_DISCONNECTED", f"{account.provider} closed the connection ({told}).", "It is opened again."
    )
