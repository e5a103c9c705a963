"""Pods made by real controllers: their default RuntimeClass, policies for pods and policies for templates together.

One test for all, because a CronJob makes its first pod with the next full minute.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.kube.client import MERGE_PATCH
from tests.integration.pod_policies.conftest import PolicyTeam, policies_of
from tests.support.eventually import eventually
from tests.support.team import Json

pytestmark = pytest.mark.integration

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
LABELS = {"app": "server"}


@pytest.fixture
async def default_class(team: PolicyTeam) -> AsyncIterator[str]:
    """A RuntimeClass that is the default of the team's namespace, known to the webhook."""
    name = team.full("kata")
    rules = {"scheduling": {"nodeSelector": {"runtime": "kata"}}, "overhead": {"podFixed": {"cpu": "250m"}}}
    await team.client.post(CLASSES, {"metadata": {"name": name}, "handler": "handler", **rules})
    labels = {"metadata": {"labels": {DEFAULT_RUNTIME_CLASS: name}}}
    await team.client.patch(f"/api/v1/namespaces/{team.namespace}", labels, content_type=MERGE_PATCH)

    async def known() -> bool:
        probe = await team.pod("probe", queue=None, params={"dryRun": "All"})
        return bool(probe["spec"].get("runtimeClassName") == name)

    await eventually(known, message="the webhook does not know the default class")
    yield name
    await team.client.delete(f"{CLASSES}/{name}")


def workloads(namespace: str) -> dict[str, Json]:
    """Path and spec of a Job, a Deployment and a CronJob with one pod each."""
    containers = [{"name": "main", "image": "none"}]
    job = {"template": {"metadata": {"labels": LABELS}, "spec": {"restartPolicy": "Never", "containers": containers}}}
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": containers}}
    return {
        f"/apis/batch/v1/namespaces/{namespace}/jobs": job,
        f"/apis/apps/v1/namespaces/{namespace}/deployments": {
            "selector": {"matchLabels": LABELS},
            "template": template,
        },
        f"/apis/batch/v1/namespaces/{namespace}/cronjobs": {"schedule": "* * * * *", "jobTemplate": {"spec": job}},
    }


async def test_pods_of_each_workload_get_all_that_is_due_to_them(team: PolicyTeam, default_class: str) -> None:
    await team.nodes("any", labels={"runtime": "kata", "for": "pods", "of": "templates"})
    wide = await team.wide("for-pods", nodeSelector={"for": "pods"}, tolerations=[SPOT])
    await team.for_templates("of-templates", nodeSelector={"of": "templates"})
    await team.in_effect()
    specs = workloads(team.namespace)
    for path, spec in specs.items():
        body = {"metadata": {"name": path.rsplit("/", 1)[-1]}, "spec": spec}
        written = orjson.loads(await team.client.post(path, body))["spec"]
        template = written["template"] if "template" in written else written["jobTemplate"]["spec"]["template"]
        assert template["spec"]["nodeSelector"] == {"of": "templates"}, "policies for pods and classes are for pods"
        assert not {"tolerations", "runtimeClassName", "overhead"} & set(template["spec"])
        assert policies_of(template) == f"{team.namespace}/of-templates"

    async def bound() -> bool:
        pods = list((await team.all()).values())
        for pod in pods:
            assert pod["spec"]["nodeSelector"] == {"runtime": "kata", "for": "pods", "of": "templates"}
            assert SPOT in pod["spec"]["tolerations"]
            assert (pod["spec"]["runtimeClassName"], pod["spec"]["overhead"]) == (default_class, {"cpu": "250m"})
            assert policies_of(pod) == f"{wide},{team.namespace}/of-templates"
            assert pod["spec"].get("nodeName")
        kinds = {path.rsplit("/", 1)[-1] for path in specs}
        return {kind for kind in kinds for pod in pods if pod["metadata"]["name"].startswith(kind)} == kinds

    # the CronJob's first pod comes with the next full minute
    await eventually(bound, seconds=150, message="not every workload has a pod on a node")
    sets = orjson.loads(await team.client.get(f"/apis/apps/v1/namespaces/{team.namespace}/replicasets"))["items"]
    assert len(sets) == 1, "a Deployment takes its ReplicaSet for its own"
