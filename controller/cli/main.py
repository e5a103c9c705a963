"""The `penstock` command: finds the subcommand and turns faults into one clear line. Each subcommand has its own file.

A subcommand is a name, a line of help and a `module:attribute`; its module is imported only when it is called, so
that `penstock --help` is quick.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from importlib import metadata

import click

_COMMANDS = {
    "audit": ("controller.cli.history:audit", "Say who opened the gate of a pod, when and why."),
    "chargeback": ("controller.cli.chargeback:chargeback", "Print what was used as a dataset for cost tools (FOCUS)."),
    "completion": ("controller.cli.completion:completion", "Print what a shell needs to complete commands."),
    "dashboard": ("controller.cli.dashboard:dashboard", "Open a page that shows queues, pods, nodes and what if."),
    "demo": ("controller.cli.demo:demo", "Show how queues drain, live, on a cluster made for it or on yours."),
    "doctor": ("controller.cli.doctor:doctor", "Find out what is wrong with Penstock in a cluster, and what to do."),
    "drain": ("controller.cli.by_hand:drain", "Hold queues, and evict their admitted pods."),
    "eff": ("controller.cli.eff:eff", "Show what pods used of what they asked for, and which request is enough."),
    "eta": ("controller.cli.eta:eta", "Say when waiting pods start, by simulation."),
    "explain": (
        "controller.cli.explain:explain_command",
        "Say why a pod or Job waits, and which change would admit it.",
    ),
    "flavors": ("controller.cli.nodes:flavors", "Show flavors: their nodes, what pods take of them, what is free."),
    "history": ("controller.cli.history:history", "Show past and present pods: how long they waited and ran."),
    "hold": ("controller.cli.by_hand:hold", "Hold pods, Jobs, groups or queues until they are released."),
    "import": (
        "controller.cli.imports.group:import_group",
        "Convert objects of other projects, Kueue and kupid, to Penstock's.",
    ),
    "jobs": ("controller.cli.pods:jobs", "Show Jobs and other owners: how many pods wait and run, and why."),
    "kinds": ("controller.cli.kinds:kinds", "Print what lets other kinds than Job, as RayJob, be held as a whole."),
    "nodes": ("controller.cli.nodes:nodes", "Show nodes: flavor and state, what pods take of each, what is free."),
    "notifications": ("controller.cli.notifications:notifications", "Test the file that configures notifications."),
    "open": ("controller.cli.by_hand:open_queues", "Open queues again that were drained."),
    "pods": ("controller.cli.pods:pods", "Show the pods of queues: which wait, at which place and why, which run."),
    "policy": ("controller.cli.policy.group:policy", "See what policies do to pods, and test them without a cluster."),
    "prio": ("controller.cli.pods:prio", "Show what decides the order of waiting workloads."),
    "queues": ("controller.cli.queues:queues", "Show the tree of queues: how many pods wait, how much quota is used."),
    "release": ("controller.cli.release:release", "Release what is held; with --all remove the gate, as to uninstall."),
    "replay": ("controller.cli.replay:replay", "Make the decision of a snapshot again, and show its result."),
    "runtimeclass": ("controller.cli.runtimeclass:runtimeclass", "See which nodes take the pods of a RuntimeClass."),
    "sandbox": ("controller.cli.sandbox:sandbox", "Run a real local control plane without Docker."),
    "share": ("controller.cli.queues:share", "Show the figures that order queues by share or past usage."),
    "simulate": ("controller.cli.simulate:simulate", "Play the queues forward, with and without changes."),
    "snapshot": ("controller.cli.snapshot:snapshot", "Save what a decision would see now, as a file."),
    "top": ("controller.cli.by_hand:top", "Let pods, Jobs or groups go before the others of their queue."),
    "usage": ("controller.cli.usage:usage", "Show hours and money used, by queue, namespace, user or flavor."),
}

_ALSO_CALLED = {"rf": "flavors"}
"""As kueuectl calls them; not listed by --help."""

EXIT_FAULT = 1
EXIT_INTERRUPTED = 130


class _Lazy(click.Group):
    """Knows the names of all subcommands and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = _COMMANDS.get(_ALSO_CALLED.get(cmd_name, cmd_name))
        if found is None:
            return None
        module, _, attribute = found[0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}:{attribute} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; of one that is misspelt say which may be meant."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            similar = difflib.get_close_matches(name, _COMMANDS, n=1)
            hint = f"did you mean {similar[0]}?" if similar else "penstock --help lists them"
            ctx.fail(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

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
        click.echo(f"Error: {_told(error)}", err=True)
        return EXIT_FAULT
    return code if isinstance(code, int) else 0


def _told(error: Exception) -> str:
    from controller.cli.refusals import told
    from controller.kube.errors import KubeError

    return told(error) if isinstance(error, KubeError) else str(error)


def _is_ours(error: Exception) -> bool:
    """Whether the text of `error` was written for people. Imported here, since most calls need none of it."""
    from controller.kube.errors import KubeError
    from controller.sandbox.errors import SandboxError

    return isinstance(error, (KubeError, SandboxError))
