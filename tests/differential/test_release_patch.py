"""The release patch against Kubernetes itself: whatever pod the apiserver has, it takes the release."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from random import Random

from controller.core.gate.narrowing import Narrowing, narrow
from controller.core.gate.release_patch import release_patch
from controller.core.keys import GATE, QUEUE_NAME
from tests.differential.flavors import a_flavor
from tests.differential.oracle import Oracle, Pair
from tests.differential.pairs import stored_pod
from tests.differential.words import chance
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, decoded

_PODS = 3000


def _releases(random: Random) -> Iterator[Pair]:
    for _ in range(_PODS):
        old = stored_pod(random)
        old["spec"] = {**old["spec"], "schedulingGates": [{"name": GATE}]}
        old["spec"].pop("nodeName", None)
        old["metadata"]["labels"] = {**old["metadata"]["labels"], QUEUE_NAME: "main"}
        old["metadata"].pop("annotations", None)
        pod, flavor = decoded(old), a_flavor(random)
        if isinstance(narrow(pod.shape.constraints, flavor), Narrowing):
            node = "node-1" if chance(random, 50) else None
            operations = release_patch(pod, [flavor], ADMISSION, node=node)
            yield old, patched(old, operations)


def test_no_release_is_refused(kubernetes: Oracle) -> None:
    seed = secrets.randbits(32)
    releases = list(_releases(Random(seed)))  # noqa: S311 - cases, not secrets
    assert len(releases) > _PODS // 4
    for release, verdict in zip(releases, kubernetes.judge(releases), strict=True):
        assert verdict == (), (seed, release)
