"""`penstock import kueue`: what becomes of several resource groups, each result worked out by hand."""

from __future__ import annotations

import pytest

from tests.support.api_objects import Json
from tests.support.kueue_objects import kueue_cohort, kueue_flavor, kueue_group, kueue_queue, kueue_quota
from tests.unit.cli.test_import_kueue import convert, specs

SPOT = ("spot", [kueue_quota("cpu", 8)])
DEAR = ("dear", [kueue_quota("cpu", 4)])
ONE = kueue_group(SPOT)
TWO = kueue_group(SPOT, DEAR)
PLAIN = kueue_flavor("plain")


def side(*quotas: Json, flavor: str = "plain") -> Json:
    return kueue_group((flavor, list(quotas)))


def given(spec: Json) -> dict[str, list[Json]]:
    return {flavor["name"]: flavor["resources"] for flavor in spec["flavors"]}


@pytest.mark.parametrize("order", [1, -1])
def test_beside_one_flavor_a_plain_ones_resources_join_it(order: int) -> None:
    licence = kueue_quota("licence", 5, borrow=1, lend=2)
    documents = (kueue_queue("a", *[ONE, side(licence)][::order], cohortName="org"), PLAIN)
    assert given(specs(*documents)["ClusterQueue/a"]) == {"spot": [kueue_quota("cpu", 8), licence]}
    told = convert(*documents).stderr
    assert "licence is counted in flavor spot; pods that ask for nothing else are held to a flavor of the queue" in told


def test_what_a_cohort_owns_of_it_is_counted_there_too() -> None:
    ours = specs(
        kueue_queue("a", ONE, side(kueue_quota("pods", 5)), cohortName="org"),
        kueue_queue("b", ONE, side(kueue_quota("pods", 3)), cohortName="below"),
        kueue_cohort("below", side(kueue_quota("pods", 2)), parentName="org"),
        kueue_cohort("org", ONE, side(kueue_quota("pods", 1), kueue_quota("other", 1))),
        PLAIN,
    )
    assert given(ours["ClusterQueue/below"]) == {"spot": [kueue_quota("pods", 2)]}
    assert given(ours["ClusterQueue/org"]) == {
        "spot": [kueue_quota("cpu", 8), kueue_quota("pods", 1)],
        "plain": [kueue_quota("other", 1)],
    }


def test_beside_several_flavors_a_sole_quota_becomes_a_limit() -> None:
    ours = specs(kueue_queue("a", TWO, side(kueue_quota("licence", 5), kueue_quota("pods", 9))), PLAIN)
    licence = kueue_quota("licence", 5)
    assert given(ours["ClusterQueue/a"]) == {"spot": [*SPOT[1], licence], "dear": [*DEAR[1], licence]}
    assert ours["ClusterQueue/a"]["limits"] == [{"name": "licence", "max": 5}, {"name": "pods", "max": 9}]


def test_such_a_limit_stays_apart_from_the_tree() -> None:
    alone = kueue_quota("licence", 5, borrow=0, lend=0)
    ours = specs(kueue_queue("a", TWO, side(alone), cohortName="org"), PLAIN)
    assert given(ours["ClusterQueue/a"]) == {"spot": [*SPOT[1], alone], "dear": [*DEAR[1], alone]}
    assert ours["ClusterQueue/a"]["limits"] == [{"name": "licence", "max": 5}]


GPU = side(kueue_quota("gpu", 1), flavor="a100")
LICENCE = side(kueue_quota("licence", 1))
OTHER = kueue_queue("other", kueue_group(DEAR), side(kueue_quota("licence", 2)), cohortName="org")


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        (
            [kueue_queue("a", ONE, GPU), kueue_flavor("a100", nodeLabels={"gpu": "a100"})],
            "[1]: a queue here gives a pod all resources from one flavor, and a100 is for nodes of its own, in "
            "addition to the flavor of the other resources: put all resources into one group whose flavors are kinds "
            "of nodes, or make a queue of each (left out: pods that ask for gpu are never admitted)",
        ),
        (
            [kueue_queue("a", ONE, GPU), kueue_flavor("a100", tolerations=[{"operator": "Exists"}])],
            "and a100 is for nodes of its own",
        ),
        (
            [kueue_queue("a", ONE, GPU), kueue_flavor("a100", nodeTaints=[{"key": "x", "effect": "NoSchedule"}])],
            "and a100 is for nodes of its own",
        ),
        (
            [kueue_queue("a", ONE, kueue_group(("p", [kueue_quota("pods", 1)]), ("q", [kueue_quota("pods", 1)])))],
            "so a choice of p, q apart is not possible: put all resources into one group whose flavors are kinds "
            "of nodes, or make a queue of each (left out: pods are not counted)",
        ),
        ([kueue_queue("a", ONE, GPU)], "ResourceFlavor a100 is not among the objects, so its requirements on nodes"),
        (
            [kueue_queue("a", TWO, LICENCE, cohortName="org"), PLAIN],
            "licence of flavor plain is borrowed and lent apart from the flavors of the other resources",
        ),
        ([kueue_queue("a", ONE, LICENCE, cohortName="org"), OTHER, PLAIN], "licence of flavor plain is borrowed and"),
        (
            [
                kueue_queue("a", ONE, LICENCE, cohortName="o"),
                kueue_cohort("o", side(*LICENCE["flavors"][0]["resources"], flavor="spot")),
                PLAIN,
            ],
            "licence of flavor plain is borrowed and lent apart",
        ),
        (
            [
                kueue_queue("a", ONE, LICENCE, cohortName="o"),
                kueue_queue("b", ONE, side(kueue_quota("licence", 1), flavor="bare"), cohortName="o"),
                PLAIN,
                kueue_flavor("bare"),
            ],
            "licence of flavor plain is borrowed and lent apart",
        ),
    ],
    ids=[
        "labels",
        "tolerations",
        "taints",
        "a choice",
        "unknown flavor",
        "several flavors in a tree",
        "another flavor elsewhere in the tree",
        "the place is taken by a cohort",
        "two flavors for one place",
    ],
)
def test_what_would_change_its_meaning_is_refused_or_told(documents: list[Json], told: str) -> None:
    refused = convert(*documents)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "ClusterQueue a: spec.resourceGroups[1]: " in refused.stderr
    assert told in refused.stderr
    kept = specs(*documents, options=("--partial",))["ClusterQueue/a"]
    assert given(kept) == {
        flavor["name"]: flavor["resources"] for flavor in documents[0]["spec"]["resourceGroups"][0]["flavors"]
    }
    assert "limits" not in kept


def test_the_group_with_cpu_is_what_every_pod_uses() -> None:
    documents = (kueue_queue("a", GPU, ONE), kueue_flavor("a100", nodeLabels={"gpu": "a100"}))
    assert "spec.resourceGroups[0]: a queue here gives" in convert(*documents).stderr
    assert given(specs(*documents, options=("--partial",))["ClusterQueue/a"]) == {"spot": [kueue_quota("cpu", 8)]}


def test_several_groups_of_a_cohort_are_one_list() -> None:
    ours = specs(kueue_cohort("org", ONE, GPU))
    assert given(ours["ClusterQueue/org"]) == {"spot": [kueue_quota("cpu", 8)], "a100": [kueue_quota("gpu", 1)]}
