"""What the informers have not seen yet is asked for, in the one review that needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from controller.core.keys import BREAK_GLASS, DEFAULT_QUEUE, DEFAULT_RUNTIME_CLASS
from controller.kube.errors import Forbidden, NotFound, Unreachable
from controller.kube.wire import Owned
from tests.support.classes import a_class
from tests.support.fake_client import FakeClient
from webhook.reviews.admission import Request
from webhook.steps.chain import mutate
from webhook.world.cluster import ClusterLookups
from webhook.world.runtime_classes import KnownClasses

Json = dict[str, Any]

GVISOR = a_class("gvisor", selector={"runtime/kind": "gvisor"})
FRESH_CLASS = orjson.dumps({"metadata": {"name": "fresh"}, "handler": "x", "overhead": {"podFixed": {"cpu": "1"}}})
ABSENT = NotFound(404, "NotFound", "no")


def a_request(namespace: str = "team", **spec: Any) -> Request:
    pod = {"metadata": {}, "spec": {"containers": [], **spec}}
    return Request(uid="1", operation="CREATE", namespace=namespace, subresource="", user="jane", groups=(), pod=pod)


def a_cluster(default: str | None = None) -> ClusterLookups:
    """Namespace team and the class gvisor are known."""
    known = KnownClasses(default)
    known.replace([GVISOR])
    world = ClusterLookups(known)
    world.namespaces.replace([Owned(name="team")])
    return world


def a_namespace(**labels: str) -> bytes:
    return orjson.dumps({"metadata": {"name": "new", "labels": labels}})


async def completed(
    world: ClusterLookups, request: Request, *answers: bytes | Exception
) -> tuple[ClusterLookups, list[str]]:
    """The world for this review, and what was asked for."""
    fake = FakeClient().will("GET", *answers)
    more = await world.completed(fake.as_client, request)
    return more, [call.path for call in fake.calls]


@pytest.mark.parametrize(("default", "spec"), [(None, {"runtimeClassName": "fresh"}), ("fresh", {})])
async def test_a_class_not_seen_by_the_informer_is_asked_for(default: str | None, spec: Json) -> None:
    world, request = a_cluster(default), a_request(**spec)
    more, asked = await completed(world, request, FRESH_CLASS)
    assert {"op": "add", "path": "/spec/overhead", "value": {"cpu": "1"}} in mutate(request, more).operations
    assert asked == ["/apis/node.k8s.io/v1/runtimeclasses/fresh"]
    assert world.runtime_classes is not None
    assert world.runtime_classes.get("fresh") is None, "only the informer knows when it is gone again"


@pytest.mark.parametrize("error", [ABSENT, Unreachable("no answer")])
async def test_a_class_that_nobody_finds_is_missing(error: Exception) -> None:
    request = a_request(runtimeClassName="absent")
    more, _ = await completed(a_cluster(), request, error)
    assert (mutate(request, more).denial or "").endswith("does; there are gvisor")


async def test_a_namespace_not_seen_by_the_informer_is_asked_for() -> None:
    world = a_cluster()
    more, asked = await completed(world, a_request("new"), a_namespace(**{DEFAULT_QUEUE: "main"}))
    assert asked == ["/api/v1/namespaces/new"]
    assert more.namespace_labels("new") == {DEFAULT_QUEUE: "main"}
    assert more.namespace_labels("team") == {}
    assert world.namespace_labels("new") == {}, "only the informer knows when it is gone again"
    assert mutate(a_request("new"), more).operations[0]["value"] == {"penstock.dev/queue-name": "main"}


async def test_a_fresh_namespace_may_have_a_fresh_default_class() -> None:
    labels = a_namespace(**{DEFAULT_RUNTIME_CLASS: "fresh"})
    more, asked = await completed(a_cluster(), a_request("new"), labels, FRESH_CLASS)
    assert asked == ["/api/v1/namespaces/new", "/apis/node.k8s.io/v1/runtimeclasses/fresh"]
    operations = mutate(a_request("new"), more).operations
    assert operations[0] == {"op": "add", "path": "/spec/runtimeClassName", "value": "fresh"}


@pytest.mark.parametrize("error", [ABSENT, Unreachable("no answer"), Forbidden(403, "Forbidden", "no")])
async def test_a_namespace_that_nobody_finds_has_no_labels(error: Exception) -> None:
    world = a_cluster()
    more, _ = await completed(world, a_request("new"), error)
    assert more.namespace_labels("new") == {}


def test_trust_is_by_user_and_break_glass_by_group() -> None:
    world = ClusterLookups(trusted_users=frozenset(("ours",)), break_glass_group="fire-brigade")
    assert (world.trusts("ours"), world.trusts("fire-brigade"), world.trusts("")) == (True, False, False)
    assert world.breaks_glass(("others", "fire-brigade"))
    assert not world.breaks_glass(("ours", BREAK_GLASS))
    assert ClusterLookups().breaks_glass((BREAK_GLASS,))


@pytest.mark.parametrize(
    ("world", "request_"),
    [
        (a_cluster(), a_request()),
        (a_cluster(), a_request(runtimeClassName="gvisor")),
        (a_cluster("gvisor"), a_request()),
        (ClusterLookups(), a_request("", runtimeClassName="absent")),
        (a_cluster("fresh"), replace(a_request(), subresource="binding")),
    ],
)
async def test_nobody_is_asked_for_what_is_known_or_not_needed(world: ClusterLookups, request_: Request) -> None:
    assert await completed(world, request_) == (world, [])
