"""Text for the columns of `kubectl get`."""

from __future__ import annotations

import pytest

from controller.runtime.summaries import amount_text, flavors_text, resources_text


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", 12_000, "12"),
        ("cpu", 12_560, "12.5"),
        ("cpu", 40, "0"),
        ("memory", 2**30 * 7 // 2, "3.5Gi"),
        ("memory", 2**40 - 1, "1023.9Gi"),
        ("memory", 1000, "1000"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("ephemeral-storage", 2**60, "1Ei"),
        ("nvidia.com/gpu", 2048, "2048"),
        ("pods", 110, "110"),
    ],
)
def test_an_amount_is_rounded_down_to_a_tenth(resource: str, amount: int, expected: str) -> None:
    assert amount_text(resource, amount) == expected


def test_cpu_and_devices_come_first_and_the_rest_is_counted() -> None:
    amounts = {"memory": (0, 2**30), "pods": (3, 9), "ephemeral-storage": (0, 1), "cpu": (0, 1000), "a.b/gpu": (1, 2)}
    assert resources_text(amounts) == "cpu 0/1, a.b/gpu 1/2, memory 0/1Gi +2"
    assert resources_text({}) == "0"


def test_flavors_are_named_where_there_are_several() -> None:
    one = {"cpu": (1000, 2000)}
    assert flavors_text({"spot": one}) == "cpu 1/2"
    assert flavors_text({"spot": one, "on-demand": {}}) == "spot cpu 1/2"
    assert flavors_text(dict.fromkeys("abcde", one)) == "a cpu 1/2; b cpu 1/2; c cpu 1/2 +2"
    assert [flavors_text({}), flavors_text({"spot": {}}), flavors_text({"a": {}, "b": {}})] == ["0", "0", "0"]
