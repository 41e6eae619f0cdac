"""What can go wrong with a session, in the codes of ``S2SError``."""

from __future__ import annotations

from agents.base.errors import GloveError
from agents.models.faults import Account
from audio.providers.socket import ConnectionEnded, ConnectionRefused
from realtime.s2s.contract import S2SError

_CODES = {
    "ERR_MODEL_AUTH": "ERR_S2S_AUTH",
    "ERR_MODEL_RATE_LIMIT": "ERR_S2S_LIMIT",
    "ERR_MODEL_UNREACHABLE": "ERR_S2S_CONNECTION",
    "ERR_MODEL_REQUEST": "ERR_S2S_REQUEST",
}
_REFUSALS = (1003, 1007, 1008, 1009)
"""Close codes by which providers refuse what a session begins with."""
_KEY_WORDS = ("api key", "api_key", "apikey", "unauthenticated", "unauthorized", "authentication", "credential")
_LIMIT_WORDS = ("quota", "rate limit", "too many", "resource_exhausted", "exhausted")


def refused(fault: ConnectionRefused, account: Account) -> S2SError:
    """What a failed handshake means."""
    if fault.status is None:
        words = account.clean(fault.words)
        return S2SError(
            "ERR_S2S_CONNECTION", f"{account.provider} could not be reached ({words}).", "Check the network."
        )
    return _of(account.refusal(set(), fault.status, fault.words))


def closed_early(fault: ConnectionEnded, account: Account) -> S2SError:
    """What a close before the session stood means: that is how a setup is refused."""
    words = account.clean(fault.reason)
    told = f"{account.provider} closed the connection before the session began (code {fault.code}"
    told += f", {words})." if words else ")."
    lower = words.lower()
    if any(word in lower for word in _LIMIT_WORDS):
        return S2SError("ERR_S2S_LIMIT", told, "Wait a little, or raise the account's limits.")
    if any(word in lower for word in _KEY_WORDS):
        return S2SError("ERR_S2S_AUTH", told, f"Check {account.key_name}.")
    if fault.code in _REFUSALS:
        return S2SError("ERR_S2S_REQUEST", told, "Check the model, the voice and the tools.")
    return S2SError("ERR_S2S_CONNECTION", told, "Try again.")


def ended(fault: ConnectionEnded, account: Account) -> S2SError:
    """What the end of a session that stood means."""
    words = account.clean(fault.reason)
    told = f"code {fault.code}{f', {words}' if words else ''}"
    return S2SError("ERR_S2S_DISCONNECTED", f"{account.provider} closed the session ({told}).", "Open another session.")


def fell_silent(how: str, account: Account) -> S2SError:
    """The connection stands, and nothing comes."""
    return S2SError("ERR_S2S_DISCONNECTED", f"{account.provider} has fallen silent: {how}.", "Open another session.")


def complaint(kinds: set[str], words: str, account: Account) -> S2SError:
    """What an error message of the provider means; ``kinds`` are the names that it gives the error."""
    fault = account.refusal(kinds, None, words)
    if fault.code == "ERR_MODEL_UNREACHABLE":
        return S2SError("ERR_S2S_RESPONSE", fault.message, "Ask again.")
    return _of(fault)


def _of(fault: GloveError) -> S2SError:
    return S2SError(_CODES.get(fault.code, "ERR_S2S_REQUEST"), fault.message, fault.remedy)
