"""What can go wrong with a provider, in this project's words, and when another attempt is worth it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from agents.base import clock
from agents.base.backoff import Backoff
from agents.base.errors import GloveError

T = TypeVar("T")

RETRY_AFTER_CAP_S = 20.0
"""Longest wait that a server may ask for, in seconds: people are waiting too."""

_AUTH = {"authentication_error", "permission_error", "invalid_api_key", "permission_denied", "401", "403"}
_BUSY = {"rate_limit_error", "overloaded_error", "rate_limit_exceeded", "insufficient_quota", "402", "429", "529"}
_BROKEN = {"api_error", "timeout_error", "server_error", "408", "500", "502", "503", "504"}
_UNKNOWN = {"not_found_error", "model_not_found", "404"}


class ModelFault(GloveError):
    """A provider's fault. ``retry_after_s`` is how long it asked to be left alone, in seconds, or None."""

    def __init__(
        self,
        code: str,
        message: str,
        remedy: str | None = None,
        cause: BaseException | None = None,
        *,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(code, message, remedy, cause)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Account:
    """Whose faults they are.

    Attributes:
        provider: who answers, for people.
        key_name: environment variable of the key, for remedies.
        secrets: masked in whatever the server says.
    """

    provider: str
    key_name: str
    secrets: tuple[str, ...] = ()

    def clean(self, text: str) -> str:
        """``text`` without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def refusal(
        self, kinds: set[str], status: int | None, words: str, headers: Mapping[str, str] | None = None
    ) -> ModelFault:
        """The fault behind an error response.

        Args:
            kinds: names that the server gave the error.
            status: of the HTTP response; None or 200 if the error came inside a stream.
            words: the server's message.
            headers: of the response, keys in lower case or case-insensitive.
        """
        if status not in (None, 200):
            kinds = kinds | {str(status)}
        told = f"{self.provider} said: {words}" if words else f"{self.provider} answered with status {status}."
        said = self.clean(told)
        wait_s = retry_after_s(headers or {})
        if kinds & _BUSY:
            remedy = "Wait a little, or raise the account's limits."
            return ModelFault("ERR_MODEL_RATE_LIMIT", f"The model is busy. {said}", remedy, retry_after_s=wait_s)
        if kinds & _AUTH:
            return ModelFault("ERR_MODEL_AUTH", f"The key was not accepted. {said}", f"Check {self.key_name}.")
        if kinds & _BROKEN or (status is not None and status >= 500):
            return unreachable(f"The model's server has a fault. {said}", retry_after_s=wait_s)
        remedy = "Check the name of the model." if kinds & _UNKNOWN else None
        return ModelFault("ERR_MODEL_REQUEST", f"The request was refused. {said}", remedy)


def unreachable(message: str, *, retry_after_s: float | None = None) -> ModelFault:
    """A fault of the network or the server, which may be gone next time."""
    remedy = "Check the network, then try again."
    return ModelFault("ERR_MODEL_UNREACHABLE", message, remedy, retry_after_s=retry_after_s)


def cut_off() -> ModelFault:
    """A reply that ended before the provider said so."""
    return unreachable("The connection to the model was closed in the middle of a reply.")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long a server asks to be left alone, in seconds: ``Retry-After`` as seconds or as a date; None if unsaid."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None or said is None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(said) - clock.wall()).total_seconds())
    except (ValueError, TypeError):
        # Neither a number nor a date with a time zone: as good as nothing.
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


async def again(attempt: Callable[[], Awaitable[T]], retries: int) -> T:
    """The result of ``attempt``, repeated at most ``retries`` times while the server is unreachable or busy.

    The SDKs could do so themselves, but they would wait inside the call, where virtual time stands still. A server that
    names the time of the next attempt is obeyed, up to ``RETRY_AFTER_CAP_S``.
    """
    backoff = Backoff(first_s=0.5, cap_s=4.0, budget=retries, jitter=0.25)
    while True:
        try:
            return await attempt()
        except GloveError as fault:
            if backoff.exhausted or fault.code not in ("ERR_MODEL_UNREACHABLE", "ERR_MODEL_RATE_LIMIT"):
                raise
            delay_s = backoff.next_delay()
            asked_s = fault.retry_after_s if isinstance(fault, ModelFault) else None
        await asyncio.sleep(delay_s if asked_s is None else min(asked_s, RETRY_AFTER_CAP_S))
