from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.core.kubernetes.class_nodes import Finding, Obstacle, judge
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.runtime_classes import Additions, Conflict, RuntimeClass, additions
from controller.core.kubernetes.taints import Toleration, merge_tolerations
from tests.support.builders import a_taint
from tests.support.classes import a_class

SPOT = Toleration("spot", "Equal", "yes", "NoSchedule")
EMPTY = Toleration("spot", "", "yes", "NoSchedule")
WIDER = Toleration("spot", "Exists")
ALL = Toleration(operator="Exists")


def lasting(seconds: int | None) -> Toleration:
    return Toleration("x", "Exists", "", "NoExecute", seconds)


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ((), (), ()),
        ((SPOT,), (), (SPOT,)),
        ((), (SPOT,), (SPOT,)),
        ((SPOT,), (SPOT,), (SPOT,)),
        ((SPOT,), (lasting(5),), (SPOT, lasting(5))),
        ((SPOT,), (WIDER,), (WIDER,)),
        ((WIDER,), (SPOT,), (WIDER,)),
        ((SPOT, lasting(5)), (ALL,), (ALL,)),
        ((ALL,), (SPOT, lasting(5)), (ALL,)),
        ((lasting(5),), (lasting(60),), (lasting(60),)),
        ((lasting(60),), (lasting(5),), (lasting(60),)),
        ((lasting(60),), (lasting(None),), (lasting(None),)),
        ((lasting(None),), (lasting(60),), (lasting(None),)),
        ((SPOT,), (EMPTY,), (EMPTY,)),
        ((EMPTY,), (SPOT,), (EMPTY,)),
        ((EMPTY,), (EMPTY,), (EMPTY,)),
        ((Toleration("k", "Equal", "1"),), (Toleration("k", "Equal", "2"),), (("k", "1"), ("k", "2"))),
        ((Toleration("k", "Gt", "1"),), (Toleration("k", "Gt", "1"),), (("k", "1"),)),
        ((Toleration("k", "Exists", "", "NoSchedule"),), (Toleration("k", "Exists", "", "NoExecute"),), ("k", "k")),
    ],
)
def test_tolerations_are_united_as_the_apiserver_does(
    first: tuple[Toleration, ...], second: tuple[Toleration, ...], merged: tuple[object, ...]
) -> None:
    found = merge_tolerations(first, second)
    if merged and isinstance(merged[0], Toleration):
        assert found == merged
    else:
        assert len(found) == len(merged)


@pytest.mark.parametrize(
    ("selector", "wanted", "added"),
    [
        ({}, {}, {}),
        ({}, {"a": "1"}, {"a": "1"}),
        ({"a": "1"}, {}, {}),
        ({"a": "1"}, {"a": "1"}, {}),
        ({"a": "1"}, {"a": "1", "b": "2"}, {"b": "2"}),
        ({"c": ""}, {"a": ""}, {"a": ""}),
    ],
)
def test_a_selector_gets_the_pairs_that_it_lacks(
    selector: Mapping[str, str], wanted: Mapping[str, str], added: Mapping[str, str]
) -> None:
    assert additions(selector, (), {}, a_class(selector=wanted)) == Additions(node_selector=added)


def test_the_first_contradicting_key_by_name_is_told() -> None:
    found = additions({"b": "1", "a": "1"}, (), {}, a_class(selector={"b": "2", "a": "2", "c": "3"}))
    assert found == Conflict(
        "spec.nodeSelector[a]",
        "'1'",
        "'2'",
        "scheduling.nodeSelector",
        "remove a from the pod's nodeSelector, or set it to '2'",
    )


@pytest.mark.parametrize("own", [{"cpu": "250m"}, {"cpu": "0.25"}, {"cpu": "250000u"}])
def test_an_overhead_of_the_same_amount_is_left_as_it_is(own: Mapping[str, str]) -> None:
    assert additions({}, (), own, a_class(cpu="250m")) == Additions()


