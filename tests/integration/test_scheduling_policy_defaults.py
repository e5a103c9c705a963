"""A SchedulingPolicy whose default is outside its own forms is refused when it is applied, not with each pod."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from msgspec import Raw

from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from controller.kube.client import Client
from controller.kube.errors import Invalid
from controller.objects.scheduling_policies import read_scheduling_policy
from controller.sandbox import Sandbox
from tests.support.api_objects import Json, node_terms, scheduling_policy
from tests.support.served_kinds import serve_our_kinds

pytestmark = pytest.mark.integration

POLICIES = "/apis/penstock.dev/v1alpha1/schedulingpolicies"
SPOT = {"key": "spot", "operator": "Equal", "values": ["yes", "no"], "effect": "NoSchedule"}
FORM = {"keys": ["spot"], "operators": ["Equal"], "values": ["yes", "no"], "effects": ["NoSchedule"]}
ANY: Json = {"keys": [], "operators": [], "values": [], "effects": []}
GIVEN = {
    "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300
}  # fmt: skip
NODES = node_terms({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]})
NEAR = {"podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}}]}}


def tolerating(default: Json, *allowed: Json) -> Json:
    return {"default": {"tolerations": [default]}, "allowed": {"tolerations": list(allowed)}}


def without(form: Json, *names: str) -> Json:
    return {name: value for name, value in form.items() if name not in names}


def forms(**form: Any) -> Json:
    return {"nodeAffinities": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [form]}]}}}


OUTSIDE: dict[str, Json] = {
    "another key": tolerating({**SPOT, "key": "other"}, FORM),
    "one of the values": tolerating(SPOT, {**FORM, "values": ["yes"]}),
    "every effect": tolerating(without(SPOT, "effect"), FORM),
    "exists": tolerating({"key": "spot", "operator": "Exists", "effect": "NoSchedule"}, FORM),
    "everything": tolerating({"operator": "Exists"}, FORM),
    "no keys": tolerating(SPOT, without(FORM, "keys")),
    "no values": tolerating(SPOT, without(FORM, "values")),
    "other seconds": tolerating({**GIVEN, "tolerationSeconds": 5}, FORM),
    "nodes where only pods are": {
        "default": {"affinity": NODES}, "allowed": {"affinities": {"podAffinities": {}}}
    },
    "required where only preferred is": {
        "default": {"affinity": NODES}, "allowed": {"affinities": {"nodeAffinities": {PREFERRED: {}}}}
    },
    "nodes by another key": {
        "default": {"affinity": NODES}, "allowed": {"affinities": forms(keys=["pool"], operators=["In"], values=[])}
    },
    "nodes by another operator": {
        "default": {"affinity": NODES}, "allowed": {"affinities": forms(keys=["zone"], operators=["NotIn"], values=[])}
    },
    "pods where only nodes are": {
        "default": {"affinity": NEAR}, "required": {"affinities": {"nodeAffinities": {REQUIRED: {}}}}
    },
}  # fmt: skip
WITHIN: dict[str, Json] = {
    "the form": tolerating(SPOT, FORM),
    "one form for each value": tolerating(SPOT, {**FORM, "values": ["yes"]}, {**FORM, "values": ["no"]}),
    "every form": tolerating({"operator": "Exists"}, ANY),
    "all forms": {"default": {"tolerations": [SPOT]}, "allowed": {"tolerations": []}},
    "nothing is said": {"default": {"tolerations": [SPOT], "affinity": NODES}, "allowed": {"nodeNames": []}},
    "what the apiserver gives": tolerating(GIVEN, FORM),
    "all effects": tolerating(
        without(SPOT, "effect"), {**FORM, "effects": ["NoSchedule", "PreferNoSchedule", "NoExecute"]}
    ),
    "all affinities": {"default": {"affinity": NODES}, "allowed": {"affinities": {}}},
    "all of a kind": {"default": {"affinity": NEAR}, "allowed": {"affinities": {"podAffinities": {}}}},
    "the part": {
        "default": {"affinity": NODES},
        "allowed": {"affinities": {"nodeAffinities": {REQUIRED: {}}, "podAffinities": {}}},
    },
    "the form of nodes": {
        "default": {"affinity": NODES}, "allowed": {"affinities": forms(keys=["zone"], operators=["In"], values=["a"])}
    },
    "what is required": {
        "default": {"affinity": NODES}, "required": {"affinities": {"nodeAffinities": {REQUIRED: {}}}}
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def our_kinds(sandbox: Sandbox) -> None:
    async def serve() -> None:
        async with sandbox.client() as client:
            await serve_our_kinds(client)

    asyncio.run(serve())


def is_valid(spec: Json) -> bool:
    """What the webhook makes of it."""
    return read_scheduling_policy(Raw(orjson.dumps(scheduling_policy(**spec)))).fault is None


@pytest.mark.usefixtures("our_kinds")
@pytest.mark.parametrize("spec", OUTSIDE.values(), ids=list(OUTSIDE))
async def test_a_default_outside_its_own_forms_is_refused(admin: Client, spec: dict[str, Any]) -> None:
    assert not is_valid(spec)
    with pytest.raises(Invalid, match=r"default\.(tolerations|affinity)"):
        await admin.post(POLICIES, scheduling_policy(**spec), params={"dryRun": "All"})


@pytest.mark.usefixtures("our_kinds")
@pytest.mark.parametrize("spec", WITHIN.values(), ids=list(WITHIN))
async def test_a_default_within_its_own_forms_is_taken(admin: Client, spec: dict[str, Any]) -> None:
    assert is_valid(spec)
    await admin.post(POLICIES, scheduling_policy(**spec), params={"dryRun": "All"})
