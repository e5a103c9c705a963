"""Fair sharing that breaks one rule each, for the table in `faulty_objects`."""

from __future__ import annotations

from tests.support.api_objects import cluster_queue
from tests.support.faulty import Faulty

_NOBODY = "goes only with spec.parent: without one there is nobody to share with"
_FORM = 'must be a quantity: a whole number, or text such as "500m", "8" or "64Gi"'

_ROOT = "goes only on the root of a tree, which has no spec.parent: it holds for all of the tree"
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
        "a weight that is no number",
        cluster_queue(parent="org", fairSharing={"weight": "heavy"}),
        f'spec.fairSharing.weight: "heavy": {_FORM}',
        f"spec.fairSharing.weight: Invalid value: {_FORM}",
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
)