def test_an_absent_overhead_is_set() -> None:
    assert additions({}, (), {}, a_class(cpu="250m")) == Additions(overhead={"cpu": "250m"})


@pytest.mark.parametrize(
    ("own", "overhead", "texts"),
    [
        ({"cpu": "1"}, {"cpu": "250m"}, ("cpu 1", "cpu 250m")),
        ({"memory": "1Mi", "cpu": "1"}, {"cpu": "1"}, ("cpu 1, memory 1Mi", "cpu 1")),
        ({"cpu": "1"}, {}, ("cpu 1", "none")),
        ({"cpu": "-1"}, {"cpu": "1"}, ("cpu -1", "cpu 1")),
    ],
)
def test_another_overhead_is_a_conflict(
    own: Mapping[str, str], overhead: Mapping[str, str], texts: tuple[str, str]
) -> None:
    found = additions({}, (), own, RuntimeClass(name="kata", overhead=overhead))
    assert isinstance(found, Conflict)
    assert (found.path, found.own, found.demanded) == ("spec.overhead", *texts)


def test_a_class_without_rules_keeps_even_duplicates() -> None:
    own = (SPOT, SPOT)
    assert additions({}, own, {}, RuntimeClass(name="plain")) == Additions()
    assert additions({}, own, {}, a_class()) == Additions(tolerations=(SPOT,))


def a_node(name: str = "node", **fields: object) -> Node:
    return Node(name=name, **{"labels": {"runtime": "kata"}, **fields})  # type: ignore[arg-type]


KATA = a_class("kata", Toleration("sandboxed", "Exists"), selector={"runtime": "kata"})


@pytest.mark.parametrize(
    ("node", "obstacles"),
    [
        (a_node(), []),
        (a_node(labels={}), [(Obstacle.LABEL_MISSING, "label runtime is missing, the class wants 'kata'")]),
        (
            a_node(labels={"runtime": "runc"}),
            [(Obstacle.LABEL_DIFFERS, "label runtime is 'runc', the class wants 'kata'")],
        ),
        (a_node(taints=(a_taint("sandboxed", "yes"),)), []),
        (
            a_node(taints=(a_taint("spot", "yes"),)),
            [(Obstacle.TAINT_NOT_TOLERATED, "taint spot=yes:NoSchedule is not tolerated by the class")],
        ),
        (a_node(is_ready=False), [(Obstacle.NOT_READY, "the node is not ready")]),
        (
            a_node(is_ready=False, taints=(a_taint("node.kubernetes.io/not-ready", ""),)),
            [(Obstacle.NOT_READY, "the node is not ready")],
        ),
        (a_node(is_cordoned=True, taints=(a_taint("node.kubernetes.io/unschedulable", ""),)), []),
        (
            a_node(taints=(a_taint("node.kubernetes.io/unschedulable", ""),)),
            [
                (
                    Obstacle.TAINT_NOT_TOLERATED,
                    "taint node.kubernetes.io/unschedulable:NoSchedule is not tolerated by the class",
                )
            ],
        ),
    ],
)
def test_a_node_is_judged_by_labels_taints_and_state(node: Node, obstacles: list[tuple[Obstacle, str]]) -> None:
    (verdict,) = judge(KATA, [node])
    assert verdict.findings == tuple(Finding(*obstacle) for obstacle in obstacles)
    assert verdict.matches == (not obstacles)
    assert verdict.is_cordoned is node.is_cordoned


def test_nodes_are_judged_in_order_and_every_obstacle_is_told() -> None:
    verdicts = judge(KATA, [a_node("b", labels={}, is_ready=False), a_node("a")])
    assert [(one.node, len(one.findings)) for one in verdicts] == [("a", 0), ("b", 2)]


def test_a_class_without_rules_tolerates_nothing() -> None:
    (verdict,) = judge(RuntimeClass(name="plain"), [a_node(taints=(a_taint("spot", "yes"),))])
    assert not verdict.matches
