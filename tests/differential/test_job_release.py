"""The patches of Jobs that are held as a whole against Kubernetes itself: whatever Job it has, it takes them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from controller.core.gate.job_release import release_job_patch, restore_patch
from controller.core.gate.narrowing import Narrowing, narrow
from controller.core.keys import QUEUE_NAME
from tests.differential.flavors import a_flavor
from tests.differential.job_pairs import stored_job
from tests.differential.oracle import Oracle, Pair
from tests.differential.words import chance
from tests.support.job_documents import Json, edited, pods_of
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION

_JOBS = 3000
_STOPPED = {"conditions": [{"type": "Suspended", "status": "True"}]}


def _held_job(random: Random) -> Json:
    job = stored_job(random)
    job["spec"]["suspend"] = True
    job["spec"].pop("managedBy", None)
    job["status"] = {} if chance(random, 50) else _STOPPED
    job["metadata"]["labels"] = {QUEUE_NAME: "main"}
    if chance(random, 20):
        job["spec"]["template"]["metadata"]["labels"][QUEUE_NAME] = "other"
    if chance(random, 50):
        job["metadata"].pop("annotations")
    return job


def _changes(random: Random) -> Iterator[Pair]:
    """Releases, each followed by what puts the template back."""
    for _ in range(_JOBS):
        before, flavor = _held_job(random), a_flavor(random)
        pods = pods_of(before)
        if not isinstance(narrow(pods.shape.constraints, flavor), Narrowing):
            continue
        admission = replace(ADMISSION, run_time=random.choice((0, 1, 600, 2**31 - 1)))
        after = patched(before, release_job_patch(pods, [flavor], admission))
        yield before, after
        stopped = {**edited(after, suspend=True), "status": _STOPPED}
        yield stopped, patched(stopped, restore_patch(stopped, ran=random.randrange(1000)))


def test_no_patch_of_a_job_is_refused(kubernetes: Oracle) -> None:
    seed = secrets.randbits(32)
    changes = list(_changes(Random(seed)))  # noqa: S311 - cases, not secrets
    assert len(changes) > _JOBS // 2
    for change, verdict in zip(changes, kubernetes.judge(changes), strict=True):
        assert verdict == (), (seed, change)
