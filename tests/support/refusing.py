"""An admission policy that refuses the controller its releases, as one of somebody else may."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from tests.support.team import Team

_PATH = "/apis/admissionregistration.k8s.io/v1"


@asynccontextmanager
async def releases_refused(team: Team, name: str) -> AsyncIterator[None]:
    """Meanwhile the controller may remove no gate from the team's pods. `name`: of the policy, short."""
    name = team.full(name)
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}]
    gates = "size(has({0}.spec.schedulingGates) ? {0}.spec.schedulingGates : [])"
    us = f"system:serviceaccount:{NAMESPACE}:{CONTROLLER_ACCOUNT}"
    rule = f"request.userInfo.username != '{us}' || {gates.format('object')} >= {gates.format('oldObject')}"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": rule}],
    }
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": chosen}}
    kinds = {"validatingadmissionpolicies": policy, "validatingadmissionpolicybindings": binding}
    for plural, spec in kinds.items():
        await team.client.post(f"{_PATH}/{plural}", {"metadata": {"name": name}, "spec": spec})
    try:
        yield
    finally:
        for plural in reversed(kinds):
            await team.client.delete(f"{_PATH}/{plural}/{name}")
