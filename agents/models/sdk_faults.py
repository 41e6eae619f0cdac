"""Exceptions of the official SDKs as ``GloveError``, without the request and the key that they carry."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import structlog

from agents.base.backoff import Backoff
from agents.base.errors import GloveError

T = TypeVar("T")

log = structlog.get_logger(__name__)

_AUTH = {"authentication_error", "permission_error", "invalid_api_key", "permission_denied", "401", "403"}
_BUSY = {"rate_limit_error", "overloaded_error", "rate_limit_exceeded", "insufficient_quota", "402", "429", "529"}
_BROKEN = {"api_error", "timeout_error", "server_error", "500", "502", "503", "504"}
_UNKNOWN = {"not_found_error", "model_not_found", "404"}


@dataclass(frozen=True)
class SdkFaults:
    """Names the faults of one model.

    The SDKs of Anthropic and OpenAI come from one generator and name their exceptions alike.

    Attributes:
        model: the adapter's name, for the log.
        provider: who answers, for people.
        key_name: environment variable of the key.
        key: the secret; it is masked in whatever the server says.
    """

    model: str
    provider: str
    key_name: str
    key: str | None

    @contextlib.contextmanager
    def named(self, sdk: Any, base: str) -> Generator[None]:
        """Raise exceptions of ``sdk`` (``base`` names its most general one) and of its transport as ``GloveError``.

        Codes: ``ERR_MODEL_AUTH``, ``ERR_MODEL_RATE_LIMIT``, ``ERR_MODEL_UNREACHABLE``, ``ERR_MODEL_REQUEST``.
        """
        fault: GloveError | None = None
        try:
            yield
        except sdk.APIConnectionError:
            fault = unreachable("The model's server could not be reached.")
        except sdk.APIError as refused:
            fault = self._refusal(refused)
        except (getattr(sdk, base), OSError, EOFError, ValueError) as other:
            fault = GloveError("ERR_MODEL_REQUEST", self._clean(f"The model call failed: {other}"))
        except Exception as other:
            # The transport library's own exceptions while a reply is being read.
            if not type(other).__module__.startswith(("httpx", "httpcore")):
                raise
            fault = unreachable(self._clean(f"The connection to the model broke: {type(other).__name__}."))
        if fault is not None:
            log.warning("model call failed", model=self.model, code=fault.code, error=fault.message)
            raise fault from None

    def _refusal(self, error: Any) -> GloveError:
        kinds, words = _body(error.body)
        status: int | None = getattr(error, "status_code", None)
        if status not in (None, 200):
            kinds.add(str(status))
        told = f"{self.provider} said: {words}" if words else f"{self.provider} answered with status {status}."
        said = self._clean(told)
        if kinds & _BUSY:
            return GloveError(
                "ERR_MODEL_RATE_LIMIT", f"The model is busy. {said}", "Wait a little, or raise the account's limits."
            )
        if kinds & _AUTH:
            return GloveError("ERR_MODEL_AUTH", f"The key was not accepted. {said}", f"Check {self.key_name}.")
        if kinds & _BROKEN or (status is not None and status >= 500):
            return unreachable(f"The model's server has a fault. {said}")
        remedy = "Check the name of the model." if kinds & _UNKNOWN else None
        return GloveError("ERR_MODEL_REQUEST", f"The request was refused. {said}", remedy)

    def _clean(self, text: str) -> str:
        return text.replace(self.key, "***") if self.key else text


async def again(attempt: Callable[[], Awaitable[T]], retries: int) -> T:
    """The result of ``attempt``, repeated at most ``retries`` times while the server is unreachable or busy.

    The SDKs could do so themselves, but they would wait inside the call, where virtual time stands still.
    """
    backoff = Backoff(first_s=0.5, cap_s=4.0, budget=retries, jitter=0.25)
    while True:
        try:
            return await attempt()
        except GloveError as fault:
            if backoff.exhausted or fault.code not in ("ERR_MODEL_UNREACHABLE", "ERR_MODEL_RATE_LIMIT"):
                raise
            await asyncio.sleep(backoff.next_delay())


def unreachable(message: str) -> GloveError:
    """A fault of the network or the server, which may be gone next time."""
    return GloveError("ERR_MODEL_UNREACHABLE", message, "Check the network, then try again.")


def _body(body: Any) -> tuple[set[str], str]:
    """What kinds of error the server named, and its words; empty where it sent none."""
    table = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    detail = table.get("error", table)
    if not isinstance(detail, dict):
        return set(), str(detail or "")
    named = cast("dict[str, Any]", detail)
    kinds = {str(named[field]) for field in ("type", "code") if named.get(field) is not None}
    return kinds, str(named.get("message") or "")
