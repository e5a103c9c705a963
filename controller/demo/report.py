"""What the demo says beside the live display: the steps it takes, the summary at the end, and what to try next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from controller.demo import summary
from controller.demo.asked import Question
from controller.demo.summary import Result
from controller.demo.world import DemoSetup, Quota


class Report:
    """Says things to people: on a terminal in colour, elsewhere as plain lines."""

    def __init__(self, console: Console, program: str) -> None:
        self.console = console
        self.program = program
        """How to call the command line from where the user is."""

    def step(self, text: str) -> None:
        """Say what is being done now."""
        self._say("[bold cyan]>[/] ", text)

    def detail(self, text: str) -> None:
        """Say more about the step."""
        self._say("  ", text)

    def queues(self, world: DemoSetup) -> None:
        """Say which queues are being made."""
        self.step("Making two ResourceFlavors, and for each team a ClusterQueue, a namespace and a LocalQueue")
        for team in world.teams:
            cores = ", then ".join(_owned(world, quota) for quota in team.quotas)
            self.detail(f"{world.named(team.name)} ({team.strategy}): cpu {cores}")
        self.detail(f"both are below {world.parent}, so each borrows what the other leaves")

    def result(self, result: Result) -> None:
        """Say what the run came to."""
        self.console.print()
        self.console.print("Summary", style="bold")
        for label, text in summary.lines(result):
            self.console.print(f"  [dim]{label:<17}[/]  ", end="")
            self.console.print(text, soft_wrap=True, highlight=False, markup=False)
        self.console.print()

    def asked(self, questions: Iterable[Question]) -> None:
        """Say what could be asked while pods waited, and what was answered."""
        for number, question in enumerate(questions):
            if not number:
                self.console.print("Questions that you could ask while it ran", style="bold")
            shown = question.command.replace("penstock ", f"{self.program} ")
            self.console.print(f"\n  $ {shown}", style="green", soft_wrap=True, highlight=False, markup=False)
            for line in question.lines:
                self.console.print(f"  {line}".rstrip(), soft_wrap=True, highlight=False, markup=False)
        self.console.print()

    def next(self, commands: Sequence[tuple[str, str]]) -> None:
        """Say what to try next: commands, and what each is for."""
        self.console.print("\nWhat to try next", style="bold")
        for command, purpose in commands:
            shown = command.replace("penstock ", f"{self.program} ")
            self.console.print(f"  {shown}", style="green", soft_wrap=True, highlight=False, markup=False)
            self.console.print(f"      {purpose}", style="dim", soft_wrap=True, highlight=False, markup=False)

    def _say(self, lead: str, text: str) -> None:
        self.console.print(lead, end="")
        self.console.print(text, soft_wrap=True, highlight=False, markup=False)


def _owned(world: DemoSetup, quota: Quota) -> str:
    owned = f"{world.amounts(quota.units)['cpu']} on {world.named(quota.flavor)}"
    return owned if quota.lends is None else f"{owned}, {world.amounts(quota.lends)['cpu']} of them lent"
