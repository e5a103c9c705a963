"""Any pod, any policies: nothing is loosened, nothing is done twice, and a release after it is legal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import convert

from controller.core.gate.narrowing import Narrowing, narrow
from controller.core.gate.release_patch import release_patch
from controller.core.kubernetes.directives import Directives, Preferred
from controller.core.kubernetes.labels import LabelSelector, Term
from controller.core.kubernetes.node_terms import TERMS_MOST
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Mode, OnConflict, Policy, Verdict, apply
from controller.core.pod_update import may_change
from controller.core.queueing.queues import Flavor
from controller.kube.decode_placement import read_term, read_toleration
from controller.kube.wire import PodToleration, SelectorTerm
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION, decoded
from tests.support.pod_update_rules import may_run_on
from tests.support.seeds import examples
from tests.support.strategies import (
    KEYS,
    NUMBERS,
    narrowing_flavors,
    node_labels,
    pod_documents,
    requirement_document,
    term_documents,
    toleration_documents,
    values,
)
from webhook.pods import directives
from webhook.reviews.patching import applied

Json = dict[str, Any]
THOROUGH = settings(max_examples=examples(250))


def _term(document: Json) -> Term:
    return read_term(convert(document, SelectorTerm))


def _toleration(document: Json) -> Toleration:
    return read_toleration(convert(document, PodToleration))


def _is_said(document: Json) -> bool:
    return bool(document.get("matchExpressions") or document.get("matchFields"))


terms = term_documents().filter(_is_said).map(_term)


@st.composite
def wishes(draw: st.DrawFn) -> Directives:
    required = draw(st.none() | st.lists(terms, min_size=1, max_size=3).map(tuple))
    return Directives(
        node_selector=tuple(sorted(draw(st.dictionaries(st.sampled_from(KEYS), values, max_size=2)).items())),
        node_name=draw(st.sampled_from(("", "", "node-1", "node-2"))),
        scheduler_name=draw(st.sampled_from(("", "default-scheduler", "other"))),
        tolerations=tuple(map(_toleration, draw(st.lists(toleration_documents(), max_size=2)))),
        required=required,
        preferred=tuple(draw(st.lists(st.builds(Preferred, st.just(1), terms), max_size=1))),
    )


@st.composite
def policies(draw: st.DrawFn, modes: tuple[Mode, ...] = (Mode.ENFORCE,)) -> list[Policy]:
    return [
        Policy(
            name=f"p{number}",
            namespace=draw(st.sampled_from(("", "default"))),
            priority=draw(st.integers(0, 1)),
            on_conflict=OnConflict.POD_WINS,
            mode=draw(st.sampled_from(modes)),
            pods=LabelSelector(),
            namespaces=LabelSelector(),
            directives=draw(wishes()),
        )
        for number in range(draw(st.integers(0, 3)))
    ]


def pod_of(document: Json) -> Directives:
    pod = directives.read(document["spec"])
    assert pod is not None
    return pod


def holds_on(wants: Directives, name: str, labels: dict[str, str], skipped: set[str]) -> bool:
    """A direct reading, on JSON: what of the policy was not left out holds on this node."""
    spec: Json = {}
    if wants.required is not None and "nodeAffinity" not in skipped:
        listed = [
            {
                "matchExpressions": [requirement_document(r) for r in term.expressions],
                "matchFields": [requirement_document(r) for r in term.fields],
            }
            for term in wants.required
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}
        spec["affinity"] = {"nodeAffinity": required}
    named = not wants.node_name or "nodeName" in skipped or wants.node_name == name
    return named and may_run_on({"spec": spec}, name, labels)


@THOROUGH
@given(pod_documents(), policies(), st.lists(node_labels(), min_size=3, max_size=8))
def test_the_nodes_after_are_those_that_pod_and_policies_allow(
    document: Json, chosen: list[Policy], nodes: list[dict[str, str]]
) -> None:
    before = pod_of(document)
    outcome = apply(before, chosen, is_held=True)
    after = applied(document, directives.patch(document["spec"], before, outcome.pod))
    added = dict(set(outcome.pod.node_selector) - set(before.node_selector))
    for number, labels in enumerate(nodes):
        name = f"node-{number}"
        could, can = may_run_on(document, name, labels), may_run_on(after, name, labels)
        assert could or not can
        wanted = all(
            holds_on(v.policy.directives, name, labels, {conflict.field for conflict in v.merge.conflicts})
            for v in outcome.verdicts
        )
        selected = all(labels.get(key) == value for key, value in added.items())
        in_part = any({"nodeAffinity"} & {*v.merge.changed, *v.merge.met} & _conflicts(v) for v in outcome.verdicts)
        if before.required is None or any(not term.is_empty for term in before.required):
            assert can is (could and wanted and selected) or (in_part and not can)
        # what was left out could not have held beside the pod's own
        for verdict in outcome.verdicts:
            if "nodeAffinity" in _conflicts(verdict):
                assert not (can and holds_on(verdict.policy.directives, name, labels, {"nodeName"}))


def _conflicts(verdict: Verdict) -> set[str]:
    return {conflict.field for conflict in verdict.merge.conflicts}


def left_out(verdict: Verdict) -> tuple[set[str], bool]:
    """The fields of the policy that the pod did not get, and whether the pod is refused."""
    return _conflicts(verdict), verdict.merge.fault is not None


EVERY_LABEL = ("spot", "steady", "a", "b", *NUMBERS, "4", "6", "other", None)
"""What a node may have of a key, by any requirement that is drawn; None: not the label."""


def every_node() -> Iterator[tuple[str, dict[str, str]]]:
    for name in ("node-1", "node-2", "node-3"):
        for labels in product(EVERY_LABEL, repeat=len(KEYS)):
            yield name, {key: value for key, value in zip(KEYS, labels, strict=True) if value is not None}


EVERY_NODE = list(every_node())


def has_a_node(pod: Directives) -> bool:
    """Whether there could be one for it."""
    return any(
        all(labels.get(key) == value for key, value in pod.node_selector)
        and pod.node_name in ("", name)
        and (pod.required is None or any(term.matches(name, labels) for term in pod.required))
        for name, labels in EVERY_NODE
    )


@settings(max_examples=80)
@given(pod_documents(), policies(), st.booleans())
def test_policies_never_take_the_last_node_from_a_pod(document: Json, chosen: list[Policy], held: bool) -> None:
    """With a warning or without one."""
    pod = pod_of(document)
    assume(has_a_node(pod))
    outcome = apply(pod, chosen, is_held=held)
    assert has_a_node(outcome.pod)
    for verdict in outcome.verdicts:
        for conflict in verdict.merge.conflicts:
            assert conflict.text.startswith("spec.")


@THOROUGH
@given(pod_documents(), policies(tuple(Mode)), st.booleans(), st.randoms(use_true_random=False))
def test_twice_is_once_whatever_the_order_of_the_list(
    document: Json, chosen: list[Policy], held: bool, random: Any
) -> None:
    pod = pod_of(document)
    outcome = apply(pod, chosen, is_held=held)
    shuffled = list(chosen)
    random.shuffle(shuffled)
    assert apply(pod, shuffled, is_held=held) == outcome
    again = apply(outcome.pod, chosen, is_held=held)
    assert again.pod == outcome.pod
    enforced = [v for v in again.verdicts if v.policy.mode is Mode.ENFORCE]
    first = [v for v in outcome.verdicts if v.policy.mode is Mode.ENFORCE]
    assert not any(v.merge.changed for v in enforced)
    assert [left_out(v) for v in enforced] == [left_out(v) for v in first]
    # A later policy can add a second cause, and then the second run may report that one.
    if len(enforced) == 1:
        assert enforced[0].reasons == first[0].reasons
    assert len(outcome.pod.required or ()) <= max(TERMS_MOST, len(pod.required or ()))


@THOROUGH
@given(pod_documents(), policies())
def test_the_patch_makes_of_the_pod_what_was_worked_out(document: Json, chosen: list[Policy]) -> None:
    before = pod_of(document)
    after = apply(before, chosen, is_held=True).pod
    operations = directives.patch(document["spec"], before, after)
    changed = patched(document, operations)
    assert directives.patch(changed["spec"], pod_of(changed), after) == ()
    assert pod_of(changed).required == after.required
    assert pod_of(changed).tolerations == after.tolerations
    assert pod_of(changed).node_selector == after.node_selector


@THOROUGH
@given(pod_documents(), policies(), narrowing_flavors())
def test_a_release_after_the_policies_is_legal(document: Json, chosen: list[Policy], flavor: Flavor) -> None:
    before = pod_of(document)
    operations = directives.patch(document["spec"], before, apply(before, chosen, is_held=True).pod)
    queued = patched(document, operations)
    pod = decoded(queued)
    assume(isinstance(narrow(pod.shape.constraints, flavor), Narrowing))
    release = release_patch(pod, [flavor], ADMISSION, node="node-1")
    assert may_change(queued, patched(queued, release)) == ()
