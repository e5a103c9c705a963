from __future__ import annotations

import contextlib
import time
from fractions import Fraction

import pytest

from controller.core.kubernetes.amounts import (
    MAX_VALUE,
    QuantityError,
    as_requests,
    demand_amount,
    format_amount,
    parse_quantity,
    supply_amount,
    supply_amounts,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("2", 2),
        (2, 2),
        ("+1", 1),
        ("-0", 0),
        ("-0.0", 0),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("007", 7),
        ("500m", Fraction(1, 2)),
        ("100u", Fraction(1, 10**4)),
        ("0.1n", Fraction(1, 10**10)),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1.5Mi", 3 * 2**19),
        ("1Gi", 2**30),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("7Ei", 7 * 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("12e-3", Fraction(12, 1000)),
        ("1.5e1", 15),
        (str(MAX_VALUE), MAX_VALUE),
        ("1e-999", Fraction(1, 10**999)),
    ],
)
def test_a_quantity_is_read_exactly(text: str | int, value: int | Fraction) -> None:
    assert value == parse_quantity(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "+",
        "-",
        "m",
        "1 ",
        " 1",
        "1\n",
        "1 Gi",
        "1g",
        "1K",
        "1ki",
        "1Mib",
        "1mm",
        "1e",
        "1e1.5",
        "1e3Ki",
        "1Ei3",
        "1.2.3",
        "..5",
        "--1",
        "+-1",
        "0x10",
        "1_000",
        "1,5",
        "inf",
        "nan",
        "\u0663",
        "\uff11",
        "\u00b2",
        "1e1000",
        "0" * 65,
    ],
)
def test_what_is_no_quantity_is_refused_with_the_text_quoted(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity; write a number such as") as caught:
        parse_quantity(text)
    assert repr(text[:64]) in str(caught.value)


@pytest.mark.parametrize("text", ["-1", "-1m", "-0.5", "-1e-9", -1])
def test_a_negative_quantity_is_refused(text: str | int) -> None:
    with pytest.raises(QuantityError, match=rf"'{text}' is negative; the least is 0"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["1e30", "8Ei", "10E", str(MAX_VALUE + 1), "1e999", "9223372036854775807.1"])
def test_a_quantity_above_what_kubernetes_keeps_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match=r"is too large; the most is 9223372036854775807 \(2\^63-1\)"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "9" * 100_000, "1" + "0" * 64, "1e999", "1e-999"])
def test_a_huge_quantity_costs_no_time(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(QuantityError):
        demand_amount("cpu", text)
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize(
    ("resource", "text", "demand", "supply"),
    [
        ("cpu", "1", 1000, 1000),
        ("cpu", "500m", 500, 500),
        ("cpu", "0.1n", 1, 0),
        ("cpu", "1.0001", 1001, 1000),
        ("cpu", "999u", 1, 0),
        ("memory", "1Gi", 2**30, 2**30),
        ("memory", "100m", 1, 0),
        ("memory", "1.5", 2, 1),
        ("nvidia.com/gpu", "1", 1, 1),
        ("pods", "0", 0, 0),
    ],
)
def test_demand_rounds_up_and_supply_rounds_down(resource: str, text: str, demand: int, supply: int) -> None:
    assert (demand, supply) == (demand_amount(resource, text), supply_amount(resource, text))


def test_supplies_name_the_resource_that_is_wrong() -> None:
    assert supply_amounts({"cpu": "1.5", "memory": "1Ki"}) == {"cpu": 1500, "memory": 1024}
    with pytest.raises(QuantityError, match=r"^memory: '1Q' is not a quantity"):
        supply_amounts({"cpu": "1", "memory": "1Q"})


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 500, "500m"),
        ("cpu", 1000, "1"),
        ("cpu", 12_345, "12345m"),
        ("memory", 0, "0"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 3 * 2**29, "1536Mi"),
        ("memory", 2**60, "1Ei"),
        ("memory", 10**9, "1000000000"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_an_amount_is_written_in_the_largest_exact_unit(resource: str, amount: int, text: str) -> None:
    assert text == format_amount(resource, amount)


def test_requests_are_sorted_and_without_zeros() -> None:
    assert as_requests({"pods": 1, "memory": 0, "cpu": 1}) == (("cpu", 1), ("pods", 1))
