"""The webhook notes whose pods and templates are, and refuses notes on templates that nothing has put right."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import QUEUE_NAME, USER
from tests.support.json_patch import patched
from tests.support.worlds import TRUSTED, EmptyWorld
from webhook.checks.templates import check_note
from webhook.reviews.admission import Answer, Request
from webhook.reviews.templates import read_template
from webhook.steps.chain import mutate
from webhook.steps.users import note_on_template

Json = dict[str, Any]
ACCOUNTS = "system:serviceaccount:kube-system:"
OWNED: Json = {"ownerReferences": [{"kind": "Job", "controller": True}]}
QUEUED = {QUEUE_NAME: "main"}


class Defaulting(EmptyWorld):
    """A namespace with a default queue, and an operator that makes what it makes from templates of its own."""

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        return {"penstock.dev/default-queue": "main"}

    def makes_from_templates(self, user: str) -> bool:
        return user == "operator"


def user_after(user: str, noted: str | None = None, world: EmptyWorld | None = None, **metadata: Any) -> str | None:
    """Whose a new pod of a queue is said to be in the end."""
    annotations = {} if noted is None else {"annotations": {USER: noted}}
    pod = {"metadata": {"labels": QUEUED, **annotations, **metadata}, "spec": {"containers": []}}
    request = Request(uid="1", operation="CREATE", namespace="default", subresource="", user=user, groups=(), pod=pod)
    result = patched(pod, mutate(request, world or EmptyWorld()).operations)
    found: str | None = result["metadata"].get("annotations", {}).get(USER)
    return found


def test_a_pod_is_of_who_creates_it() -> None:
    assert user_after("ann") == user_after("ann", "bob") == user_after("ann", "bob", **OWNED) == "ann"


@pytest.mark.parametrize("maker", [f"{ACCOUNTS}job-controller", "system:kube-controller-manager"])
def test_a_controllers_pod_is_of_who_wrote_the_template(maker: str) -> None:
    assert user_after(maker, "bob", **OWNED) == "bob"
    assert user_after(maker, **OWNED) == maker
    assert user_after(maker, "bob") == maker


def test_operators_are_believed_where_the_webhook_knows_them() -> None:
    assert user_after("operator", "bob", Defaulting(), **OWNED) == "bob"
    assert user_after("operator", "bob", **OWNED) == "operator"


def test_of_a_request_that_nobody_makes_nothing_is_noted() -> None:
    assert user_after("") is None


def review(
    noted: str | None, old: str | None = "absent", *, user: str = "ann", kind: str = "jobs", **changes: Any
) -> bytes:
    """`old` "absent": the object is created."""

    def holder(name: str | None, label: str) -> Json:
        labels = QUEUED if changes.get("queued", True) else {"app": label}
        template = {"metadata": {"labels": labels, **({} if name is None else {"annotations": {USER: name}})}}
        spec: Json = {"template": {**template, "spec": {"note": label}}}
        spec = {"jobTemplate": {"spec": spec}} if kind == "cronjobs" else spec
        return {"metadata": changes.get("metadata", {}), "spec": spec}

    group = "batch" if kind in ("jobs", "cronjobs") else "apps"
    request = {
        "uid": "1",
        "operation": "CREATE" if old == "absent" else "UPDATE",
        "namespace": "default",
        "resource": {"group": group, "resource": kind},
        "userInfo": {"username": user, "groups": []},
        "object": holder(noted, "new"),
        "oldObject": None if old == "absent" else holder(old, changes.get("former", "old")),
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def noted(*given: Any, world: EmptyWorld | None = None, **fields: Any) -> str | None:
    body = review(*given, **fields)
    request = read_template(body)
    result = patched(
        orjson.loads(body)["request"]["object"], note_on_template(request, world or EmptyWorld()).operations
    )
    for name in request.workload.path:
        result = result[name]
    found: str | None = result["metadata"].get("annotations", {}).get(USER)
    return found


def test_a_new_template_of_a_queue_notes_its_writer() -> None:
    for kind in ("jobs", "cronjobs", "deployments"):
        assert noted(None, kind=kind) == noted("bob", kind=kind) == "ann"


def test_an_unqueued_template_is_left_alone_unless_it_says_so() -> None:
    assert noted(None, queued=False) is None
    assert noted("bob", queued=False) == "ann"
    assert noted(None, queued=False, world=Defaulting()) == "ann"


def test_the_note_stays_whoever_changes_the_template() -> None:
    for new in (None, "ann", "eve"):
        assert noted(new, "bob", kind="deployments") == "bob"


def test_a_template_without_a_note_gets_one_when_it_changes() -> None:
    assert noted(None, None, kind="deployments") == "ann"
    assert noted(None, None, kind="deployments", former="new") is None
    assert noted("eve", None, kind="deployments", queued=False) is None


def test_what_is_made_of_ones_own_template_keeps_the_note() -> None:
    deployments = f"{ACCOUNTS}deployment-controller"
    owned = {"ownerReferences": [{"controller": True}]}
    assert noted("bob", kind="replicasets", user=deployments, metadata=owned) == "bob"
    assert noted("bob", kind="replicasets", user=deployments) == deployments
    assert noted("bob", kind="replicasets", metadata=owned) == "ann"


def test_what_is_being_deleted_is_left_alone() -> None:
    going = {"deletionTimestamp": "2026-03-01T08:00:00Z"}
    assert noted(None, "bob", metadata=going) is None


def check(*given: Any, **fields: Any) -> Answer:
    return check_note(read_template(review(*given, **fields)), EmptyWorld())


def test_a_forged_note_is_refused_with_what_it_has_to_be() -> None:
    assert check("bob").denial == (
        "user-is-true: spec.template.metadata.annotations[penstock.dev/user]: would be 'bob' and has to be 'ann': only "
        "Penstock writes this; leave it as it was, or leave it out of new objects"
    )
    for new in (None, "ann"):
        assert "has to be 'bob'" in (check(new, "bob", kind="deployments").denial or "")


def test_a_note_that_is_true_or_missing_from_what_is_new_passes() -> None:
    assert check("ann").denial is None
    assert check(None).denial is None
    assert check("bob", "bob", kind="deployments").denial is None
    assert check("bob", user=TRUSTED).denial is None
