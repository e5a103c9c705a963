"""Explanations by the visibility API: what the controller knows comes at once, what it has to try a moment later."""

from __future__ import annotations

from msgspec import structs

from controller.cli.asking import Source
from controller.cli.explained import Explained
from controller.cli.targets import nothing_named
from controller.cli.visibility_client import VisibilityClient
from controller.extension_api.reading import within
from controller.kube.errors import NotFound
from controller.runtime.operator_action_targets import Target
from controller.visibility.explanation_rows import Explanation, ExplanationRow, QueueExplanation, ReasonRow, RemedyRow
from controller.visibility.row_targets import rows_named, targets_of
from controller.visibility.rows import ClusterQueueRow, LocalQueueRow, PodRow

_EXPLANATIONS, _REMEDIES = "explanations", "remedies"


async def explain_by_api(api: VisibilityClient, source: Source, wanted: Target) -> Explained | None:
    """Explain a pod, Job or group, without remedies; None: nothing of that name is in a queue.

    Raises KubeError and NotServed.
    """
    namespace = await _namespace(api, source, wanted)
    if namespace is None:
        return None
    try:
        row = await api.one(within(namespace, _EXPLANATIONS, _name(wanted)), ExplanationRow)
    except NotFound:
        return None
    return Explained(namespace, row.message, row.waiting, _explanation(namespace, row) if row.waiting else None)


def _explanation(namespace: str, row: ExplanationRow) -> Explanation:
    fields = structs.asdict(row)
    del fields["waiting"]
    return Explanation(namespace=namespace, **fields, remedies=())


async def remedies_of(api: VisibilityClient, namespace: str, wanted: Target) -> tuple[RemedyRow, ...]:
    """Return which changes would admit it, each tried by the controller. Raises KubeError and NotServed."""
    return tuple(await api.listed(within(namespace, _EXPLANATIONS, _name(wanted), _REMEDIES), RemedyRow))


async def known_targets(api: VisibilityClient, source: Source) -> list[str]:
    """Return what could be named. Raises KubeError and NotServed."""
    spaces = source.namespaces
    return targets_of(await api.rows("queuepods", PodRow, None if spaces is None else spaces[0]))


async def explain_queue_by_api(api: VisibilityClient, source: Source, wanted: Target) -> QueueExplanation:
    """Explain a queue. Raises ClickException where there is none, KubeError and NotServed."""
    if wanted.kind == "clusterqueue":
        return await _queue(api, None, "clusterqueues", wanted, ClusterQueueRow)
    namespaces = source.namespaces
    if namespaces is None:
        found = await api.rows("localqueues", LocalQueueRow, None)
        namespaces = sorted(one.namespace for one in found if one.name == wanted.name)
        if not namespaces:
            raise nothing_named(wanted, [f"queue/{one.name}" for one in found], None)
    return await _queue(api, namespaces[0], "localqueues", wanted, LocalQueueRow)


async def _queue(
    api: VisibilityClient,
    namespace: str | None,
    plural: str,
    wanted: Target,
    form: type[ClusterQueueRow] | type[LocalQueueRow],
) -> QueueExplanation:
    try:
        row = await api.one(within(namespace, plural, wanted.name), form)
    except NotFound:
        known = [f"{wanted.kind}/{one.name}" for one in await api.rows(plural, form, namespace)]
        raise nothing_named(wanted, known, None if namespace is None else [namespace]) from None
    return QueueExplanation(row, tuple(await api.listed(within(namespace, plural, wanted.name, "reasons"), ReasonRow)))


async def _namespace(api: VisibilityClient, source: Source, wanted: Target) -> str | None:
    """Return the namespace that is asked about; of all of them the first that has the target."""
    if source.namespaces is not None:
        return source.namespaces[0]
    found = rows_named(await api.rows("queuepods", PodRow, None), wanted.kind, wanted.name)
    return min((one.namespace for one in found), default=None)


def _name(wanted: Target) -> str:
    return f"{wanted.kind.partition('.')[0]}.{wanted.name}"
