"""Rows of the table of faulty objects (`faulty_objects`) about SchedulingPolicies."""

from __future__ import annotations

from typing import Any

from tests.support.api_objects import Json, scheduling_policy
from tests.support.faulty import LABEL_VALUE, Faulty
from tests.support.pod_update_rules import PREFERRED, REQUIRED

_UNKNOWN = "is not a field that Penstock knows; remove it or correct its spelling"
_EMPTY = "must not be empty"
_OWN_LABELS = (
    "must be one of the values of its key in required.nodeSelectors, or where there are none in allowed.nodeSelectors"
)
_SAYS_NOTHING = "must have matchExpressions or matchFields, because an empty term requires nothing"
_NO_KIND = "must name nodeAffinities, podAffinities or podAntiAffinities"
_NO_TERM = "must say something: a required or preferred term of some kind"
_FORM = {"keys": ["a"], "operators": ["In"], "values": ["b"]}


def _own(field: str) -> str:
    return f"must be one of required.{field}s, or where these are not given of allowed.{field}s"


def _required(**entries: Any) -> Json:
    return scheduling_policy(required=entries)


def _required_nodes(part: Json) -> Json:
    return _required(affinities={"nodeAffinities": {REQUIRED: part}})


def _given(**entries: Any) -> Json:
    return scheduling_policy(default=entries)


def _empty_list(path: str, obj: Json) -> Faulty:
    return Faulty(
        f"nothing in {path}",
        obj,
        f"{path}: []: {_EMPTY}",
        f"{path}: Invalid value: 0: {path} in body should have at least 1 items",
    )


def _misspelt(section: str, field: str, value: Any) -> Faulty:
    spec: Json = {section: {field: value}}
    path = f"spec.{section}.{field}"
    shown = '["a"]' if isinstance(value, list) else '"a"'
    return Faulty(
        f"{path}, as the proposal spells it",
        scheduling_policy(**spec),
        f"{path}: {shown}: {_UNKNOWN}",
        f'unknown field "{path}"',
    )


def _outside(field: str, **sections: Any) -> Faulty:
    """A default that its own policy does not let pods have."""
    return Faulty(
        f"a default {field} outside {', '.join(sections)}",
        scheduling_policy(default={field: "mine"}, **sections),
        f'spec.default.{field}: "mine": {_own(field)}',
        f'spec.default.{field}: Invalid value: "mine": {field} {_own(field)}',
    )


def _default_toleration(name: str, entry: Json, field: str, fault: str, refusal: str) -> Faulty:
    path = f"spec.default.tolerations[0].{field}"
    return Faulty(name, _given(tolerations=[entry]), f"{path}: {fault}", f"{path}: Invalid value: {refusal}")


_WITHOUT_NVME: tuple[Json, ...] = (
    {"required": {"nodeSelectors": {"disk": ["ssd"]}}},
    {"required": {"nodeSelectors": {"disk": ["ssd"]}}, "allowed": {"nodeSelectors": {"disk": ["nvme"]}}},
    {"required": {"nodeSelectors": {"zone": ["a"]}}},
    {"allowed": {"nodeSelectors": {"disk": ["ssd"]}}},
    {"allowed": {"nodeSelectors": {"zone": []}}},
)

