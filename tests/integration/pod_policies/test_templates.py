"""Policies for templates: workloads as they come out of the apiserver, and what their real controllers make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner

from controller.cli.main import root
from controller.core.keys import POLICIES, QUEUE_NAME
from controller.kube.errors import Forbidden, Invalid
from tests.integration.pod_policies.conftest import PolicyTeam, policies_of
from tests.integration.pod_policies.templates import (
    SPOT,
    STRICT_PODS,
    listed,
    make,
    patch,
    path_of,
    pool,
    put,
    read,
    required,
)
from tests.support import plain_http
from tests.support.api_objects import field_requirement, node_terms, requirement
from tests.support.eventually import eventually
from tests.support.other_webhook import another_webhook
from tests.support.pod_update_rules import REQUIRED
from tests.support.team import OURS, Json, is_gated
from tests.support.workload_documents import APP, GROUPS, spec_of, template_of

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("plural", GROUPS)
async def test_templates_of_every_kind_get_their_policies(team: PolicyTeam, plural: str) -> None:
    wide = await team.wide("all", target="PodTemplates", affinity=node_terms(pool("x"), pool("y")))
    await team.for_templates("own", podSelector={"matchLabels": APP}, nodeSelector={"a": "b"}, tolerations=[SPOT])
    await team.policy("for-pods", nodeSelector={"c": "d"})
    await team.in_effect()
    template = template_of(await make(team, plural))
    assert (template["spec"]["nodeSelector"], template["spec"]["tolerations"]) == ({"a": "b"}, [SPOT])
    assert required(template) == [pool("x"), pool("y")]
    assert policies_of(template) == f"{wide},{team.namespace}/own"
    assert template_of(await read(team, plural)) == template


async def test_a_template_without_any_metadata_is_given_its_policies(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    spec = spec_of("cronjobs")
    del template_of({"spec": spec})["metadata"]
    body = {"metadata": {"name": "one"}, "spec": spec}
    made = orjson.loads(await team.client.post(path_of(team, "cronjobs"), body))
    assert (template_of(made)["spec"]["nodeSelector"], policies_of(template_of(made))) == (
        {"a": "b"},
        f"{team.namespace}/own",
    )


@pytest.mark.parametrize("plural", [plural for plural in GROUPS if plural != "jobs"])
async def test_three_terms_stay_three_after_many_writes(team: PolicyTeam, plural: str) -> None:
    terms = [pool("x"), pool("y"), pool("z")]
    await team.for_templates("own", affinity=node_terms(*terms))
    await team.in_effect()
    made = await make(team, plural)
    for number in range(3):
        spec = (await read(team, plural))["spec"]
        template = template_of({"spec": spec})
        template["spec"]["terminationGracePeriodSeconds"] = number
        # with no help from the annotation
        template["metadata"]["annotations"] = {}
        written = await put(team, plural, spec)
        assert required(template_of(written)) == terms
        assert policies_of(template_of(written)) in (None, f"{team.namespace}/own")
    as_in_git = await put(team, plural, spec_of(plural, terminationGracePeriodSeconds=30))
    assert template_of(as_in_git) == template_of(made)


async def test_a_policy_starts_no_rollout_and_joins_the_next(team: PolicyTeam) -> None:
    made = await make(team, "deployments")
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    changed = await patch(team, "deployments", {"metadata": {"labels": {"of": "somebody"}}})
    assert template_of(changed) == template_of(made)
    await patch(team, "deployments", {"spec": {"replicas": 1}}, "/scale")
    await patch(team, "deployments", {"spec": {"paused": True}})
    assert template_of(await read(team, "deployments")) == template_of(made)
    restart = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}
    assert template_of(await patch(team, "deployments", restart))["spec"]["nodeSelector"] == {"a": "b"}


async def test_replica_sets_of_the_controller_are_left_alone(team: PolicyTeam) -> None:
    """A ReplicaSet that is not its Deployment's template any more is replaced, again and again."""
    await make(team, "deployments")

    async def only() -> Json | None:
        sets = await listed(team, "replicasets")
        return sets[0] if len(sets) == 1 else None

    first = await eventually(only)
    assert first is not None
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    await team.client.delete(f"{path_of(team, 'replicasets')}/{first['metadata']['name']}")

    async def settled() -> bool:
        deployment = await read(team, "deployments")
        sets = [one for one in await listed(team, "replicasets") if one["metadata"]["uid"] != first["metadata"]["uid"]]
        assert len(sets) == 1, [one["metadata"]["name"] for one in sets]
        assert "nodeSelector" not in template_of(sets[0])["spec"]
        assert "collisionCount" not in deployment["status"], "it met a ReplicaSet of its own name that differs"
        return bool(deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"])

    await eventually(settled)
    # a new revision, made from a template that was treated
    await patch(team, "deployments", {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 3}}}})

    async def rolled_out() -> bool:
        sets = [template_of(one)["spec"].get("nodeSelector") for one in await listed(team, "replicasets")]
        return sorted(sets, key=str) == [None, {"a": "b"}] or sorted(sets, key=str) == [{"a": "b"}, None]

    await eventually(rolled_out)
    assert "collisionCount" not in (await read(team, "deployments"))["status"]


