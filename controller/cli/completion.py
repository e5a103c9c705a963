"""`penstock completion`: the script by which a shell completes commands and options. click writes it."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_KUBECTL = """#!/bin/sh
# kubectl completes `kubectl penstock` by a program of this name on the PATH
COMP_WORDS="penstock $*" COMP_CWORD=$# _PENSTOCK_COMPLETE=bash_complete penstock | sed 's/^[^,]*,//'
"""


@click.command()
@click.argument("shell", type=click.Choice([*_SHELLS, "kubectl"]))
def completion(shell: str) -> None:
    """Print the script that lets a shell complete `penstock`, or kubectl complete `kubectl penstock`.

    \b
    Example:
      source <(penstock completion bash)
      penstock completion fish > ~/.config/fish/completions/penstock.fish
      penstock completion kubectl > ~/bin/kubectl_complete-penstock && chmod +x ~/bin/kubectl_complete-penstock
    """
    if shell == "kubectl":
        click.echo(_KUBECTL, nl=False)
        return
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"{shell}: no completion for this shell; there is one for {', '.join(_SHELLS)}")
    root = click.get_current_context().find_root().command
    click.echo(found(root, {}, "penstock", "_PENSTOCK_COMPLETE").source())
