from __future__ import annotations

from typing import Any

import pytest

from controller.core.gate.narrowing import Conflict, Narrowing, narrow
from controller.core.kubernetes.taints import Toleration
from controller.core.workloads.shapes import Constraints
from tests.support.builders import a_flavor, a_requirement, a_term, constraints

SPOT = a_flavor("spot", labels={"pool": "spot"}, requirements=["zone In a,b", "gpu Exists"])
ANY = Toleration("spot", "Exists")


def narrowed(pod: Constraints, **flavor: Any) -> Narrowing:
    found = narrow(pod, a_flavor("f", **{"labels": {}, **flavor}))
    assert isinstance(found, Narrowing)
    return found


def appended(pod: Constraints, *wanted: str, **flavor: Any) -> list[list[str]]:
    terms = narrowed(pod, requirements=wanted, **flavor).appended
    return [[f"{one.key} {one.operator} {','.join(one.values)}".strip() for one in term] for term in terms]


def test_a_pod_that_says_nothing_gets_all_of_it() -> None:
    found = narrow(constraints(), SPOT)
    assert found == Narrowing((("pool", "spot"),), (), (a_requirement("zone In a,b"), a_requirement("gpu Exists")), ())


def test_a_free_key_is_given_and_one_that_is_there_is_not() -> None:
    pod = constraints(selector={"a": "1"})
    assert narrowed(pod, labels={"a": "1", "b": "2"}).node_labels == (("b", "2"),)


@pytest.mark.parametrize(
    ("own", "wanted", "added"),
    [
        ("zone In a", "zone In a,b", []),
        ("zone In b,a", "zone In a,b", []),
        ("zone In a,b", "zone In a", ["zone In a"]),
        ("zone In a", "zone Exists", []),
        ("zone Gt 3", "zone Exists", []),
        ("zone Gt 3", "zone Gt 3", []),
        ("zone Gt 3", "zone Gt 2", ["zone Gt 2"]),
        ("zone In 7", "zone Lt 9", ["zone Lt 9"]),
        ("zone In a", "zone NotIn b", []),
        ("zone NotIn a,b", "zone NotIn a", []),
        ("zone NotIn a", "zone NotIn a,b", ["zone NotIn a,b"]),
        ("zone DoesNotExist", "zone NotIn a", []),
        ("zone DoesNotExist", "zone DoesNotExist", []),
        ("zone NotIn a", "zone DoesNotExist", ["zone DoesNotExist"]),
        ("other In a", "zone In a", ["zone In a"]),
    ],
)
def test_what_a_term_implies_is_not_added_to_it(own: str, wanted: str, added: list[str]) -> None:
    assert appended(constraints(terms=[a_term(own)]), wanted) == [added]


def test_what_the_node_selector_implies_is_not_added_to_a_term() -> None:
    assert appended(constraints(selector={"zone": "a"}, terms=[a_term("b Exists")]), "zone In a,b") == [[]]
    assert appended(constraints(terms=[a_term("b Exists")]), "zone In a,b", labels={"zone": "a"}) == [[]]
    assert narrowed(constraints(selector={"zone": "a"}), requirements=["zone Exists"]).required == ()


def test_a_requirement_that_another_one_implies_is_added_once() -> None:
    assert appended(constraints(terms=[a_term("b Exists")]), "zone In a", "zone Exists", "zone In a") == [["zone In a"]]


def test_every_term_but_the_empty_ones_is_narrowed() -> None:
    pod = constraints(terms=[a_term("zone In a"), a_term(), a_term(fields=["metadata.name In n"])])
    assert appended(pod, "zone In a,b", "gpu Exists") == [["gpu Exists"], [], ["zone In a,b", "gpu Exists"]]


def test_a_term_that_cannot_hold_stays_beside_one_that_can() -> None:
    pod = constraints(terms=[a_term("zone In c"), a_term("zone In a")])
    assert appended(pod, "zone In a,b") == [["zone In a,b"], []]


def test_a_term_that_matches_no_node_is_left_as_it_is() -> None:
    pod = constraints(terms=[a_term("pool In steady"), a_term("zone In a")])
    assert appended(pod, "gpu Exists", labels={"pool": "spot"}) == [[], ["gpu Exists"]]


def test_a_term_whose_fields_match_no_node_is_left_as_it_is() -> None:
    pod = constraints(terms=[a_term(fields=["metadata.name In n", "metadata.name NotIn n"]), a_term("zone In a")])
    assert appended(pod, "gpu Exists") == [[], ["gpu Exists"]]


@pytest.mark.parametrize("wanted", ["zone Gt 3", "zone Lt 3"])
def test_a_term_for_nodes_without_a_label_gets_its_bound(wanted: str) -> None:
    pod = constraints(terms=[a_term("zone DoesNotExist"), a_term("b Exists")])
    assert appended(pod, wanted) == [[wanted], [wanted]]


def test_tolerations_are_given_once_and_only_when_missing() -> None:
    other = Toleration("a", "Exists")
    assert narrowed(constraints(tolerations=[ANY]), tolerations=[ANY, other, other]).tolerations == (other,)


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (
            constraints(selector={"pool": "steady"}),
            "contradicts it on pool (the pod: pool=steady; the flavor: pool=spot)",
        ),
        (
            constraints(terms=[a_term("zone NotIn a,b,c", "pool Exists")]),
            "contradicts it on zone (the pod: zone NotIn [a, b, c]; the flavor: zone In [a, b])",
        ),
        (
            constraints(terms=[a_term("gpu DoesNotExist"), a_term("zone In c")]),
            "contradicts it on gpu (the pod: gpu DoesNotExist; the flavor: gpu Exists), in the first of its 2 terms",
        ),
        (
            constraints(terms=[a_term("zone Gt 4", "zone Lt 9")]),
            "contradicts it on zone (the pod: zone Gt [4] and zone Lt [9]; the flavor: zone In [a, b])",
        ),
        (
            constraints(selector={"k": "1"}, terms=[a_term("k In 2")]),
            "contradicts itself on k (the pod: k=1 and k=2)",
        ),
        (
            constraints(terms=[a_term(fields=["metadata.name In n", "metadata.name NotIn n"])]),
            "contradicts itself on metadata.name (the pod: metadata.name=n and metadata.name NotIn [n])",
        ),
        (constraints(terms=[a_term(), a_term()]), "has only empty terms, which match no node"),
        (constraints(terms=[]), "has only empty terms, which match no node"),
    ],
)
def test_a_conflict_names_key_and_values(pod: Constraints, text: str) -> None:
    assert narrow(pod, SPOT) == Conflict(f"the pod's own node selector or affinity {text}")