async def test_an_object_that_an_operator_owns_is_treated(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    owner = {"apiVersion": "example.com/v1", "kind": "Etcd", "name": "main", "uid": "1", "controller": True}
    body = {"metadata": {"name": "one", "ownerReferences": [owner]}, "spec": spec_of("statefulsets")}
    made = orjson.loads(await team.client.post(path_of(team, "statefulsets"), body, params={"dryRun": "All"}))
    assert template_of(made)["spec"]["nodeSelector"] == {"a": "b"}


@pytest.mark.parametrize("plural", ["replicasets", "replicationcontrollers", "jobs"])
async def test_an_owner_that_anybody_wrote_keeps_no_policy_away(team: PolicyTeam, plural: str) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"}, onConflict="Reject")
    await team.in_effect()
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "1", "controller": True}
    body = {"metadata": {"name": "one", "ownerReferences": [owner]}, "spec": spec_of(plural, nodeSelector={"a": "c"})}
    with pytest.raises(Forbidden, match=r"PodSchedulingPolicy 'own' refuses the template at spec\.template"):
        await team.client.post(path_of(team, plural), body)


@pytest.mark.more
async def test_the_jobs_of_a_cron_job_are_as_its_template_was(team: PolicyTeam) -> None:
    await make(team, "cronjobs")
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    await patch(team, "cronjobs", {"spec": {"schedule": "* * * * *", "suspend": False}})

    async def made() -> list[Json]:
        return await listed(team, "jobs")

    jobs = await eventually(made, seconds=80)
    assert "nodeSelector" not in template_of(jobs[0])["spec"]


def in_template(**spec: Any) -> Json:
    return {"template": {"spec": spec}}


async def test_a_suspended_jobs_template_is_treated_on_change(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.for_templates("strict", podSelector=STRICT_PODS, nodeSelector={"e": "f"}, onConflict="Reject")
    await team.in_effect()
    await make(team, "jobs", metadata={"labels": {**APP, "strict": "yes"}})
    changed = await patch(team, "jobs", {"spec": in_template(nodeSelector={"a": None, "c": "d"})})
    assert template_of(changed)["spec"]["nodeSelector"] == {"a": "b", "c": "d", "e": "f"}
    with pytest.raises(Forbidden, match=r"PodSchedulingPolicy 'strict' refuses the template at spec\.template"):
        await patch(team, "jobs", {"spec": in_template(nodeSelector={"e": "own"})})
    # started by the same update
    started = await patch(team, "jobs", {"spec": {"suspend": False, **in_template(nodeSelector={"a": None})}})
    assert template_of(started)["spec"]["nodeSelector"] == {"a": "b", "c": "d", "e": "f"}
    await patch(team, "jobs", {"metadata": {"labels": {"of": "somebody"}}})
    with pytest.raises(Invalid, match=r"spec\.template: Invalid value"):
        await patch(team, "jobs", {"spec": in_template(nodeSelector={"g": "h"})})


async def test_a_suspended_job_gets_only_what_may_be_changed(team: PolicyTeam) -> None:
    node = (await team.nodes("any"))[0]
    await make(team, "jobs")
    apart = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": APP}}]}}
    fixed = {"schedulerName": "other", "nodeName": node, "affinity": apart}
    await team.for_templates("own", **fixed, nodeSelector={"a": "b"}, tolerations=[SPOT], onConflict="Reject")
    await team.in_effect()
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    only_resources = template_of(await patch(team, "jobs", {"spec": in_template(containers=[container])}))
    assert only_resources["spec"].keys() & {"nodeSelector", "tolerations", "affinity"} == set()
    spec = template_of(await patch(team, "jobs", {"spec": in_template(nodeSelector={"c": "d"})}))["spec"]
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"a": "b", "c": "d"}, [SPOT])
    assert spec["affinity"] == node_terms({"matchFields": [field_requirement(node)]})
    assert (spec["schedulerName"], "nodeName" in spec) == ("default-scheduler", False)


