"""The quickstart and the pages that say how to do something run as they stand, on a cluster with Penstock."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import yaml

from controller.core.keys import CONDITION
from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.kube.manifests import load_documents
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.documented import ROOT
from tests.support.documents import commands, pages
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration
Json = dict[str, Any]

RUN = ("quickstart", "batch-team", "spot", "dynamic-quotas", "gangs", "policies", "ask")
FIRST = ("quickstart", "ask")
"""The pages that `make test` follows; the commands of all are held to the command line and to kinds by unit tests."""
ELSEWHERE = (("sandbox", "up"), ("sandbox", "run"), ("sandbox", "env"), ("sandbox", "down"))
"""What a reader does around the cluster that is here already."""
NOT_RUN = {"get", "describe", "label"}
"""What only shows, or is for a cluster with Kueue: a unit test holds it to kinds that exist."""
SERVED = {"v1": "/api/v1", "batch/v1": "/apis/batch/v1", "apps/v1": "/apis/apps/v1"}
STRICT_DRY_RUN = {"fieldValidation": "Strict", "dryRun": "All"}


class Reader:
    """Does what a page says, line by line."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self.cluster = cluster
        self.client = client
        self.applied: list[Json] = []

    async def follow(self, page: str) -> int:
        """Run the commands of a page; return how many."""
        count = 0
        for program, *words in (line.words for line in commands("kubectl", "penstock") if line.page == page):
            if program == "kubectl":
                await self.kubectl(words)
            elif tuple(words[:2]) not in ELSEWHERE:
                await self._penstock(words)
            count += 1
        return count

    async def kubectl(self, words: Sequence[str]) -> None:
        match words:
            case ["apply", "-f", path]:
                documents = load_documents(ROOT / path)
                await apply(self.client, documents)
                self.applied += documents
            case _:
                assert set(words) & NOT_RUN, f"the test does not know how to run: kubectl {shlex.join(words)}"

    async def _penstock(self, words: Sequence[str]) -> None:
        async def succeeds() -> bool:
            done = await penstock(self.cluster.sandbox, *words)
            assert done.code == 0, done
            return True

        # the Job that was just applied may have no pods yet
        await eventually(succeeds, seconds=30, message=f"penstock {shlex.join(words)} fails")

    async def undo(self) -> None:
        await delete(self.client, self.applied)
        await eventually(self._is_gone, seconds=60, message="a namespace of the samples does not go")

    async def _is_gone(self) -> bool:
        listed = orjson.loads(await self.client.get("/api/v1/namespaces"))["items"]
        made = {one["metadata"]["name"] for one in self.applied if one["kind"] == "Namespace"}
        return not made & {one["metadata"]["name"] for one in listed}


@pytest.mark.parametrize("page", [pytest.param(one, marks=() if one in FIRST else pytest.mark.more) for one in RUN])
async def test_the_commands_of_a_page_run(page: str, cluster: Cluster, client: Client) -> None:
    path = f"docs/{page}.md" if page == "quickstart" else f"docs/how-to/{page}.md"
    reader = Reader(cluster, client)
    try:
        assert await reader.follow(path)
    finally:
        await reader.undo()


async def test_the_quickstart_shows_two_pods_that_wait(cluster: Cluster, client: Client) -> None:
    reader = Reader(cluster, client)
    try:
        await reader.kubectl(["apply", "-f", "config/samples/quickstart.yaml"])

        async def two_wait() -> bool:
            listed = orjson.loads(await client.get("/api/v1/namespaces/quickstart/pods"))["items"]
            reasons = [
                one["reason"]
                for pod in listed
                for one in pod["status"].get("conditions", ())
                if one["type"] == CONDITION and one["status"] == "False"
            ]
            bound = [pod for pod in listed if pod["spec"].get("nodeName")]
            return (len(bound), reasons) == (2, ["QuotaExceeded"] * 2)

        await eventually(two_wait, seconds=30, message="not two pods run and two wait")
    finally:
        await reader.undo()


def kubernetes_objects() -> list[Any]:
    """Whole objects of Kubernetes' own kinds in the code blocks of pages."""
    found = []
    for page in pages():
        for number, block in enumerate(page.read_text(encoding="utf-8").split("```yaml\n")[1:]):
            for document in yaml.safe_load_all(block.partition("```")[0]):
                if isinstance(document, dict) and document.get("apiVersion") in SERVED and "metadata" in document:
                    name = f"{page.name}-{number}-{document.get('kind')}"
                    found.append(pytest.param(document, id=name))
    return found


@pytest.mark.parametrize("document", kubernetes_objects())
async def test_an_object_of_kubernetes_on_a_page_is_legal(document: Json, client: Client) -> None:
    kind, root = document["kind"], SERVED[document["apiVersion"]]
    metadata = {**document["metadata"], "name": f"page-{document['metadata'].get('name', 'object')}"}
    metadata.pop("namespace", None)
    spec = {key: value for key, value in document.get("spec", {}).items() if key != "serviceAccountName"}
    changed = {"metadata": metadata, **({"spec": spec} if "spec" in document else {})}
    where = f"{root}/namespaces" if kind == "Namespace" else f"{root}/namespaces/default/{kind.lower()}s"
    taken = await client.post(where, {**document, **changed}, params=STRICT_DRY_RUN)
    assert orjson.loads(taken)["kind"] == kind
