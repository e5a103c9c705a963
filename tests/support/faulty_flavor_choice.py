"""What a queue says of the choice among its flavors that breaks one rule each, for the table in `faulty_objects`."""

from __future__ import annotations

from tests.support.api_objects import cluster_queue, quotas, resource_flavor
from tests.support.faulty import Faulty

_NOTHING_TO_MIX = "goes only with two flavors or more: of one there is nothing to mix"

_CHOOSES = "does not go with flavorMode Any: kube-scheduler chooses the flavor"
_NOBODY = "goes only with spec.preemption: without it nobody is preempted"
_TWO = [quotas(), quotas("on-demand")]

FLAVOR_CHOICE = (
    Faulty(
        "a base of one flavor",
        cluster_queue(onDemandBase=2),
        f"spec.onDemandBase: 2: {_NOTHING_TO_MIX}",
        f"spec.onDemandBase: Invalid value: onDemandBase {_NOTHING_TO_MIX}",
    ),
    Faulty(
        "a part of one flavor",
        cluster_queue(spotPercent=50),
        f"spec.spotPercent: 50: {_NOTHING_TO_MIX}",
        f"spec.spotPercent: Invalid value: spotPercent {_NOTHING_TO_MIX}",
    ),
    Faulty(
        "more than all on spot",
        cluster_queue(flavors=_TWO, spotPercent=101),
        "spec.spotPercent: 101: must be at most 100",
        "spec.spotPercent: Invalid value: 101: spec.spotPercent in body should be less than or equal to 100",
    ),
    Faulty(
        "a negative base",
        cluster_queue(flavors=_TWO, onDemandBase=-1),
        "spec.onDemandBase: -1: must be at least 0",
        "spec.onDemandBase: Invalid value: -1: spec.onDemandBase in body should be greater than or equal to 0",
    ),
    Faulty(
        "a kind of capacity that does not exist",
        resource_flavor(capacityType="Reserved"),
        "spec.capacityType: \"Reserved\": must be 'OnDemand' or 'Spot'",
        'spec.capacityType: Unsupported value: "Reserved": supported values: "OnDemand", "Spot"',
    ),
    Faulty(
        "any of one flavor",
        cluster_queue(flavorMode="Any"),
        'spec.flavorMode: "Any": Any goes only with two flavors or more',
        "spec.flavorMode: Invalid value: Any goes only with two flavors or more",
    ),
    Faulty(
        "a flavor that is waited for while all are open",
        cluster_queue(flavorMode="Any", flavors=[{**quotas(), "fallbackAfter": "5m"}, quotas("on-demand")]),
        f'spec.flavors[0].fallbackAfter: "5m": {_CHOOSES}',
        f"fallbackAfter {_CHOOSES}",
    ),
    Faulty(
        "a mix of what the scheduler chooses",
        cluster_queue(flavorMode="Any", flavors=_TWO, spotPercent=50),
        f"spec.spotPercent: 50: {_CHOOSES}",
        f"spec.spotPercent: Invalid value: spotPercent {_CHOOSES}",
    ),
    Faulty(
        "a base of what the scheduler chooses",
        cluster_queue(flavorMode="Any", flavors=_TWO, onDemandBase=5),
        f"spec.onDemandBase: 5: {_CHOOSES}",
        f"spec.onDemandBase: Invalid value: onDemandBase {_CHOOSES}",
    ),
    Faulty(
        "the least borrowing of what the scheduler chooses",
        cluster_queue(flavorMode="Any", flavors=_TWO, flavorFungibility={"whenCanBorrow": "TryNextFlavor"}),
        f'spec.flavorFungibility.whenCanBorrow: "TryNextFlavor": {_CHOOSES}',
        f"whenCanBorrow {_CHOOSES}",
    ),
    Faulty(
        "preempting first in what the scheduler chooses",
        cluster_queue(
            flavorMode="Any",
            flavors=_TWO,
            flavorFungibility={"whenCanPreempt": "MayStopSearch"},
            preemption={"withinClusterQueue": "LowerPriority"},
        ),
        f'spec.flavorFungibility.whenCanPreempt: "MayStopSearch": {_CHOOSES}',
        f"whenCanPreempt {_CHOOSES}",
    ),
    Faulty(
        "preempting first where nobody is preempted",
        cluster_queue(flavors=_TWO, flavorFungibility={"whenCanPreempt": "MayStopSearch"}),
        f'spec.flavorFungibility.whenCanPreempt: "MayStopSearch": {_NOBODY}',
        f"spec.flavorFungibility: Invalid value: whenCanPreempt {_NOBODY}",
    ),
    Faulty(
        "v1beta1's name for preempting first",
        cluster_queue(flavorFungibility={"whenCanPreempt": "Preempt"}),
        "spec.flavorFungibility.whenCanPreempt: \"Preempt\": must be 'TryNextFlavor' or 'MayStopSearch'",
        'spec.flavorFungibility.whenCanPreempt: Unsupported value: "Preempt": supported values: "TryNextFlavor", '
        '"MayStopSearch"',
    ),
    Faulty(
        "a flavor mode that does not exist",
        cluster_queue(flavors=_TWO, flavorMode="All"),
        "spec.flavorMode: \"All\": must be 'Ordered' or 'Any'",
        'spec.flavorMode: Unsupported value: "All": supported values: "Ordered", "Any"',
    ),
    Faulty(
        "a packing that does not exist",
        resource_flavor(capacity={"packing": "Tight"}),
        "spec.capacity.packing: \"Tight\": must be 'LeastFree' or 'MostFree'",
        'spec.capacity.packing: Unsupported value: "Tight": supported values: "LeastFree", "MostFree"',
    ),
    Faulty(
        "packing of sums",
        resource_flavor(capacity={"mode": "Static", "static": {"cpu": 3}, "packing": "MostFree"}),
        'spec.capacity.packing: "MostFree": must be left out unless mode is Nodes',
        'spec.capacity.packing: Invalid value: mode is "Static": packing must be left out unless mode is Nodes',
    ),
    Faulty(
        "a pin that does not exist",
        cluster_queue(pin="Require"),
        "spec.pin: \"Require\": must be 'Prefer' or 'None'",
        'spec.pin: Unsupported value: "Require": supported values: "Prefer", "None"',
    ),
)
