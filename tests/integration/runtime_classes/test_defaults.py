"""Default classes as the apiserver applies them: what a created pod looks like, and what its creator is told."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from controller.core.keys import QUEUE_NAME
from controller.kube.client import MERGE_PATCH
from controller.kube.errors import ApiError, Forbidden, Invalid, NotFound
from controller.sandbox import Sandbox
from controller.sandbox.programs import Program
from tests.integration.jobs.held import HeldJobs
from tests.integration.runtime_classes.conftest import CLASSES, STANDARD, Corner
from tests.support import plain_http
from tests.support.eventually import eventually
from tests.support.team import TEAM_LABEL, is_gated

pytestmark = pytest.mark.integration

Json = dict[str, Any]

SANDBOXED = {"key": "sandboxed", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
RULES = {
    "scheduling": {"nodeSelector": {"runtime": "kata"}, "tolerations": [SANDBOXED]},
    "overhead": {"podFixed": {"cpu": "250m"}},
}


async def test_a_pod_that_names_no_class_gets_the_clusters(corner: Corner) -> None:
    created = await corner.pod("one", queue=None)
    assert created["spec"]["runtimeClassName"] == STANDARD
    assert "nodeSelector" not in created["spec"]


async def test_the_namespaces_default_wins_and_is_merged_once(corner: Corner) -> None:
    name = await corner.runtime_class("kata", **RULES)
    await corner.default_class(name)
    created = (await corner.pod("one", queue=None, spec={"nodeSelector": {"mine": "stays"}}))["spec"]
    assert created["runtimeClassName"] == name
    assert created["nodeSelector"] == {"mine": "stays", "runtime": "kata"}
    assert created["overhead"] == {"cpu": "250m"}
    assert created["tolerations"].count(SANDBOXED) == 1
    assert len(created["tolerations"]) == 3  # and the two that the apiserver gives every pod


async def test_a_pods_own_class_wins_over_every_default(corner: Corner) -> None:
    await corner.default_class(await corner.runtime_class("kata", **RULES))
    own = await corner.runtime_class("own")
    created = (await corner.pod("one", queue=None, spec={"runtimeClassName": own}))["spec"]
    assert (created["runtimeClassName"], created.get("nodeSelector")) == (own, None)


async def test_pods_of_an_admitted_job_get_the_default(corner: Corner) -> None:
    """Their Job was held as a whole, so the entry of the registration that gates pods is not shown them."""
    await corner.ready()
    await HeldJobs(corner).make("held", parallelism=1)

    async def pods() -> list[Json]:
        return [pod for name, pod in (await corner.all()).items() if name.startswith("held-")]

    created = await eventually(pods, message="the Job was not admitted")
    assert [(pod["spec"]["runtimeClassName"], is_gated(pod)) for pod in created] == [(STANDARD, False)]


async def test_a_class_and_its_first_pod_can_be_made_at_once(corner: Corner) -> None:
    for number in range(20):
        name = await corner.runtime_class(f"new-{number}", overhead={"podFixed": {"cpu": "1"}})
        created = await corner.pod(f"pod-{number}", queue=None, spec={"runtimeClassName": name})
        assert created["spec"]["overhead"] == {"cpu": "1"}


async def test_a_contradicting_default_is_refused_in_our_words(corner: Corner) -> None:
    name = await corner.runtime_class("kata", **RULES)
    await corner.default_class(name)
    with pytest.raises(Forbidden) as refused:
        await corner.pod("one", queue=None, spec={"nodeSelector": {"runtime": "runc"}})
    assert refused.value.message == (
        'admission webhook "runtime-class.penstock.dev" denied the request: '
        f"spec.nodeSelector[runtime] is 'runc', but the default RuntimeClass '{name}' (set by label "
        f"penstock.dev/default-runtime-class of namespace '{corner.namespace}') demands 'kata' "
        "(scheduling.nodeSelector); remove runtime from the pod's nodeSelector, or set it to 'kata', "
        "or name another class in spec.runtimeClassName"
    )


async def test_a_missing_default_refuses_pods_until_it_exists(corner: Corner) -> None:
    missing = corner.full("absent")
    await corner.default_class(missing)
    with pytest.raises(Forbidden) as refused:
        await corner.pod("one", queue=None)
    expected = (
        f"the default RuntimeClass '{missing}' (set by label penstock.dev/default-runtime-class of namespace "
        f"'{corner.namespace}') does not exist: create it, correct the default, or name one in spec.runtimeClassName; "
        "there are "
    )
    assert expected in refused.value.message
    assert STANDARD in refused.value.message
    named = await corner.pod("named", queue=None, spec={"runtimeClassName": STANDARD})
    assert named["spec"]["runtimeClassName"] == STANDARD
    await corner.runtime_class("absent")
    assert (await corner.pod("one", queue=None))["spec"]["runtimeClassName"] == missing


async def test_a_missing_default_is_in_a_metric_until_it_exists(corner: Corner, webhook: Program) -> None:
    missing = corner.full("absent")
    line = f'penstock_webhook_missing_default_runtime_class{{name="{missing}"}} 1.0'

    async def shown() -> bool:
        url = f"http://127.0.0.1:{webhook.port('http')}/metrics"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            text = await answer.text()
        assert f'class{{name="{STANDARD}"}}' not in text
        return line in text.splitlines()

    async def gone() -> bool:
        return not await shown()

    await corner.default_class(missing)
    assert await shown()
    await corner.runtime_class("absent")
    await eventually(gone, message="the class that was made still counts as missing")


async def test_a_missing_named_class_is_the_apiservers_to_refuse(corner: Corner) -> None:
    with pytest.raises(Forbidden, match='RuntimeClass "legacy" not found'):
        await corner.pod("one", queue=None, spec={"runtimeClassName": "legacy"})


async def test_an_empty_class_name_never_reaches_us(corner: Corner) -> None:
    """The apiserver's own admission looks for a class without a name, first."""
    with pytest.raises(ApiError, match="resource name may not be empty"):
        await corner.pod("one", queue=None, spec={"runtimeClassName": ""})


