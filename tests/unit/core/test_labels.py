from __future__ import annotations

import pytest

from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement, contradictory_key
from tests.support.builders import a_requirement, a_term


@pytest.mark.parametrize(
    ("requirement", "value", "matches"),
    [
        ("k In a,b", "a", True),
        ("k In a,b", "c", False),
        ("k In a,b", None, False),
        ("k In", "a", False),
        ("k NotIn a,b", "a", False),
        ("k NotIn a,b", "c", True),
        ("k NotIn a,b", None, True),
        ("k Exists", "", True),
        ("k Exists", None, False),
        ("k DoesNotExist", "a", False),
        ("k DoesNotExist", None, True),
        ("k Gt 4", "5", True),
        ("k Gt 4", "4", False),
        ("k Gt 4", "-5", False),
        ("k Gt -5", "-4", True),
        ("k Gt 4", "05", True),
        ("k Gt 4", None, False),
        ("k Gt 4", "five", False),
        ("k Gt 4", "", False),
        ("k Gt 4", "5.0", False),
        ("k Gt 4", "1_0", False),
        ("k Gt 4", "\u0665", False),
        ("k Gt 4", "99999999999999999999", False),
        ("k Gt four", "5", False),
        ("k Gt 4,5", "9", False),
        ("k Gt", "9", False),
        ("k Lt 4", "3", True),
        ("k Lt 4", "4", False),
        ("k Lt 4", None, False),
        ("k Lt 4", "-99999999999999999999", False),
        ("k Lt 9223372036854775807", "9223372036854775806", True),
        ("k Lt 9223372036854775808", "5", False),
        ("k Gt -9223372036854775808", "5", True),
        ("k Gt -9223372036854775809", "5", False),
        ("k Gt 4", " 5", False),
        ("k Gt 4", "+5", True),
        ("k Gt 4", "0" * 5000 + "5", True),
        ("k Gt 4", "9" * 5000, False),
    ],
)
def test_a_requirement_matches_as_in_kubernetes(requirement: str, value: str | None, *, matches: bool) -> None:
    labels = {"other": "x"} if value is None else {"k": value}
    assert matches is a_requirement(requirement).matches(labels)


@pytest.mark.parametrize(
    ("expressions", "fields", "matches"),
    [
        ((), (), False),
        (("pool In spot",), (), True),
        (("pool In spot", "gpu Exists"), (), False),
        ((), ("metadata.name In node-1",), True),
        ((), ("metadata.name NotIn node-1",), False),
        (("pool In spot",), ("metadata.name In node-2",), False),
        (("pool In spot",), ("metadata.name In node-1",), True),
        (("metadata.name In node-1",), (), False),
        ((), ("pool In spot",), False),
    ],
)
def test_a_term_holds_when_all_of_it_does_and_never_when_empty(
    expressions: tuple[str, ...], fields: tuple[str, ...], *, matches: bool
) -> None:
    term = a_term(*expressions, fields=fields)
    assert matches is term.matches("node-1", {"pool": "spot"})
    assert term.is_empty is (expressions == () and fields == ())


def test_a_selector_without_requirements_selects_all() -> None:
    assert LabelSelector().matches({})
    assert not LabelSelector((a_requirement("team In a"),)).matches({})


@pytest.mark.parametrize(
    ("requirements", "key"),
    [
        ((), None),
        (("k In a", "k In b"), "k"),
        (("k In a,b", "k In b,c"), None),
        (("k In a,b", "k In b", "k NotIn b"), "k"),
        (("k In a", "k NotIn a"), "k"),
        (("k In a", "k DoesNotExist"), "k"),
        (("k Exists", "k DoesNotExist"), "k"),
        (("k NotIn a", "k DoesNotExist"), None),
        (("k Exists", "k NotIn a,b"), None),
        (("k In 3,9", "k Gt 5"), None),
        (("k In 3,9", "k Gt 9"), "k"),
        (("k In a,b", "k Gt 1"), "k"),
        (("k Gt 4", "k Lt 5"), "k"),
        (("k Gt 4", "k Lt 6"), None),
        (("k Gt 4", "k Lt 7", "k NotIn 5"), None),
        (("k Gt 4", "k Lt 6", "k NotIn 5"), None),
        (("k Gt 9223372036854775807",), "k"),
        (("k Lt 1",), None),
        (("k Lt 0",), "k"),
        (("k Gt -5", "k Lt 1"), None),
        (("k Gt -5", "k Lt 0"), "k"),
        (("k Gt 4", "k Gt 8", "k Lt 9"), "k"),
        (("k Gt 4",), None),
        (("k Lt 4",), None),
        (("k Gt 4", "k DoesNotExist"), "k"),
        (("k Gt x",), "k"),
        (("k Lt x",), "k"),
        (("k Gt",), "k"),
        (("k Lt 4,5",), "k"),
        (("z In a", "z In b", "b In a", "b In c"), "b"),
        (("a In 1", "b In 2"), None),
    ],
)
def test_the_first_key_that_nothing_can_meet_is_named(requirements: tuple[str, ...], key: str | None) -> None:
    assert key == contradictory_key(map(a_requirement, requirements))


@pytest.mark.parametrize(
    ("expressions", "fields", "text"),
    [
        (("k Exists",), ("metadata.name In n",), "k Exists and metadata.name In [n]"),
        (("k In 1,2,3,4,5,6,7,8",), (), "k In [1, 2, 3, 4, 5, 6, 7, 8]"),
        (("k In 1,2,3,4,5,6,7,8,9",), (), "k In [1, 2, 3, 4, 5, 6, 7, 8, 1 more]"),
        ((), (), "no node"),
    ],
)
def test_a_term_is_written_for_people(expressions: tuple[str, ...], fields: tuple[str, ...], text: str) -> None:
    assert a_term(*expressions, fields=fields).text == text


def test_long_lists_of_values_are_compared_in_no_time() -> None:
    # by searching one list for each value of the other this would take an hour
    values = tuple(map(str, range(300_000)))
    listed, unlisted = Requirement("k", Operator.IN, values), Requirement("k", Operator.NOT_IN, values)
    assert contradictory_key([listed, unlisted]) == "k"
    assert contradictory_key([listed, Requirement("k", Operator.NOT_IN, values[1:])]) is None
