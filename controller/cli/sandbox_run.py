"""`penstock sandbox run`: Penstock itself inside a sandbox, for a command or until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import click

from controller.cli.sandbox_options import name_option
from controller.sandbox import Sandbox, SandboxError, features
from controller.sandbox.installation import Gate, Installation, installed

_ALWAYS = ("visibility",)
"""Commands then ask as they do in a cluster, and `penstock usage` needs no database."""


def _components(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    trouble = features.trouble(value)
    if trouble is not None:
        raise click.BadParameter(trouble, ctx=ctx, param=param)
    return tuple(dict.fromkeys((*_ALWAYS, *value)))


# Options of COMMAND are its own: ours end where it begins, and what looks like one of ours before it has to be one.
@click.command(context_settings={"allow_interspersed_args": False})
@name_option("Which sandbox; it must be up.")
@click.option(
    "--component",
    "components",
    multiple=True,
    type=click.Choice(features.names()),
    metavar="NAME",
    callback=_components,
    help=f"What to enable besides queues and the visibility API; repeatable. One of {', '.join(features.usable())}.",
)
@click.option(
    "--gate",
    type=click.Choice([gate.value for gate in Gate]),
    default=Gate.WEBHOOK.value,
    show_default=True,
    help="What adds the gate and protects it: the webhook, or admission policies inside the apiserver.",
)
@click.option(
    "--history",
    metavar="URL",
    envvar="PENSTOCK_HISTORY",
    show_default="a file in the folder of the sandbox",
    help="Database in which runs of pods are kept: sqlite:////FOLDER/FILE or postgresql://USER@HOST/NAME.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(name: str, components: tuple[str, ...], gate: str, history: str | None, command: tuple[str, ...]) -> int:
    """Install Penstock into a sandbox and run it.

    By default queues work, the webhook keeps the gate, and the controller serves the visibility API and keeps a history
    of pods. Pod scheduling policies, SchedulingPolicies and default RuntimeClasses do nothing until --component enables
    them.

    With COMMAND, Penstock runs as long as that command, which gets KUBECONFIG; the exit code is the command's. Without
    COMMAND, Penstock runs until Ctrl-C. If the controller or the webhook dies, the command is ended and the exit code
    is 1. In CI, let the test suite be the command.

    \b
    Example:
      penstock sandbox up --nodes 5
      penstock sandbox run -- kubectl apply -f queues.yaml
      penstock sandbox run --component pod-policies --component scheduling-policies
    """
    sandbox = Sandbox.attach(name)
    database = history or f"sqlite:///{sandbox.folder / 'history.db'}"
    installation = {
        "gate": Gate(gate),
        "components": components,
        "webhook_arguments": features.webhook_arguments(components),
        "controller_arguments": ["--history", database],
    }
    return asyncio.run(_run(sandbox, installation, command))


async def _run(sandbox: Sandbox, installation: Mapping[str, Any], command: Sequence[str]) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with installed(sandbox, **installation) as penstock:
        logs = penstock.controller.log.parent
        click.echo(f"Penstock runs in sandbox {sandbox.name!r}; its logs are in {logs}", err=True)
        switched_on = ", ".join(installation["components"])
        click.echo(f"  gate:    {installation['gate'].value}\n  also on: {switched_on}, history", err=True)
        if command:
            return await _wait_for(sandbox, command, penstock, stop)
        click.echo(f"  use it:  export KUBECONFIG={sandbox.kubeconfig}\n  end it:  Ctrl-C", err=True)
        await _first_of(stop.wait(), penstock.ended())
        await _check(penstock, stop)
        return 0


async def _wait_for(sandbox: Sandbox, command: Sequence[str], penstock: Installation, stop: asyncio.Event) -> int:
    """Run the command to its end, or end it when we are told to stop or Penstock dies; return its exit code."""
    environment = {**os.environ, "KUBECONFIG": str(sandbox.kubeconfig)}
    try:
        child = await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        raise SandboxError(f"cannot run {command[0]!r}: {error.strerror}") from None
    await _first_of(child.wait(), stop.wait(), penstock.ended())
    if child.returncode is None:
        child.terminate()
    code = await child.wait()
    # also when the command was quicker to end than we to look: what it found, it found without Penstock
    await _check(penstock, stop)
    return code


async def _check(penstock: Installation, stop: asyncio.Event) -> None:
    """Raise SandboxError when a program has died; Ctrl-C in a terminal ends them along with us, which is no fault."""
    if not stop.is_set():
        await asyncio.to_thread(penstock.check)


async def _first_of(*events: Coroutine[Any, Any, object]) -> None:
    """Wait until one of them is over, and for the others no longer."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(event) for event in events]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
