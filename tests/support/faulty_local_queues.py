"""LocalQueues that break one rule each, for the table in `faulty_objects`."""

from __future__ import annotations

from tests.support.api_objects import local_queue
from tests.support.faulty import Faulty

LOCAL_QUEUES = (
    Faulty(
        "a cluster queue that is no name",
        local_queue(clusterQueue="Team_A"),
        'spec.clusterQueue: "Team_A": must be an object\'s name: lower case letters, digits, "-" or ".", '
        "first and last a letter or digit",
        'spec.clusterQueue: Invalid value: "Team_A": spec.clusterQueue in body should match '
        "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
    ),
    Faulty(
        "a cluster queue whose name is too long",
        local_queue(clusterQueue="a" * 64),
        'spec.clusterQueue: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be at '
        "most 63 characters",
        "spec.clusterQueue: Too long: may not be more than 63 bytes",
    ),
    Faulty(
        "a cluster queue without a name",
        local_queue(clusterQueue=""),
        'spec.clusterQueue: "": must not be empty',
        'spec.clusterQueue: Invalid value: "": spec.clusterQueue in body should be at least 1 chars long',
    ),
    Faulty(
        "a local queue without a cluster queue",
        {**local_queue(), "spec": {}},
        "spec.clusterQueue: is required",
        "spec.clusterQueue: Required value",
    ),
    Faulty(
        "a local queue with a stop policy that does not exist",
        local_queue(stopPolicy="Never"),
        "spec.stopPolicy: \"Never\": must be 'None', 'Hold' or 'HoldAndDrain'",
        'spec.stopPolicy: Unsupported value: "Never": supported values: "None", "Hold", "HoldAndDrain"',
    ),
)
