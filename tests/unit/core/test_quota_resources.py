"""What a pod is charged beside, and instead of, what it requests. In whole decisions: tests/scenarios/resources."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.kubernetes.amounts import MAX_VALUE, UNLIMITED, QuantityError
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources, Transformation, output_factor
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.past_usage import PastUsageRule
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.tree_usage import TreeUsage
from tests.support.builders import a_cluster_queue, a_quota

MIG = Transformation("mig", (("memory-of-gpu", Fraction(5)), ("slices", Fraction(1))), is_replaced=True)
HALF = Transformation("cpu", (("credits", Fraction(1, 1500)),))


def test_outputs_of_all_inputs_are_added() -> None:
    resources = QuotaResources(transformations=(MIG, Transformation("whole", (("slices", Fraction(7)),))))
    assert dict(resources.charged((("mig", 2), ("whole", 1)))) == {
        "mig": 2,
        "whole": 1,
        "memory-of-gpu": 10,
        "slices": 9,
    }


def test_a_sum_is_rounded_up_once() -> None:
    other = Transformation("memory", (("credits", Fraction(1, 2)),))
    resources = QuotaResources(transformations=(HALF, other))
    assert dict(resources.charged((("cpu", 750), ("memory", 1))))["credits"] == 1
    assert dict(resources.charged((("cpu", 751), ("memory", 1))))["credits"] == 2


def test_another_request_multiplies_in_whole_units() -> None:
    resources = QuotaResources(transformations=(Transformation("gpu", (("hours", Fraction(3)),), multiplied_by="cpu"),))
    assert dict(resources.charged((("cpu", 1500), ("gpu", 2))))["hours"] == 9
    assert dict(resources.charged((("gpu", 2),)))["hours"] == 6, "as in Kueue, where it is not requested"


def test_a_pod_without_the_input_is_left_as_it_is() -> None:
    demand = (("cpu", 1),)
    assert QuotaResources(transformations=(MIG,)).charged(demand) is demand


def test_more_than_kubernetes_counts_is_refused() -> None:
    resources = QuotaResources(transformations=(Transformation("gpu", (("bytes", Fraction(MAX_VALUE)),)),))
    with pytest.raises(QuantityError, match="bytes: what the pod is charged is too large"):
        resources.charged((("gpu", 2),))


def test_prefixes_and_replaced_inputs_need_no_quota() -> None:
    resources = QuotaResources(("vendor/",), (MIG, HALF))
    needless = [
        one for one in ("vendor/nic", "mig", "pods", "cpu", "credits", "slices") if resources.needs_no_quota(one)
    ]
    assert needless == ["vendor/nic", "mig", "pods"]
    assert AS_REQUESTED.needs_no_quota("pods")
    assert not AS_REQUESTED.needs_no_quota("vendor/nic")


def test_nodes_have_what_their_resources_come_to() -> None:
    found = QuotaResources(transformations=(MIG, HALF)).on_node({"mig": 4, "cpu": 8000})
    assert found == {"mig": 4, "cpu": 8000, "memory-of-gpu": 20, "slices": 4, "credits": UNLIMITED}


@given(
    st.lists(st.fractions(0, 9, max_denominator=4), min_size=1, max_size=2),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=5),
    st.booleans(),
)
def test_outputs_never_limit_a_node_more_than_requests(
    factors: list[Fraction], pods: list[tuple[int, int]], is_multiplied: bool
) -> None:
    outputs = tuple((f"out-{at}", factor) for at, factor in enumerate(factors))
    by = "b" if is_multiplied else ""
    resources = QuotaResources(
        transformations=(Transformation("a", outputs, multiplied_by=by), Transformation("b", outputs))
    )
    node = resources.on_node({name: sum(pod[at] for pod in pods) for at, name in enumerate("ab")})
    charges = [dict(resources.charged((("a", a), ("b", b)))) for a, b in pods]
    assert all(sum(one.get(name, 0) for one in charges) <= node[name] for name, _ in outputs)


@pytest.mark.parametrize(
    ("resource", "quantity", "of", "factor"),
    [("x/m", "5Gi", "x/mig", 5 * 2**30), ("x/m", 3, "cpu", Fraction(3, 1000)), ("x/m", "500m", "x/g", Fraction(1, 2))],
)
def test_factors_are_in_units(resource: str, quantity: str | int, of: str, factor: Fraction) -> None:
    assert output_factor(resource, quantity, of) == factor


def test_what_is_left_out_is_no_past_usage() -> None:
    fair = FairSharing(past_usage=PastUsageRule(half_life=3600))
    queue = a_cluster_queue("team-a", a_quota(cpu="8"), fair_sharing=fair)
    rule = QuotaTree({"team-a": queue}, resources=QuotaResources(("vendor/",))).past_usage("team-a")
    assert rule is not None
    assert rule.rate((("cpu", 1000), ("vendor/nic", 4))) == rule.rate((("cpu", 1000),))
    assert rule.rate((("other/nic", 4),)) > 0


def test_what_is_left_out_counts_at_queues_that_name_it() -> None:
    parent = a_cluster_queue("org", a_quota(**{"cpu": "8", "vendor/nic": "4"}))
    children = [
        a_cluster_queue("plain", a_quota(cpu="0"), parent="org"),
        a_cluster_queue("names", a_quota(**{"cpu": "0", "vendor/nic": "0"}), parent="org"),
    ]
    queues = {one.name: one for one in (parent, *children)}
    usage = TreeUsage(QuotaTree(queues, resources=QuotaResources(("vendor/",))))
    for one in children:
        usage.add(one.name, "spot", "vendor/nic", 1)
    assert usage.used("org", "spot", "vendor/nic") == 1
