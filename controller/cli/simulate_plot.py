"""`penstock simulate --plot`: into which files, and what is said where that cannot be. `cli.simulate_figure` draws.

matplotlib is large and takes a second to load: it is optional (the extra `plots`), and loaded only for --plot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from controller.kube.errors import one_line
from controller.simulator.measurements import Outcome

_F = TypeVar("_F", bound=Callable[..., Any])
_ENDINGS: Final = (".svg", ".png")
_INSTALL: Final = "pipx inject penstock 'matplotlib>=3.11'"


def plot_option(command: _F) -> _F:
    """Add --plot, which can be repeated; the command gets the paths as `plots`, each of which can be drawn into."""
    return click.option(
        "--plot",
        "plots",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path),
        callback=_checked,
        help="Draw use and waits into a .svg or .png file; can be repeated.",
    )(command)


def draw(outcomes: Sequence[Outcome], now: float, changes: Sequence[str], plots: Sequence[Path]) -> None:
    """Draw outcomes before and after these changes, or alone, into each of the files. Raises ClickException."""
    if not plots:
        return
    from controller.cli.simulate_figure import save

    for path in plots:
        try:
            save(outcomes, now, changes, path)
        except OSError as error:
            raise click.ClickException(
                f"--plot {path}: cannot be written: {error.strerror or one_line(error)}"
            ) from None


def _checked(ctx: click.Context, param: click.Parameter, plots: tuple[Path, ...]) -> tuple[Path, ...]:
    """Find faults before anything is simulated: that may take minutes."""
    for path in plots:
        if path.suffix.lower() not in _ENDINGS:
            raise click.BadParameter(f"{path}: the name must end in {' or '.join(_ENDINGS)}", ctx, param)
        if path.is_dir():
            raise click.BadParameter(f"{path}: is a folder; name a file", ctx, param)
        if not path.parent.is_dir():
            raise click.BadParameter(f"{path}: there is no folder {path.parent}; create it first", ctx, param)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise click.BadParameter(f"{path}: you may not write there", ctx, param)
    if plots:
        _require_matplotlib()
    return plots


def _require_matplotlib() -> None:
    try:
        import_module("matplotlib.figure")
    except ImportError as error:
        raise click.ClickException(
            f"--plot needs matplotlib, which cannot be loaded ({one_line(error)}); install it with: {_INSTALL} "
            "(without pipx, in the environment of penstock: pip install 'matplotlib>=3.11')"
        ) from None
