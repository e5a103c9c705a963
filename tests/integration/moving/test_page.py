"""Every example of docs/moving-over.md, converted or applied as it is written, does what the page says of it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from controller.api.nodes import LabelSelector
from controller.cli.main import root
from controller.core.keys import ACCEPTED, ADMITTED_JOB, FLAVOR, KUEUE_LABELS, POD_GROUP, PRIORITY_CLASS, QUEUE_NAME
from controller.objects.queues import to_selector
from controller.objects.quota_resources import parsed
from tests.integration.moving.moved import TEAM, Json, Moved
from tests.support.documents import examples
from tests.support.eventually import eventually
from tests.support.team import is_gated

pytestmark = pytest.mark.integration

PAGE = examples("moving-over.md")
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}


def test_no_example_of_the_page_is_left_out() -> None:
    counts = {title: len(blocks) for title, blocks in PAGE.items()}
    assert counts == {
        "Kueue": 6,
        "kupid": 2,
        "PodNodeSelector": 5,
        "PodTolerationRestriction": 3,
        "The SchedulingPolicy proposal": 2,
        "RuntimeClass": 2,
    }


def converted(project: str, documents: list[Json]) -> list[Json]:
    """What our command makes of another project's objects."""
    done = CliRunner().invoke(
        root, ["import", project, "-f", "-"], input=yaml.safe_dump_all(documents, sort_keys=False)
    )
    assert done.exit_code == 0, done.output
    return list(yaml.safe_load_all(done.stdout))


def selector(pod: Json) -> Any:
    return pod.get("spec", {}).get("nodeSelector")


def is_refused(answer: Json) -> bool:
    return answer.get("code") == 403


async def grant(moved: Moved, policy: str) -> None:
    """Let all of the namespace use a SchedulingPolicy, as the page does for one."""
    text = yaml.safe_dump_all(PAGE["PodNodeSelector"][4]).replace("sp:team-a", f"sp:{policy}")
    rights = list(yaml.safe_load_all(text))
    rights[0]["rules"][0]["resourceNames"] = [policy]
    await moved.apply(rights)


async def test_manifests_of_kueue_run_unchanged(moved: Moved) -> None:
    theirs, ours, _, _, (job, deployment, *pods), _ = PAGE["Kueue"]
    assert converted("kueue", theirs) == ours
    await moved.namespace({"team": "a", KUEUE_LABELS: ACCEPTED})
    await moved.apply(ours)
    labels = pods[0]["metadata"]["labels"]
    await moved.until(lambda pod: QUEUE_NAME in pod.get("metadata", {}).get("labels", {}), labels)

    held = await moved.create("jobs", job)
    assert held["spec"]["suspend"] is True
    assert held["metadata"]["labels"].items() >= {QUEUE_NAME: "main", PRIORITY_CLASS: "high"}.items()
    served = await moved.create("deployments", deployment)
    assert served["spec"]["template"]["metadata"]["labels"][QUEUE_NAME] == "main"
    for pod in pods:
        waits = await moved.create("pods", pod)
        assert (is_gated(waits), waits["metadata"]["labels"][POD_GROUP]) == (True, "spark")

    async def all_run() -> list[Json]:
        found = await moved.pods()
        assert len(found) == 3 + 2 + len(pods), [one["metadata"]["name"] for one in found]
        assert all(one["spec"].get("nodeName", "").startswith("spot") for one in found)
        assert {one["metadata"]["labels"][FLAVOR] for one in found} == {"spot"}
        return found

    found = await eventually(all_run, seconds=60, message="what was written for Kueue does not run")
    uid = held["metadata"]["uid"]
    assert sum(one["metadata"]["annotations"].get(ADMITTED_JOB) == uid for one in found) == 3


def test_resources_of_the_configuration_become_a_file() -> None:
    _, _, theirs, ours, *_ = PAGE["Kueue"]
    assert converted("kueue", theirs) == ours
    told = parsed(yaml.safe_load(ours[0]["data"]["resources.yaml"]), "the page").meaning
    assert told.needs_no_quota("networking.example.com/port")
    assert not told.needs_no_quota("cpu")


