"""Rows of the table of faulty objects (`faulty_objects`) about pod scheduling policies."""

from __future__ import annotations

from tests.support.api_objects import cluster_pod_policy, field_requirement, node_terms, pod_policy, requirement
from tests.support.faulty import LABEL_VALUE, Faulty
from tests.support.pod_update_rules import PREFERRED, REQUIRED

_TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
_PREFERENCES = f"spec.affinity.nodeAffinity.{PREFERRED}"
_NEAR = f"spec.affinity.podAffinity.{REQUIRED}"
_EMPTY_TERM = "must have matchExpressions or matchFields, because an empty term matches no node"
_NAMED = {"matchFields": [field_requirement("n")]}

POLICIES: tuple[Faulty, ...] = (
    Faulty(
        "an empty term in a policy",
        pod_policy(affinity=node_terms({"matchExpressions": [requirement("Exists")]}, {})),
        f"{_TERMS}[1]: {{}}: {_EMPTY_TERM}",
        f"{_TERMS}[1]: Invalid value: {_EMPTY_TERM}",
    ),
    Faulty(
        "a term with an empty list in a policy",
        cluster_pod_policy(affinity=node_terms({"matchExpressions": []})),
        f"{_TERMS}[0]: {{}}: {_EMPTY_TERM}",
        f"{_TERMS}[0]: Invalid value: {_EMPTY_TERM}",
    ),
    Faulty(
        "an empty preference in a policy",
        pod_policy(affinity={"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {}}]}}),
        f"{_PREFERENCES}[0].preference: {{}}: {_EMPTY_TERM}",
        f"{_PREFERENCES}[0].preference: Invalid value: {_EMPTY_TERM}",
    ),
    Faulty(
        "a policy that requires one of no terms",
        pod_policy(affinity=node_terms()),
        f"{_TERMS}: []: must not be empty",
        f"{_TERMS}: Invalid value: 0: {_TERMS} in body should have at least 1 items",
    ),
    Faulty(
        "a policy with too many terms",
        pod_policy(affinity=node_terms(*[_NAMED] * 17)),
        f'{_TERMS}: [{{"matchFields": [{{"key": "metadata.name", "operator": "In", "values": ["n"]}}]}},'
        "…: must have at most 16 entries",
        f"{_TERMS}: Too many: 17: must have at most 16 items",
    ),
    Faulty(
        "a field that nodes do not have",
        pod_policy(affinity=node_terms({"matchFields": [{**field_requirement("n"), "key": "metadata.uid"}]})),
        f"{_TERMS}[0].matchFields[0].key: \"metadata.uid\": must be 'metadata.name'",
        f'{_TERMS}[0].matchFields[0].key: Unsupported value: "metadata.uid": supported values: "metadata.name"',
    ),
    Faulty(
        "a field with two names",
        pod_policy(affinity=node_terms({"matchFields": [field_requirement("a", "b")]})),
        f'{_TERMS}[0].matchFields[0].values: ["a", "b"]: must have at most 1 entries',
        f"{_TERMS}[0].matchFields[0].values: Too many: 2: must have at most 1 item",
    ),
    Faulty(
        "a preference that weighs too much",
        pod_policy(affinity={"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": _NAMED}]}}),
        f"{_PREFERENCES}[0].weight: 101: must be at most 100",
        f"{_PREFERENCES}[0].weight: Invalid value: 101: {_PREFERENCES}[0].weight in body should be less than or equal "
        "to 100",
    ),
    Faulty(
        "a pod affinity without a topology",
        pod_policy(affinity={"podAffinity": {REQUIRED: [{}]}}),
        f"{_NEAR}[0].topologyKey: is required",
        f"{_NEAR}[0].topologyKey: Required value",
    ),
    Faulty(
        "a node name that is none",
        pod_policy(nodeName="Node_1"),
        'spec.nodeName: "Node_1": must be an object\'s name: lower case letters, digits, "-" or ".", '
        "first and last a letter or digit",
        'spec.nodeName: Invalid value: "Node_1": spec.nodeName in body should match '
        "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
    ),
    Faulty(
        "a policy with a mode that does not exist",
        pod_policy(mode="Dryrun"),
        "spec.mode: \"Dryrun\": must be 'Enforce', 'Warn' or 'Audit'",
        'spec.mode: Unsupported value: "Dryrun": supported values: "Enforce", "Warn", "Audit"',
    ),
    Faulty(
        "a target that does not exist",
        cluster_pod_policy(target="Deployments"),
        "spec.target: \"Deployments\": must be 'Pods' or 'PodTemplates'",
        'spec.target: Unsupported value: "Deployments": supported values: "Pods", "PodTemplates"',
    ),
    Faulty(
        "no target at all",
        pod_policy(target=""),
        "spec.target: \"\": must be 'Pods' or 'PodTemplates'",
        'spec.target: Unsupported value: "": supported values: "Pods", "PodTemplates"',
    ),
    Faulty(
        "a word on conflicts that does not exist",
        cluster_pod_policy(onConflict="PolicyWins"),
        "spec.onConflict: \"PolicyWins\": must be 'PodWins' or 'Reject'",
        'spec.onConflict: Unsupported value: "PolicyWins": supported values: "PodWins", "Reject"',
    ),
    Faulty(
        "a namespaced policy that selects namespaces",
        pod_policy(namespaceSelector={}),
        "spec.namespaceSelector: {}: is not a field that Penstock knows; remove it or correct its spelling",
        'unknown field "spec.namespaceSelector"',
    ),
    Faulty(
        "a policy with a toleration of nothing",
        pod_policy(tolerations=[{}]),
        'spec.tolerations[0].operator: "Equal": must be Exists when key is empty, which tolerates every taint',
        'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when key is empty',
    ),
    Faulty(
        "a policy whose node label is malformed",
        cluster_pod_policy(nodeSelector={"pool": "-bad"}),
        f'spec.nodeSelector[pool]: "-bad": {LABEL_VALUE}',
        f'spec.nodeSelector[pool]: Invalid value: "-bad": {LABEL_VALUE}',
    ),
    Faulty(
        "a priority that is no number",
        pod_policy(priority="high"),
        'spec.priority: "high": must be a whole number',
        'spec.priority: Invalid value: "string": spec.priority in body must be of type int',
    ),
)
