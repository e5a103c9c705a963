"""WorkloadKinds with one fault each, for `faulty_objects`."""

from __future__ import annotations

from typing import Any

from tests.support.api_objects import Json, workload_kind
from tests.support.faulty import Faulty

_SET = "write name for one pod set, or each for a list or map of them, with nameField where it is a list"
_SIGN = "write condition, or path and values"


def _with_set(**fields: Any) -> Json:
    return workload_kind(podSets=[fields])


KINDS: tuple[Faulty, ...] = (
    Faulty(
        "a path without its dot",
        workload_kind(suspend="spec.suspend"),
        'spec.suspend: "spec.suspend": must be keys, each behind a dot, such as .spec.suspend',
        'spec.suspend: Invalid value: "spec.suspend": spec.suspend in body should match',
    ),
    Faulty(
        "pod sets without a name",
        _with_set(template=".spec.template"),
        f'spec.podSets[0]: ".spec.template": {_SET}',
        f"spec.podSets[0]: Invalid value: {_SET}",
    ),
    Faulty(
        "one pod set with the field of its name",
        _with_set(name="head", nameField=".name", template=".spec.template"),
        f'spec.podSets[0]: ".spec.template": {_SET}',
        f"spec.podSets[0]: Invalid value: {_SET}",
    ),
    Faulty(
        "an end that is nowhere",
        workload_kind(finished=[{"path": ".status.phase"}]),
        f'spec.finished[0]: ".status.phase": {_SIGN}',
        f"spec.finished[0]: Invalid value: {_SIGN}",
    ),
    Faulty(
        "an end that is told twice",
        workload_kind(finished=[{"condition": "Complete", "path": ".status.phase", "values": ["Done"]}]),
        f'spec.finished[0]: "Complete": {_SIGN}',
        f"spec.finished[0]: Invalid value: {_SIGN}",
    ),
    Faulty(
        "a kind of Kubernetes itself",
        {**workload_kind(group="batch"), "metadata": {"name": "trains.batch"}},
        'spec.group: "batch": Penstock itself knows the Jobs of batch; a WorkloadKind is for kinds of other groups',
        'spec.group: Invalid value: "batch": Penstock itself knows the Jobs of batch',
    ),
    Faulty(
        "a WorkloadKind of another name",
        {**workload_kind(), "metadata": {"name": "trains"}},
        'metadata.name: "trains": must be trains.sample.example.com: <spec.resource>.<spec.group>',
        "metadata.name: Invalid value: metadata.name must be trains.sample.example.com",
    ),
)
