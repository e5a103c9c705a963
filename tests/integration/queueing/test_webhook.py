"""The webhook as the apiserver calls it: what a created pod looks like, and what it says to who creates it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from controller.core.keys import ADMITTED_AT, CLUSTER_QUEUE, FLAVOR, GATE, QUEUE_NAME, USER
from controller.kube.errors import Forbidden
from tests.support import plain_http
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.team import Json, Team, flavor_of, is_gated

pytestmark = pytest.mark.integration


def pod(name: str, **metadata: Any) -> Json:
    requests = {"cpu": "1"}
    container = {"name": "main", "image": "none", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


@pytest.fixture
async def classes(team: Team) -> AsyncIterator[tuple[str, str]]:
    """Two PriorityClasses: one by which kube-scheduler preempts, one by which it never does."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    names = (team.full("preempting"), team.full("calm"))
    for name, policy in zip(names, ("PreemptLowerPriority", "Never"), strict=True):
        await team.client.post(path, {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": policy})
    yield names
    for name in names:
        await team.client.delete(f"{path}/{name}")


async def test_a_queue_that_does_not_exist_is_warned_of_at_once(team: Team, cluster: Cluster) -> None:
    body = pod("one", labels={QUEUE_NAME: "absent"})
    created, warnings = await plain_http.create(cluster.sandbox, team.pods_path, body)
    assert is_gated(created)
    assert len(warnings) == 1
    assert f"LocalQueue 'absent' does not exist in namespace '{team.namespace}'" in warnings[0]


async def test_a_job_of_a_queue_that_does_not_exist_is_warned_of(team: Team, cluster: Cluster) -> None:
    await team.local_queue("main", "cq")
    template = {"metadata": {"labels": {QUEUE_NAME: "mian"}}, "spec": pod("one")["spec"]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {"template": template}}
    path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs?dryRun=All"
    why = f"LocalQueue 'mian' does not exist in namespace '{team.namespace}': pods of spec.template stay queued until"

    async def proposed() -> bool:
        # the webhook learns of the queue a moment after the apiserver has it
        _, warnings = await plain_http.create(cluster.sandbox, path, job)
        assert [text.rstrip('"') for text in warnings] == [f"{why} it does (QueueNotFound); did you mean 'main'?"]
        return True

    await eventually(proposed, message="the queue that was meant is not proposed")
    template["metadata"]["labels"][QUEUE_NAME] = "main"
    _, warnings = await plain_http.create(cluster.sandbox, path, job)
    assert warnings == []


async def test_a_cluster_queue_rules_kube_schedulers_preemption(
    team: Team, cluster: Cluster, classes: tuple[str, str]
) -> None:
    preempting, calm = classes
    # held: who is admitted is no matter here
    await team.ready(stopPolicy="Hold", schedulerPreemption="Forbid")
    urgent = pod("urgent", labels={QUEUE_NAME: "main"})
    urgent["spec"]["priorityClassName"] = preempting

    async def answered(code: int | None, *texts: str) -> Json:
        answer, warnings = await plain_http.create(cluster.sandbox, team.pods_path + "?dryRun=All", urgent)
        assert answer.get("code") == code, answer
        assert [warning.rstrip('"') for warning in warnings] == list(texts)
        return answer

    refused = await eventually(lambda: answered(403), message="the webhook does not know the queue yet")
    what = f"spec.priorityClassName: '{preempting}': kube-scheduler may preempt any pod of lower priority for it"
    assert f"{what}, whatever its quota, and ClusterQueue '{team.full('cq')}' forbids that" in refused["message"]
    await team.pod("calm", spec={"priorityClassName": calm})
    await team.pod("plain")

    await team.change("clusterqueues", team.full("cq"), {"schedulerPreemption": "Warn"})
    told = f"{what}, whatever its quota; name one with preemptionPolicy: Never (schedulerPreemption of ClusterQueue "
    await eventually(lambda: answered(None, f"{told}'{team.full('cq')}')"), message="the queue still forbids it")
    await team.change("clusterqueues", team.full("cq"), {"schedulerPreemption": "Allow"})
    await eventually(lambda: answered(None), message="the queue still warns")


async def test_a_pod_queued_before_it_was_forbidden_is_not_admitted(team: Team, classes: tuple[str, str]) -> None:
    preempting, _ = classes
    await team.ready(stopPolicy="Hold")
    await team.pod("urgent", spec={"priorityClassName": preempting})
    await team.change("clusterqueues", team.full("cq"), {"schedulerPreemption": "Forbid", "stopPolicy": "None"})
    message = await team.until_waiting("urgent", "SchedulerPreemptionForbidden")
    assert f"PriorityClass {preempting}, which ClusterQueue {team.full('cq')} forbids" in message
    await team.change("clusterqueues", team.full("cq"), {"schedulerPreemption": "Allow"})
    await team.until_bound("urgent")


async def test_stamps_that_a_user_copied_are_removed_with_a_warning(team: Team, cluster: Cluster) -> None:
    await team.ready(stopPolicy="Hold")
    body = pod(
        "one",
        labels={QUEUE_NAME: "main", CLUSTER_QUEUE: "other", FLAVOR: "other", "mine": "stays"},
        annotations={ADMITTED_AT: "2020-01-01T00:00:00Z"},
    )

    async def known() -> bool:
        # without a warning of an unknown queue only the stamps are warned of
        _, warnings = await plain_http.create(cluster.sandbox, team.pods_path + "?dryRun=All", body)
        return len(warnings) == 1

    await eventually(known, message="the webhook does not know the queue yet")
    created, warnings = await plain_http.create(cluster.sandbox, team.pods_path, body)
    assert created["metadata"]["labels"] == {QUEUE_NAME: "main", "mine": "stays"}
    assert set(created["metadata"]["annotations"]) == {USER}
    assert warnings == [
        f'removed {CLUSTER_QUEUE}, {FLAVOR}, {ADMITTED_AT}: only Penstock writes these, when it admits the pod"'
    ]


async def test_a_review_that_we_cannot_read_does_not_pass(team: Team, cluster: Cluster) -> None:
    nested = b'{"f:a":' * 1_100 + b"{}" + b"}" * 1_100
    field = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": "HERE"}
    body = orjson.dumps(pod("one", labels={QUEUE_NAME: "main"}, managedFields=[field]))
    answer, _ = await plain_http.create(cluster.sandbox, team.pods_path, body.replace(b'"HERE"', nested))
    assert answer["code"] == 403
    assert "nest it less deeply" in answer["message"]


async def test_a_review_that_is_too_large_for_us_does_not_pass_us_by(team: Team, cluster: Cluster) -> None:
    """The apiserver takes the object of 1.3 MB, and writes six times as much of it."""
    one = pod("one", labels={QUEUE_NAME: "main"})
    one["spec"]["containers"][0]["args"] = ["<" * 1_300_000]
    answer, _ = await plain_http.create(cluster.sandbox, team.pods_path, one)
    assert answer.get("code") == 403, answer
    assert "is larger than 7 MiB; use a smaller one" in answer["message"]
    one["spec"]["containers"][0]["args"] = ["x" * 1_300_000]
    created, _ = await plain_http.create(cluster.sandbox, team.pods_path, one)
    assert is_gated(created)


async def test_an_illegal_update_is_answered_with_legal_ones(team: Team, cluster: Cluster) -> None:
    await team.ready(stopPolicy="Hold")
    await team.pod("one", spec={"nodeSelector": {"zone": "a"}})
    path = f"{team.pods_path}/one"
    answer, warnings = await plain_http.patch(
        cluster.sandbox, path, [{"op": "replace", "path": "/spec/nodeSelector/zone", "value": "b"}]
    )
    assert (answer["code"], answer["reason"]) == (422, "Invalid")
    assert len(warnings) == 1
    assert "spec.nodeSelector" in warnings[0]
    assert '"a"' in warnings[0].replace("\\", "")
    legal = [{"op": "add", "path": "/spec/nodeSelector/disk", "value": "ssd"}]
    narrowed, none = await plain_http.patch(cluster.sandbox, path, legal)
    assert (narrowed["spec"]["nodeSelector"], none) == ({"zone": "a", "disk": "ssd"}, [])


async def test_a_dry_run_is_gated_and_leaves_nothing(team: Team) -> None:
    await team.ready()
    assert is_gated(await team.pod("one", params={"dryRun": "All"}))
    assert await team.all() == {}


async def test_a_pod_without_a_queue_is_none_of_our_business(team: Team) -> None:
    created = await team.pod("one", queue=None)
    assert not is_gated(created)
    assert "annotations" not in created["metadata"] or ADMITTED_AT not in created["metadata"]["annotations"]


async def test_a_queued_pod_cannot_name_its_node(team: Team) -> None:
    with pytest.raises(
        Forbidden, match=r"gate-required: spec.nodeName: 'somewhere' cannot be set on a pod of queue 'main'"
    ):
        await team.pod("one", spec={"nodeName": "somewhere"})


async def test_a_gate_that_is_there_already_is_not_added_again(team: Team) -> None:
    await team.ready(stopPolicy="Hold")
    created = await team.pod("one", spec={"schedulingGates": [{"name": GATE}]})
    assert created["spec"]["schedulingGates"] == [{"name": GATE}]


async def test_pods_of_a_job_are_queued_by_their_template(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}})
    template = pod("unused")
    template["metadata"] = {"labels": {QUEUE_NAME: "main", CLUSTER_QUEUE: "copied"}, "annotations": {"run-for": "1s"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"parallelism": 3, "completions": 5, "template": template},
    }
    path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs"
    await team.client.post(path, job)

    async def complete() -> bool:
        pods = [p for p in (await team.all()).values() if p["status"]["phase"] == "Succeeded"]
        assert len(pods) == 5, [p["status"]["phase"] for p in pods]
        assert {flavor_of(p) for p in pods} == {team.full("spot")}
        return True

    await eventually(complete, seconds=60, message="the Job did not complete")


async def test_pods_of_a_daemon_set_pass_by_the_queue(team: Team) -> None:
    await team.ready()
    template = pod("unused")
    template["metadata"] = {"labels": {QUEUE_NAME: "main"}}
    template["spec"]["restartPolicy"] = "Always"
    template["spec"]["nodeSelector"] = {"shape": "spot", "test.penstock.dev/team": team.id}
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {QUEUE_NAME: "main"}}, "template": template},
    }
    await team.client.post(f"/apis/apps/v1/namespaces/{team.namespace}/daemonsets", daemon_set)

    async def bound() -> bool:
        pods = list((await team.all()).values())
        assert [bool(p["spec"].get("nodeName")) for p in pods] == [True]
        assert flavor_of(pods[0]) is None
        return True

    await eventually(bound, message="the daemon set's pod did not reach its node")


async def test_system_namespaces_are_left_alone(team: Team, cluster: Cluster) -> None:
    body = pod("queued-by-mistake", labels={QUEUE_NAME: "main"})
    created, _ = await plain_http.create(cluster.sandbox, "/api/v1/namespaces/kube-system/pods?dryRun=All", body)
    assert created["kind"] == "Pod", created
    assert not is_gated(created)
