"""Objects that break one rule each, with what is said of it: the same to the tests of the models and of the CRDs."""

from __future__ import annotations

from typing import Any

from tests.support.api_objects import Json, cluster_queue, quotas, requirement, resource_flavor
from tests.support.faulty import LABEL_VALUE, Faulty
from tests.support.faulty_budgets import BUDGETS
from tests.support.faulty_fair_sharing import FAIR_SHARING
from tests.support.faulty_flavor_choice import FLAVOR_CHOICE
from tests.support.faulty_kinds import KINDS
from tests.support.faulty_local_queues import LOCAL_QUEUES
from tests.support.faulty_policies import POLICIES
from tests.support.faulty_preemption import PREEMPTION
from tests.support.faulty_priorities import PRIORITIES
from tests.support.faulty_schedules import SCHEDULES
from tests.support.faulty_scheduling import SCHEDULING

_KEY_FORM = 'an optional DNS prefix and "/", then at most 63 letters, digits, "-", "_" or "."'
LABEL_KEY = f"must be a label key: {_KEY_FORM}, such as node.kubernetes.io/instance-type"
RESOURCE_NAME = f"must be a resource name: {_KEY_FORM}, such as cpu or nvidia.com/gpu"
QUANTITY = 'must be a quantity: a whole number, or text such as "500m", "8" or "64Gi"'
AMOUNT = 'must be a quantity, such as 8, "500m" or "64Gi", or a share of live capacity, such as "40%"'
WANTS_NUMBER = "must be one whole number of at most 18 digits when operator is Gt or Lt"


def _with_requirement(entry: Json) -> Json:
    return resource_flavor(nodeRequirements=[entry])


def _with_toleration(entry: Json) -> Json:
    return resource_flavor(tolerations=[entry])


def _with_quota(amount: Any) -> Json:
    return cluster_queue(flavors=[quotas(cpu=1, memory=amount)])


