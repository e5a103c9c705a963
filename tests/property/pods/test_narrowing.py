"""Any pod, any flavor: what is narrowed is legal, is all that was meant, and is done once."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.gate.narrowing import Conflict, Narrowing, narrow
from controller.core.kubernetes.labels import Requirement, Term
from controller.core.queueing.queues import Flavor
from controller.core.workloads.shapes import Constraints
from tests.support.builders import a_flavor
from tests.support.constraints import allows
from tests.support.seeds import examples
from tests.support.strategies import requirements

THOROUGH = settings(max_examples=examples(400))
KEYS = ("a", "b")
VALUES = ("x", "y", "1", "2")
_NAMES = ("node-1", "node-2", "neither")
# Every value that any requirement here could tell from another, numbers in two spellings, and none at all.
_LABELS = [
    {key: value for key, value in zip(KEYS, pair, strict=True) if value is not None}
    for pair in itertools.product((None, *VALUES, "01", "02", "0", "7", "neither"), repeat=2)
]
NODES = [(name, labels) for name in _NAMES for labels in _LABELS]


@st.composite
def few_values(draw: st.DrawFn) -> Requirement:
    """A requirement of the small universe."""
    one = draw(requirements(keys=KEYS, bounds=("0", "1", "2")))
    return (
        replace(one, values=tuple(dict.fromkeys(draw(st.sampled_from(VALUES)) for _ in one.values)))
        if (one.operator.value in ("In", "NotIn"))
        else one
    )


def fields() -> st.SearchStrategy[tuple[Requirement, ...]]:
    name = st.builds(
        lambda one, name: replace(one, key="metadata.name", values=(name,)),
        few_values().filter(lambda one: one.operator.value in ("In", "NotIn")),
        st.sampled_from(_NAMES[:2]),
    )
    return st.lists(name, max_size=2).map(tuple)


def pods() -> st.SearchStrategy[Constraints]:
    term = st.builds(Term, st.lists(few_values(), max_size=3).map(tuple), fields() | st.just(()))
    return st.builds(
        Constraints,
        st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1).map(lambda d: tuple(d.items())),
        st.none() | st.lists(term, max_size=3).map(tuple),
    )


def flavors() -> st.SearchStrategy[Flavor]:
    labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2)
    return st.builds(
        lambda labels, wanted: replace(a_flavor("f", labels=labels), requirements=tuple(wanted)),
        labels,
        st.lists(few_values(), max_size=3),
    )


def after(pod: Constraints, held: Narrowing) -> Constraints:
    """The pod as the release patch leaves it."""
    terms = pod.terms
    if terms is None and held.required:
        terms = (Term(held.required),)
    elif terms is not None:
        terms = tuple(
            Term((*term.expressions, *more), term.fields) for term, more in zip(terms, held.appended, strict=True)
        )
    return Constraints(tuple(sorted((*pod.node_selector, *held.node_labels))), terms)


@THOROUGH
@given(pods(), flavors())
def test_a_conflict_is_found_when_no_node_takes_both(pod: Constraints, flavor: Flavor) -> None:
    can_run = any(allows(pod, name, labels) and flavor.selects(labels) for name, labels in NODES)
    assert isinstance(narrow(pod, flavor), Narrowing) is can_run


@THOROUGH
@given(pods(), flavors())
def test_the_nodes_after_are_those_that_pod_and_flavor_allow(pod: Constraints, flavor: Flavor) -> None:
    held = narrow(pod, flavor)
    if isinstance(held, Conflict):
        return
    narrowed = after(pod, held)
    for name, labels in NODES:
        assert allows(narrowed, name, labels) is (allows(pod, name, labels) and flavor.selects(labels))


@THOROUGH
@given(pods(), flavors())
def test_twice_is_once(pod: Constraints, flavor: Flavor) -> None:
    held = narrow(pod, flavor)
    if isinstance(held, Conflict):
        return
    again = narrow(after(pod, held), flavor)
    assert isinstance(again, Narrowing)
    assert not again.node_labels
    assert not again.required
    assert not any(again.appended)


@THOROUGH
@given(pods(), flavors())
def test_nothing_is_added_that_could_be_left_out(pod: Constraints, flavor: Flavor) -> None:
    """Each requirement that is appended shuts out a node that the others and the labels would let in."""
    held = narrow(pod, flavor)
    if isinstance(held, Conflict):
        return
    labels = dict((*pod.node_selector, *flavor.node_labels))
    for term, more in zip(pod.terms or (Term(),), held.appended or (held.required,), strict=True):
        for index, one in enumerate(more):
            others = Term((*term.expressions, *more[:index]), ())
            candidates = [found for found in _LABELS if labels.items() <= found.items()]
            is_needed = any(
                (others.is_empty or others.matches("", found)) and not one.matches(found) for found in candidates
            )
            assert is_needed or one.operator.value in ("Gt", "Lt")