SCHEDULING: tuple[Faulty, ...] = (
    _misspelt("required", "priorityClasseNames", ["a"]),
    _misspelt("allowed", "priorityClasseNames", ["a"]),
    _misspelt("default", "priorityClasseName", "a"),
    _misspelt("required", "tolerations", ["a"]),
    _misspelt("required", "nodeNames", ["a"]),
    _empty_list("spec.required.schedulerNames", _required(schedulerNames=[])),
    _empty_list("spec.required.priorityClassNames", _required(priorityClassNames=[])),
    _empty_list("spec.required.runtimeClassNames", _required(runtimeClassNames=[])),
    _empty_list("spec.default.tolerations", _given(tolerations=[])),
    _empty_list(
        f"spec.required.affinities.nodeAffinities.{REQUIRED}.nodeSelectorTerms",
        _required_nodes({"nodeSelectorTerms": []}),
    ),
    _empty_list(
        f"spec.required.affinities.nodeAffinities.{REQUIRED}.nodeSelectorTerms[0].matchExpressions",
        _required_nodes({"nodeSelectorTerms": [{"matchExpressions": []}]}),
    ),
    Faulty(
        "a required node selector without values",
        _required(nodeSelectors={"disk": []}),
        f"spec.required.nodeSelectors[disk]: []: {_EMPTY}",
        "spec.required.nodeSelectors.disk: Invalid value: 0: spec.required.nodeSelectors.disk in body should have "
        "at least 1 items",
    ),
    Faulty(
        "required node selectors without a key",
        _required(nodeSelectors={}),
        f"spec.required.nodeSelectors: {{}}: {_EMPTY}",
        "spec.required.nodeSelectors: Invalid value: 0: spec.required.nodeSelectors in body should have at least 1 "
        "properties",
    ),
    Faulty(
        "a default node selector without a key",
        _given(nodeSelector={}),
        f"spec.default.nodeSelector: {{}}: {_EMPTY}",
        "spec.default.nodeSelector: Invalid value: 0: spec.default.nodeSelector in body should have at least 1 "
        "properties",
    ),
    Faulty(
        "required affinities of no kind",
        _required(affinities={}),
        f"spec.required.affinities: {{}}: {_NO_KIND}",
        f"spec.required.affinities: Invalid value: {_NO_KIND}",
    ),
    Faulty(
        "a required term without requirements",
        _required_nodes({"nodeSelectorTerms": [{"matchExpressions": [_FORM]}, {}]}),
        f"spec.required.affinities.nodeAffinities.{REQUIRED}.nodeSelectorTerms[1]: {{}}: {_SAYS_NOTHING}",
        f"spec.required.affinities.nodeAffinities.{REQUIRED}.nodeSelectorTerms[1]: Invalid value: {_SAYS_NOTHING}",
    ),
    Faulty(
        "a default affinity without a term",
        _given(affinity={"podAffinity": {PREFERRED: []}}),
        f'spec.default.affinity: {{"podAffinity": {{}}}}: {_NO_TERM}',
        f"spec.default.affinity: Invalid value: {_NO_TERM}",
    ),
    Faulty(
        "an affinity to pods whose terms are looked into",
        scheduling_policy(allowed={"affinities": {"podAffinities": {REQUIRED: {"topologyKeys": []}}}}),
        f"spec.allowed.affinities.podAffinities.{REQUIRED}.topologyKeys: []: {_UNKNOWN}",
        f'unknown field "spec.allowed.affinities.podAffinities.{REQUIRED}.topologyKeys"',
    ),
    Faulty(
        "an operator that node affinity does not have",
        _required_nodes({"nodeSelectorTerms": [{"matchExpressions": [{**_FORM, "operators": ["Equal"]}]}]}),
        f"spec.required.affinities.nodeAffinities.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operators[0]: "
        "\"Equal\": must be 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt' or 'Lt'",
        f"spec.required.affinities.nodeAffinities.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operators[0]: "
        'Unsupported value: "Equal": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
    ),
    Faulty(
        "an operator that tolerations do not have",
        scheduling_policy(allowed={"tolerations": [{"operators": ["In"]}]}),
        "spec.allowed.tolerations[0].operators[0]: \"In\": must be 'Equal' or 'Exists'",
        'spec.allowed.tolerations[0].operators[0]: Unsupported value: "In": supported values: "Equal", "Exists"',
    ),
    Faulty(
        "an allowed node selector with a malformed value",
        scheduling_policy(allowed={"nodeSelectors": {"disk": ["-bad"]}}),
        f'spec.allowed.nodeSelectors[disk][0]: "-bad": {LABEL_VALUE}',
        f'spec.allowed.nodeSelectors[disk][0]: Invalid value: "-bad": {LABEL_VALUE}',
    ),
    Faulty(
        "a scheduling policy with a mode that does not exist",
        scheduling_policy(mode="DryRun"),
        "spec.mode: \"DryRun\": must be 'Enforce', 'Warn' or 'Audit'",
        'spec.mode: Unsupported value: "DryRun": supported values: "Enforce", "Warn", "Audit"',
    ),
    _outside("schedulerName", required={"schedulerNames": ["other"]}),
    _outside("schedulerName", required={"schedulerNames": ["other"]}, allowed={"schedulerNames": ["mine"]}),
    _outside("schedulerName", allowed={"schedulerNames": ["other"]}),
    _outside("priorityClassName", required={"priorityClassNames": ["other"]}),
    _outside("runtimeClassName", allowed={"runtimeClassNames": ["other"]}),
    *(
        Faulty(
            f"a default label outside {sections}",
            scheduling_policy(default={"nodeSelector": {"disk": "nvme"}}, **sections),
            f'spec.default.nodeSelector[disk]: "nvme": {_OWN_LABELS}',
            f'spec.default.nodeSelector: Invalid value: "disk": the value {_OWN_LABELS}',
        )
        for sections in _WITHOUT_NVME
    ),
    _default_toleration(
        "a default toleration of Equal without values",
        {"key": "a"},
        "values",
        "[]: must list at least one value when operator is Equal",
        "[]: values must list at least one value when operator is Equal",
    ),
    _default_toleration(
        "a default toleration of Exists with values",
        {"key": "a", "operator": "Exists", "values": ["b"]},
        "values",
        '["b"]: must be empty when operator is Exists',
        "[b]: values must be empty when operator is Exists",
    ),
    _default_toleration(
        "a default toleration of every key without Exists",
        {"values": ["b"]},
        "operator",
        '"Equal": must be Exists when key is empty, which tolerates every taint',
        '"Equal": operator must be Exists when key is empty',
    ),
    _default_toleration(
        "a default toleration whose seconds mean nothing",
        {"key": "a", "operator": "Exists", "tolerationSeconds": 3},
        "effect",
        '"": must be NoExecute when tolerationSeconds is set',
        '"": effect must be NoExecute when tolerationSeconds is set',
    ),
)