def test_kueue_leaves_alone_the_namespaces_that_moved() -> None:
    (configuration,) = PAGE["Kueue"][5]
    written = LabelSelector.model_validate(configuration["managedJobsNamespaceSelector"], by_alias=True, by_name=False)
    managed = to_selector(written)
    assert managed is not None
    name = {"kubernetes.io/metadata.name": TEAM}
    assert managed.matches(name)
    assert managed.matches({**name, KUEUE_LABELS: "no"})
    assert not managed.matches({**name, KUEUE_LABELS: ACCEPTED})
    assert not managed.matches({"kubernetes.io/metadata.name": "kube-system"})


async def test_a_policy_of_kupid_adds_the_same(moved: Moved) -> None:
    theirs, ours = PAGE["kupid"]
    assert converted("kupid", theirs) == ours
    await moved.namespace({"role": "shoot"})
    await moved.apply(ours)
    pod = await moved.until(selector, {"app": "etcd"})
    assert selector(pod) == {"pool": "etcd"}
    assert theirs[0]["spec"]["tolerations"][0] in pod["spec"]["tolerations"]
    assert selector(await moved.tried({"app": "other"})) is None


async def test_node_selectors_of_a_namespace_become_a_policy(moved: Moved) -> None:
    (plugin,), own, default, *_ = PAGE["PodNodeSelector"]
    await moved.namespace({"env": "test"}, written=plugin)
    await moved.apply([*own, *default])
    pod = await moved.until(selector)
    assert selector(pod) == {"env": "test"}
    assert is_refused(await moved.tried(nodeSelector={"env": "prod"}))
    others = await moved.until(selector, namespace="default")
    assert selector(others) == {"env": "shared"}


async def test_a_whitelist_of_node_selectors_becomes_a_policy(moved: Moved) -> None:
    *_, policy, rights = PAGE["PodNodeSelector"]
    await moved.namespace()
    await moved.apply([*policy, *rights])
    refused = await moved.until(is_refused, nodeSelector={"disk": "hdd"})
    assert "'hdd', allowed is 'ssd'" in refused["message"]
    pod = await moved.until(selector, nodeSelector={"env": "test", "disk": "ssd"}, schedulerName="theirs")
    assert selector(pod) == {"env": "test", "disk": "ssd"}


async def test_tolerations_of_a_namespace_become_policies(moved: Moved) -> None:
    (plugin,), defaults, allowed = PAGE["PodTolerationRestriction"]
    await moved.namespace(written=plugin)
    await moved.apply(defaults)
    await moved.until(lambda pod: SPOT in pod.get("spec", {}).get("tolerations", ()))
    await grant(moved, "spot")
    await moved.apply(allowed)
    other = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    refused = await moved.until(is_refused, tolerations=[other])
    assert "tolerations[0] is gpu" in refused["message"]
    await moved.until(lambda pod: SPOT in pod.get("spec", {}).get("tolerations", ()))


async def test_the_proposal_means_the_same_here(moved: Moved) -> None:
    _, ours = PAGE["The SchedulingPolicy proposal"]
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "bronze"},
        "value": 1,
    }
    await moved.namespace()
    await moved.apply([priority])
    await grant(moved, "restricted-multiarch")
    await moved.apply(ours)
    pod = await moved.until(selector)
    assert selector(pod) == {"kubernetes.io/arch": "amd64"}
    assert pod["spec"]["priorityClassName"] == "bronze"
    assert is_refused(await moved.tried(nodeSelector={"kubernetes.io/arch": "s390x"}))
    assert selector(await moved.tried(nodeSelector={"kubernetes.io/arch": "arm64"})) == {"kubernetes.io/arch": "arm64"}


async def test_a_namespace_gets_its_default_runtime_class(moved: Moved) -> None:
    (namespace,), policy = PAGE["RuntimeClass"]
    kata = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
    runc = {**kata, "metadata": {"name": "runc"}}
    assert namespace["metadata"]["name"] == TEAM
    await moved.namespace(written=namespace)
    await moved.apply([kata, runc])
    await moved.until(lambda pod: pod.get("spec", {}).get("runtimeClassName") == "kata")
    await grant(moved, "sandboxed")
    await moved.apply(policy)
    refused = await moved.until(is_refused, runtimeClassName="runc")
    assert "spec.runtimeClassName is 'runc'" in refused["message"]
    await moved.until(lambda pod: pod.get("spec", {}).get("runtimeClassName") == "kata")
