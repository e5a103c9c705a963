"""Jobs that moved over from Kueue with their namespace, and that nobody has taken over: see docs/moving-over.md."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller.cli.doctor_checks.cluster import Cluster
from controller.cli.doctor_checks.findings import Check, Finding, Need, error, warning
from controller.core.gate.job_adoption import queue_of_whole
from controller.core.keys import BREAK_GLASS, KUEUE_LABELS, KUEUE_QUEUE
from controller.core.reasons import first_few
from controller.kube.decode_kueue import decode_kueue_job
from controller.kube.listing import list_all
from controller.runtime.kueue_pods import accepting_namespaces

_NAMED: Final = 3
_WAIT: Final = (
    f"are suspended, and in no queue: the namespace has the label {KUEUE_LABELS}, so nobody will let them begin"
)
_RUN: Final = "run, and no quota counts the pods that they create"


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    for namespace, gates_all in (await accepting_namespaces(cluster.client)).items():
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        jobs = await list_all(cluster.client, path, decode_kueue_job, {"labelSelector": KUEUE_QUEUE})
        left = [one for one in jobs if queue_of_whole(one, gates_all=gates_all)]
        remedy = f"penstock import kueue-pods -n {namespace} --as NAME --as-group {BREAK_GLASS}"
        waiting, running = ([one.name for one in left if one.is_suspended is is_so] for is_so in (True, False))
        if waiting:
            yield error(_named(namespace, waiting), _WAIT, remedy)
        if running:
            yield warning(_named(namespace, running), _RUN, remedy)


def _named(namespace: str, names: list[str]) -> str:
    return f"Jobs of Kueue in namespace {namespace} ({first_few(names, _NAMED)})"


KUEUE: Final = Check("kueue", _run, lambda _: (Need("list", "namespaces"), Need("list", "jobs", "batch")))
