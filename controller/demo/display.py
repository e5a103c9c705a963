"""How a moment looks: a pure function to a renderable for terminals, and one to a line of text for logs."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from controller.core.kubernetes.amounts import CPU, format_amount
from controller.demo.picture import Picture, QuotaRow

_FIXED_LINES = 17
"""Lines of a full display without its reasons and events."""
_MOST_REASONS = 4
_MOST_EVENTS = 8


def render(picture: Picture, height: int) -> RenderableType:
    """Return the display for a terminal of `height` lines; it takes fewer than that where that is 20 or more."""
    room = max(2, height - 1 - _FIXED_LINES)
    reasons = min(_MOST_REASONS, (room + 1) // 2)
    events = min(_MOST_EVENTS, room - reasons)
    return Group(
        _headline(picture),
        "",
        _teams(picture),
        "",
        _title("Quota in use, by queue and flavor (cores)"),
        _quota(picture),
        "",
        _title("Why pods wait"),
        _reasons(picture, reasons),
        "",
        _title("Latest Events"),
        *_events(picture, events),
        # the cursor stands here, so that the ^C of a terminal does not break the display
        "",
    )


def line(picture: Picture) -> str:
    """Return the moment as one line."""
    total = picture.total
    reasons = ", ".join(f"{reason.name} {reason.count}" for reason in picture.reasons)
    borrowed = [
        f"{row.queue} {format_amount(CPU, row.borrowed)} of {row.flavor}" for row in picture.quota if row.borrowed
    ]
    return (
        f"{picture.elapsed:5.0f} s  queued {total.queued:3}  reserved {total.reserved:3}  running {total.running:3}  "
        f"done {total.done:3}/{picture.expected}  released {picture.released_per_second:4.1f}/s"
        + (f"  borrowed: {', '.join(borrowed)}" if borrowed else "")
        + (f"  waiting: {reasons}" if reasons else "")
    )


def _headline(picture: Picture) -> RenderableType:
    row = Table.grid(expand=True)
    row.add_column(ratio=1, no_wrap=True)
    row.add_column(justify="right", no_wrap=True)
    left = Text.assemble(("Penstock demo", "bold cyan"), f"  {picture.total.total} of {picture.expected} pods created")
    right = Text.assemble(
        (f"{picture.released_per_second:.1f}", "bold"), " released/s   ", (f"{picture.elapsed:.0f} s", "bold"), " "
    )
    row.add_row(left, right)
    return row


def _title(text: str) -> Text:
    return Text(text, style="bold")


def _teams(picture: Picture) -> Table:
    table = Table(box=None, expand=True, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column("queue", no_wrap=True)
    table.add_column("strategy", no_wrap=True, style="dim")
    for name in ("queued", "reserved", "running", "done"):
        table.add_column(name, justify="right")
    table.add_column("", ratio=1)
    for row in (*picture.teams, picture.total):
        style = "bold" if row.strategy == "" else ""
        bar = ProgressBar(total=max(1, row.total), completed=row.done, complete_style="green", finished_style="green")
        table.add_row(
            Text(row.name, style),
            row.strategy,
            Text(str(row.queued), "yellow" if row.queued else "dim"),
            Text(str(row.reserved), "cyan" if row.reserved else "dim"),
            Text(str(row.running), "blue" if row.running else "dim"),
            Text(str(row.done), "green" if row.done else "dim"),
            bar,
        )
    return table


def _quota(picture: Picture) -> Table:
    table = Table.grid(expand=True, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    former = ""
    for row in picture.quota:
        table.add_row(row.queue if row.queue != former else "", row.flavor, _bar(row), _share(row))
        former = row.queue
    return table


def _bar(row: QuotaRow) -> ProgressBar:
    is_nearly_full = 10 * row.used >= 9 * row.nominal
    style = "yellow" if row.borrowed else "red" if is_nearly_full else "magenta"
    return ProgressBar(total=max(1, row.nominal), completed=row.used, complete_style=style, finished_style=style)


def _share(row: QuotaRow) -> Text:
    used, nominal = format_amount(CPU, row.used), format_amount(CPU, row.nominal)
    borrowed = f"{format_amount(CPU, row.borrowed)} borrowed, " if row.borrowed else ""
    return Text.assemble((borrowed, "yellow"), (used, "bold"), (f" of {nominal}", "dim"))


def _reasons(picture: Picture, rows: int) -> Table:
    table = Table.grid(expand=True, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True, style="yellow")
    table.add_column(no_wrap=True, style="yellow")
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis", style="dim")
    shown = picture.reasons[:rows]
    for reason in shown:
        table.add_row(str(reason.count), reason.name, reason.text)
    if not shown:
        table.add_row("", "", "nothing waits")
    for _ in range(rows - max(1, len(shown))):
        table.add_row("", "", "")
    return table


def _events(picture: Picture, rows: int) -> list[Text]:
    latest = list(picture.events)[-rows:]
    return [Text(event, style="dim", no_wrap=True, overflow="ellipsis") for event in latest] + [
        Text("") for _ in range(rows - len(latest))
    ]
