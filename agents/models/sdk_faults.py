"""Exceptions of the SDKs of Anthropic and OpenAI as faults, without the request and the key that they carry."""

from __future__ import annotations

from typing import Any, cast

from agents.models.faults import Account, ModelFault, unreachable


def sdk_fault(error: Exception, sdk: Any, base: str, account: Account) -> ModelFault | None:
    """What ``error`` means; None if it is none of the SDK's.

    Both SDKs come from one generator and name their exceptions alike. Codes: ``ERR_MODEL_AUTH``,
    ``ERR_MODEL_RATE_LIMIT``, ``ERR_MODEL_UNREACHABLE``, ``ERR_MODEL_REQUEST``.

    Args:
        error: raised by the SDK or its transport.
        sdk: the module.
        base: name of its most general exception.
        account: whose fault it is.
    """
    if isinstance(error, sdk.APIConnectionError):
        return unreachable("The model's server could not be reached.")
    if isinstance(error, sdk.APIError):
        return _refusal(error, account)
    if isinstance(error, getattr(sdk, base)):
        return ModelFault("ERR_MODEL_REQUEST", account.clean(f"The model call failed: {error}"))
    if isinstance(error, ValueError | RecursionError):
        # Nobody who speaks the protocol sends this: a captive portal, a proxy, half a line.
        return unreachable("The model's server sent something that could not be read.")
    if isinstance(error, OSError | EOFError) or type(error).__module__.startswith(("httpx", "httpcore")):
        # The transport library's own exceptions while a reply is being read.
        return unreachable(account.clean(f"The connection to the model broke: {type(error).__name__}."))
    return None


def _refusal(error: Any, account: Account) -> ModelFault:
    kinds, words = _body(error.body)
    response = getattr(error, "response", None)
    return account.refusal(kinds, getattr(error, "status_code", None), words, getattr(response, "headers", None))


def _body(body: Any) -> tuple[set[str], str]:
    """What kinds of error the server named, and its words; empty where it sent none."""
    table = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    detail = table.get("error", table)
    if not isinstance(detail, dict):
        return set(), str(detail or "")
    named = cast("dict[str, Any]", detail)
    kinds = {str(named[field]) for field in ("type", "code") if named.get(field) is not None}
    return kinds, str(named.get("message") or "")
