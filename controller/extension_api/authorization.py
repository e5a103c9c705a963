"""What a viewer may see: asked of the apiserver by SubjectAccessReviews, and remembered for a moment."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from msgspec import DecodeError, Struct, json

from controller.extension_api.front_proxy import Viewer
from controller.extension_api.resources import GROUP, VERSION
from controller.extension_api.statuses import Refused
from controller.kube.client import Client
from controller.kube.errors import KubeError

_PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ALLOWED_SECONDS: Final = 10.0
DENIED_SECONDS: Final = 5.0
"""Shorter: who has just been given a right tries again at once."""
MOST: Final = 10_000
"""Answers that are remembered, some 300 bytes each."""
_AT_ONCE: Final = 16
_ANSWER_SECONDS: Final = 10.0
_PODS: Final = ("", "v1", "pods", "")


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do; without a namespace in all of them, without a name to all objects."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str

    @classmethod
    def ours(cls, verb: str, resource: str, subresource: str, namespace: str, name: str) -> Action:
        """Return an action on a resource that is served here."""
        return cls(verb, GROUP, VERSION, resource, subresource, namespace, name)

    @classmethod
    def list_pods(cls, namespace: str) -> Action:
        """Return what somebody has to be allowed to see names of pods: to list them."""
        return cls("list", *_PODS, namespace, "")

    def attributes(self) -> dict[str, str]:
        """Return it as the resourceAttributes of a review."""
        return {
            "verb": self.verb,
            "group": self.group,
            "version": self.version,
            "resource": self.resource,
            "subresource": self.subresource,
            "namespace": self.namespace,
            "name": self.name,
        }


class _Verdict(Struct):
    allowed: bool = False
    reason: str = ""


class _Answer(Struct):
    status: _Verdict


_answer = json.Decoder(_Answer)


class Authorizer:
    """Asks who may do what. `now` is in seconds and never jumps."""

    def __init__(self, client: Client, now: Callable[[], float], most: int = MOST) -> None:
        self._client = client
        self._now = now
        self._most = most
        self._known: OrderedDict[tuple[Viewer, Action], tuple[bool, float]] = OrderedDict()
        self._asking = asyncio.Semaphore(_AT_ONCE)

    def __len__(self) -> int:
        return len(self._known)

    async def may(self, viewer: Viewer, action: Action) -> bool:
        """Say whether the viewer may do this. Raises Refused, 503, while the apiserver cannot be asked."""
        known = self._known.get((viewer, action))
        if known is not None and self._now() < known[1]:
            return known[0]
        async with self._asking:
            allowed = await self._ask(viewer, action)
        until = self._now() + (ALLOWED_SECONDS if allowed else DENIED_SECONDS)
        self._known.pop((viewer, action), None)
        self._known[viewer, action] = allowed, until
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return allowed

    async def seen(self, viewer: Viewer, namespaces: Collection[str]) -> frozenset[str]:
        """Return those of the namespaces whose pods the viewer may list. Raises Refused as `may` does."""
        if not namespaces or await self.may(viewer, Action.list_pods("")):
            return frozenset(namespaces)
        ordered = sorted(namespaces)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._may_list_pods(viewer, one), name=f"access-{one}") for one in ordered]
        answers = [task.result() for task in asked]
        failed = next((one for one in answers if isinstance(one, Refused)), None)
        if failed is not None:
            raise failed
        return frozenset(one for one, answer in zip(ordered, answers, strict=True) if answer is True)

    async def _may_list_pods(self, viewer: Viewer, namespace: str) -> bool | Refused:
        """Return a refusal instead of raising it: one must not make a group of errors of all."""
        try:
            return await self.may(viewer, Action.list_pods(namespace))
        except Refused as error:
            return error

    async def _ask(self, viewer: Viewer, action: Action) -> bool:
        spec: dict[str, Any] = {
            "user": viewer.user,
            "uid": viewer.uid,
            "groups": viewer.groups,
            "extra": {key: list(values) for key, values in viewer.extra},
            "resourceAttributes": action.attributes(),
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        try:
            return _answer.decode(await self._client.post(_PATH, review, seconds=_ANSWER_SECONDS)).status.allowed
        except (KubeError, DecodeError) as error:
            raise Refused(503, f"cannot ask what {viewer.user} may see: {error}", retry_seconds=1) from error
