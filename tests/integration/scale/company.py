"""One tree of fifty queues with borrowing and lending limits at two levels, and pods that come to them unevenly."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from controller.core.keys import QUEUE_NAME
from tests.support.books import Share

Json = dict[str, Any]
NAMESPACE = "company"
FLAVOR = "any"
ROOT = "company"
_DEPARTMENTS, _TEAMS = 5, 10
_SIZES, _SIZE_WEIGHTS = (1, 2, 3), (5, 3, 2)
_BUSY_WEIGHT = 6


def _company() -> dict[str, Share]:
    shares = {ROOT: Share("", 20)}
    for number in range(_DEPARTMENTS):
        department = f"dept-{number}"
        shares[department] = Share(ROOT, 0, borrows=(30 if number == 0 else None), lends=(40 if number == 1 else None))
        for team in range(_TEAMS):
            borrows, lends = (6 if team % 2 else None), (3 if team % 3 == 0 else None)
            shares[f"team-{number}-{team}"] = Share(department, 6, borrows, lends)
    return shares


SHARES: Mapping[str, Share] = _company()
TEAMS = tuple(name for name in SHARES if name.startswith("team-"))


def objects() -> list[Json]:
    """The manifests: a namespace, a flavor of all nodes, the tree, and a LocalQueue of the same name for each team."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    doors = [_ours("LocalQueue", name, {"clusterQueue": name}, namespace=NAMESPACE) for name in TEAMS]
    return [namespace, _ours("ResourceFlavor", FLAVOR, {}), *(_queue(name) for name in SHARES), *doors]


def _queue(name: str) -> Json:
    share = SHARES[name]
    limits = {"borrowingLimit": share.borrows, "lendingLimit": share.lends}
    quota = {"name": "cpu", "nominalQuota": share.owns, **{k: v for k, v in limits.items() if v is not None}}
    spec: Json = {"flavors": [{"name": FLAVOR, "resources": [quota]}]}
    if share.parent:
        spec["parent"] = share.parent
    if name in TEAMS:
        spec["namespaceSelector"] = {}
    return _ours("ClusterQueue", name, spec)


def _ours(kind: str, name: str, spec: Json, **place: str) -> Json:
    return {"apiVersion": "penstock.dev/v1alpha1", "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


def pods(count: int, seed: int) -> list[Json]:
    """Pods of a second each; every fifth team has several times the work of the others, so it has to borrow."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not unpredictable
    weights = [_BUSY_WEIGHT if number % 5 == 0 else 1 for number in range(len(TEAMS))]
    teams = chance.choices(TEAMS, weights, k=count)
    sizes = chance.choices(_SIZES, _SIZE_WEIGHTS, k=count)
    return [_pod(f"pod-{number:05}", team, cpu) for number, (team, cpu) in enumerate(zip(teams, sizes, strict=True))]


def _pod(name: str, team: str, cpu: int) -> Json:
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}]
    metadata = {"name": name, "labels": {QUEUE_NAME: team}, "annotations": {"run-for": "1s"}}
    spec = {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": containers}
    return {"metadata": metadata, "spec": spec}


def size_of(pod: Json) -> tuple[str, int]:
    """The team and the cpus of a pod."""
    return pod["metadata"]["labels"][QUEUE_NAME], int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
