"""Trees of Kueue's keep their arithmetic when they become ours: what is available is the same at every queue.

The arithmetic of Kueue (pkg/cache/scheduler/resource_node.go) is written here once more, on Kueue's objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.api.parse import parse_cluster_queue
from controller.cli.imports.kueue_conversion import convert
from controller.cli.imports.kueue_documents import read
from controller.cli.imports.kueue_report import Report
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from controller.objects.queues import to_cluster_queue
from tests.support.api_objects import Json
from tests.support.kueue_objects import kueue_cohort, kueue_flavor, kueue_group, kueue_object, kueue_quota

COLUMNS = {("spot", "licence"): ("spot", "licence"), ("plain", "pods"): ("spot", "pods")}
"""Columns there, and where they are here: a plain flavor beside a single one is counted in it."""


@dataclass
class Node:
    """A ClusterQueue or Cohort in one column."""

    parent: Node | None
    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None
    lent_by_children: int = 0
    usage: int = 0

    @property
    def subtree(self) -> int:
        return self.nominal + self.lent_by_children

    @property
    def local(self) -> int:
        return 0 if self.lending is None else max(0, self.subtree - self.lending)

    @property
    def local_available(self) -> int:
        return max(0, self.local - self.usage)

    def available(self) -> int:
        if self.parent is None:
            return self.subtree - self.usage
        above = self.parent.available()
        if self.borrowing is not None:
            cap = self.subtree - self.local - max(0, self.usage - self.local) + self.borrowing
            above = min(above, cap)
        return self.local_available + above

    def add(self, amount: int) -> None:
        beyond = max(0, amount - self.local_available)
        self.usage += amount
        if self.parent is not None and beyond:
            self.parent.add(beyond)


def nodes(documents: list[Json], column: tuple[str, str]) -> dict[tuple[str, str], Node]:
    """Every queue and cohort as (kind, name), children after their parents."""
    found: dict[tuple[str, str], Node] = {}
    for document in documents:
        spec = document["spec"]
        above = spec.get("parentName") or spec.get("cohortName")
        if above:
            found.setdefault(("Cohort", above), Node(None))  # named only
        node = found[document["kind"], document["metadata"]["name"]] = Node(found["Cohort", above] if above else None)
        for quota in declared(document, column):
            node.nominal = quota["nominalQuota"]
            node.borrowing, node.lending = quota.get("borrowingLimit"), quota.get("lendingLimit")
    for node in reversed(found.values()):
        if node.parent is not None:
            node.parent.lent_by_children += node.subtree - node.local
    return found


def declared(document: Json, column: tuple[str, str]) -> list[Json]:
    return [
        quota
        for group in document["spec"]["resourceGroups"]
        for flavor in group["flavors"]
        for quota in flavor["resources"]
        if (flavor["name"], quota["name"]) == column
    ]


@st.composite
def quotas(draw: st.DrawFn, resource: str, *, has_parent: bool) -> Json:
    amounts = st.integers(0, 6)
    limits = st.none() | amounts if has_parent else st.none()
    return kueue_quota(resource, draw(amounts), borrow=draw(limits), lend=draw(limits))


@st.composite
def trees(draw: st.DrawFn) -> list[Json]:
    """Cohorts before those below them, then queues; some cohorts are only named."""
    documents: list[Json] = []
    names = [f"c{index}" for index in range(draw(st.integers(1, 4)))]
    for index, name in enumerate(names[1:], start=1):
        parent = draw(st.sampled_from(["", *names[:index]]))
        groups = draw(groups_of(has_parent=bool(parent)))
        documents.append(kueue_cohort(name, *groups, **({"parentName": parent} if parent else {})))
    for index in range(draw(st.integers(1, 4))):
        cohort = draw(st.sampled_from(["", *names]))
        first = kueue_group(("spot", [draw(quotas("licence", has_parent=bool(cohort)))]))
        groups = [first, *draw(groups_of(has_parent=bool(cohort)))[1:]]
        # one of the queues is called like a cohort
        spec: dict[str, Any] = {"resourceGroups": groups, **({"cohortName": cohort} if cohort else {})}
        documents.append(kueue_object("ClusterQueue", f"c{index}" if index == 0 else f"q{index}", spec))
    return documents


@st.composite
def groups_of(draw: st.DrawFn, *, has_parent: bool) -> list[Json]:
    columns = [("spot", "licence"), ("plain", "pods")][: draw(st.integers(0, 2))]
    return [kueue_group((flavor, [draw(quotas(name, has_parent=has_parent))])) for flavor, name in columns]


@given(documents=trees(), data=st.data())
def test_what_is_available_is_the_same_before_and_after(documents: list[Json], data: st.DataObject) -> None:
    report = Report()
    found = [read(str(index), body) for index, body in enumerate([kueue_flavor("plain"), *documents])]
    ours = [one for one in convert(found, "Nodes", report) if one["kind"] == "ClusterQueue"]
    queues = {one["metadata"]["name"]: to_cluster_queue(parse_cluster_queue(one)) for one in ours}
    tree = QuotaTree(queues)
    assert (report.losses, tree.faults) == ([], {})
    for column, here in COLUMNS.items():
        there, usage = nodes(documents, column), TreeUsage(tree)
        names = [
            one["metadata"]["name"] for one in documents if one["kind"] == "ClusterQueue" and declared(one, column)
        ]
        for name, amount in data.draw(st.lists(st.tuples(st.sampled_from(names), st.integers(0, 8)))) if names else ():
            there["ClusterQueue", name].add(amount)
            usage.add(name, *here, amount)
        for name in names:
            assert usage.available(name, here).amount == there["ClusterQueue", name].available()
