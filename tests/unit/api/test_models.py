"""The models of our objects: what they accept, what they refuse and in which words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.api.parse import (
    InvalidObject,
    parse_cluster_pod_scheduling_policy,
    parse_cluster_queue,
    parse_local_queue,
    parse_pod_scheduling_policy,
    parse_resource_flavor,
    parse_scheduling_policy,
    parse_workload_kind,
    parse_workload_priority_class,
)
from tests.support.api_objects import Json, a_window, cluster_queue, local_queue, quotas, requirement, resource_flavor
from tests.support.faulty import Faulty
from tests.support.faulty_objects import FAULTY
from tests.support.faulty_schedules import ONLY_TOLD_LATER

PARSERS = {
    "ResourceFlavor": parse_resource_flavor,
    "ClusterQueue": parse_cluster_queue,
    "LocalQueue": parse_local_queue,
    "PodSchedulingPolicy": parse_pod_scheduling_policy,
    "ClusterPodSchedulingPolicy": parse_cluster_pod_scheduling_policy,
    "SchedulingPolicy": parse_scheduling_policy,
    "WorkloadKind": parse_workload_kind,
    "WorkloadPriorityClass": parse_workload_priority_class,
}


def faults_of(obj: Json) -> tuple[str, ...]:
    with pytest.raises(InvalidObject) as caught:
        PARSERS[obj["kind"]](obj)
    return caught.value.faults


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda faulty: faulty.name)
def test_a_fault_is_told_in_one_line_with_path_and_value(faulty: Faulty) -> None:
    assert faults_of(faulty.obj) == (faulty.fault,)


def test_the_text_of_an_error_names_the_object_in_every_line() -> None:
    obj = cluster_queue(flavors=[quotas(cpu=1, memory="-3")], stopPolicy="Never")

    with pytest.raises(InvalidObject) as caught:
        parse_cluster_queue(obj)

    assert str(caught.value) == (
        'clusterqueues.penstock.dev/team-a: spec.flavors[0].resources[1].nominalQuota: "-3": must not be negative\n'
        "clusterqueues.penstock.dev/team-a: spec.stopPolicy: \"Never\": must be 'None', 'Hold' or 'HoldAndDrain'"
    )


def test_a_namespaced_object_is_named_with_its_namespace() -> None:
    with pytest.raises(InvalidObject, match=r"^localqueues\.penstock\.dev/ml/main: spec\.clusterQueue: is required$"):
        parse_local_queue({**local_queue(namespace="ml"), "spec": {}})


def test_two_faults_of_one_toleration_are_both_told() -> None:
    obj = resource_flavor(tolerations=[{"operator": "Equal", "effect": "NoSchedule", "tolerationSeconds": 1}])

    assert faults_of(obj) == (
        'spec.tolerations[0].operator: "Equal": must be Exists when key is empty, which tolerates every taint',
        'spec.tolerations[0].effect: "NoSchedule": must be NoExecute when tolerationSeconds is set',
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "(no name): not JSON: "),
        (b"[]", "(no name): []: must be an object"),
        (b'{"metadata": 3}', "(no name): metadata: 3: must be an object"),
        (b'{"kind": "Pod", "metadata": {"name": "a"}}', "/a: kind: \"Pod\": must be 'ResourceFlavor'"),
        (b'{"metadata": {"name": "a"}}', "/a: spec: is required"),
    ],
)
def test_what_is_no_such_object_is_refused_in_words(text: bytes, message: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        parse_resource_flavor(text)

    assert message in str(caught.value)


def test_bytes_and_objects_give_the_same_model() -> None:
    obj = cluster_queue(namespaceSelector={})

    assert parse_cluster_queue(orjson.dumps(obj)) == parse_cluster_queue(obj)


def test_defaults_are_those_of_the_design() -> None:
    flavor = parse_resource_flavor(resource_flavor())
    queue = parse_cluster_queue(cluster_queue())

    assert (flavor.spec.capacity.mode, flavor.spec.capacity.static) == ("Nodes", None)
    assert (queue.spec.queueing_strategy, queue.spec.stop_policy) == ("BestEffortFIFO", "None")
    assert queue.spec.scheduler_preemption == "Warn"
    assert parse_local_queue(local_queue()).spec.stop_policy == "None"


def test_no_namespace_selector_is_not_the_empty_one() -> None:
    nothing = parse_cluster_queue(cluster_queue(namespaceSelector=None)).spec.namespace_selector
    everything = parse_cluster_queue(cluster_queue(namespaceSelector={})).spec.namespace_selector

    assert nothing is None
    assert everything is not None
    assert not everything.match_labels
    assert not everything.match_expressions


@pytest.mark.parametrize("amount", [0, "0", 8, "500m", "64Gi", "1.5Gi", "1e3", "+5", "9223372036854775807"])
def test_a_quantity_stays_as_it_is_written(amount: Any) -> None:
    queue = parse_cluster_queue(cluster_queue(flavors=[quotas(cpu=amount)]))

    assert queue.spec.flavors[0].resources[0].nominal_quota == amount


def test_digits_of_other_scripts_are_no_quantity() -> None:
    arabic_indic_three = "\u0663"

    for faulty in (
        cluster_queue(flavors=[quotas(cpu=arabic_indic_three)]),
        cluster_queue(flavors=[quotas(cpu=f"{arabic_indic_three}%")]),
        resource_flavor(capacity={"mode": "Static", "static": {"cpu": arabic_indic_three}}),
        cluster_queue(schedule=[a_window(start=f"{arabic_indic_three} 0 * * *")]),
        cluster_queue(schedule=[a_window(duration=f"{arabic_indic_three}h")]),
    ):
        assert len(faults_of(faulty)) == 1


@pytest.mark.parametrize(("obj", "told"), ONLY_TOLD_LATER.values(), ids=ONLY_TOLD_LATER)
def test_what_cel_cannot_say_is_told_in_one_line_too(obj: Json, told: str) -> None:
    assert faults_of(obj) == (told,)


@pytest.mark.parametrize("share", ["0%", "7%", "40%", "12.5%", "99.99%", "100%", "100.00%"])
def test_a_share_stays_as_it_is_written(share: str) -> None:
    queue = parse_cluster_queue(cluster_queue(flavors=[quotas(cpu=share)]))

    assert queue.spec.flavors[0].resources[0].nominal_quota == share


def test_a_default_window_is_in_utc_and_lets_pods_go_on() -> None:
    (window,) = parse_cluster_queue(cluster_queue(schedule=[a_window()])).spec.schedule

    assert (window.time_zone, window.on_close, window.stop_policy) == ("UTC", "Keep", None)


@pytest.mark.parametrize("start", ["0 20 * * *", "*/15 8-17 1,15 jan-mar MON-Fri", "5/10 ? * * 7", "00 08 01 01 0"])
def test_a_window_may_start_by_any_cron_of_a_cronjob(start: str) -> None:
    (window,) = parse_cluster_queue(cluster_queue(schedule=[a_window(start=start)])).spec.schedule

    assert window.start == start


def test_a_flavor_may_use_everything_at_once() -> None:
    flavor = parse_resource_flavor(
        resource_flavor(
            nodeLabels={"node.kubernetes.io/instance-type": "m5.large", "empty": ""},
            nodeRequirements=[requirement("In", "a", "b"), requirement("Gt", "7"), requirement("Exists")],
            tolerations=[{"operator": "Exists"}, {"key": "spot", "effect": "NoExecute", "tolerationSeconds": 0}],
            capacity={"mode": "Static", "static": {"example.com/licence": 3}},
        )
    )

    assert [r.operator for r in flavor.spec.node_requirements] == ["In", "Gt", "Exists"]
    assert flavor.spec.tolerations[1].toleration_seconds == 0
    assert flavor.spec.capacity.static == {"example.com/licence": 3}


def test_a_label_key_has_a_prefix_of_at_most_253_characters() -> None:
    longest = ".".join(["a" * 63] * 3 + ["a" * 61])

    assert parse_resource_flavor(resource_flavor(nodeLabels={f"{longest}/x": "y"})).spec.node_labels
    assert faults_of(resource_flavor(nodeLabels={f"{longest}a/x": "y"}))


def test_the_wire_names_alone_are_read() -> None:
    assert "spec.node_labels" in faults_of(resource_flavor(node_labels={}))[0]


def test_a_status_of_a_newer_version_is_no_fault() -> None:
    queue = parse_cluster_queue({**cluster_queue(), "status": {"pending": 3, "borrowed": {"cpu": "1"}}})

    assert queue.status.pending == 3
