"""What `penstock import kueue` writes, applied as it is, admits pods by Kueue's quotas, by either label."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import yaml
from click.testing import CliRunner

from controller.cli.main import root
from controller.core.keys import ACCEPTED, CLUSTER_QUEUE, KUEUE_LABELS, KUEUE_QUEUE, QUEUE_NAME
from controller.kube.apply import apply, delete
from controller.kube.client import STRATEGIC_PATCH
from tests.support.eventually import eventually
from tests.support.kueue_objects import (
    kueue_cohort,
    kueue_flavor,
    kueue_group,
    kueue_object,
    kueue_queue,
    kueue_quota,
)
from tests.support.team import TEAM_LABEL, Json, Team, flavor_of, is_gated

pytestmark = pytest.mark.integration


def of_kueue(team: Team) -> list[Json]:
    """A queue of the team's that owns 1 cpu and borrows 1 of the 4 that another of its cohort owns."""
    spot, cohort = team.full("spot"), team.full("org")
    selector = {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}
    own = kueue_group((spot, [kueue_quota("cpu", "1", borrow="1")]))
    return [
        kueue_flavor(spot, nodeLabels={TEAM_LABEL: team.id, "shape": "spot"}),
        kueue_cohort(cohort),
        kueue_queue(team.full("cq"), own, cohortName=cohort, namespaceSelector=selector),
        kueue_queue(team.full("other"), kueue_group((spot, [kueue_quota("cpu", 4)])), cohortName=cohort),
        kueue_object("LocalQueue", "main", {"clusterQueue": team.full("cq")}, namespace=team.namespace),
    ]


@pytest.fixture
async def moved(team: Team) -> AsyncIterator[Team]:
    """A team whose queues were Kueue's, on a node with more than their quota."""
    await team.nodes("spot", cpu="8")
    done = CliRunner().invoke(root, ["import", "kueue", "-f", "-"], input=yaml.safe_dump_all(of_kueue(team)))
    assert done.exit_code == 0, done.output
    documents = list(yaml.safe_load_all(done.stdout))
    await apply(team.client, documents)
    yield team
    await delete(team.client, documents)


async def accept_labels(team: Team) -> None:
    """Let Kueue's labels count in the namespace, and wait until admission has heard of it."""
    body = {"metadata": {"labels": {KUEUE_LABELS: ACCEPTED}}}
    await team.client.patch(f"/api/v1/namespaces/{team.namespace}", body, content_type=STRATEGIC_PATCH)

    async def counts() -> bool:
        tried = await team.pod("tried", queue=None, labels={KUEUE_QUEUE: "main"}, params={"dryRun": "All"})
        return QUEUE_NAME in tried["metadata"]["labels"]

    await eventually(counts, message="Kueue's labels are not accepted")


async def test_pods_with_either_label_use_an_imported_queue(
    moved: Team,
) -> None:
    await moved.pod("ours")
    await moved.until_bound("ours")
    # without that label of the namespace Kueue's means nothing
    plain = await moved.pod("plain", "1m", queue=None, labels={KUEUE_QUEUE: "main"})
    assert (QUEUE_NAME in plain["metadata"]["labels"], is_gated(plain)) == (False, False)
    await accept_labels(moved)
    theirs = await moved.pod("theirs", queue=None, labels={KUEUE_QUEUE: "main"})
    assert (theirs["metadata"]["labels"][QUEUE_NAME], is_gated(theirs)) == ("main", True)
    bound = await moved.until_bound("ours", "theirs")
    for name in ("ours", "theirs"):
        assert bound[name]["metadata"]["labels"][CLUSTER_QUEUE] == moved.full("cq")
        assert flavor_of(bound[name]) == moved.full("spot")
        assert bound[name]["spec"]["nodeName"].startswith(moved.full("spot"))

    await moved.pod("beyond", queue=None, labels={KUEUE_QUEUE: "main"})
    text = await moved.until_waiting("beyond", "QuotaExceeded")
    assert "needs 1 cpu, more than is free of its quota" in text
    await moved.visited()
    assert is_gated(await moved.get("beyond"))
    await moved.end("ours")
    await moved.until_bound("beyond")