FAULTY: tuple[Faulty, ...] = (
    Faulty(
        "a node label whose key is malformed",
        resource_flavor(nodeLabels={"-bad": "x"}),
        f'spec.nodeLabels[-bad]: "-bad": the key {LABEL_KEY}',
        f'spec.nodeLabels: Invalid value: "-bad": the key {LABEL_KEY}',
    ),
    Faulty(
        "a node label whose value is malformed",
        resource_flavor(nodeLabels={"pool": "-bad"}),
        f'spec.nodeLabels[pool]: "-bad": {LABEL_VALUE}',
        f'spec.nodeLabels[pool]: Invalid value: "-bad": {LABEL_VALUE}',
    ),
    Faulty(
        "a node label whose value is a number",
        resource_flavor(nodeLabels={"pool": 3}),
        "spec.nodeLabels[pool]: 3: must be text",
        'spec.nodeLabels.pool: Invalid value: "integer": spec.nodeLabels.pool in body must be of type '
        'string: "integer"',
    ),
    Faulty(
        "static capacity without amounts",
        resource_flavor(capacity={"mode": "Static"}),
        "spec.capacity.static: null: must be given when mode is Static",
        "spec.capacity.static: Invalid value: static must be given when mode is Static",
    ),
    Faulty(
        "static amounts in mode Nodes",
        resource_flavor(capacity={"static": {"cpu": 3}}),
        'spec.capacity.static: {"cpu": 3}: must be left out unless mode is Static',
        'spec.capacity.static: Invalid value: mode is "Nodes": static must be left out unless mode is Static',
    ),
    Faulty(
        "autoscaled capacity without a maximum",
        resource_flavor(capacity={"mode": "Autoscaled"}),
        "spec.capacity.max: null: must be given when mode is Autoscaled",
        "spec.capacity.max: Invalid value: max must be given when mode is Autoscaled",
    ),
    Faulty(
        "a cool-down in mode Static",
        resource_flavor(capacity={"mode": "Static", "static": {"cpu": 3}, "coolDown": "1h"}),
        'spec.capacity.coolDown: "1h": must be left out unless mode is Autoscaled',
        'spec.capacity.coolDown: Invalid value: mode is "Static": coolDown must be left out unless mode is Autoscaled',
    ),
    Faulty(
        "a capacity mode that does not exist",
        resource_flavor(capacity={"mode": "Elastic"}),
        "spec.capacity.mode: \"Elastic\": must be 'Nodes', 'Autoscaled' or 'Static'",
        'spec.capacity.mode: Unsupported value: "Elastic": supported values: "Nodes", "Autoscaled", "Static"',
    ),
    Faulty(
        "a negative static amount",
        resource_flavor(capacity={"mode": "Static", "static": {"cpu": "-1"}}),
        'spec.capacity.static[cpu]: "-1": must not be negative',
        'spec.capacity.static[cpu]: Invalid value: "-1": must not be negative',
    ),
    Faulty(
        "a static amount of a malformed resource",
        resource_flavor(capacity={"mode": "Static", "static": {"c p u": "1"}}),
        f'spec.capacity.static[c p u]: "c p u": the key {RESOURCE_NAME}',
        f'spec.capacity.static: Invalid value: "c p u": the key {RESOURCE_NAME}',
    ),
    Faulty(
        "static capacity of nothing",
        resource_flavor(capacity={"mode": "Static", "static": {}}),
        "spec.capacity.static: {}: must not be empty",
        "spec.capacity.static: Invalid value: 0: spec.capacity.static in body should have at least 1 properties",
    ),
    Faulty(
        "a name that does not fit a label value",
        resource_flavor("a" * 64),
        'metadata.name: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be at most '
        "63 characters, because it is written on pods as a label value",
        'metadata.name: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": '
        "metadata.name must be at most 63 characters, because it is written on pods as a label value",
    ),
    Faulty(
        "a misspelt field",
        resource_flavor(nodeLabel={}),
        "spec.nodeLabel: {}: is not a field that Penstock knows; remove it or correct its spelling",
        'unknown field "spec.nodeLabel"',
    ),
    Faulty(
        "In with an empty list",
        _with_requirement(requirement("In")),
        "spec.nodeRequirements[0].values: []: must list at least one value when operator is In or NotIn",
        "spec.nodeRequirements[0].values: Invalid value: []: values must list at least one value when "
        "operator is In or NotIn",
    ),
    Faulty(
        "In without values",
        _with_requirement({"key": "pool", "operator": "In"}),
        "spec.nodeRequirements[0].values: []: must list at least one value when operator is In or NotIn",
        "spec.nodeRequirements[0].values: Invalid value: []: values must list at least one value when "
        "operator is In or NotIn",
    ),
    Faulty(
        "Exists with a value",
        _with_requirement(requirement("Exists", "a")),
        'spec.nodeRequirements[0].values: ["a"]: must be empty when operator is Exists or DoesNotExist',
        "spec.nodeRequirements[0].values: Invalid value: [a]: values must be empty when operator is Exists "
        "or DoesNotExist",
    ),
    Faulty(
        "Gt of a word",
        _with_requirement(requirement("Gt", "a")),
        f'spec.nodeRequirements[0].values: ["a"]: {WANTS_NUMBER}',
        f"spec.nodeRequirements[0].values: Invalid value: [a]: values {WANTS_NUMBER}",
    ),
    Faulty(
        "Gt of two numbers",
        _with_requirement(requirement("Gt", "1", "2")),
        f'spec.nodeRequirements[0].values: ["1", "2"]: {WANTS_NUMBER}',
        f"spec.nodeRequirements[0].values: Invalid value: [1, 2]: values {WANTS_NUMBER}",
    ),
    Faulty(
        "an operator that does not exist",
        _with_requirement(requirement("Near", "1")),
        "spec.nodeRequirements[0].operator: \"Near\": must be 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt' or 'Lt'",
        'spec.nodeRequirements[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", '
        '"Exists", "DoesNotExist", "Gt", "Lt"',
    ),
    Faulty(
        "a requirement on a malformed value",
        _with_requirement(requirement("In", "a b")),
        f'spec.nodeRequirements[0].values[0]: "a b": {LABEL_VALUE}',
        f'spec.nodeRequirements[0].values[0]: Invalid value: "a b": {LABEL_VALUE}',
    ),
    Faulty(
        "a requirement on a malformed key",
        _with_requirement(requirement("In", "a", key="a/b/c")),
        f'spec.nodeRequirements[0].key: "a/b/c": {LABEL_KEY}',
        f'spec.nodeRequirements[0].key: Invalid value: "a/b/c": {LABEL_KEY}',
    ),
    Faulty(
        "a requirement without a key",
        _with_requirement({"operator": "In", "values": ["a"]}),
        "spec.nodeRequirements[0].key: is required",
        "spec.nodeRequirements[0].key: Required value",
    ),
    Faulty(
        "a toleration of everything without Exists",
        _with_toleration({}),
        'spec.tolerations[0].operator: "Equal": must be Exists when key is empty, which tolerates every taint',
        'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when key is empty, '
        "which tolerates every taint",
    ),
    Faulty(
        "a toleration of a malformed key",
        _with_toleration({"key": "a b"}),
        f'spec.tolerations[0].key: "a b": {LABEL_KEY}',
        f'spec.tolerations[0].key: Invalid value: "a b": key {LABEL_KEY}',
    ),
    Faulty(
        "a toleration with Exists and a value",
        _with_toleration({"key": "a", "operator": "Exists", "value": "x"}),
        'spec.tolerations[0].value: "x": must be empty when operator is Exists',
        'spec.tolerations[0].value: Invalid value: "x": value must be empty when operator is Exists',
    ),
    Faulty(
        "a toleration that ends and is not NoExecute",
        _with_toleration({"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}),
        'spec.tolerations[0].effect: "NoSchedule": must be NoExecute when tolerationSeconds is set',
        'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be NoExecute when '
        "tolerationSeconds is set",
    ),
    Faulty(
        "a toleration of a malformed value",
        _with_toleration({"key": "a", "value": "x y"}),
        f'spec.tolerations[0].value: "x y": {LABEL_VALUE}',
        f'spec.tolerations[0].value: Invalid value: "x y": {LABEL_VALUE}',
    ),
    Faulty(
        "a toleration that compares numbers",
        _with_toleration({"key": "a", "operator": "Lt", "value": "3"}),
        "spec.tolerations[0].operator: \"Lt\": must be 'Equal' or 'Exists'",
        'spec.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists"',
    ),
    Faulty(
        "a toleration of an effect that does not exist",
        _with_toleration({"key": "a", "effect": "Never"}),
        "spec.tolerations[0].effect: \"Never\": must be '', 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'",
        'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "", "NoSchedule", '
        '"PreferNoSchedule", "NoExecute"',
    ),
    Faulty(
        "a negative quota",
        _with_quota("-3"),
        'spec.flavors[0].resources[1].nominalQuota: "-3": must not be negative',
        'spec.flavors[0].resources[1].nominalQuota: Invalid value: "-3": must not be negative',
    ),
    Faulty(
        "a negative whole-number quota",
        _with_quota(-3),
        "spec.flavors[0].resources[1].nominalQuota: -3: must not be negative",
        "spec.flavors[0].resources[1].nominalQuota: Invalid value: -3: must not be negative",
    ),
    Faulty(
        "a quota in words",
        _with_quota("lots"),
        f'spec.flavors[0].resources[1].nominalQuota: "lots": {AMOUNT}',
        f'spec.flavors[0].resources[1].nominalQuota: Invalid value: "lots": {AMOUNT}',
    ),
    Faulty(
        "a quota just above 2^63-1",
        _with_quota("9223372036854775808"),
        'spec.flavors[0].resources[1].nominalQuota: "9223372036854775808": must be less than 2^63',
        'spec.flavors[0].resources[1].nominalQuota: Invalid value: "9223372036854775808": must be less than 2^63',
    ),
    Faulty(
        "a quota far above 2^63-1",
        _with_quota("1000E"),
        'spec.flavors[0].resources[1].nominalQuota: "1000E": must be less than 2^63',
        'spec.flavors[0].resources[1].nominalQuota: Invalid value: "1000E": must be less than 2^63',
    ),
    Faulty(
        "a quota that is a fraction outside text",
        _with_quota(0.5),
        f"spec.flavors[0].resources[1].nominalQuota: 0.5: {AMOUNT}",
        'spec.flavors[0].resources[1].nominalQuota: Invalid value: "number": '
        'spec.flavors[0].resources[1].nominalQuota in body must be of type integer,string: "number"',
    ),
    Faulty(
        "a quota that is too long",
        _with_quota("1" * 33),
        'spec.flavors[0].resources[1].nominalQuota: "111111111111111111111111111111111": must be at most 32 characters',
        "spec.flavors[0].resources[1].nominalQuota: Too long: may not be more than 32 bytes",
    ),
    Faulty(
        "a quota that is a truth value",
        _with_quota(True),
        f"spec.flavors[0].resources[1].nominalQuota: true: {AMOUNT}",
        'spec.flavors[0].resources[1].nominalQuota: Invalid value: "boolean": '
        'spec.flavors[0].resources[1].nominalQuota in body must be of type integer,string: "boolean"',
    ),
    Faulty(
        "a borrowing limit without a parent",
        cluster_queue(
            flavors=[{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 1, "borrowingLimit": 1}]}]
        ),
        "spec.flavors[0].resources[0].borrowingLimit: 1: goes only with spec.parent: without one there is nobody to "
        "borrow from or lend to",
        "borrowingLimit goes only with spec.parent: without one there is nobody to borrow from or lend to",
    ),
    Faulty(
        "a lending limit without a parent",
        cluster_queue(
            flavors=[{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 1, "lendingLimit": "0"}]}]
        ),
        'spec.flavors[0].resources[0].lendingLimit: "0": goes only with spec.parent: without one there is nobody to '
        "borrow from or lend to",
        "lendingLimit goes only with spec.parent: without one there is nobody to borrow from or lend to",
    ),
    Faulty(
        "a limit named twice",
        cluster_queue(limits=[{"name": "pods", "max": 1}, {"name": "pods", "max": 2}]),
        'spec.limits[1].name: "pods": names a resource a second time; name each once',
        'spec.limits[1]: Duplicate value: {"name":"pods"}',
    ),
    Faulty(
        "a negative limit",
        cluster_queue(limits=[{"name": "pods", "max": -1}]),
        "spec.limits[0].max: -1: must not be negative",
        "spec.limits[0].max: Invalid value: -1: must not be negative",
    ),
    Faulty(
        "a flavor named twice",
        cluster_queue(flavors=[quotas(), quotas()]),
        'spec.flavors[1].name: "spot": names a flavor a second time; name each once',
        'spec.flavors[1]: Duplicate value: {"name":"spot"}',
    ),
    Faulty(
        "a flavor without resources",
        cluster_queue(flavors=[{"name": "spot", "resources": []}]),
        "spec.flavors[0].resources: []: must not be empty",
        "spec.flavors[0].resources: Invalid value: 0: spec.flavors[0].resources in body should have at least 1 items",
    ),
    Faulty(
        "a reference that is no name",
        cluster_queue(flavors=[{"name": "Spot", "resources": [{"name": "cpu", "nominalQuota": 1}]}]),
        'spec.flavors[0].name: "Spot": must be an object\'s name: lower case letters, digits, "-" or ".", '
        "first and last a letter or digit",
        'spec.flavors[0].name: Invalid value: "Spot": spec.flavors[0].name in body should match '
        "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
    ),
    Faulty(
        "a quota of a malformed resource",
        cluster_queue(flavors=[{"name": "spot", "resources": [{"name": "c pu", "nominalQuota": 1}]}]),
        f'spec.flavors[0].resources[0].name: "c pu": {RESOURCE_NAME}',
        f'spec.flavors[0].resources[0].name: Invalid value: "c pu": {RESOURCE_NAME}',
    ),
    Faulty(
        "a quota without an amount",
        cluster_queue(flavors=[{"name": "spot", "resources": [{"name": "cpu"}]}]),
        "spec.flavors[0].resources[0].nominalQuota: is required",
        "spec.flavors[0].resources[0].nominalQuota: Required value",
    ),
    Faulty(
        "too many flavors",
        cluster_queue(flavors=[quotas(f"f{i}") for i in range(17)]),
        'spec.flavors: [{"name": "f0", "resources": [{"name": "cpu", "nominalQuota": "8"}]}, {"name": "…: '
        "must have at most 16 entries",
        "spec.flavors: Too many: 17: must have at most 16 items",
    ),
    Faulty(
        "a queueing strategy that does not exist",
        cluster_queue(queueingStrategy="Fair"),
        "spec.queueingStrategy: \"Fair\": must be 'BestEffortFIFO', 'StrictFIFO' or 'Backfill'",
        'spec.queueingStrategy: Unsupported value: "Fair": supported values: "BestEffortFIFO", "StrictFIFO", '
        '"Backfill"',
    ),
    Faulty(
        "a stop policy that does not exist",
        cluster_queue(stopPolicy="Drain"),
        "spec.stopPolicy: \"Drain\": must be 'None', 'Hold' or 'HoldAndDrain'",
        'spec.stopPolicy: Unsupported value: "Drain": supported values: "None", "Hold", "HoldAndDrain"',
    ),
    Faulty(
        "a namespace selector with a node operator",
        cluster_queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}),
        "spec.namespaceSelector.matchExpressions[0].operator: \"Gt\": must be 'In', 'NotIn', 'Exists' or "
        "'DoesNotExist'",
        'spec.namespaceSelector.matchExpressions[0].operator: Unsupported value: "Gt": supported values: '
        '"In", "NotIn", "Exists", "DoesNotExist"',
    ),
    Faulty(
        "a namespace selector without values",
        cluster_queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "NotIn"}]}),
        "spec.namespaceSelector.matchExpressions[0].values: []: must list at least one value when operator "
        "is In or NotIn",
        "spec.namespaceSelector.matchExpressions[0].values: Invalid value: []: values must list at least one "
        "value when operator is In or NotIn",
    ),
    Faulty(
        "a namespace selector with a malformed value",
        cluster_queue(namespaceSelector={"matchLabels": {"a": "b c"}}),
        f'spec.namespaceSelector.matchLabels[a]: "b c": {LABEL_VALUE}',
        f'spec.namespaceSelector.matchLabels[a]: Invalid value: "b c": {LABEL_VALUE}',
    ),
    *LOCAL_QUEUES,
    *KINDS,
    *PRIORITIES,
    *SCHEDULES,
    *BUDGETS,
    *PREEMPTION,
    *FAIR_SHARING,
    *FLAVOR_CHOICE,
    *POLICIES,
    *SCHEDULING,
)
