"""The patches of Jobs that are held as a whole: they say what they should, and the apiserver takes them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.core.gate.job_release import release_job_patch, restore_patch
from controller.core.job_update import may_change
from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, FLAVORS, QUEUE_NAME
from controller.core.workloads.topology import Domain
from tests.support.builders import a_flavor
from tests.support.job_documents import a_job_document, a_released_job, edited, pods_of
from tests.support.json_patch import PatchFailed, patched
from tests.support.pod_documents import ADMISSION

SPOT = a_flavor("spot", labels={"pool": "spot"})
TAINTED = a_flavor("gpu", labels={"pool": "gpu"}, requirements=["zone In a,b"])
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
OWN: tuple[dict[str, Any], ...] = (
    {},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"key": "x", "operator": "Exists"}]},
    {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}}},
    {"affinity": {"podAntiAffinity": {}}},
)
STOPPED = {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("flavor", [SPOT, TAINTED], ids=lambda one: one.name)
def test_a_release_is_legal_and_says_all_to_the_pods(own: dict[str, Any], flavor: Any) -> None:
    before = a_job_document(template=own)
    after = a_released_job(before, [flavor])
    assert may_change(before, after) == ()
    assert after["spec"]["suspend"] is False
    template = after["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {**own.get("nodeSelector", {}), **dict(flavor.node_labels)}
    stamps = {QUEUE_NAME: "main", CLUSTER_QUEUE: "team-a", FLAVOR: flavor.name}
    assert stamps.items() <= template["metadata"]["labels"].items()
    assert template["metadata"]["annotations"][ADMITTED_JOB] == "train"
    assert stamps.items() <= after["metadata"]["labels"].items()


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("labels", [{}, {QUEUE_NAME: "other"}], ids=["no queue", "a queue of its own"])
def test_what_the_user_wrote_comes_back(own: dict[str, Any], labels: dict[str, str]) -> None:
    before = a_job_document(template=own)
    before["spec"]["template"]["metadata"]["labels"].update(labels)
    before["spec"]["template"]["metadata"]["annotations"] = {"note": "mine"}
    before["metadata"]["annotations"] = {"note": "mine"}
    released = a_released_job(before, [TAINTED])
    stopped = {**edited(released, suspend=True), **STOPPED}
    back = patched(stopped, restore_patch(stopped))
    assert may_change(stopped, back) == ()
    assert back["spec"] == before["spec"]
    assert back["metadata"]["labels"] == before["metadata"]["labels"]
    assert back["metadata"]["annotations"] == before["metadata"]["annotations"]


def test_several_flavors_are_in_one_annotation() -> None:
    first, second = (a_flavor(name, labels={"pool": name}) for name in ("spot", "on-demand"))
    after = a_released_job(a_job_document(), [first, second])
    template = after["spec"]["template"]
    assert template["metadata"]["annotations"][FLAVORS] == "spot,on-demand"
    assert FLAVOR not in template["metadata"]["labels"]
    terms = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["spot", "on-demand"]


def test_the_domain_of_all_pods_is_required() -> None:
    before = a_job_document()
    after = patched(before, release_job_patch(pods_of(before), [SPOT], ADMISSION, (Domain("zone", "a"),)))
    assert may_change(before, after) == ()
    terms = after["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert terms["requiredDuringSchedulingIgnoredDuringExecution"] == {"nodeSelectorTerms": [TERM]}


@pytest.mark.parametrize(
    "edit",
    [
        lambda job: job["metadata"].update(generation=2),
        lambda job: job["metadata"].update(uid="another"),
        lambda job: job["metadata"]["labels"].update({QUEUE_NAME: "other"}),
        lambda job: job["spec"].update(suspend=False),
        lambda job: job["metadata"].update(annotations={"penstock.dev/release-attempt": "1"}),
    ],
)
def test_a_job_that_is_another_by_now_is_not_released(edit: Any) -> None:
    before = a_job_document()
    patch = release_job_patch(pods_of(before), [SPOT], ADMISSION)
    changed = copy.deepcopy(before)
    edit(changed)
    with pytest.raises(PatchFailed):
        patched(changed, patch)


def test_a_damaged_note_leaves_the_template_narrowed() -> None:
    released = a_released_job(a_job_document(), [SPOT])
    released["metadata"]["annotations"]["penstock.dev/original-template"] = "{"
    stopped = {**edited(released, suspend=True), **STOPPED}
    back = patched(stopped, restore_patch(stopped))
    assert back["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "spot"}
    assert ADMITTED_JOB not in back["spec"]["template"]["metadata"]["annotations"]
