"""The options of `penstock sandbox` are checked here: what is wrong with one is wrong usage, not a sandbox's fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from controller.sandbox import SandboxError
from controller.sandbox.operators import NAMES, OPERATORS, chosen
from controller.sandbox.spec import check_name
from controller.sandbox.versions import DEFAULT, VERSIONS

DEFAULT_NAME = "default"

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def told_as_usage() -> Iterator[None]:
    """Tell a SandboxError about an option's value as click tells of others: exit code 2, where 1 is a fault."""
    try:
        yield
    except SandboxError as error:
        raise click.UsageError(str(error)) from None


def name_option(text: str) -> Callable[[F], F]:
    """Add --name; `text` is what its help says."""
    return click.option("--name", default=DEFAULT_NAME, show_default=True, metavar="NAME", callback=_checked, help=text)


kubernetes_option = click.option(
    "--kubernetes",
    type=click.Choice(VERSIONS),
    default=DEFAULT,
    show_default=True,
    metavar="VERSION",
    help=f"Which Kubernetes: {' or '.join(VERSIONS)}.",
)


class _Operators(click.ParamType[tuple[str, ...]]):
    """Names of operators with commas between them."""

    name = "operators"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        try:
            return tuple(operator.name for operator in chosen(value.split(",")))
        except SandboxError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del ctx, param
        before, comma, last = incomplete.rpartition(",")
        free = (name for name in NAMES if name not in before.split(","))
        return [CompletionItem(f"{before}{comma}{name}") for name in free if name.startswith(last)]


def _once(_: click.Context, __: click.Parameter, values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The same names make the same sandbox, in whatever order and however often they were given."""
    return tuple(operator.name for operator in chosen(name for names in values for name in names))


with_option = click.option(
    "--with",
    "operators",
    multiple=True,
    type=_Operators(),
    metavar="NAMES",
    callback=_once,
    help="Operators of other projects to have as well, with commas between them; repeatable. "
    f"{'; '.join(f'{one.name}: {one.title}' for one in OPERATORS)}.",
)


def _checked(_: click.Context, __: click.Parameter, name: str) -> str:
    with told_as_usage():
        return check_name(name)
