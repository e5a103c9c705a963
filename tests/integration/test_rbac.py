"""config/rbac on a real apiserver: each account may do what it is for, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.kube.manifests import load_documents
from controller.sandbox.aggregation import is_aggregated
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

Json = dict[str, Any]
CONFIG = Path(__file__).resolve().parents[2] / "config"
CONTROLLER = "system:serviceaccount:penstock-system:penstock-controller"
WEBHOOK = "system:serviceaccount:penstock-system:penstock-webhook"
OURS = "penstock.dev"


@pytest.fixture
async def granted(admin: Client) -> Client:
    await apply(admin, load_documents(CONFIG / "rbac"))
    return admin


async def may(client: Client, user: str, action: str, *, group: str = "", namespace: str = "", name: str = "") -> bool:
    verb, _, resource = action.partition(" ")
    resource, _, subresource = resource.partition("/")
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    answer = orjson.loads(await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review))
    return bool(answer["status"]["allowed"])


@asynccontextmanager
async def given(client: Client, rights: Sequence[Json], proof: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
    """Give rights, and take them away again. `proof` says whether the authorizer knows of one that they give."""

    async def is_missing() -> bool:
        return not await proof()

    await eventually(is_missing, message="the right is there before it is given")
    await apply(client, rights)
    try:
        await eventually(proof, message="the right that was given is not known")
        yield
    finally:
        await delete(client, rights)
        await eventually(is_missing, message="the right that was taken away is still there")


@pytest.mark.parametrize(
    ("user", "action", "group"),
    [
        (CONTROLLER, "patch pods", ""),
        (CONTROLLER, "patch pods/status", ""),
        (CONTROLLER, "create pods/eviction", ""),
        (CONTROLLER, "list poddisruptionbudgets", "policy"),
        (CONTROLLER, "watch nodes", ""),
        (CONTROLLER, "create events", ""),
        (CONTROLLER, "list clusterqueues", OURS),
        (CONTROLLER, "patch resourceflavors/status", OURS),
        (CONTROLLER, "watch podschedulingpolicies", OURS),
        (CONTROLLER, "patch podschedulingpolicies/status", OURS),
        (CONTROLLER, "list clusterpodschedulingpolicies", OURS),
        (CONTROLLER, "patch clusterpodschedulingpolicies/status", OURS),
        (CONTROLLER, "watch schedulingpolicies", OURS),
        (CONTROLLER, "watch workloadpriorityclasses", OURS),
        (CONTROLLER, "patch workloadpriorityclasses/status", OURS),
        (CONTROLLER, "patch schedulingpolicies/status", OURS),
        (WEBHOOK, "watch localqueues", OURS),
        (WEBHOOK, "watch clusterqueues", OURS),
        (WEBHOOK, "watch workloadpriorityclasses", OURS),
        (WEBHOOK, "list namespaces", ""),
    ],
)
async def test_an_account_may_do_its_work(granted: Client, user: str, action: str, group: str) -> None:
    # The authorizer reads roles from a cache of its own, which follows in a moment.
    await eventually(lambda: may(granted, user, action, group=group), message=f"{user} may not {action}")


@pytest.mark.parametrize(
    ("user", "action", "group"),
    [
        (CONTROLLER, "delete pods", ""),
        (CONTROLLER, "update pods", ""),
        (CONTROLLER, "create pods/binding", ""),
        (CONTROLLER, "get secrets", ""),
        (CONTROLLER, "patch nodes", ""),
        (CONTROLLER, "patch clusterqueues", OURS),
        (CONTROLLER, "patch clusterpodschedulingpolicies", OURS),
        (CONTROLLER, "patch podschedulingpolicies", OURS),
        (CONTROLLER, "patch schedulingpolicies", OURS),
        (CONTROLLER, "use schedulingpolicies", OURS),
        (CONTROLLER, "get leases", "coordination.k8s.io"),
        (CONTROLLER, "update clusterqueues/status", OURS),
        (WEBHOOK, "list pods", ""),
        (WEBHOOK, "list runtimeclasses", "node.k8s.io"),
        (WEBHOOK, "patch pods", ""),
        (WEBHOOK, "patch localqueues", OURS),
        (WEBHOOK, "patch clusterqueues", OURS),
    ],
)
async def test_an_account_may_do_no_more(granted: Client, user: str, action: str, group: str) -> None:
    assert not await may(granted, user, action, group=group, namespace="default")


async def test_the_webhook_reads_policies_where_they_are_switched_on(granted: Client) -> None:
    kinds = ("clusterpodschedulingpolicies", "podschedulingpolicies")
    rights = load_documents(CONFIG / "components" / "pod-policies" / "rbac.yaml")
    async with given(granted, rights, partial(may, granted, WEBHOOK, f"list {kinds[0]}", group=OURS)):
        for kind in kinds:
            await eventually(partial(may, granted, WEBHOOK, f"watch {kind}", group=OURS))
            assert not await may(granted, WEBHOOK, f"patch {kind}", group=OURS)


async def test_the_webhook_reads_rights_where_it_needs_them(granted: Client) -> None:
    rbac = "rbac.authorization.k8s.io"
    kinds = [
        *(("schedulingpolicies", OURS), ("priorityclasses", "scheduling.k8s.io"), ("runtimeclasses", "node.k8s.io")),
        *((kind, rbac) for kind in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")),
    ]
    rights = load_documents(CONFIG / "components" / "scheduling-policies" / "rbac.yaml")
    async with given(granted, rights, partial(may, granted, WEBHOOK, "list clusterroles", group=rbac)):
        for kind, group in kinds:
            await eventually(partial(may, granted, WEBHOOK, f"watch {kind}", group=group))
            assert not await may(granted, WEBHOOK, f"patch {kind}", group=group)
            assert not await may(granted, WEBHOOK, f"bind {kind}", group=group)


async def test_the_visibility_api_may_ask_who_may_see_what(granted: Client) -> None:
    authorization, home, secret = "authorization.k8s.io", "penstock-system", "penstock-visibility-ca"
    rights = [one for one in load_documents(CONFIG / "components" / "visibility") if not is_aggregated(one)]
    asks = partial(may, granted, CONTROLLER, "create subjectaccessreviews", group=authorization)
    async with given(granted, rights, asks):
        await eventually(partial(may, granted, CONTROLLER, "update secrets", namespace=home, name=secret))
        assert not await may(granted, CONTROLLER, "get secrets", namespace=home, name="another")
        assert not await may(granted, CONTROLLER, "patch apiservices", group="apiregistration.k8s.io", name="v1.apps")


async def test_the_webhook_writes_its_authority_and_registrations(granted: Client) -> None:
    kind, group = "mutatingwebhookconfigurations", "admissionregistration.k8s.io"
    secret = partial(may, granted, WEBHOOK, namespace="penstock-system", name="penstock-webhook-ca")
    registration = partial(may, granted, WEBHOOK, group=group, name="penstock")
    assert not await secret("get secrets")
    rights = [one for one in load_documents(CONFIG / "server" / "certificate.yaml") if one["kind"] != "Secret"]
    async with given(granted, rights, partial(registration, f"get {kind}")):
        for verb in ("get", "update"):
            await eventually(partial(secret, f"{verb} secrets"))
            await eventually(partial(registration, f"{verb} {kind}"))
        for verb in ("create", "delete", "list", "patch"):
            assert not await secret(f"{verb} secrets")
            assert not await registration(f"{verb} {kind}")
        assert not await may(granted, WEBHOOK, "get secrets", namespace="penstock-system", name="penstock-webhook-tls")
        assert not await may(granted, WEBHOOK, f"update {kind}", group=group, name="another")


async def test_the_controller_has_the_lease_of_its_name_alone(granted: Client) -> None:
    lease, home = "coordination.k8s.io", "penstock-system"

    await eventually(
        lambda: may(granted, CONTROLLER, "update leases", group=lease, namespace=home, name="penstock-controller")
    )
    assert not await may(granted, CONTROLLER, "update leases", group=lease, namespace=home, name="other")


@pytest.mark.parametrize(
    ("role", "action", "allowed"),
    [
        ("view", "list localqueues", True),
        ("view", "create localqueues", False),
        ("edit", "create localqueues", True),
        ("edit", "patch localqueues/status", False),
        ("edit", "create clusterqueues", False),
        ("view", "list podschedulingpolicies", True),
        ("view", "get podschedulingpolicies/status", True),
        ("edit", "create podschedulingpolicies", False),
        ("admin", "create podschedulingpolicies", True),
        ("admin", "create clusterpodschedulingpolicies", False),
        ("admin", "create schedulingpolicies", False),
        ("admin", "create workloadpriorityclasses", False),
        ("admin", "use schedulingpolicies", False),
    ],
)
async def test_people_get_their_queues_with_the_roles_they_have(
    granted: Client, namespace: str, role: str, action: str, allowed: bool
) -> None:
    user = f"{role}-of-{namespace}"
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
    await apply(granted, [binding])

    await eventually(lambda: may(granted, user, "list localqueues", group=OURS, namespace=namespace))
    if allowed:
        await eventually(lambda: may(granted, user, action, group=OURS, namespace=namespace))
    else:
        assert not await may(granted, user, action, group=OURS, namespace=namespace)