async def test_a_job_suspended_again_is_treated_when_it_can_be(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    await make(team, "jobs")
    await patch(team, "jobs", {"spec": {"suspend": False}})

    async def active() -> bool:
        return bool((await read(team, "jobs"))["status"].get("active") == 1)

    await eventually(active)
    await patch(team, "jobs", {"spec": {"suspend": True}})

    async def at_rest() -> bool:
        status = (await read(team, "jobs"))["status"]
        states = {one["type"]: one["status"] for one in status.get("conditions", ())}
        return states.get("Suspended") == "True" and not status.get("active")

    await eventually(at_rest)
    changed = await patch(team, "jobs", {"spec": in_template(nodeSelector={"a": None, "c": "d"})})
    assert template_of(changed)["spec"]["nodeSelector"] == {"a": "b", "c": "d"}


async def test_a_contradiction_in_a_template_has_its_place(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "policy"}, tolerations=[SPOT])
    await team.for_templates("told", nodeSelector={"b": "policy"}, mode="Warn")
    await team.for_templates("strict", podSelector=STRICT_PODS, nodeSelector={"a": "policy"}, onConflict="Reject")
    await team.in_effect()
    path = f"{path_of(team, 'deployments')}?dryRun=All"
    body = {"metadata": {"name": "one"}, "spec": spec_of("deployments", nodeSelector={"a": "own"})}
    made, warnings = await plain_http.create(team.sandbox, path, body)
    assert (template_of(made)["spec"]["nodeSelector"], template_of(made)["spec"]["tolerations"]) == (
        {"a": "own"},
        [SPOT],
    )
    assert [warning.rstrip('"').removesuffix(", not 'policy'") for warning in warnings] == [
        "PodSchedulingPolicy 'own' is left out in part of the template at spec.template: spec.nodeSelector[a] is 'own'",
        "PodSchedulingPolicy 'told' (mode Warn) would set nodeSelector",
    ]
    labels = {"labels": {**APP, "strict": "yes"}}
    with pytest.raises(Forbidden, match=r"refuses the template at spec.jobTemplate.spec.template: spec\.nodeSelector"):
        await make(team, "cronjobs", metadata=labels, nodeSelector={"a": "own"})
    await make(team, "deployments", metadata=labels, nodeSelector={"a": "policy"})
    with pytest.raises(Forbidden, match=r"PodSchedulingPolicy 'strict' refuses the template at spec\.template"):
        await patch(team, "deployments", {"spec": {"template": {"spec": {"nodeSelector": {"a": "own"}}}}})


