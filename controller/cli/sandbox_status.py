"""How all sandboxes are: asks each, and shows it as a table or as JSON."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from pathlib import Path

import click
import orjson
from rich import box
from rich.console import Console
from rich.table import Table

from controller.kube import clock
from controller.kube.errors import KubeError
from controller.sandbox import Sandbox
from controller.sandbox.launch import first_line, is_up
from controller.sandbox.layout import Layout
from controller.sandbox.probe import trouble
from controller.sandbox.spec import ComponentState, Phase, State, load_spec, load_state, names


@dataclass(frozen=True, slots=True)
class Report:
    """One sandbox. `components` maps each to `ok` or what is wrong; counts are None when nobody answers.

    `operators` are names as `up --with` has them; their programs are components too.
    """

    name: str
    phase: str
    message: str = ""
    url: str = ""
    kubeconfig: str = ""
    nodes: int | None = None
    pods: int | None = None
    uptime_seconds: int | None = None
    operators: tuple[str, ...] = ()
    components: dict[str, str] = dataclasses.field(default_factory=dict)


async def gather() -> list[Report]:
    """Ask all sandboxes at once."""
    return list(await asyncio.gather(*(_report(name) for name in names())))


async def _report(name: str) -> Report:
    layout = Layout.of(name)
    state = load_state(layout)
    if state is None:
        return Report(name, "Crashed", f"only remains are left; `penstock sandbox down --name {name}` deletes them")
    probes = (asyncio.to_thread(_health, component, layout) for component in state.components)
    answers = dict(zip((one.name for one in state.components), await asyncio.gather(*probes), strict=True))
    healthy = is_up(state) and all(answer == "ok" for answer in answers.values())
    if not is_up(state):
        return Report(name, _phase(state), first_line(state) or "", state.url, components=answers)
    nodes, pods = await _counts(name)
    return Report(
        name,
        str(state.phase) if healthy else "Unhealthy",
        url=state.url,
        kubeconfig=str(layout.kubeconfig),
        nodes=nodes,
        pods=pods,
        uptime_seconds=max(0, int(clock.now() - state.started)),
        operators=load_spec(layout).operators,
        components=answers,
    )


def _phase(state: State) -> str:
    """What the state file says, unless those who wrote it are dead."""
    if state.phase is Phase.FAILED or state.supervisor.alive():
        return str(state.phase)
    return "Crashed"


def _health(component: ComponentState, layout: Layout) -> str:
    if not component.process.alive():
        return "dead"
    return trouble(component.health_url, ca=layout.ca, client=layout.pki / "admin") or "ok"


async def _counts(name: str) -> tuple[int | None, int | None]:
    try:
        async with Sandbox.attach(name).client() as client:
            nodes, pods = [
                # one item and the number of those that remain: no long list crosses the wire
                _total(await client.get(path, {"limit": "1"}))
                for path in ("/api/v1/nodes", "/api/v1/pods")
            ]
    except KubeError:
        return None, None
    return nodes, pods


def _total(body: bytes) -> int:
    found = orjson.loads(body)
    return len(found["items"]) + int(found["metadata"].get("remainingItemCount") or 0)


def show_json(reports: list[Report]) -> None:
    """Print a list with one object for each sandbox."""
    click.echo(orjson.dumps([dataclasses.asdict(one) for one in reports], option=orjson.OPT_INDENT_2))


def show_table(reports: list[Report]) -> None:
    """Print a table, or a friendly line when there is nothing to show."""
    if not reports:
        click.echo("No sandboxes. Start one with `penstock sandbox up`.")
        return
    console = Console()
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("NAME", "STATUS", "URL", "NODES", "PODS", "UPTIME"):
        table.add_column(heading, no_wrap=heading != "NAME", overflow="fold")
    table.add_column("HEALTH", overflow="fold")
    for one in reports:
        counts = ["-" if count is None else str(count) for count in (one.nodes, one.pods)]
        table.add_row(one.name, one.phase, one.url, *counts, _uptime(one.uptime_seconds), _components(one))
    console.print(table)
    for one in reports:
        if one.message:
            console.print(f"{one.name}: {one.message}", markup=False, highlight=False)
            if (logs := Layout.of(one.name).logs).is_dir():
                console.print(f"{one.name}: logs are in {_short(logs)}", markup=False, highlight=False)


def _components(report: Report) -> str:
    answers = set(report.components.values())
    if len(answers) <= 1:
        also = f", with {', '.join(report.operators)}" if report.operators else ""
        return f"{len(report.components)} {answers.pop()}{also}" if answers else "-"
    return "\n".join(f"{name}: {answer}" for name, answer in report.components.items() if answer != "ok")


def _uptime(seconds: int | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s"


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
