"""Texts at the edge of what Kubernetes takes. The rest: tests/differential."""

from __future__ import annotations

import pytest

from controller.core.kubernetes.names import is_dns_label, is_dns_subdomain, is_label_key, is_label_value


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("kata", True),
        ("kata-v2.example.com", True),
        ("", False),
        ("Kata", False),
        ("a/b", False),
        ("..", False),
        ("-a", False),
        ("a" * 253, True),
        ("a" * 254, False),
    ],
)
def test_names_are_dns_subdomains(text: str, *, good: bool) -> None:
    assert is_dns_subdomain(text) is good


@pytest.mark.parametrize(("text", "good"), [("a" * 63, True), ("a" * 64, False), ("a.b", False), ("a-b", True)])
def test_a_namespace_is_one_dns_label(text: str, *, good: bool) -> None:
    assert is_dns_label(text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("pool", True),
        ("example.com/Pool_1.a", True),
        (f"{'a' * 253}/{'b' * 63}", True),
        (f"{'a' * 254}/b", False),
        ("b" * 64, False),
        ("/pool", False),
        ("example.com/", False),
        ("a/b/c", False),
        ("a\n", False),
    ],
)
def test_a_label_key_may_have_a_prefix(text: str, *, good: bool) -> None:
    assert is_label_key(text) is good


@pytest.mark.parametrize(
    ("text", "good"), [("", True), ("v" * 63, True), ("v" * 64, False), ("-", False), ("a b", False)]
)
def test_a_label_value_is_short(text: str, *, good: bool) -> None:
    assert is_label_value(text) is good
