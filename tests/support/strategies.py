"""Hypothesis strategies: small worlds in which keys, values and sizes collide often."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from controller.core.keys import GATE
from controller.core.kubernetes.labels import Operator, Requirement
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.queues import ClusterQueue, Flavor, FlavorQuota, WhenCanBorrow
from controller.core.snapshot import Snapshot
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Shape
from tests.support.builders import (
    STRICT,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_shape,
    a_snapshot,
    a_static_flavor,
    a_taint,
    a_term,
    constraints,
)
from tests.support.pod_documents import a_pod_document
from tests.support.pod_update_rules import PREFERRED, REQUIRED

Json = dict[str, Any]

KEYS = ("pool", "zone", "size")
VALUES = ("spot", "steady", "a", "b")
NUMBERS = ("0", "1", "2", "3", "5")
ODD_NUMBERS = (*NUMBERS, "-1")
"""With a bound that no new object may have, but an old pod may."""
_SIZES = ("500m", "1", "2", "3")

values = st.sampled_from((*VALUES, *NUMBERS))


@st.composite
def requirements(draw: st.DrawFn, keys: tuple[str, ...] = KEYS, bounds: tuple[str, ...] = ODD_NUMBERS) -> Requirement:
    key, operator = draw(st.sampled_from(keys)), draw(st.sampled_from(list(Operator)))
    if operator in (Operator.IN, Operator.NOT_IN):
        return Requirement(key, operator, tuple(draw(st.lists(values, min_size=1, max_size=3, unique=True))))
    bound = (draw(st.sampled_from(bounds)),) if operator in (Operator.GT, Operator.LT) else ()
    return Requirement(key, operator, bound)


def node_labels() -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(KEYS), values)


# -- pods as JSON --------------------------------------------------------------------------------------------------


def requirement_documents() -> st.SearchStrategy[Json]:
    return requirements().map(requirement_document)


def requirement_document(requirement: Requirement) -> Json:
    document: Json = {"key": requirement.key, "operator": requirement.operator.value}
    return {**document, "values": list(requirement.values)} if requirement.values else document


def term_documents() -> st.SearchStrategy[Json]:
    name = st.builds(
        lambda operator, value: {"key": "metadata.name", "operator": operator, "values": [value]},
        st.sampled_from(("In", "NotIn")),
        st.sampled_from(("node-1", "node-2")),
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "matchExpressions": st.lists(requirement_documents(), max_size=3),
            "matchFields": st.lists(name, max_size=1),
        },
    )


def affinity_documents() -> st.SearchStrategy[Json]:
    preferred = st.lists(
        st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": term_documents()}), max_size=2
    )
    required = st.fixed_dictionaries({"nodeSelectorTerms": st.lists(term_documents(), max_size=3)})
    node_affinity = st.fixed_dictionaries({}, optional={REQUIRED: required, PREFERRED: preferred})
    pod_affinity = st.just({PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]})
    return st.fixed_dictionaries({}, optional={"nodeAffinity": node_affinity, "podAntiAffinity": pod_affinity})


def toleration_documents() -> st.SearchStrategy[Json]:
    return st.sampled_from(
        (
            {"operator": "Exists"},
            {"key": "spot", "operator": "Exists"},
            {"key": "spot", "value": "x"},
            {"key": "spot", "operator": "Equal", "value": "x"},
            {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
        )
    )


def pod_documents() -> st.SearchStrategy[Json]:
    """Queued pods with every mixture of selector, affinity, tolerations and annotations."""
    spec = st.fixed_dictionaries(
        {"schedulingGates": st.just([{"name": GATE}])},
        optional={
            "nodeSelector": st.dictionaries(st.sampled_from(KEYS), values, max_size=2),
            "affinity": affinity_documents(),
            "tolerations": st.lists(toleration_documents(), max_size=3),
        },
    )
    metadata = st.fixed_dictionaries(
        {"generation": st.integers(0, 2)},
        optional={"annotations": st.dictionaries(st.sampled_from(("a/b", "c")), st.just("x"))},
    )
    return st.builds(lambda spec, metadata: a_pod_document(spec=spec, metadata=metadata), spec, metadata)


@st.composite
def narrowing_flavors(draw: st.DrawFn) -> Flavor:
    """Flavors of Nodes mode with any mixture of labels, requirements and tolerations."""
    held = draw(st.lists(toleration_documents(), max_size=2, unique_by=str))
    flavor = a_flavor("spot", labels=draw(st.dictionaries(st.sampled_from(KEYS), values, max_size=2)))
    return Flavor(
        name=flavor.name,
        node_labels=flavor.node_labels,
        requirements=tuple(draw(st.lists(requirements(bounds=NUMBERS), max_size=3, unique=True))),
        tolerations=tuple(map(toleration, held)),
    )


def toleration(document: Json) -> Toleration:
    return Toleration(
        document.get("key", ""),
        document.get("operator", "Equal"),
        document.get("value", ""),
        document.get("effect", ""),
        document.get("tolerationSeconds"),
    )


# -- worlds --------------------------------------------------------------------------------------------------------


def shapes() -> st.SearchStrategy[Shape]:
    where = st.sampled_from(
        (
            constraints(),
            constraints(selector={"zone": "a"}),
            constraints(terms=[a_term("zone In a,b"), a_term("zone Gt 1")]),
            constraints(selector={"pool": "steady"}),
        )
    )
    memory = st.sampled_from(("0", "1Gi", "3Gi"))
    return st.builds(lambda w, cpu, m: a_shape(w, cpu=cpu, memory=m), where, st.sampled_from(_SIZES), memory)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    return a_node(
        name,
        labels={"pool": draw(st.sampled_from(("spot", "steady"))), "zone": draw(st.sampled_from(("a", "c", "5")))},
        taints=draw(st.sampled_from(((), (a_taint(),)))),
        is_usable=draw(st.integers(0, 4)) > 0,
        cpu=draw(st.sampled_from(("1", "2", "4"))),
        memory=draw(st.sampled_from(("1Gi", "4Gi"))),
        pods=draw(st.sampled_from(("1", "3", "110"))),
    )


def quotas(flavor: str) -> st.SearchStrategy[FlavorQuota]:
    amounts = st.fixed_dictionaries(
        {"cpu": st.sampled_from(("1", "2", "4", "8")), "memory": st.sampled_from(("2Gi", "8Gi"))},
        optional={"pods": st.integers(1, 4)},
    )
    return amounts.map(lambda given: a_quota(flavor, **given))


WEIGHTS = tuple(FairSharing(Fraction(weight)) for weight in ("1", "2", "1/2", "0"))


@st.composite
def cluster_queues(draw: st.DrawFn, name: str, *, parents: tuple[str, ...] = ("", "org")) -> ClusterQueue:
    flavors = draw(st.permutations(("spot", "steady", "licence")))[: draw(st.integers(1, 3))]
    given, parent = [draw(quotas(flavor)) for flavor in flavors], draw(st.sampled_from(parents))
    if parent:
        given = [replace(quota, borrowing=draw(_some(quota)), lending=draw(_some(quota))) for quota in given]
    return a_cluster_queue(
        name,
        *given,
        parent=parent,
        strategy=draw(st.sampled_from((STRICT, a_cluster_queue().strategy))),
        limits=draw(st.sampled_from(({}, {}, {"pods": 2}))),
        when_can_borrow=draw(st.sampled_from(WhenCanBorrow)),
        fair_sharing=draw(st.sampled_from(WEIGHTS)) if parent else None,
    )


def _some(quota: FlavorQuota) -> st.SearchStrategy[dict[str, int]]:
    """A limit on some of the resources."""
    return st.dictionaries(st.sampled_from(sorted(quota.nominal)), st.sampled_from((0, 1_000, 4_000)), max_size=2)


@st.composite
def parent_queues(draw: st.DrawFn) -> ClusterQueue:
    """The parent `org`, which may own something and limit its children, and lets them share fairly or not."""
    owned = tuple(draw(quotas("spot")) for _ in range(draw(st.integers(0, 1))))
    limits = draw(st.sampled_from(({}, {}, {"pods": 3})))
    return ClusterQueue(
        name="org", flavors=owned, limits=limits, fair_sharing=draw(st.sampled_from((None, WEIGHTS[0])))
    )


@st.composite
def waiting_pods(draw: st.DrawFn, name: str) -> Pod:
    return a_pod(
        name,
        draw(shapes()),
        queue=draw(st.sampled_from(("main", "main", "side", "other", "other", "nowhere"))),
        priority=draw(st.integers(0, 1)),
        created=float(draw(st.integers(0, 3))),
    )


FLAVORS = (a_flavor("spot", is_spot=True), a_flavor("steady"), a_static_flavor("licence", cpu="3", memory="6Gi"))
DOORS = (a_local_queue("main", "team-a"), a_local_queue("side", "team-a"), a_local_queue("other", "team-b"))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Snapshot, list[Pod]]:
    """A snapshot with two cluster queues, related or not, behind three doors, and the pods that wait in it."""
    count = draw(st.integers(0, 12))
    pods = [draw(waiting_pods(f"p{number}")) for number in range(count)]
    return a_snapshot(
        *pods,
        nodes=[draw(nodes(f"node-{number}")) for number in range(draw(st.integers(0, 4)))],
        flavors=FLAVORS,
        queues=[draw(parent_queues()), draw(cluster_queues("team-a")), draw(cluster_queues("team-b"))],
        locals_=DOORS,
    ), pods
