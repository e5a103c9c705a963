"""Structured logs: one line a fact, a constant message with keys. JSON unless a person is looking."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from typing import Any

import orjson
import structlog


class LogFormat(StrEnum):
    """`auto` is text on a terminal, JSON elsewhere."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """The least severe messages that are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def configure(level: LogLevel = LogLevel.INFO, form: LogFormat = LogFormat.AUTO) -> None:
    """Set up structlog for the process; logs go to standard error."""
    as_text = form is LogFormat.TEXT or (form is LogFormat.AUTO and sys.stderr.isatty())
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if as_text else structlog.processors.JSONRenderer(serializer=_to_json)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.value.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _to_json(entry: Any, **_: Any) -> str:
    return orjson.dumps(entry, default=str).decode()


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """Return the logger of a part of the program."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(part=name)
    return logger
