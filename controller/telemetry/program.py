"""How a program of ours starts: the options that both have, and the event loop. Faults become one line.

Each program adds its own options and its own work; neither is here.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import click

from controller.kube.errors import KubeError
from controller.telemetry.http import Address, AddressError
from controller.telemetry.logs import LogFormat, LogLevel, configure

if sys.platform != "win32":
    from uvloop import new_event_loop
else:
    from asyncio import new_event_loop

_F = TypeVar("_F", bound=Callable[..., Any])

CONTEXT_SETTINGS = {"show_default": True, "auto_envvar_prefix": "PENSTOCK"}


class AddressType(click.ParamType[Address]):
    """HOST:PORT on the command line."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """Read the address, or fail with what is wrong with it."""
        try:
            return value if isinstance(value, Address) else Address.parse(str(value))
        except AddressError as error:
            self.fail(str(error), param, ctx)


def log_options(command: _F) -> _F:
    """Add --log-level and --log-format, and set logging up before the command runs."""
    level = click.Choice(LogLevel, case_sensitive=False)
    form = click.Choice(LogFormat, case_sensitive=False)
    command = click.option("--log-format", type=form, default=LogFormat.AUTO, help="auto: text on a terminal.")(command)
    return click.option(
        "--log-level", type=level, default=LogLevel.INFO, help="The least severe messages that are logged."
    )(command)


def run_program(work: Coroutine[Any, Any, None], *, level: LogLevel, form: LogFormat) -> None:
    """Run the program's work to its end; what keeps it from running becomes one line and exit code 1."""
    configure(level, form)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(work)
    except (KubeError, AddressError) as error:
        raise click.ClickException(str(error)) from None
