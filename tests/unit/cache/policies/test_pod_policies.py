"""The store of pod scheduling policies: what it keeps for each namespace follows policies and labels."""

from __future__ import annotations

import pytest

from controller.cache.policies.pod_policies import Policies
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement
from controller.core.pod_policies.policies import Policy
from controller.objects.pod_policies import ReadPolicy

EVERYTHING = LabelSelector()
BATCH = LabelSelector((Requirement("team", Operator.IN, ("batch",)),))


def a_store(*policies: Policy) -> Policies:
    store = Policies(pytest.fail)
    for policy in policies:
        store.put(ReadPolicy((policy.namespace, policy.name), policy))
    return store


def names(store: Policies, namespace: str, labels: dict[str, str]) -> list[str]:
    return [policy.key for policy in store.of(namespace, labels)]


def test_a_namespace_gets_its_own_and_matching_policies() -> None:
    store = a_store(
        Policy(name="wide", pods=EVERYTHING, namespaces=BATCH),
        Policy(name="own", namespace="one", pods=EVERYTHING),
        Policy(name="own", namespace="two", pods=EVERYTHING),
        Policy(name="nowhere", pods=EVERYTHING),
    )
    assert names(store, "one", {"team": "batch"}) == ["wide", "one/own"]
    assert names(store, "two", {}) == ["two/own"]


def test_cached_policies_follow_labels_and_policies() -> None:
    store = a_store(Policy(name="wide", pods=EVERYTHING, namespaces=BATCH))
    assert names(store, "one", {}) == []
    assert names(store, "one", {"team": "batch"}) == ["wide"]
    store.put(ReadPolicy(("one", "late"), Policy(name="late", namespace="one", pods=EVERYTHING)))
    assert names(store, "one", {"team": "batch"}) == ["wide", "one/late"]
    store.drop(("", "wide"))
    assert names(store, "one", {"team": "batch"}) == ["one/late"]
    store.replace([], cluster_wide=False)
    assert names(store, "one", {"team": "batch"}) == []


def test_namespaces_that_are_gone_do_not_pile_up() -> None:
    store = Policies(pytest.fail, most_kept=3)
    store.put(ReadPolicy(("", "wide"), Policy(name="wide", pods=EVERYTHING, namespaces=EVERYTHING)))
    first = store.of("team-0", {})
    assert store.of("team-0", {}) is first, "it is kept"
    assert [names(store, f"team-{number}", {}) for number in range(1, 4)] == [["wide"]] * 3
    assert (store.of("team-0", {}) == first, store.of("team-0", {}) is first) == (True, False)
