"""`penstock sandbox run`: Penstock itself inside a sandbox, for a command or until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

import click

from controller.sandbox import Sandbox, SandboxError
from controller.sandbox.installation import installed


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--name", default="default", show_default=True, metavar="NAME", help="Which sandbox; it must be up.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(name: str, command: tuple[str, ...]) -> int:
    """Install Penstock into a sandbox and run it.

    With COMMAND: for as long as that runs, with KUBECONFIG set for it; exits with its code. Without: until Ctrl-C.
    For trying queues in CI: the test suite is the command.

    \b
    Example:
      penstock sandbox up --nodes 5
      penstock sandbox run -- kubectl apply -f queues.yaml
      penstock sandbox run
    """
    return asyncio.run(_run(Sandbox.attach(name), command))


async def _run(sandbox: Sandbox, command: Sequence[str]) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with installed(sandbox) as penstock:
        logs = penstock.controller.log.parent
        click.echo(f"Penstock runs in sandbox {sandbox.name!r}; its logs are in {logs}", err=True)
        if command:
            return await _wait_for(sandbox, command, stop)
        click.echo(f"  use it:  export KUBECONFIG={sandbox.kubeconfig}\n  end it:  Ctrl-C", err=True)
        await stop.wait()
        return 0


async def _wait_for(sandbox: Sandbox, command: Sequence[str], stop: asyncio.Event) -> int:
    """Run the command to its end, or end it when we are told to stop; return its exit code."""
    environment = {**os.environ, "KUBECONFIG": str(sandbox.kubeconfig)}
    try:
        child = await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        raise SandboxError(f"cannot run {command[0]!r}: {error.strerror}") from None
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(child.wait(), name="command")
        stopped = group.create_task(stop.wait(), name="stop")
        await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            child.terminate()
        stopped.cancel()
    return ended.result()