async def test_a_dry_run_shows_the_class_and_leaves_nothing(corner: Corner) -> None:
    created = await corner.pod("one", queue=None, params={"dryRun": "All"})
    assert created["spec"]["runtimeClassName"] == STANDARD
    assert await corner.all() == {}


async def test_system_namespaces_get_no_default(corner: Corner, classy: Sandbox) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": corner.full("agent"), "labels": {QUEUE_NAME: "main"}},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    created, _ = await plain_http.create(classy, "/api/v1/namespaces/kube-system/pods?dryRun=All", body)
    assert created["kind"] == "Pod", created
    assert "runtimeClassName" not in created["spec"]


async def two_nodes(corner: Corner, quota: str) -> str:
    """A node for the class and one that is not, of one flavor; the class is the namespace's default."""
    await corner.nodes("plain", cpu="8")
    await corner.nodes("kata", cpu="8", labels={"runtime": "kata"}, taints=("sandboxed=yes:NoSchedule",))
    await corner.flavor("all", nodeLabels={TEAM_LABEL: corner.id})
    await corner.cluster_queue({"all": {"cpu": quota}})
    await corner.local_queue()
    name = await corner.runtime_class("kata", **RULES)
    await corner.default_class(name)
    return name


async def test_a_queued_pod_goes_to_a_node_of_its_default_class(corner: Corner) -> None:
    name = await two_nodes(corner, "8")
    created = await corner.pod("one")
    assert is_gated(created)
    assert created["spec"]["runtimeClassName"] == name
    bound = (await corner.until_bound("one"))["one"]
    assert bound["spec"]["nodeName"].startswith(corner.full("kata"))
    assert bound["spec"]["nodeSelector"] == {"runtime": "kata", TEAM_LABEL: corner.id}
    assert bound["spec"]["overhead"] == {"cpu": "250m"}


async def test_the_overhead_of_a_default_class_is_charged_once(corner: Corner) -> None:
    await two_nodes(corner, "2500m")
    await corner.pods(2)
    await corner.until_bound("pod-0", "pod-1")
    await corner.pod("third", "1m")
    text = await corner.until_waiting("third", "QuotaExceeded")
    assert text == f"flavor {corner.full('all')}: needs 251m cpu, more than is free of its quota"


