"""Log messages: structured, on standard error, for people or for collectors, never with a secret in them."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger


def configure(level: Literal["debug", "info", "warning", "error"], style: Literal["text", "json"]) -> None:
    """Set up ``structlog`` and the standard library's logging for this process; may be called again.

    Args:
        level: least severe level that is written.
        style: ``text``: one readable line; ``json``: one object per line.
    """
    import structlog

    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared = _processors()
    final: Processor = structlog.processors.JSONRenderer() if style == "json" else _console()
    structlog.configure(
        processors=[*shared, final],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        # Asked anew for each message: standard error may be another one by then.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[_unwrap, final]))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Libraries are talkative at info level; their warnings are worth reading.
    root.setLevel(max(threshold, logging.WARNING) if threshold > logging.DEBUG else logging.INFO)


def _processors() -> list[Processor]:
    import structlog

    from agents.base.credentials import redact_secrets

    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _timestamp,
        structlog.processors.format_exc_info,
        redact_secrets,
    ]


def _console() -> Processor:
    import structlog

    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), sort_keys=False)


def _timestamp(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    from agents.base.clock import wall

    event.setdefault("timestamp", wall().isoformat(timespec="milliseconds"))
    return event


def _unwrap(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Drop what the formatter of foreign records adds for itself."""
    event.pop("_record", None)
    event.pop("_from_structlog", None)
    return event
