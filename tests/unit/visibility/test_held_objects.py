"""Pods of an object that was admitted as a whole: what people call what they are part of."""

from __future__ import annotations

from controller.history.runs import run_of
from controller.notifications.notices import workload_of
from controller.visibility.workloads import group_name
from tests.support.train_documents import a_train, sets_of
from tests.unit.cache.test_held_objects import a_pod_of


def test_a_pod_is_part_of_its_object() -> None:
    head, _ = sets_of(a_train())
    pod = a_pod_of("train/head", "train-head-0", node="node-1", group=head.group)
    assert group_name({}, pod) == "train"
    found = workload_of(pod)
    assert (found.kind, found.name, found.uid) == ("Train", "train", "train")
    run = run_of(pod, lambda _: {})
    assert run is not None
    assert (run.owner_kind, run.owner, run.group) == ("Train", "train", "")
