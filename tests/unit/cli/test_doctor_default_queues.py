"""What `penstock doctor` makes of the default queues that namespaces name. Real clusters: tests/integration/doctor."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.doctor_checks.default_queues import DEFAULT_QUEUES
from controller.cli.doctor_checks.every import examine
from controller.core.keys import DEFAULT_QUEUE
from tests.support.still_cluster import Json, StillClient

QUEUES: dict[str, Json] = {
    "/apis/penstock.dev/v1alpha1/localqueues/main": {"metadata": {"namespace": "default", "name": "main"}}
}


def a_namespace(named: str, name: str = "default", **metadata: Any) -> dict[str, Json]:
    return {f"/api/v1/namespaces/{name}": {"metadata": {"name": name, "labels": {DEFAULT_QUEUE: named}, **metadata}}}


@pytest.mark.parametrize(
    ("objects", "remedy"),
    [
        (a_namespace("main"), None),
        (a_namespace("mian"), "kubectl label namespace default penstock.dev/default-queue=main --overwrite"),
        (a_namespace("x"), "kubectl label namespace default penstock.dev/default-queue=main --overwrite"),
        (a_namespace("main", "other"), "kubectl label namespace other penstock.dev/default-queue-"),
        (a_namespace("x", deletionTimestamp="2026-03-01T08:00:00Z"), None),
        (a_namespace("x", "kube-system"), None),
        (a_namespace("x", "penstock-system"), None),
    ],
)
async def test_default_queues_that_do_not_exist_are_found(objects: dict[str, Json], remedy: str | None) -> None:
    (result,) = await examine(StillClient({**QUEUES, **objects}).cluster, (DEFAULT_QUEUES,))
    assert result.is_done
    assert [one.remedy.rpartition(": ")[2] for one in result.findings] == ([remedy] if remedy else [])
    for one in result.findings:
        (name,) = [it["metadata"]["name"] for it in objects.values()]
        assert (one.severity, one.where) == ("Error", f"Namespace {name}")
        assert one.what.startswith("names the default queue ")
