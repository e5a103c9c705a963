from __future__ import annotations

import contextlib
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.kubernetes.amounts import (
    CPU,
    MAX_VALUE,
    QuantityError,
    demand_amount,
    format_amount,
    parse_quantity,
    supply_amount,
)
from controller.core.kubernetes.labels import Requirement, contradictory_key
from tests.support.pod_update_rules import holds
from tests.support.strategies import NUMBERS, VALUES, requirement_document, requirements

BRIEF = settings(max_examples=200)
RESOURCES = st.sampled_from((CPU, "memory", "nvidia.com/gpu"))
QUANTITIES = st.from_regex(r"\A[0-9]{1,6}(\.[0-9]{0,6})?([numkMG]|[KMG]i|e-?[0-9]{1,2})?\Z")


@BRIEF
@given(RESOURCES, st.integers(0, MAX_VALUE // 1000))
def test_a_written_amount_reads_back_as_the_same(resource: str, amount: int) -> None:
    text = format_amount(resource, amount)
    assert demand_amount(resource, text) == supply_amount(resource, text) == amount


@BRIEF
@given(RESOURCES, QUANTITIES)
def test_demand_rounds_up_and_supply_rounds_down(resource: str, text: str) -> None:
    try:
        exact = parse_quantity(text) * (1000 if resource == CPU else 1)
    except QuantityError:
        return
    demand, supply = demand_amount(resource, text), supply_amount(resource, text)
    assert supply <= exact <= demand
    assert demand - supply == (0 if exact.denominator == 1 else 1)
    assert isinstance(exact, Fraction)


@BRIEF
@given(st.text(max_size=70))
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert 0 <= parse_quantity(text) <= MAX_VALUE


@settings(max_examples=500)
@given(st.lists(requirements(keys=("k",)), max_size=5))
def test_a_contradiction_is_found_exactly_when_no_value_will_do(wanted: list[Requirement]) -> None:
    """Brute force: every value that any requirement could tell from another, and none at all."""
    # a number can be written in more than one way, and NotIn knows only the one it names
    candidates = [
        *VALUES,
        *NUMBERS,
        "neither",
        *(f"{number:0{width}}" for number in range(11) for width in (1, 4)),
    ]
    worlds = [{}, *({"k": value} for value in candidates)]
    documents = [requirement_document(requirement) for requirement in wanted]
    can_hold = any(all(holds(document, labels) for document in documents) for labels in worlds)
    assert (contradictory_key(wanted) is None) is can_hold


@BRIEF
@given(requirements(), st.dictionaries(st.sampled_from(("pool", "zone")), st.sampled_from((*VALUES, *NUMBERS))))
def test_a_requirement_matches_as_an_independent_reading(requirement: Requirement, labels: dict[str, str]) -> None:
    assert requirement.matches(labels) is holds(requirement_document(requirement), labels)