async def test_pods_of_a_job_get_the_default_class(corner: Corner) -> None:
    name = await two_nodes(corner, "8")
    template = {
        "metadata": {"labels": {QUEUE_NAME: "main"}, "annotations": {"run-for": "1s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }
    job = {"metadata": {"name": "work"}, "spec": {"parallelism": 2, "completions": 3, "template": template}}
    path = f"/apis/batch/v1/namespaces/{corner.namespace}/jobs"
    await corner.client.post(path, {"apiVersion": "batch/v1", "kind": "Job", **job})

    async def complete() -> bool:
        pods = [pod for pod in (await corner.all()).values() if pod["status"]["phase"] == "Succeeded"]
        assert len(pods) == 3, [pod["status"]["phase"] for pod in pods]
        assert {pod["spec"]["runtimeClassName"] for pod in pods} == {name}
        return True

    await eventually(complete, seconds=60, message="the Job did not complete")


async def test_pods_of_a_daemon_set_get_no_default(corner: Corner) -> None:
    """The class's selector would keep them Pending on the nodes that they were made for."""
    await two_nodes(corner, "8")
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"nodeSelector": {TEAM_LABEL: corner.id}, "containers": [{"name": "main", "image": "none"}]},
    }
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }
    await corner.client.post(f"/apis/apps/v1/namespaces/{corner.namespace}/daemonsets", daemon_set)

    async def bound() -> bool:
        pods = list((await corner.all()).values())
        assert [pod["spec"].get("nodeName", "").rsplit("-", 1)[0] for pod in pods] == [corner.full("plain")]
        assert "runtimeClassName" not in pods[0]["spec"]
        return True

    await eventually(bound, message="the daemon set's pod did not reach its node")


async def test_a_runtime_is_upgraded_by_a_class_and_the_default(corner: Corner) -> None:
    """docs/runtime-classes.md, step by step."""
    await corner.nodes("old", cpu="8", labels={"runtime": "v1"})
    await corner.nodes("new", cpu="8", labels={"runtime": "v2"})
    first = await corner.runtime_class("kata", scheduling={"nodeSelector": {"runtime": "v1"}})
    path = f"{CLASSES}/{first}"
    with pytest.raises(ApiError, match="field is immutable"):
        await corner.client.patch(path, {"handler": "kata-v2"}, content_type=MERGE_PATCH)

    await corner.default_class(first)
    await corner.pod("before", queue=None)
    second = await corner.runtime_class("kata-v2", scheduling={"nodeSelector": {"runtime": "v2"}})
    await corner.default_class(second)
    await corner.pod("after", queue=None)
    await corner.pod("back", queue=None, spec={"runtimeClassName": first})

    pods = await corner.until_bound("before", "after", "back")
    classes = {pod: (p["spec"]["runtimeClassName"], p["spec"]["nodeSelector"]["runtime"]) for pod, p in pods.items()}
    assert classes == {"before": (first, "v1"), "after": (second, "v2"), "back": (first, "v1")}
    nodes = {pod: p["spec"]["nodeName"].rsplit("-", 1)[0] for pod, p in pods.items()}
    assert nodes == {"before": corner.full("old"), "after": corner.full("new"), "back": corner.full("old")}

    await corner.client.delete(path)
    assert (await corner.get("before"))["spec"]["runtimeClassName"] == first

    async def refused() -> bool:
        try:
            await corner.pod("late", queue=None, spec={"runtimeClassName": first}, params={"dryRun": "All"})
        except (Forbidden, NotFound):
            return True
        return False

    await eventually(refused, message="a pod of the old class is still let in")


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "replace", "path": "/spec/nodeSelector/runtime", "value": "runc"}, "spec.nodeSelector"),
        ({"op": "remove", "path": "/spec/nodeSelector"}, "spec.nodeSelector"),
        ({"op": "remove", "path": "/spec/tolerations"}, "spec.tolerations"),
        ({"op": "remove", "path": "/spec/overhead"}, "spec: Forbidden: pod updates may not change fields other than"),
        (
            {"op": "replace", "path": "/spec/runtimeClassName", "value": STANDARD},
            "spec: Forbidden: pod updates may not change fields other than",
        ),
    ],
)
async def test_what_a_class_demands_cannot_be_taken_from_a_gated_pod(
    corner: Corner, operation: Json, text: str
) -> None:
    """The apiserver refuses it by its own rules (KEP-3838), whoever asks: no check of ours is needed."""
    await corner.default_class(await corner.runtime_class("kata", **RULES))
    created = await corner.pod("one", queue=None, spec={"schedulingGates": [{"name": "example.com/other"}]})
    assert created["spec"]["nodeSelector"] == {"runtime": "kata"}
    with pytest.raises(Invalid) as refused:
        await corner.patch("one", [operation])
    assert text in refused.value.message
    assert (await corner.get("one"))["spec"] == created["spec"]
