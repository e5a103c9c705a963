"""What comes by itself: others end, and pauses are over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from controller.core.calendar.civil import utc_text
from controller.core.quota.used_up import UsedUp
from controller.core.workloads.shapes import Shape
from controller.visibility.changes.amounts import without_used_up
from controller.visibility.changes.change import Change, Cost
from controller.visibility.editing import Case, without_pods


class _Waiting(Change):
    """No action is needed."""

    __slots__ = ()

    @property
    def cost(self) -> Cost:
        """Nothing but time."""
        return Cost.WAITING


@dataclass(frozen=True, slots=True)
class Ends(_Waiting):
    """These admitted pods end: `uids` in the order in which they are expected to, `names` the other way round.

    `at`: when the last of them does, epoch seconds; infinite: nobody knows. `how`: `end`, or `are gone` of those that
    are on their way out.
    """

    uids: tuple[str, ...]
    names: tuple[str, ...]
    at: float = inf
    how: str = "ends"

    @property
    def text(self) -> str:
        """Who, and when."""
        more = len(self.uids) - 1
        others = f" and {more} more pod{'s' * (more > 1)}" if more else ""
        verb = {"ends": "end", "is gone": "are gone"}[self.how] if more else self.how
        when = f", expected at {utc_text(int(self.at))}" if self.at < inf else ""
        return f"when {self.names[0]}{others} {verb}{when}"

    @property
    def pods(self) -> tuple[str, ...]:
        """All of them, the one first that the text names."""
        return self.names

    @property
    def key(self) -> tuple[str, ...]:
        """Whoever ends."""
        return ("Ends",)

    def plus(self, other: Change) -> Change:
        """Return all that end, the later ones named."""
        if not isinstance(other, Ends):
            return other
        uids = tuple(dict.fromkeys((*self.uids, *other.uids)))
        names = tuple(dict.fromkeys((*other.names, *self.names)))
        return replace(other, uids=uids, names=names, at=max(self.at, other.at))

    def apply(self, case: Case) -> Case:
        """Let them be gone."""
        return case.with_snapshot(without_pods(case.snapshot, self.uids))


@dataclass(frozen=True, slots=True)
class FlavorWet(_Waiting):
    """The pause of a flavor whose nodes did not come is over, at `at` (epoch seconds)."""

    flavor: str
    at: float

    @property
    def text(self) -> str:
        """When it is tried again."""
        return f"when flavor {self.flavor} is tried again, at {utc_text(int(self.at))}"

    @property
    def key(self) -> tuple[str, ...]:
        """The flavor."""
        return "FlavorWet", self.flavor

    def apply(self, case: Case) -> Case:
        """Try it again."""
        dry = {name: spell for name, spell in case.snapshot.nodes.dry.items() if name != self.flavor}
        return case.with_snapshot(replace(case.snapshot, nodes=replace(case.snapshot.nodes, dry=dry)))


@dataclass(frozen=True, slots=True)
class TriedAgain(_Waiting):
    """A flavor in which kube-scheduler found no node for such pods is tried for them again, at `at` (epoch seconds)."""

    flavor: str
    at: float

    @property
    def text(self) -> str:
        """When."""
        return f"when flavor {self.flavor} is tried for such pods again, at {utc_text(int(self.at))}"

    @property
    def key(self) -> tuple[str, ...]:
        """The flavor."""
        return "TriedAgain", self.flavor

    def apply(self, case: Case) -> Case:
        """Forget what the scheduler said."""
        kind = case.workload.kind
        sets = tuple(replace(one, shape=self._tried(one.shape)) for one in kind.pod_sets)
        return case.with_class(replace(kind, pod_sets=sets))

    def _tried(self, shape: Shape) -> Shape:
        return replace(shape, unschedulable=tuple(one for one in shape.unschedulable if one.flavor != self.flavor))


@dataclass(frozen=True, slots=True)
class BudgetOpens(_Waiting):
    """The next period of a budget begins, or what was used of it falls out of the period."""

    used_up: UsedUp
    at: int

    @property
    def text(self) -> str:
        """When."""
        name = self.used_up.budget.name
        return f"when budget {name} of ClusterQueue {self.used_up.queue} opens again, at {utc_text(self.at)}"

    @property
    def key(self) -> tuple[str, ...]:
        """The budget."""
        return "BudgetOpens", self.used_up.queue, self.used_up.budget.name

    def apply(self, case: Case) -> Case:
        """Let something of it be left."""
        return without_used_up(case, self.used_up)


@dataclass(frozen=True, slots=True)
class FlavorsOpen(_Waiting):
    """The workload has waited long enough for the flavors behind the first: `after` seconds, which is at `at`."""

    flavor: str
    after: int
    at: float

    @property
    def text(self) -> str:
        """When."""
        return f"when flavor {self.flavor} is tried, at {utc_text(int(self.at))}"

    @property
    def key(self) -> tuple[str, ...]:
        """How long it has waited."""
        return ("FlavorsOpen",)

    def apply(self, case: Case) -> Case:
        """Let it have waited so long."""
        return case.with_class(replace(case.workload.kind, waited=self.after))
