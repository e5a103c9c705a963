"""The `penstock` command: finds the subcommand and turns faults into one clear line. Each subcommand has its own file.

A subcommand is a name, a line of help and a `module:attribute`; its module is imported only when it is called, so
that `penstock --help` is quick.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib import metadata

import click

_COMMANDS = {
    "demo": ("controller.cli.demo:demo", "Show how queues drain, live, on a cluster made for it or on yours."),
    "drain": ("controller.cli.by_hand:drain", "Hold queues, and evict what they have admitted."),
    "hold": ("controller.cli.by_hand:hold", "Hold pods, Jobs, groups or queues until they are released."),
    "import": (
        "controller.cli.imports.group:import_group",
        "Convert objects of other projects, Kueue and kupid, to ours.",
    ),
    "open": ("controller.cli.by_hand:open_queues", "Let queues admit again that were drained."),
    "policy": ("controller.cli.policy.group:policy", "See what policies do to pods, and test them without a cluster."),
    "release": ("controller.cli.release:release", "Undo a hold; with --all take the gate off pods, as to uninstall."),
    "replay": ("controller.cli.replay:replay", "Decide on a snapshot again: who comes in, who goes, why others wait."),
    "runtimeclass": ("controller.cli.runtimeclass:runtimeclass", "See which nodes take the pods of a RuntimeClass."),
    "sandbox": ("controller.cli.sandbox:sandbox", "Run a real local control plane without Docker."),
    "snapshot": ("controller.cli.snapshot:snapshot", "Save what a decision would see now, as a file."),
    "top": ("controller.cli.by_hand:top", "Let pods, Jobs or groups go before the others of their queue."),
}

EXIT_FAULT = 1
EXIT_INTERRUPTED = 130


class _Lazy(click.Group):
    """Knows the names of all subcommands and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}:{attribute} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in self.list_commands(ctx)])


def _version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    try:
        click.echo(f"penstock {metadata.version('penstock')}")
    except metadata.PackageNotFoundError:
        click.echo("penstock, run from its source without being installed")
    ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def root() -> None:
    """Hold pods at a scheduling gate and release each when quota and capacity allow.

    \b
    Example:
      penstock sandbox up --nodes 5
      eval "$(penstock sandbox env)"
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 a fault, 2 wrong usage, 130 interrupted."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        code = root.main(args=arguments, prog_name="penstock", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has enough of it
        return EXIT_FAULT
    except Exception as error:
        if not _is_ours(error):
            raise
        click.echo(f"Error: {error}", err=True)
        return EXIT_FAULT
    return code if isinstance(code, int) else 0


def _is_ours(error: Exception) -> bool:
    """Whether the text of `error` was written for people. Imported here, since most calls need none of it."""
    from controller.kube.errors import KubeError
    from controller.sandbox.errors import SandboxError

    return isinstance(error, (KubeError, SandboxError))
