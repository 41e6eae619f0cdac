"""Exceptions of Amazon's SDK as faults, without the request and the credentials that they may carry."""

from __future__ import annotations

from typing import Any

from agents.models.faults import Account, ModelFault, unreachable

_CREDENTIALS = (
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "TokenRetrievalError",
    "SSOError",
    "SSOTokenLoadError",
    "UnauthorizedSSOTokenError",
    "LoginError",
)

_CONNECTION = ("HTTPClientError", "ConnectionError")

KINDS = {
    "AccessDeniedException": "403",
    "UnrecognizedClientException": "403",
    "InvalidSignatureException": "403",
    "InvalidClientTokenId": "403",
    "IncompleteSignature": "403",
    "MissingAuthenticationToken": "403",
    "ExpiredTokenException": "403",
    "ExpiredToken": "403",
    "ThrottlingException": "429",
    "TooManyRequestsException": "429",
    "ServiceQuotaExceededException": "429",
    "ModelNotReadyException": "503",
    "ModelTimeoutException": "504",
    "ModelErrorException": "502",
    "ModelStreamErrorException": "502",
    "InternalServerException": "500",
    "InternalFailure": "500",
    "ServiceUnavailableException": "503",
    "ResourceNotFoundException": "404",
}
"""Names of errors, in the shape of the SDK's exceptions, and the status that says the same."""


def bedrock_fault(error: Exception, sdk: Any, account: Account) -> ModelFault | None:
    """What ``error`` means; None if it is neither the SDK's nor its transport's.

    Codes: ``ERR_MODEL_AUTH``, ``ERR_MODEL_RATE_LIMIT``, ``ERR_MODEL_UNREACHABLE``, ``ERR_MODEL_REQUEST``.

    Args:
        error: raised by the SDK or its transport.
        sdk: the module of its exceptions.
        account: whose fault it is.
    """
    if isinstance(error, sdk.ClientError):
        return _refusal(getattr(error, "response", {}), account)
    if isinstance(error, tuple(getattr(sdk, name) for name in _CREDENTIALS if hasattr(sdk, name))):
        return ModelFault(
            "ERR_MODEL_AUTH",
            account.clean(f"There are no usable credentials for {account.provider}: {error}"),
            f"Set {account.key_name}, or a profile (AWS_PROFILE).",
        )
    if isinstance(error, tuple(getattr(sdk, name) for name in _CONNECTION)):
        return unreachable("The model's server could not be reached.")
    if isinstance(error, sdk.BotoCoreError):
        return ModelFault("ERR_MODEL_REQUEST", account.clean(f"The model call failed: {error}"))
    if type(error).__module__.startswith("aiohttp") or isinstance(error, OSError | EOFError):
        return unreachable(f"The connection to the model broke: {type(error).__name__}.")
    strange = isinstance(error, AttributeError | TypeError | LookupError | ValueError)
    if strange or type(error).__module__.startswith("botocore"):
        # Its parsers' exceptions have no common base, and a page instead of JSON makes them stumble.
        return unreachable("The model's server sent something that could not be read.")
    return None


def _refusal(response: dict[str, Any], account: Account) -> ModelFault:
    told = response.get("Error") or {}
    about = response.get("ResponseMetadata") or {}
    code = str(told.get("Code") or "")
    # Inside a stream the names begin with a small letter.
    kind = KINDS.get(code[:1].upper() + code[1:], code)
    status = about.get("HTTPStatusCode")
    known = {kind} if kind else set[str]()
    return account.refusal(known, status, str(told.get("Message") or code), about.get("HTTPHeaders"))
