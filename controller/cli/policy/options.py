"""Options that the commands of `penstock policy` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from controller.core.kubernetes.names import is_dns_subdomain
from controller.core.scheduling_policies.policy import MergeOption

_F = TypeVar("_F", bound=Callable[..., Any])


def class_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the name of a RuntimeClass, as the webhook checks its option."""
    if value is not None and not is_dns_subdomain(value):
        raise click.BadParameter(f"{value!r} cannot be the name of a RuntimeClass", ctx=ctx, param=param)
    return value


def objects_option(command: _F) -> _F:
    """Add --objects."""
    return click.option(
        "--objects",
        multiple=True,
        metavar="FILE|DIR",
        type=click.Path(exists=True, path_type=Path),
        help="Policies, and what they depend on (docs/policy-tools.md), from files instead of a cluster; can be "
        "repeated.",
    )(command)


def webhook_options(command: _F) -> _F:
    """Add those options of the webhook that decide over pods."""
    command = click.option(
        "--default-runtime-class",
        metavar="NAME",
        callback=class_name,
        help="The webhook's option of this name; implies --runtime-classes.",
    )(command)
    return click.option(
        "--runtime-classes", is_flag=True, help="The webhook's option of this name: its RuntimeClass step is enabled."
    )(command)


def scheduling_options(command: _F) -> _F:
    """Add those options of the webhook that say whether, and how, pods are judged by SchedulingPolicies."""
    command = click.option(
        "--scheduling-policy-merge",
        type=click.Choice([option.value for option in MergeOption]),
        default=MergeOption.DEEP_MERGE.value,
        show_default=True,
        help="The webhook's option of this name: how several SchedulingPolicies are merged.",
    )(command)
    return click.option(
        "--scheduling-policies/--no-scheduling-policies",
        default=None,
        help="Whether pods are judged by SchedulingPolicies; default: where there is one. Implies --runtime-classes.",
    )(command)
