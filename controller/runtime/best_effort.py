"""Writes that may fail: each is counted, logged and left, so that no release waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from controller.kube.errors import Conflict, KubeError, NotFound, TooManyRequests, Unreachable
from controller.telemetry import logs
from controller.telemetry.metrics import ControllerMetrics

_log = logs.get("side_writes")

_SERVER_PAUSE: Final = 1.0


async def attempt(metrics: ControllerMetrics, kind: str, write: Awaitable[object]) -> bool:
    """Do a side write; say whether it is over and done with. An object that is gone or there already is."""
    try:
        await write
    except (NotFound, Conflict):
        return True
    except KubeError as error:
        metrics.side_writes.labels(kind, "failed").inc()
        _log.warning("side_write_failed", kind=kind, error=str(error))
        if isinstance(error, Unreachable | TooManyRequests):
            await asyncio.sleep(_SERVER_PAUSE)  # the apiserver's trouble, not this object's
        return False
    metrics.side_writes.labels(kind, "written").inc()
    return True