async def test_a_dry_run_shows_the_template_and_leaves_nothing(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    made = await make(team, "deployments", params={"dryRun": "All"})
    assert template_of(made)["spec"]["nodeSelector"] == {"a": "b"}
    assert await listed(team, "deployments") == []


async def test_what_a_user_notes_on_a_template_is_not_believed(team: PolicyTeam) -> None:
    await team.for_templates("own", nodeSelector={"a": "b"})
    await team.in_effect()
    path = f"{path_of(team, 'deployments')}?dryRun=All"
    annotations = {"annotations": {POLICIES: "forged", "mine": "x"}}
    body = {"metadata": {"name": "one"}, "spec": spec_of("deployments", annotations)}
    made, warnings = await plain_http.create(team.sandbox, path, body)
    assert template_of(made)["metadata"]["annotations"] == {POLICIES: f"{team.namespace}/own", "mine": "x"}
    assert len(warnings) == 1
    assert warnings[0].startswith(f"removed forged from {POLICIES}: only Penstock writes it")


async def test_a_template_changed_after_us_gets_everything_once(team: PolicyTeam, tmp_path: Path) -> None:
    await team.for_templates("own", tolerations=[SPOT], affinity=node_terms(pool("x"), pool("y")))
    # selects what the other webhook makes of the template, so that its effect shows that we were called again
    await team.for_templates("second", podSelector={"matchLabels": {"late": "yes"}}, nodeSelector={"c": "d"})
    await team.in_effect()
    operations: list[Json] = [{"op": "add", "path": "/spec/template/metadata/labels/late", "value": "yes"}]
    rule = {"apiGroups": ["apps"], "resources": ["deployments"]}
    body = {"metadata": {"name": "one", "labels": {"asks": "twice"}}, "spec": spec_of("deployments")}
    async with another_webhook(team, operations, tmp_path, rule=rule):

        async def called() -> Json | None:
            made = await team.client.post(path_of(team, "deployments"), body, params={"dryRun": "All"})
            template = template_of(orjson.loads(made))
            return template if "late" in template["metadata"]["labels"] else None

        template = await eventually(called, message="the other webhook is not called")
    assert template is not None
    assert template["spec"]["nodeSelector"] == {"c": "d"}
    assert (required(template), template["spec"]["tolerations"]) == ([pool("x"), pool("y")], [SPOT])
    assert policies_of(template) == f"{team.namespace}/own,{team.namespace}/second"


async def test_pods_of_a_template_go_to_the_node_of_its_policy(team: PolicyTeam) -> None:
    await team.ready({"spot": {"cpu": 8}})
    second = (await team.nodes("spot", count=3, cpu="8", memory="32Gi"))[-1]
    await team.for_templates("own", nodeName=second)
    await team.in_effect()
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]
    labels = {"labels": {QUEUE_NAME: "main"}}
    made = await make(team, "jobs", metadata=labels, containers=containers)
    assert "nodeName" not in template_of(made)["spec"]
    assert required(template_of(made)) == [{"matchFields": [field_requirement(second)]}]
    await patch(team, "jobs", {"spec": {"suspend": False}})

    async def bound() -> bool:
        pods = list((await team.all()).values())
        assert [policies_of(pod) for pod in pods] == [f"{team.namespace}/own"]
        return not is_gated(pods[0]) and pods[0]["spec"].get("nodeName") == second

    await eventually(bound)


async def test_a_daemon_set_keeps_to_the_nodes_of_its_policy(team: PolicyTeam) -> None:
    """Its controller reads the template: pods for other nodes are never made."""
    wanted = await team.nodes("wanted", count=2, labels={"a": "b"})
    await team.nodes("other")
    here = requirement("In", *wanted, key="kubernetes.io/hostname")
    await team.for_templates("own", tolerations=[SPOT], affinity=node_terms({"matchExpressions": [here]}))
    await team.in_effect()
    await make(team, "daemonsets")

    async def covered() -> bool:
        pods = list((await team.all()).values())
        assert sorted(pod["spec"].get("nodeName", "") for pod in pods) == sorted(wanted)
        # the controller puts each pod's node in the place of the required terms; the toleration is still the policy's
        assert {policies_of(pod) for pod in pods} == {f"{team.namespace}/own"}
        return True

    await eventually(covered)


async def test_a_converted_object_of_kupid_works_in_kupids_way(team: PolicyTeam) -> None:
    written = {
        "apiVersion": "kupid.gardener.cloud/v1alpha1",
        "kind": "PodSchedulingPolicy",
        "metadata": {"name": "etcd", "namespace": team.namespace},
        "spec": {"podSelector": {"matchLabels": APP}, "affinity": node_terms(pool("etcd"))},
    }
    command = ["import", "kupid", "-f", "-", "--target", "PodTemplates"]
    done = CliRunner().invoke(root, command, input=yaml.safe_dump(written))
    assert done.exit_code == 0, done.output
    document = next(yaml.safe_load_all(done.stdout))
    await team.client.post(f"{OURS}/namespaces/{team.namespace}/podschedulingpolicies", document)
    await team.in_effect()
    assert required(template_of(await make(team, "statefulsets"))) == [pool("etcd")]
