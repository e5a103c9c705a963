"""What is asked of the Eviction API: one pod's eviction, and before the first of a gang goes, whether all of it may.

What says nothing of a pod is no refusal: nobody has to go in its place because the apiserver is away or busy.

A dry run judges one pod by its PodDisruptionBudget and takes nothing from it, so as many pass as are tried where only
one may go. How many may go together only the budgets tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from controller.core.kubernetes.disruption_budgets import GuardedPod, too_narrow
from controller.core.workloads.pods import Pod
from controller.kube.client import Client
from controller.kube.decode_disruptions import decode_disruption_budget, decode_guarded_pod
from controller.kube.errors import (
    Conflict,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    one_line,
)
from controller.kube.listing import list_all
from controller.runtime.pod_requests import pod_path

_DRY: Final = {"dryRun": "All"}
_AWAY: Final = (502, 503, 504)
"""Of an apiserver that starts, stops or is overloaded, or of a proxy."""
_STORAGE: Final = ("etcdserver: ", "rpc error: code = Unavailable")
"""How an apiserver begins to tell, with 500, that etcd elects a leader or is away. Others are of webhooks, or of two
budgets for one pod.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an eviction may not be, in the apiserver's words; `pod`: of which pod alone this was said, None: of all.

    `is_unanswered`: whether they may be is not said.
    """

    text: str
    pod: Pod | None = None
    is_unanswered: bool = False

    @classmethod
    def of(cls, error: KubeError, pod: Pod) -> Refusal:
        """Make one of what the apiserver answered for a pod."""
        return cls(one_line(error), pod, _is_unanswered(error))

    def told(self, pod: Pod) -> str:
        """Return what a pod is told that stays for this reason: also one that would have gone with the refused one."""
        if self.pod is None or self.pod.uid == pod.uid:
            return self.text
        return f"its gang goes as a whole, and pod {self.pod.key} may not go: {self.text}"


def _is_unanswered(error: KubeError) -> bool:
    """Say whether an error is about the apiserver or our connection, and not about the pod."""
    if isinstance(error, TooManyRequests):
        # budgets answer with a Status; an apiserver that has too much to do with a line of text
        return not error.reason
    if isinstance(error, ServerError):
        return error.status in _AWAY or error.message.startswith(_STORAGE)
    return isinstance(error, Unreachable | Unauthorized)


async def evict(client: Client, pod: Pod, *, is_dry: bool = False) -> None:
    """Evict a pod, or `is_dry` ask whether it may be.

    Raises NotFound where it is gone, Conflict where another one has its name, any KubeError where it may not go.
    """
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    await client.post(f"{pod_path(pod)}/eviction", body, params=_DRY if is_dry else None)


async def why_not_together(client: Client, pods: Sequence[Pod]) -> Refusal | None:
    """Say why these pods of one gang may not all go now; None: they may. Those that are gone do not count."""
    for pod in pods:
        try:
            await evict(client, pod, is_dry=True)
        except (NotFound, Conflict):
            continue
        except KubeError as error:
            return Refusal.of(error, pod)
    try:
        text = await _too_narrow(client, pods)
    except KubeError as error:
        # not knowing is no leave: half of the gang might go for nothing
        text = f"the PodDisruptionBudgets of its namespace, or the pods of its gang, cannot be read: {one_line(error)}"
        return Refusal(text, is_unanswered=_is_unanswered(error))
    return Refusal(text) if text else None


async def _too_narrow(client: Client, pods: Sequence[Pod]) -> str:
    """Name a budget that lets some of them go, but not all; empty: there is none. Raises KubeError."""
    path = f"/apis/policy/v1/namespaces/{pods[0].namespace}/poddisruptionbudgets"
    budgets = [one for one in await list_all(client, path, decode_disruption_budget) if one.allowed < len(pods)]
    if not budgets:
        return ""
    # we keep no labels of pods, so these are read where a budget may be too narrow
    read = [await _guarded(client, pod) for pod in pods]
    return too_narrow(budgets, [one for one in read if one is not None])


async def _guarded(client: Client, pod: Pod) -> GuardedPod | None:
    """Read what budgets go by; None: it is gone, or another one has its name."""
    try:
        found = decode_guarded_pod(await client.get(pod_path(pod)))
    except NotFound:
        return None
    return found if found.uid == pod.uid else None
