"""A snapshot that is read from a file is decided as it was. Each scenario holds that too (`scenarios/world.py`)."""

from __future__ import annotations

import sys
from random import Random

import orjson
import pytest

from controller.core.decision.decide import decide
from controller.core.snapshot import Snapshot
from controller.kube.decode import PodDecoder
from controller.replay.snapshot_file import SnapshotFileError, from_bytes, to_bytes
from tests.oracle.agreement import begin
from tests.oracle.drawing import draw_world
from tests.support.builders import a_cache, a_cluster_queue, a_pod, a_quota
from tests.support.snapshots import without_memory


def a_snapshot() -> Snapshot:
    return a_cache(a_pod("one"), queues=[a_cluster_queue("team-a", a_quota(cpu="4"))]).snapshot()


@pytest.mark.parametrize("seed", range(5))
def test_drawn_worlds_are_decided_as_they_were(seed: int) -> None:
    chance = Random(f"file/{seed}")  # noqa: S311 - cases, not secrets
    admitted = 0
    for _ in range(40):
        cluster = begin(draw_world(chance)).cluster
        cluster.cache.advance(cluster.now)
        snapshot = cluster.cache.snapshot()
        live = decide(without_memory(snapshot), limit=sys.maxsize)
        assert decide(from_bytes(to_bytes(snapshot)), limit=sys.maxsize) == live
        admitted += len(live.admits)
    assert admitted > 10


def test_what_is_read_is_written_the_same() -> None:
    written = to_bytes(a_snapshot())
    assert to_bytes(from_bytes(written)) == written
    assert b"_hash" not in written


def test_nothing_of_a_pod_is_written_that_no_decision_reads() -> None:
    secret = {"name": "main", "image": "registry/image", "env": [{"name": "TOKEN", "value": "secret-value"}]}
    metadata = {
        "name": "one",
        "namespace": "default",
        "uid": "1",
        "labels": {"penstock.dev/queue-name": "main", "app": "secret-app"},
        "annotations": {"example.com/note": "secret-note"},
    }
    spec = {"containers": [secret], "schedulingGates": [{"name": "penstock.dev/queue"}]}
    pod = PodDecoder()(orjson.dumps({"metadata": metadata, "spec": spec}))
    written = to_bytes(a_cache(pod, queues=[a_cluster_queue("team-a", a_quota(cpu="4"))]).snapshot())
    assert b'"name":"one"' in written
    assert b"secret" not in written
    assert b"image" not in written


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not a snapshot of Penstock: "),
        (b"\xff\xfe", "not a snapshot of Penstock: "),
        (b"[]", "not a snapshot of Penstock: Expected `object`, got `array`"),
        (b"{}", "not a snapshot of Penstock: Object missing required field `version`"),
        (b'{"version": 99}', "version 99: this Penstock reads versions 1 and 2; read it by its own"),
        (b'{"version": 1}', "not a snapshot of Penstock: Object missing required field `now`"),
    ],
)
def test_what_is_no_snapshot_is_told_without_a_stack_trace(data: bytes, text: str) -> None:
    with pytest.raises(SnapshotFileError) as raised:
        from_bytes(data)
    assert str(raised.value).startswith(text)


def test_the_place_of_a_fault_is_named() -> None:
    plain = orjson.loads(to_bytes(a_snapshot()))
    plain["pods"][0]["priority"] = "high"
    with pytest.raises(SnapshotFileError, match=r"Expected `int`, got `str` - at `\$.pods\[0\].priority`"):
        from_bytes(orjson.dumps(plain))
    del plain["pods"]
    plain["pod"] = []
    with pytest.raises(SnapshotFileError):
        from_bytes(orjson.dumps(plain))
