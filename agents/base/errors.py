"""The one error type of the project: a code for programs, a message and a remedy for people."""

from __future__ import annotations


class GloveError(Exception):
    """Something went wrong in a way that has a name.

    Attributes:
        code: stable upper-case identifier, for example ``ERR_MIC_DENIED``; programs compare it.
        message: what happened, one sentence, no secrets.
        remedy: what the reader can do about it, or None.
        cause: the exception behind it, or None.
    """

    def __init__(self, code: str, message: str, remedy: str | None = None, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[type[GloveError], tuple[str, str, str | None, BaseException | None]]:
        return (type(self), (self.code, self.message, self.remedy, self.cause))


class InputError(GloveError):
    """The caller handed over something unusable (a broken file, text out of range). The command line exits with 2."""


class ConfigError(GloveError):
    """The configuration is wrong; the message names the key. The command line exits with 2."""


class GloveVoiceError(GloveError):
    """A fault of the voice pipeline (``ERR_STT_CONNECTION``, ``ERR_TTS_CONNECTION``, ``ERR_MIC_UNAVAILABLE``, …)."""
