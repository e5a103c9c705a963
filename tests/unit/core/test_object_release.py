"""The patches of objects of a WorkloadKind: what they say, and that what the user wrote comes back."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.core.gate.job_release import suspend_patch
from controller.core.gate.object_release import ReleasedSet, release_object_patch, restore_object_patch
from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, FLAVORS, ORIGINAL_TEMPLATE, QUEUE_NAME
from controller.core.workloads.topology import Domain
from tests.support.builders import a_flavor
from tests.support.json_patch import PatchFailed, patched
from tests.support.pod_documents import ADMISSION
from tests.support.train_documents import TRAIN, Json, a_group, a_template, a_train, sets_of

SPOT = a_flavor("spot", labels={"pool": "spot"})
GPU = a_flavor("gpu", labels={"pool": "gpu"}, requirements=["zone In a,b"])
OWN: tuple[dict[str, Any], ...] = (
    {},
    {"labels": {"a": "b"}},
    {"annotations": {"a": "b"}},
    {"labels": {"a": "b", QUEUE_NAME: "other"}, "annotations": {"a": "b"}},
)


def released(train: Json, *flavors: Any) -> Json:
    sets = sets_of(train)
    parts = [ReleasedSet(one, [flavor]) for one, flavor in zip(sets, flavors or (SPOT, GPU), strict=True)]
    return patched(train, release_object_patch(parts, ADMISSION))


def stopped(train: Json) -> Json:
    found = copy.deepcopy(train)
    found["spec"]["policy"]["suspend"] = True
    return found


@pytest.mark.parametrize("own", OWN)
def test_each_template_gets_its_flavor_and_its_stamps(own: dict[str, Any]) -> None:
    after = released(a_train(a_group(template=a_template("2", **own))))
    head, big = after["spec"]["head"]["template"], after["spec"]["groups"][0]["template"]
    for template, name, flavor in ((head, "head", "spot"), (big, "big", "gpu")):
        assert template["spec"]["nodeSelector"] == {"pool": flavor}
        wanted = {QUEUE_NAME: "main", CLUSTER_QUEUE: "team-a", FLAVOR: flavor}
        assert wanted.items() <= template["metadata"]["labels"].items()
        assert template["metadata"]["annotations"][ADMITTED_JOB] == f"train/{name}"
    assert big["metadata"]["labels"].get("a") == own.get("labels", {}).get("a")
    assert after["spec"]["policy"]["suspend"] is False
    assert after["metadata"]["labels"] == {QUEUE_NAME: "main", CLUSTER_QUEUE: "team-a"}


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("notes", [None, {"note": "mine"}], ids=["bare", "noted"])
def test_what_the_user_wrote_comes_back(own: dict[str, Any], notes: dict[str, str] | None) -> None:
    before = a_train(a_group(template=a_template("2", **own)), metadata={"annotations": notes} if notes else None)
    away = stopped(released(before))
    back = patched(away, restore_object_patch(TRAIN, away))
    assert back["spec"] == before["spec"]
    assert back["metadata"]["labels"] == before["metadata"]["labels"]
    assert (back["metadata"]["annotations"] or None) == notes


def test_one_value_of_a_label_is_required_by_node_selector() -> None:
    rack = [Domain("rack", "r1"), Domain("row", "7", is_required=False)]
    flavor = a_flavor("gpu", labels={"pool": "gpu"}, requirements=["pool In gpu", "zone In a", "size In l,xl"])
    parts = [ReleasedSet(one, [flavor], rack) for one in sets_of(a_train())]
    spec = patched(a_train(), release_object_patch(parts, ADMISSION))["spec"]["head"]["template"]["spec"]
    assert spec["nodeSelector"] == {"pool": "gpu", "zone": "a", "rack": "r1"}
    affinity = spec["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms == [{"matchExpressions": [{"key": "size", "operator": "In", "values": ["l", "xl"]}]}]
    assert len(affinity["preferredDuringSchedulingIgnoredDuringExecution"]) == 1


def test_a_requirement_that_contradicts_a_label_is_no_selector() -> None:
    flavor = a_flavor("odd", labels={"zone": "a"}, requirements=["zone In b"])
    with pytest.raises(ValueError, match="contradicts"):
        release_object_patch([ReleasedSet(one, [flavor]) for one in sets_of(a_train())], ADMISSION)


def test_several_flavors_are_named_in_order() -> None:
    train = a_train()
    sets = sets_of(train)
    flavors = [SPOT, a_flavor("also", labels={"pool": "also"})]
    after = patched(train, release_object_patch([ReleasedSet(one, flavors) for one in sets], ADMISSION))
    assert after["spec"]["head"]["template"]["metadata"]["annotations"][FLAVORS] == "spot,also"


def test_damaged_notes_leave_the_templates_narrow_and_unstamped() -> None:
    away = stopped(released(a_train()))
    away["metadata"]["annotations"][ORIGINAL_TEMPLATE] = "damaged"
    back = patched(away, restore_object_patch(TRAIN, away))
    head = back["spec"]["head"]["template"]
    assert head["spec"]["nodeSelector"] == {"pool": "spot"}
    assert (head["metadata"]["annotations"], ORIGINAL_TEMPLATE in back["metadata"]["annotations"]) == ({}, False)


def test_a_patch_of_another_state_is_refused() -> None:
    train = a_train()
    patch = release_object_patch([ReleasedSet(one, [SPOT]) for one in sets_of(train)], ADMISSION)
    edited = {**train, "metadata": {**train["metadata"], "generation": 9}}
    for other in (released(train), edited):
        with pytest.raises(PatchFailed):
            patched(other, patch)


def test_an_object_is_suspended_where_its_kind_says() -> None:
    after = released(a_train())
    record = sets_of(after)[0]
    assert patched(after, suspend_patch(record))["spec"]["policy"]["suspend"] is True
    edited = {**stopped(after), "metadata": {**after["metadata"], "generation": 9}}
    with pytest.raises(PatchFailed):
        patched(edited, suspend_patch(record))


def test_an_object_is_suspended_though_false_is_left_out() -> None:
    after = released(a_train())
    after["spec"]["policy"] = {}
    assert patched(after, suspend_patch(sets_of(after)[0]))["spec"]["policy"] == {"suspend": True}
