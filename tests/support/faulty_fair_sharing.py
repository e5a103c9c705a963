"""Fair sharing that breaks one rule each, for the table in `faulty_objects`."""

from __future__ import annotations

from tests.support.api_objects import cluster_queue
from tests.support.faulty import Faulty

_NOBODY = "goes only with spec.parent: without one there is nobody to share with"

_ROOT = "goes only on the root of a tree, which has no spec.parent: it holds for all of the tree"
_WEIGHTS = "goes only with usageHalfLife: without it no usage is counted"
_FINAL, _INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
_IN_ORDER = f"must be one or both, {_FINAL} first"

FAIR_SHARING = (
    Faulty(
        "a weight without a parent",
        cluster_queue(fairSharing={"weight": 2}),
        f"spec.fairSharing.weight: 2: {_NOBODY}",
        f"spec.fairSharing: Invalid value: weight {_NOBODY}",
    ),
    Faulty(
        "a weight below zero",
        cluster_queue(parent="org", fairSharing={"weight": -1}),
        "spec.fairSharing.weight: -1: must not be negative",
        "spec.fairSharing.weight: Invalid value: -1: must not be negative",
    ),
    Faulty(
        "strategies below the root",
        cluster_queue(parent="org", fairSharing={"preemptionStrategies": [_INITIAL]}),
        f'spec.fairSharing.preemptionStrategies: ["{_INITIAL}"]: {_ROOT}',
        f"spec.fairSharing: Invalid value: preemptionStrategies {_ROOT}",
    ),
    Faulty(
        "strategies the wrong way round",
        cluster_queue(fairSharing={"preemptionStrategies": [_INITIAL, _FINAL]}),
        f'spec.fairSharing.preemptionStrategies: ["{_INITIAL}", "{_FINAL}"]: {_IN_ORDER}',
        f"spec.fairSharing.preemptionStrategies: Invalid value: {_IN_ORDER}",
    ),
    Faulty(
        "a half-life below the root",
        cluster_queue(parent="org", fairSharing={"usageHalfLife": "1h"}),
        f'spec.fairSharing.usageHalfLife: "1h": {_ROOT}',
        f"spec.fairSharing: Invalid value: usageHalfLife {_ROOT}",
    ),
    Faulty(
        "weights of resources that nobody counts",
        cluster_queue(fairSharing={"resourceWeights": {"cpu": 2}}),
        f'spec.fairSharing.resourceWeights: {{"cpu": 2}}: {_WEIGHTS}',
        f"spec.fairSharing.resourceWeights: Invalid value: resourceWeights {_WEIGHTS}",
    ),
    Faulty(
        "users whose usage nobody counts",
        cluster_queue(fairSharing={"usageBy": "LocalQueueAndUser"}),
        f'spec.fairSharing.usageBy: "LocalQueueAndUser": {_WEIGHTS}',
        f"spec.fairSharing.usageBy: Invalid value: usageBy {_WEIGHTS}",
    ),
)
