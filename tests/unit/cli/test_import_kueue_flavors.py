"""`penstock import kueue`: flavors of the same nodes, and those that are not needed here, for nodes are shared out."""

from __future__ import annotations

import pytest

from tests.support.kueue_objects import kueue_flavor, kueue_group, kueue_queue, kueue_quota
from tests.unit.cli.test_import_kueue import convert, specs

Labels = dict[str, str]
SPOT = {"pool": "spot"}
WITHOUT_NODES = "ResourceFlavor b: spec.nodeLabels: flavor a has the same, so that all nodes with them belong to one of"
SHARING = "ResourceFlavor b: spec.nodeLabels: nodes that have these labels and those of flavor a belong to the one that"


@pytest.mark.parametrize(
    ("first", "second", "error", "warning"),
    [
        ({}, SPOT, "", SHARING),
        ({}, {}, WITHOUT_NODES, ""),
        (SPOT, SPOT, WITHOUT_NODES, ""),
        (SPOT, {**SPOT, "zone": "a"}, "", SHARING),
        (SPOT, {}, "", SHARING),
        (SPOT, {"zone": "a"}, "", SHARING),
        (SPOT, {"pool": "dear"}, "", ""),
        ({**SPOT, "zone": "a"}, {"pool": "dear"}, "", ""),
    ],
)
def test_flavors_of_the_same_nodes_are_told_and_none_refused(
    first: Labels, second: Labels, error: str, warning: str
) -> None:
    documents = kueue_flavor("b", nodeLabels=second), kueue_flavor("a", nodeLabels=first)
    done = convert(*documents)
    assert done.exit_code == (1 if error else 0)
    warnings, _, errors = done.stderr.partition("Error: ")
    assert (error in errors, bool(errors)) == (True, bool(error))
    assert (warning in warnings, warnings.count("spec.nodeLabels")) == (True, int(bool(warning)))
    assert len(specs(*documents, options=("--partial",))) == 2


def test_quota_alone_knows_no_nodes_to_share_out() -> None:
    done = convert(kueue_flavor("a"), kueue_flavor("b"), options=("--capacity", "Static"))
    assert done.exit_code == 0
    assert "spec.nodeLabels" not in done.stderr


def test_a_flavor_counted_elsewhere_is_left_out() -> None:
    groups = [kueue_group((flavor, [kueue_quota(name, 1)])) for flavor, name in (("spot", "cpu"), ("count", "pods"))]
    documents = (
        kueue_queue("a", *groups),
        kueue_flavor("count"),
        kueue_flavor("spot", nodeLabels=SPOT),
        kueue_flavor("unnamed", nodeLabels={"pool": "x"}),
    )
    assert list(specs(*documents)) == ["ResourceFlavor/spot", "ClusterQueue/a"]
    told = convert(*documents).stderr
    assert "document 2: ResourceFlavor count: kind: is left out, since none of the queues names it any more" in told
    assert "document 4: ResourceFlavor unnamed: kind: is left out, since none of the queues names it\n" in told


def test_flavors_alone_are_all_kept() -> None:
    assert list(specs(kueue_flavor("a"), kueue_flavor("b", nodeLabels=SPOT))) == [
        "ResourceFlavor/a",
        "ResourceFlavor/b",
    ]
