"""config/crd and config/samples on a real apiserver: what it refuses, what it accepts and what it fills in."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
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
from controller.kube.apply import apply, delete
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import ApiError, Invalid
from controller.kube.manifests import load_documents
from controller.sandbox import Sandbox
from tests.support.api_objects import (
    Json,
    a_window,
    cluster_pod_policy,
    cluster_queue,
    field_requirement,
    local_queue,
    pod_policy,
    quotas,
    requirement,
    resource_flavor,
    scheduling_policy,
)
from tests.support.existence import until_gone
from tests.support.faulty import Faulty
from tests.support.faulty_objects import FAULTY
from tests.support.faulty_schedules import ONLY_TOLD_LATER
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.served_kinds import serve_our_kinds

pytestmark = pytest.mark.integration

CONFIG = Path(__file__).resolve().parents[2] / "config"
ROOT = "/apis/penstock.dev/v1alpha1"
PATHS = {
    "ResourceFlavor": f"{ROOT}/resourceflavors",
    "ClusterQueue": f"{ROOT}/clusterqueues",
    "LocalQueue": f"{ROOT}/namespaces/default/localqueues",
    "ClusterPodSchedulingPolicy": f"{ROOT}/clusterpodschedulingpolicies",
    "PodSchedulingPolicy": f"{ROOT}/namespaces/default/podschedulingpolicies",
    "SchedulingPolicy": f"{ROOT}/schedulingpolicies",
    "WorkloadKind": f"{ROOT}/workloadkinds",
    "WorkloadPriorityClass": f"{ROOT}/workloadpriorityclasses",
}
STRICT_DRY_RUN = {"fieldValidation": "Strict", "dryRun": "All"}


@pytest.fixture(scope="module")
def our_kinds(sandbox: Sandbox) -> None:
    """They stay: other tests on this control plane use them too."""

    async def serve() -> None:
        async with sandbox.client() as client:
            await serve_our_kinds(client)

    asyncio.run(serve())


@pytest.fixture
def served(our_kinds: None, admin: Client) -> Client:
    """An apiserver that serves our kinds."""
    return admin


async def create(client: Client, obj: Json) -> Json:
    created: Json = orjson.loads(await client.post(PATHS[obj["kind"]], obj, params=STRICT_DRY_RUN))
    return created


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda faulty: faulty.name)
async def test_a_fault_is_refused_with_path_and_value(served: Client, faulty: Faulty) -> None:
    with pytest.raises(ApiError) as caught:
        await create(served, faulty.obj)

    assert caught.value.status in (400, 422)
    assert faulty.refusal in caught.value.message


async def test_what_is_left_out_is_filled_with_the_defaults(served: Client) -> None:
    flavor = await create(served, resource_flavor(tolerations=[{"key": "spot"}]))
    queue = await create(served, cluster_queue())
    door = await create(served, local_queue())

    assert flavor["spec"] == {
        "capacity": {"mode": "Nodes"},
        "capacityType": "OnDemand",
        "tolerations": [{"key": "spot", "operator": "Equal"}],
    }
    assert (queue["spec"]["queueingStrategy"], queue["spec"]["stopPolicy"]) == ("BestEffortFIFO", "None")
    assert door["spec"] == {"clusterQueue": "team-a", "fairSharing": {"weight": 1}, "stopPolicy": "None"}


async def test_what_the_apiserver_gives_back_can_be_parsed(served: Client) -> None:
    flavor = parse_resource_flavor(await create(served, resource_flavor(nodeRequirements=[requirement("Lt", "9")])))
    selector = {"matchLabels": {"team": "a"}}
    queue = parse_cluster_queue(await create(served, cluster_queue(namespaceSelector=selector)))
    door = parse_local_queue(await create(served, local_queue()))
    assert [one.metadata.name for one in (flavor, queue, door)] == ["spot", "team-a", "main"]


@pytest.mark.parametrize(("selector", "kept"), [(None, None), ({}, {})])
async def test_no_namespace_selector_and_an_empty_one_stay_apart(served: Client, selector: Any, kept: Any) -> None:
    created = await create(served, cluster_queue(namespaceSelector=selector))

    assert created["spec"]["namespaceSelector"] == kept


@pytest.mark.parametrize("amount", [0, 8, 2**63 - 1, "500m", "64Gi", "1.5Gi", "1e3", "+5", "-0", "9223372036854775807"])
async def test_every_way_to_write_a_quantity_is_accepted(served: Client, amount: Any) -> None:
    created = await create(served, cluster_queue(flavors=[quotas(cpu=amount)]))

    assert created["spec"]["flavors"][0]["resources"][0]["nominalQuota"] == amount


@pytest.mark.parametrize("share", ["0%", "7%", "12.5%", "99.99%", "100%", "100.00%"])
async def test_every_way_to_write_a_share_is_accepted(served: Client, share: str) -> None:
    created = await create(served, cluster_queue(flavors=[quotas(cpu=share)]))

    assert created["spec"]["flavors"][0]["resources"][0]["nominalQuota"] == share


@pytest.mark.parametrize("start", ["0 20 * * *", "*/15 8-17 1,15 jan-mar MON-Fri", "5/10  ? * * 7", "00 08 01 01 0"])
@pytest.mark.parametrize(("duration", "zone"), [("1s", "Europe/Berlin"), ("1h30m", "America/Argentina/Ushuaia")])
async def test_windows_are_accepted_and_filled_with_the_defaults(
    served: Client, start: str, duration: str, zone: str
) -> None:
    held = {"name": "held", "start": start, "duration": duration, "stopPolicy": "Hold"}
    created = await create(served, cluster_queue(schedule=[held, a_window(timeZone=zone, duration="744h")]))

    assert created["spec"]["schedule"][0] == {**held, "timeZone": "UTC", "onClose": "Keep"}
    assert parse_cluster_queue(created).spec.schedule[1].time_zone == zone


@pytest.mark.parametrize(("obj", "told"), ONLY_TOLD_LATER.values(), ids=ONLY_TOLD_LATER)
async def test_what_cel_cannot_say_is_accepted_and_told_by_us(served: Client, obj: Json, told: str) -> None:
    with pytest.raises(InvalidObject, match=re.escape(told)):
        parse_cluster_queue(await create(served, obj))


async def test_the_largest_objects_are_within_the_cost_of_rules(served: Client) -> None:
    long_key = f"{'a' * 63}.example.com/{'b' * 60}"
    most = dict.fromkeys(("nominalQuota", "borrowingLimit", "lendingLimit"), "9" * 18)
    resources = [{"name": f"{long_key}{i:02}", **most} for i in range(64)]
    flavors = [{"name": f"{'f' * 60}-{i}", "resources": resources} for i in range(16)]
    # not all 16 windows with all that a queue has: an object has room for 1.5 MB
    crons = ",".join(["10-50/10"] * 13) + " * * * *"
    brief = [{**flavor, "resources": resources[:1]} for flavor in flavors]
    limits = [{"name": f"{long_key}{i:02}", "max": "9" * 18, "perUser": "99.99%"} for i in range(64)]
    windows = [a_window(f"w{i}", start=crons, flavors=brief if i else flavors, limits=limits[:16]) for i in range(16)]
    queue = cluster_queue(parent="p", flavors=flavors, limits=limits, schedule=windows)
    flavor = resource_flavor(
        nodeLabels={f"{long_key}{i:02}": "v" * 63 for i in range(32)},
        nodeRequirements=[
            {"key": long_key, "operator": "In", "values": [f"{'v' * 60}{i}" for i in range(128)]} for _ in range(32)
        ],
        tolerations=[{"key": long_key, "value": "v" * 63} for _ in range(32)],
        capacity={"mode": "Static", "static": {f"{long_key}{i:02}": "1" for i in range(64)}},
    )

    assert await create(served, queue)
    assert await create(served, flavor)


async def test_the_largest_policies_are_within_the_cost_of_rules(served: Client) -> None:
    key, values = f"{'a' * 63}.example.com/{'b' * 60}", [f"{'v' * 60}{i}" for i in range(100, 228)]
    expressions = [{"key": key, "operator": "In", "values": values} for _ in range(12)]
    term = {"matchExpressions": expressions, "matchFields": [field_requirement("n" * 253)] * 4}
    # not all 32: an object has room for 1.5 MB
    listed = [{"key": key, "operator": "NotIn", "values": values} for _ in range(4)]
    selector = {"matchLabels": {f"{key}{i:02}": "v" * 63 for i in range(32)}, "matchExpressions": listed}
    near = {"topologyKey": key, "labelSelector": selector, "namespaceSelector": selector, "namespaces": ["n" * 63] * 16}
    node_affinity = {
        REQUIRED: {"nodeSelectorTerms": [term] * 4 + [{"matchFields": [field_requirement("n")]}] * 12},
        PREFERRED: [{"weight": 1, "preference": {"matchFields": [field_requirement("n")]}}] * 16,
    }
    pods = {REQUIRED: [near] * 2, PREFERRED: [{"weight": 1, "podAffinityTerm": near}]}
    tolerations = [{"key": key, "value": "v" * 63, "effect": "NoSchedule"}] * 32

    policy = cluster_pod_policy(
        affinity={"nodeAffinity": node_affinity, "podAffinity": pods},
        nodeSelector={f"{key}{i:02}": "v" * 63 for i in range(32)},
        tolerations=tolerations,
    )

    assert await create(served, policy)


async def test_policies_that_select_nothing_and_everything_stay_apart(served: Client) -> None:
    nothing = await create(served, pod_policy(podSelector=None))
    everything = await create(served, pod_policy(podSelector={}))

    assert (nothing["spec"].get("podSelector"), everything["spec"]["podSelector"]) == (None, {})
    assert (everything["spec"]["mode"], everything["spec"]["onConflict"]) == ("Enforce", "PodWins")
    assert everything["spec"]["target"] == "Pods"
    assert parse_pod_scheduling_policy(everything).spec.pod_selector is not None


async def test_the_largest_scheduling_policies_are_within_the_cost(served: Client) -> None:
    key, value, name = f"{'a' * 63}.example.com/{'b' * 60}", "v" * 60, f"{'n' * 60}"
    names = [f"{name}{i}" for i in range(64)]
    choices = {f"{key}{i:02}": [f"{value}{n}" for n in range(32)] for i in range(32)}
    form = {
        "keys": [f"{key}{i:02}" for i in range(12)],
        "operators": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
        "values": [f"{value}{i}" for i in range(64)],
    }
    # not everything at its largest at once: an object has room for 1.5 MB
    terms = {"nodeSelectorTerms": [{"matchExpressions": [form] * 12}] + [{"matchExpressions": [form]}] * 7}
    toleration = {"keys": [f"{key}{i:02}" for i in range(12)], "operators": [], "values": form["values"], "effects": []}
    policy = scheduling_policy(
        required={
            "schedulerNames": names,
            "nodeSelectors": choices,
            "affinities": {"nodeAffinities": {REQUIRED: terms}},
        },
        allowed={"nodeNames": names, "nodeSelectors": choices, "tolerations": [toleration] * 32},
        default={
            "schedulerName": names[-1],
            "nodeSelector": {label: values[-1] for label, values in choices.items()},
            "tolerations": [{"key": f"{key}00", "values": form["values"][:16]}] * 16,
        },
    )

    assert await create(served, policy)


async def test_absent_and_empty_parts_of_a_policy_stay_apart(served: Client) -> None:
    empty: Json = {"schedulerNames": [], "nodeSelectors": {"disk": []}, "tolerations": [], "affinities": {}}
    forms = {"tolerations": [{"keys": [], "operators": ["Exists"]}], "affinities": {"podAffinities": {}}}

    assert (await create(served, scheduling_policy()))["spec"] == {"mode": "Enforce"}
    for allowed in (empty, forms):
        created = await create(served, scheduling_policy(allowed=allowed))
        assert created["spec"]["allowed"] == allowed
        assert parse_scheduling_policy(created).spec.allowed is not None


async def test_the_cluster_queue_of_a_local_queue_cannot_be_changed(served: Client, namespace: str) -> None:
    await apply(served, [local_queue(namespace=namespace)])
    path = f"{ROOT}/namespaces/{namespace}/localqueues/main"

    await served.patch(path, {"spec": {"stopPolicy": "Hold"}}, content_type=MERGE_PATCH)
    with pytest.raises(Invalid, match=r'spec\.clusterQueue: Invalid value: .*it stays \\?"team-a'):
        await served.patch(path, {"spec": {"clusterQueue": "team-b"}}, content_type=MERGE_PATCH)


async def test_the_status_is_written_by_its_own_door(served: Client, namespace: str) -> None:
    await apply(served, [local_queue(namespace=namespace)])
    path = f"{ROOT}/namespaces/{namespace}/localqueues/main"
    body = {"status": {"pending": 2}, "spec": {"stopPolicy": "Hold"}}

    seen = parse_local_queue(await served.patch(f"{path}/status", body, content_type=MERGE_PATCH))

    assert (seen.status.pending, seen.spec.stop_policy) == (2, "None")


async def test_every_manifest_of_config_applies_twice_and_goes_again(served: Client) -> None:
    parts = ("rbac", "webhook", "policy", "warnings", "server", "manager", "components", "samples")
    shipped = [document for part in parts for document in load_documents(CONFIG / part)]
    # cert-manager and the Prometheus Operator are not here to serve their kinds, nor the webhook to be asked about pods
    others = ("cert-manager.io/", "monitoring.coreos.com/")
    served_here = [document for document in shipped if not document["apiVersion"].startswith(others)]
    documents = [document for document in served_here if document["kind"] != "Pod"]

    first = await apply(served, documents)
    second = await apply(served, documents)
    gone = await delete(served, documents)

    assert len(first) == len(documents)
    assert first == second
    assert gone == first[::-1]
    for name in (document["metadata"]["name"] for document in documents if document["kind"] == "Namespace"):
        # Else the next test that applies them would find them on their way out.
        await until_gone(served, f"/api/v1/namespaces/{name}")


async def test_samples_and_shipped_policies_are_legal_models(served: Client) -> None:
    parsers = {
        "ResourceFlavor": parse_resource_flavor,
        "ClusterQueue": parse_cluster_queue,
        "LocalQueue": parse_local_queue,
        "PodSchedulingPolicy": parse_pod_scheduling_policy,
        "ClusterPodSchedulingPolicy": parse_cluster_pod_scheduling_policy,
        "SchedulingPolicy": parse_scheduling_policy,
        "WorkloadKind": parse_workload_kind,
        "WorkloadPriorityClass": parse_workload_priority_class,
    }
    folders = (CONFIG / "samples", CONFIG / "components", CONFIG / "kinds")
    ours = [one for folder in folders for one in load_documents(folder) if one["kind"] in parsers]

    assert {document["kind"] for document in ours} == parsers.keys()
    for document in ours:
        parsers[document["kind"]](document)
