"""What `penstock import kueue` writes is taken by a real apiserver as it is, with nothing pruned or refused."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner

from controller.cli.main import root
from controller.kube.apply import apply, delete
from controller.kube.client import Client
from tests.support.api_objects import Json
from tests.support.kueue_objects import (
    V1,
    kueue_cohort,
    kueue_flavor,
    kueue_group,
    kueue_object,
    kueue_queue,
    kueue_quota,
)
from tests.support.served_kinds import serve_our_kinds

pytestmark = pytest.mark.integration

ROOT = "/apis/penstock.dev/v1alpha1"
STRICT = {"fieldValidation": "Strict", "dryRun": "All"}


def world(namespace: str) -> list[Json]:
    """A tree with every kind and field that is converted."""
    cpu = [kueue_quota("cpu", "8", borrow=4, lend="2500m"), kueue_quota("memory", "1.5Gi")]
    main = kueue_group(("import-spot", cpu), ("import-dear", [kueue_quota("cpu", 0), kueue_quota("memory", "0")]))
    side = kueue_group(("import-count", [kueue_quota("pods", 9, borrow=0, lend=0)]))
    return [
        kueue_queue(
            "import-a",
            main,
            side,
            version=V1,
            cohort="import-a",
            namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            queueingStrategy="StrictFIFO",
            flavorFungibility={"whenCanBorrow": "TryNextFlavor"},
            stopPolicy="HoldAndDrain",
        ),
        kueue_queue("import-b", kueue_group(("import-spot", [kueue_quota("cpu", 2)])), namespaceSelector={}),
        kueue_cohort("import-a", kueue_group(("import-spot", [kueue_quota("cpu", 1)])), parentName="import-org"),
        kueue_flavor(
            "import-spot",
            nodeLabels={"pool": "spot"},
            tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        ),
        kueue_flavor("import-dear", nodeLabels={"pool": "dear"}),
        kueue_flavor("import-count"),
        {**kueue_object("WorkloadPriorityClass", "import-high"), "value": 100, "description": "for customers"},
        kueue_object("LocalQueue", "main", {"clusterQueue": "import-a", "stopPolicy": "Hold"}, namespace=namespace),
    ]


def path_of(document: Json) -> str:
    place = f"/namespaces/{document['metadata']['namespace']}" if document["kind"] == "LocalQueue" else ""
    kind = document["kind"].lower()
    return f"{ROOT}{place}/{kind}{'es' if kind.endswith('s') else 's'}"


def lost(written: Any, kept: Any) -> list[Any]:
    """What was written and is not there; the apiserver may have put defaults beside it."""
    if not isinstance(written, dict) or not isinstance(kept, dict):
        return [] if written == kept else [written]
    return [part for key, value in written.items() for part in lost(value, kept.get(key))]


@pytest.mark.parametrize("capacity", ["Nodes", "Static"])
async def test_converted_objects_are_what_the_apiserver_keeps(admin: Client, namespace: str, capacity: str) -> None:
    await serve_our_kinds(admin)
    text = yaml.safe_dump_all(world(namespace))
    done = CliRunner().invoke(root, ["import", "kueue", "--capacity", capacity, "-f", "-"], input=text)
    assert done.exit_code == 0, done.output
    documents = list(yaml.safe_load_all(done.stdout))
    # the cohort import-org is only named there, and nothing names the flavor import-count here
    assert len(documents) == len(world(namespace)) + 1 - 1

    for document in documents:
        kept = orjson.loads(await admin.post(path_of(document), document, params=STRICT))
        assert lost(document["spec"], kept["spec"]) == []
    try:
        assert len(await apply(admin, documents)) == len(documents)
    finally:
        await delete(admin, documents)
