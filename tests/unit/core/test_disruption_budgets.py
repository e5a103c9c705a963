"""How many of a gang PodDisruptionBudgets let go; that the Eviction API counts so, the integration tests show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from controller.core.kubernetes.disruption_budgets import DisruptionBudget, GuardedPod, too_narrow
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement
from controller.kube.decode_disruptions import decode_disruption_budget, decode_guarded_pod
from controller.kube.errors import UnreadableObject

GUARD = DisruptionBudget("guard", LabelSelector((Requirement("app", Operator.IN, ("train",)),)), allowed=1)
READY = GuardedPod("a", {"app": "train"}, runs=True, is_ready=True)
UNREADY = replace(READY, is_ready=False)
ALL = LabelSelector()


@pytest.mark.parametrize(
    ("budget", "pods", "is_narrow"),
    [
        (GUARD, [READY], False),
        (GUARD, [READY, READY], True),
        (GUARD, [READY, replace(READY, labels={"app": "web"})], False),
        (GUARD, [READY, replace(READY, runs=False)], False),
        (replace(GUARD, selector=None), [READY, READY], False),
        (replace(GUARD, selector=ALL), [READY, replace(READY, labels={})], True),
        (replace(GUARD, allowed=2), [READY, READY], False),
        # who is not ready costs nothing where enough others are, or where the budget says so
        (GUARD, [READY, UNREADY], True),
        (replace(GUARD, lets_unready_go=True), [READY, UNREADY], False),
        (replace(GUARD, healthy=2, desired=2), [READY, UNREADY], False),
        (replace(GUARD, healthy=1, desired=2), [READY, UNREADY], True),
        (replace(GUARD, healthy=2, desired=0), [READY, UNREADY], True),
    ],
)
def test_a_budget_is_narrow_where_more_must_go_than_it_lets(
    budget: DisruptionBudget, pods: list[GuardedPod], is_narrow: bool
) -> None:
    assert bool(too_narrow([budget], pods)) == is_narrow


def test_the_first_narrow_budget_is_named_with_its_numbers() -> None:
    wide = replace(GUARD, name="wide", allowed=9)
    said = too_narrow([wide, replace(GUARD, allowed=-1)], [READY, READY])
    assert said.startswith("PodDisruptionBudget guard lets 0 more go now")
    assert said.endswith("2 have to")


def test_a_budget_is_read_with_what_its_controller_counted() -> None:
    expressions = [{"key": "tier", "operator": "NotIn", "values": ["web"]}, {"key": "x", "operator": "Exists"}]
    written = {
        "metadata": {"name": "guard"},
        "spec": {
            "selector": {"matchLabels": {"app": "train"}, "matchExpressions": expressions},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
        "status": {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3},
    }
    assert decode_disruption_budget(orjson.dumps(written)) == DisruptionBudget(
        "guard",
        LabelSelector(
            (
                Requirement("app", Operator.IN, ("train",)),
                Requirement("tier", Operator.NOT_IN, ("web",)),
                Requirement("x", Operator.EXISTS),
            )
        ),
        allowed=1,
        healthy=3,
        desired=2,
        lets_unready_go=True,
    )


@pytest.mark.parametrize(("spec", "selector"), [({}, None), ({"selector": {}}, ALL)])
def test_an_empty_selector_selects_all_and_none_nobody(spec: dict[str, Any], selector: LabelSelector | None) -> None:
    body = orjson.dumps({"metadata": {"name": "guard"}, "spec": spec})
    assert decode_disruption_budget(body) == DisruptionBudget("guard", selector)


@pytest.mark.parametrize(
    ("deleted", "phase", "runs"),
    [
        (None, "Running", True),
        (None, "Unknown", True),
        (None, "Pending", False),
        (None, "Succeeded", False),
        (None, "Failed", False),
        ("2026-01-01T00:00:00Z", "Running", False),
    ],
)
@pytest.mark.parametrize("ready", ["True", "False"])
def test_of_a_pod_is_read_whether_a_budget_is_asked(deleted: str | None, phase: str, runs: bool, ready: str) -> None:
    metadata = {"name": "a", "uid": "a", "labels": {"app": "train"}, "deletionTimestamp": deleted}
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
    body = orjson.dumps({"metadata": metadata, "status": status})
    assert decode_guarded_pod(body) == GuardedPod("a", {"app": "train"}, runs=runs, is_ready=ready == "True")


def test_what_is_no_budget_or_pod_is_said_to_be_none() -> None:
    odd = {"metadata": {"name": "x"}, "spec": {"selector": {"matchExpressions": [{"key": "x", "operator": "Gt?"}]}}}
    for body in (b"[]", orjson.dumps(odd)):
        with pytest.raises(UnreadableObject, match="poddisruptionbudget: "):
            decode_disruption_budget(body)
    with pytest.raises(UnreadableObject, match="pod: "):
        decode_guarded_pod(b"[]")
