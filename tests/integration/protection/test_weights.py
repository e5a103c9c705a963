"""The weight of a LocalQueue is for who may update its ClusterQueue, whoever keeps the gate."""

from __future__ import annotations

import pytest

from controller.kube.client import MERGE_PATCH
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation, Reply
from tests.support.team import OURS, Json, Team

pytestmark = pytest.mark.integration

ADMINISTRATOR = Identity("jane", ("system:masters", "system:authenticated"))


def a_queue(team: Team, name: str, **sharing: object) -> Json:
    spec = {"clusterQueue": team.full("cq"), **({"fairSharing": sharing} if sharing else {})}
    return {"apiVersion": "penstock.dev/v1alpha1", "kind": "LocalQueue", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
async def editor(team: Team) -> Identity:
    """Who has the ClusterRole edit in the team's namespace."""
    editor = Identity.of_account(team.namespace, "editor")
    subjects = [{"kind": "ServiceAccount", "name": "editor", "namespace": team.namespace}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    body = {"metadata": {"name": "editor"}, "subjects": subjects, "roleRef": role}
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{team.namespace}/rolebindings"
    await team.client.post(path, body)
    return editor


async def test_weights_are_for_who_may_update_cluster_queues(
    team: Team, apiserver: Impersonation, editor: Identity
) -> None:
    path = f"{OURS}/namespaces/{team.namespace}/localqueues"

    async def create(who: Identity, name: str, **sharing: object) -> Reply:
        return await apiserver.send(who, "POST", path, a_queue(team, name, **sharing))

    async def change(who: Identity, name: str, spec: Json) -> Reply:
        return await apiserver.send(who, "PATCH", f"{path}/{name}", {"spec": spec}, content_type=MERGE_PATCH)

    async def may_create() -> bool:
        return (await create(editor, "plain")).code == 201

    await eventually(may_create, message="the role of the editor has no effect")
    refused = await create(editor, "heavy", weight=100)
    assert refused.code == 403
    assert "weight-of-queue: spec.fairSharing.weight: only users who may update ClusterQueue" in refused.body["message"]
    assert team.full("cq") in refused.body["message"]
    assert (await change(editor, "plain", {"fairSharing": {"weight": "0.5"}})).code == 403
    assert (await create(editor, "usual", weight=1)).code == 201

    assert (await change(ADMINISTRATOR, "plain", {"fairSharing": {"weight": 4}})).code == 200
    assert (await change(editor, "plain", {"stopPolicy": "Hold"})).code == 200
    assert (await change(editor, "plain", {"fairSharing": None})).code == 403
