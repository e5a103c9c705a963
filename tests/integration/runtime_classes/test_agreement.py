"""What our step makes of a pod and its class is what the apiserver's own admission makes of them."""

from __future__ import annotations

import secrets
from typing import Any

import orjson
import pytest

from controller.kube.client import Client
from controller.kube.decode import decode_runtime_class
from controller.kube.errors import ApiError
from tests.integration.runtime_classes.conftest import CLASSES, Corner
from tests.support.classes import ClassyWorld
from tests.support.json_patch import patched
from webhook.reviews.admission import Request
from webhook.steps.runtime_class import assign_runtime_class

pytestmark = pytest.mark.integration

Json = dict[str, Any]

# not shown to our webhook: what comes back is the apiserver's own doing
PODS = "/api/v1/namespaces/kube-system/pods"
FIELDS = ("runtimeClassName", "nodeSelector", "tolerations", "overhead")

SPOT = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
EMPTY = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
WIDER = {"key": "spot", "operator": "Exists"}
ALL = {"operator": "Exists"}


def lasting(seconds: int | None, **other: Any) -> Json:
    written = {"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds, **other}
    return {name: value for name, value in written.items() if value is not None}


def overhead(**amounts: str) -> Json:
    return {"overhead": {"podFixed": amounts}}


def selector(**labels: str) -> Json:
    return {"scheduling": {"nodeSelector": labels}}


def tolerating(*tolerations: Json) -> Json:
    return {"scheduling": {"tolerations": list(tolerations)}}


CASES: list[tuple[str, Json, Json]] = [
    ("nothing", {}, {}),
    ("empty rules", {}, {"scheduling": {}, "overhead": {}}),
    ("selector", {}, selector(a="1", b="2")),
    ("selector beside the pod's", {"nodeSelector": {"c": "3"}}, selector(a="1")),
    ("selector that the pod has", {"nodeSelector": {"a": "1"}}, selector(a="1", b="2")),
    ("toleration", {}, tolerating(SPOT)),
    ("toleration beside the pod's", {"tolerations": [lasting(5)]}, tolerating(SPOT)),
    ("equal toleration", {"tolerations": [SPOT]}, tolerating(SPOT)),
    ("wider toleration", {"tolerations": [SPOT]}, tolerating(WIDER)),
    ("narrower toleration", {"tolerations": [WIDER]}, tolerating(SPOT)),
    ("toleration of everything", {"tolerations": [SPOT, lasting(5)]}, tolerating(ALL)),
    ("everything tolerated already", {"tolerations": [ALL]}, tolerating(SPOT, lasting(5))),
    ("longer toleration", {"tolerations": [lasting(5)]}, tolerating(lasting(60))),
    ("shorter toleration", {"tolerations": [lasting(60)]}, tolerating(lasting(5))),
    ("toleration for ever", {"tolerations": [lasting(60)]}, tolerating(lasting(None))),
    ("operator left out by the pod", {"tolerations": [EMPTY]}, tolerating(SPOT)),
    ("operator left out by the class", {"tolerations": [SPOT]}, tolerating(EMPTY)),
    ("pod's own duplicates, no rules", {"tolerations": [WIDER, SPOT, WIDER]}, {}),
    ("pod's own duplicates, a selector", {"tolerations": [SPOT, WIDER, SPOT]}, selector(a="1")),
    ("overhead", {}, overhead(cpu="250m", memory="64Mi")),
    ("overhead that the pod has", {"overhead": {"cpu": "0.25"}}, overhead(cpu="250m")),
    ("all of it", {"nodeSelector": {"c": "3"}}, {**selector(a="1"), **overhead(cpu="1")}),
]
REFUSED: list[tuple[str, Json, Json]] = [
    ("other value", {"nodeSelector": {"a": "1"}}, selector(a="2", b="1")),
    ("other overhead", {"overhead": {"cpu": "1"}}, overhead(cpu="250m")),
    ("more overhead", {"overhead": {"cpu": "250m", "memory": "1Mi"}}, overhead(cpu="250m")),
    ("overhead of no class", {"overhead": {"cpu": "1"}}, {}),
    ("overhead with empty overhead", {"overhead": {"cpu": "1"}}, {"overhead": {}}),
]


async def dry_run(client: Client, spec: Json) -> Json:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"dry-{secrets.token_hex(3)}"},
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }
    made: Json = orjson.loads(await client.post(PODS, body, params={"dryRun": "All"}))
    return made


async def ours(corner: Corner, spec: Json, name: str) -> Json | str:
    """The pod as the apiserver fills it in without a class, then as our step leaves it, or our refusal."""
    own = {key: value for key, value in spec.items() if key != "overhead"}  # refused without a class
    plain = await dry_run(corner.client, own)
    plain["spec"] |= {key: value for key, value in spec.items() if key == "overhead"}
    world = ClassyWorld(decode_runtime_class(await corner.client.get(f"{CLASSES}/{name}")), default=name)
    request = Request(
        uid="1", operation="CREATE", namespace="kube-system", subresource="", user="jane", groups=(), pod=plain
    )
    answer = assign_runtime_class(request, world)
    if answer.denial is not None:
        return answer.denial
    spec_of: Json = patched(plain, answer.operations)["spec"]
    return spec_of


@pytest.mark.parametrize(("spec", "rules"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_our_merge_is_the_apiservers(corner: Corner, spec: Json, rules: Json) -> None:
    name = await corner.runtime_class("one", **rules)
    theirs = (await dry_run(corner.client, {**spec, "runtimeClassName": name}))["spec"]
    mine = await ours(corner, spec, name)
    assert isinstance(mine, dict)
    left = {field: mine.get(field) for field in FIELDS}
    if "overhead" in spec:  # the same amount, which the apiserver writes in its own way
        left["overhead"] = rules["overhead"]["podFixed"]
    assert left == {field: theirs.get(field) for field in FIELDS}


@pytest.mark.parametrize(("spec", "rules"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
async def test_what_the_apiserver_refuses_we_refuse(corner: Corner, spec: Json, rules: Json) -> None:
    name = await corner.runtime_class("one", **rules)
    with pytest.raises(ApiError):
        await dry_run(corner.client, {**spec, "runtimeClassName": name})
    refusal = await ours(corner, spec, name)
    assert isinstance(refusal, str)
    assert f"RuntimeClass {name!r}" in refusal
