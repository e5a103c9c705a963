"""`penstock dashboard`: the page, on loopback, by the kubeconfig and the rights of whoever starts it."""

from __future__ import annotations

import asyncio
import signal
import webbrowser

import click

from controller.dashboard.files import NotBuilt
from controller.dashboard.loopback import opened
from controller.telemetry.http import AddressError
from controller.telemetry.options import connection_options


@click.command("dashboard")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port on 127.0.0.1; a free one if not given.",
)
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
@connection_options
def dashboard(port: int, no_browser: bool, kubeconfig: str | None, context: str | None) -> None:
    """Open a page that shows queues, waiting pods and why they wait, nodes, and what another setup would do.

    The page runs on this machine alone, until Ctrl-C. It asks the visibility API of the cluster with your kubeconfig,
    and shows what your rights allow. The address that is printed lets in whoever has it: do not share it.

    \b
    Example:
      penstock dashboard
      penstock dashboard --context prod --no-browser
    """
    try:
        asyncio.run(_serve(port, kubeconfig, context, is_opened=not no_browser))
    except (AddressError, NotBuilt) as error:
        raise click.ClickException(str(error)) from None


async def _serve(port: int, kubeconfig: str | None, context: str | None, *, is_opened: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with opened(port, kubeconfig, context) as address:
        click.echo(f"The page is at {address}\nCtrl-C ends it.")
        if is_opened and not await asyncio.to_thread(webbrowser.open, address):
            click.echo("No browser was found: open the address in one.", err=True)
        await stop.wait()
