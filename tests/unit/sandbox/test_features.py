"""What may be switched on in a sandbox: what each component needs, and which cannot work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click import Context

import webhook.__main__
from controller.sandbox import features

ALONE = [["pod-policies"], ["runtime-class"], ["scheduling-policies"]]
TOGETHER = [["pod-policies", "pod-template-policies"], ["default-scheduling-policies", "scheduling-policies"]]


def options(arguments: list[str]) -> Context:
    """What the webhook makes of them."""
    return webhook.__main__.main.make_context("webhook", arguments)


@pytest.mark.parametrize("asked", [*ALONE, *TOGETHER], ids="+".join)
def test_a_component_switches_its_step_of_the_webhook_on(asked: list[str]) -> None:
    assert features.trouble(asked) is None
    on = {name for name, value in options(features.webhook_arguments(asked)).params.items() if value is True}
    step = next(name for name in asked if name in {"pod-policies", "runtime-class", "scheduling-policies"})
    assert on == {{"runtime-class": "runtime_classes"}.get(step, step.replace("-", "_"))}


def test_every_component_is_known_to_work_or_refused() -> None:
    works = {"visibility"}.union(*ALONE, *TOGETHER)
    assert works == set(features.usable())
    assert set(features.names()) - works == {
        "cert-manager",
        "client-certificates",
        "dashboard",
        "history",
        "monitoring",
        "network-policy",
        "network-policy-history",
        "network-policy-notifications",
        "notifications",
        "provided-certificate",
        "quota-resources",
    }
    assert features.trouble(["cert-manager"]) == (
        "cert-manager cannot work here: a sandbox has no cert-manager, and the webhook there has the sandbox's own "
        "certificate; leave it out"
    )


def test_the_document_names_every_component_that_works() -> None:
    document = Path(__file__).resolve().parents[3] / "docs" / "sandbox.md"
    named = re.findall(r"^\| `--component ([a-z-]+)` \|", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == features.usable()


def test_the_visibility_api_needs_no_webhook() -> None:
    assert features.trouble(["visibility"]) is None
    assert features.webhook_arguments(["visibility"]) == []


@pytest.mark.parametrize("asked", TOGETHER, ids="+".join)
def test_what_does_nothing_alone_is_refused_with_what_it_needs(asked: list[str]) -> None:
    needed = next(name for name in asked if [name] in ALONE)
    (lacking,) = set(asked) - {needed}
    told = f"{lacking} does nothing without {needed}; add --component {needed}"
    assert features.trouble([lacking, "runtime-class"]) == told
