from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from controller.core.gate.narrowing import Narrowing, narrow
from controller.core.gate.release_patch import release_patch
from controller.core.keys import GATE
from controller.core.pod_update import may_change
from controller.core.queueing.flavor_sets import merged
from controller.core.queueing.queues import Flavor
from tests.support.json_patch import PatchFailed, patched
from tests.support.pod_documents import ADMISSION, decoded
from tests.support.pod_update_rules import may_run_on
from tests.support.seeds import examples
from tests.support.strategies import narrowing_flavors, node_labels, pod_documents

Json = dict[str, Any]
THOROUGH = settings(max_examples=examples(250))
NODES = st.sampled_from((None, "node-1"))


def patch(document: Json, flavor: Flavor, node: str | None) -> list[Json]:
    pod = decoded(document)
    assume(isinstance(narrow(pod.shape.constraints, flavor), Narrowing))
    return release_patch(pod, [flavor], ADMISSION, node=node)


@THOROUGH
@given(pod_documents(), narrowing_flavors(), NODES, st.lists(node_labels(), min_size=3, max_size=8))
def test_the_patch_is_legal_and_keeps_the_flavors_nodes(
    document: Json, flavor: Flavor, node: str | None, labels: list[dict[str, str]]
) -> None:
    after = patched(document, patch(document, flavor, node))
    assert may_change(document, after) == ()
    assert after["spec"]["schedulingGates"] == []
    for number, one in enumerate(labels):
        name = f"node-{number}"
        assert may_run_on(after, name, one) is (may_run_on(document, name, one) and flavor.selects(one))


@st.composite
def flavor_sets(draw: st.DrawFn) -> list[Flavor]:
    """Two or three flavors that go together: one label tells them apart."""
    first = draw(narrowing_flavors())
    key = draw(st.sampled_from(("pool", "zone")))
    labels = {name: value for name, value in first.node_labels if name != key}
    values = draw(st.lists(st.sampled_from(("spot", "steady", "a", "b")), min_size=2, max_size=3, unique=True))
    return [replace(first, name=value, node_labels=tuple(sorted({**labels, key: value}.items()))) for value in values]


@THOROUGH
@given(pod_documents(), flavor_sets(), NODES, st.lists(node_labels(), min_size=3, max_size=8))
def test_the_patch_of_several_flavors_keeps_all_their_nodes(
    document: Json, flavors: list[Flavor], node: str | None, labels: list[dict[str, str]]
) -> None:
    pod = decoded(document)
    assume(isinstance(narrow(pod.shape.constraints, merged(flavors)), Narrowing))
    after = patched(document, release_patch(pod, flavors, ADMISSION, node=node))
    assert may_change(document, after) == ()
    read = decoded(after)
    assert (read.flavors, read.flavor, read.pinned) == (tuple(one.name for one in flavors), None, node)
    for number, one in enumerate(labels):
        name = f"node-{number}"
        is_of_one = any(flavor.selects(one) for flavor in flavors)
        assert may_run_on(after, name, one) is (may_run_on(document, name, one) and is_of_one)


@THOROUGH
@given(pod_documents(), narrowing_flavors(), NODES)
def test_applied_twice_it_is_refused_by_its_own_tests(document: Json, flavor: Flavor, node: str | None) -> None:
    operations = patch(document, flavor, node)
    after = patched(document, operations)
    with pytest.raises(PatchFailed):
        patched(after, operations)


@THOROUGH
@given(pod_documents(), narrowing_flavors())
def test_narrowing_what_is_narrow_already_adds_nothing(document: Json, flavor: Flavor) -> None:
    after = patched(document, patch(document, flavor, None))
    gated = {**after, "spec": {**after["spec"], "schedulingGates": [{"name": GATE}]}}
    again = patched(gated, patch(gated, flavor, None))
    for part in ("nodeSelector", "affinity", "tolerations"):
        assert again["spec"].get(part) == after["spec"].get(part)
