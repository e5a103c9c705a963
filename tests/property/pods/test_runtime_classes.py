"""RuntimeClasses: the merge is the apiserver's, twice is once, and no pod may go where it could not go before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from controller.core.gate.narrowing import Narrowing, narrow
from controller.core.gate.release_patch import release_patch
from controller.core.kubernetes.documents import toleration_document
from controller.core.kubernetes.runtime_classes import Additions, RuntimeClass, additions
from controller.core.kubernetes.taints import Taint, Toleration, are_tolerated, merge_tolerations
from controller.core.pod_update import may_change
from controller.core.queueing.queues import Flavor
from tests.support.classes import ClassyWorld
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, decoded
from tests.support.pod_update_rules import may_run_on
from tests.support.seeds import examples
from tests.support.strategies import KEYS, VALUES, narrowing_flavors, node_labels, pod_documents
from webhook.reviews.admission import Request
from webhook.steps.runtime_class import assign_runtime_class

BRIEF = settings(max_examples=examples(400))
EFFECTS = ("", "NoSchedule", "NoExecute")


@st.composite
def tolerations(draw: st.DrawFn) -> Toleration:
    """What the apiserver's validation lets through."""
    key = draw(st.sampled_from(("", "k", "l")))
    operator = "Exists" if not key else draw(st.sampled_from(("", "Equal", "Exists")))
    value = "" if operator == "Exists" else draw(st.sampled_from(("", "1", "2")))
    seconds = draw(st.sampled_from((None, -1, 0, 5, 60)))
    effect = draw(st.sampled_from(EFFECTS)) if seconds is None else "NoExecute"
    return Toleration(key, operator, value, effect, seconds)


lists = st.lists(tolerations(), max_size=5).map(tuple)
selectors = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
overheads = st.dictionaries(st.sampled_from(("cpu", "memory")), st.sampled_from(("1", "1000m", "2")), max_size=2)
classes = st.builds(
    RuntimeClass,
    name=st.just("kata"),
    handler=st.just("kata"),
    node_selector=selectors,
    tolerations=st.none() | lists,
    overhead=overheads,
)


# An independent reading of pkg/util/tolerations/tolerations.go: dictionaries, index loops and labels as Go has them.


def go_form(one: Toleration) -> dict[str, Any]:
    names = ("Key", "Operator", "Value", "Effect", "TolerationSeconds")
    return dict(zip(names, (one.key, one.operator, one.value, one.effect, one.seconds), strict=True))


def go_is_superset(ss: dict[str, Any], t: dict[str, Any]) -> bool:
    if t == ss:
        return True
    if t["Key"] != ss["Key"] and (ss["Key"] != "" or ss["Operator"] != "Exists"):
        return False
    if t["Effect"] != ss["Effect"] and ss["Effect"] != "":
        return False
    bounded = ss["Effect"] == "NoExecute" and ss["TolerationSeconds"] is not None
    if bounded and (t["TolerationSeconds"] is None or t["TolerationSeconds"] > ss["TolerationSeconds"]):
        return False
    match ss["Operator"]:
        case "Equal" | "":
            return bool(t["Operator"] == "Equal" and t["Value"] == ss["Value"])
        case "Exists":
            return True
        case _:
            return False


def go_merge(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    every, merged = first + second, list[dict[str, Any]]()
    for i in range(len(every)):
        redundant = False
        for t2 in merged:
            redundant = redundant or go_is_superset(t2, every[i])
        for j in range(i + 1, len(every)):
            if every[i] != every[j] and go_is_superset(every[j], every[i]):
                redundant = True
        if not redundant:
            merged.append(every[i])
    return merged


@BRIEF
@given(lists, lists)
@example((Toleration("k", "Gt", "1"),), (Toleration("k", "Gt", "1"), Toleration("k", "Lt", "1")))
def test_the_merge_is_the_apiservers(first: tuple[Toleration, ...], second: tuple[Toleration, ...]) -> None:
    expected = go_merge(list(map(go_form, first)), list(map(go_form, second)))
    assert list(map(go_form, merge_tolerations(first, second))) == expected


@BRIEF
@given(lists, lists)
def test_merging_again_changes_nothing(first: tuple[Toleration, ...], second: tuple[Toleration, ...]) -> None:
    once = merge_tolerations(first, second)
    assert merge_tolerations(once, second) == once


@BRIEF
@given(selectors, lists, overheads, classes)
def test_a_pod_that_has_all_of_its_class_lacks_nothing(
    selector: dict[str, str], own: tuple[Toleration, ...], overhead: dict[str, str], wanted: RuntimeClass
) -> None:
    found = additions(selector, own, overhead, wanted)
    if not isinstance(found, Additions):
        return
    left = {**selector, **found.node_selector}
    assert additions(left, found.tolerations or own, found.overhead or overhead, wanted) == Additions()


@BRIEF
@given(selectors, lists, overheads, classes)
def test_the_step_is_idempotent(
    selector: dict[str, str], own: tuple[Toleration, ...], overhead: dict[str, str], wanted: RuntimeClass
) -> None:
    spec = {"nodeSelector": selector, "tolerations": [toleration_document(one) for one in own], "overhead": overhead}
    request = Request(
        uid="1", operation="CREATE", namespace="a", subresource="", user="b", groups=(), pod={"spec": spec}
    )
    world = ClassyWorld(wanted, default="kata")
    answer = assign_runtime_class(request, world)
    if answer.denial is None:
        result = patched(dict(request.pod), answer.operations)
        assert assign_runtime_class(replace(request, pod=result), world).operations == ()


@BRIEF
@given(selectors, classes, node_labels())
def test_labels_let_a_pod_go_nowhere_new(
    selector: dict[str, str], wanted: RuntimeClass, labels: dict[str, str]
) -> None:
    found = additions(selector, (), {}, wanted)
    if isinstance(found, Additions):
        after = {**selector, **found.node_selector}
        if after.items() <= labels.items():
            assert selector.items() <= labels.items()
            assert wanted.node_selector.items() <= labels.items()


@BRIEF
@given(lists, classes, st.sampled_from(("k", "l", "m")), st.sampled_from(("", "1", "2")), st.sampled_from(EFFECTS[1:]))
def test_a_merge_tolerates_what_either_tolerates(
    own: tuple[Toleration, ...], wanted: RuntimeClass, key: str, value: str, effect: str
) -> None:
    found = additions({}, own, {}, wanted)
    assert isinstance(found, Additions)
    taint = [Taint(key, value, effect)]
    either = are_tolerated(taint, own) or are_tolerated(taint, wanted.tolerations or ())
    assert are_tolerated(taint, found.tolerations or own) is either


@BRIEF
@given(pod_documents(), classes, narrowing_flavors(), st.sampled_from((None, "node-1")), node_labels())
def test_a_pod_with_a_default_class_can_still_be_narrowed(
    document: dict[str, Any], wanted: RuntimeClass, flavor: Flavor, node: str | None, labels: dict[str, str]
) -> None:
    request = Request(uid="1", operation="CREATE", namespace="a", subresource="", user="b", groups=(), pod=document)
    answer = assign_runtime_class(request, ClassyWorld(wanted, default="kata"))
    if answer.denial is not None:
        return
    queued = patched(document, answer.operations)
    pod = decoded(queued)
    assume(isinstance(narrow(pod.shape.constraints, flavor), Narrowing))
    operations = release_patch(pod, [flavor], ADMISSION, node=node)
    released = patched(queued, operations)
    assert may_change(queued, released) == ()
    if may_run_on(released, "node-1", labels):
        assert may_run_on(document, "node-1", labels)
        assert wanted.node_selector.items() <= labels.items()
