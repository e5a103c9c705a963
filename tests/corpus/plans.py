"""The snapshots of this folder, and what is decided on each: a plan in names, as it is stored beside the snapshot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import orjson

from controller.core.decision.decide import decide
from controller.core.workloads.decisions import NOT_YET
from controller.core.world.snapshot import Snapshot
from controller.replay.packing import unpacked
from controller.replay.snapshot_file import from_bytes

FOLDER: Final = Path(__file__).parent
_SNAPSHOT, _PLAN = ".json.gz", ".plan.json"

Json = dict[str, Any]


def names() -> list[str]:
    """What the snapshots are called."""
    return sorted(file.name.removesuffix(_SNAPSHOT) for file in FOLDER.glob(f"*{_SNAPSHOT}"))


def snapshot_file(name: str) -> Path:
    """Where the snapshot is."""
    return FOLDER / f"{name}{_SNAPSHOT}"


def read(name: str) -> Snapshot:
    """Read a snapshot."""
    return from_bytes(unpacked(snapshot_file(name).read_bytes()))


def planned(snapshot: Snapshot) -> Json:
    """Decide, and write what comes of it: pods and workloads by namespace/name, without the words of a wait."""
    plan = decide(snapshot, limit=sys.maxsize)
    key = {uid: pod.key for uid, pod in snapshot.pods.items()}
    named = {one.uid: one.name for run in snapshot.runs.values() for one in run}
    admits = [
        {
            "pod": key[one.uid],
            "workload": one.workload.name,
            "clusterQueue": one.cluster_queue,
            "flavor": one.flavor,
            "flavors": list(one.flavors),
            "node": one.node,
            "domains": [asdict(domain) for domain in one.domains],
            "preemptions": one.preemptions,
        }
        for one in plan.admits
    ]
    evicts = [{"pod": one.pod.key, "cause": one.cause.value, "text": one.text} for one in plan.evicts]
    admitted = {one.workload.uid for one in plan.admits}
    waits = {
        one.name: plan.waits.get(kind, NOT_YET).of(one.uid).reason.value
        for kind, run in snapshot.runs.items()
        for one in run
        if one.uid not in admitted
    }
    held = {
        named[uid]: [[flavor, node, count] for (flavor, node), count in places.items()]
        for uid, places in plan.held.items()
    }
    return {
        "complete": plan.is_complete,
        "admits": admits,
        "evicts": evicts,
        "waits": dict(sorted(waits.items())),
        "preemptors": {named[uid]: rounds for uid, rounds in plan.preemptors.items()},
        "held": held,
    }


def expected(name: str) -> Json:
    """Return the plan that is stored."""
    found: Json = orjson.loads(_plan_file(name).read_bytes())
    return found


def write_plans() -> Iterator[str]:
    """Store what is decided on each; yield what is new or changed."""
    for name in names():
        written = orjson.dumps(planned(read(name)), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        file = _plan_file(name)
        if not file.exists() or file.read_bytes() != written:
            file.write_bytes(written)
            yield name


def _plan_file(name: str) -> Path:
    return FOLDER / f"{name}{_PLAN}"
