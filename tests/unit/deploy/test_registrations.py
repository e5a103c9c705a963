"""What all registrations of the webhook promise, those of components too: nobody who goes is ever kept by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.kube.manifests import load_documents
from webhook.trust.registrations import NAMES

CONFIG = Path(__file__).resolve().parents[3] / "config"
UPDATES = [
    pytest.param(entry, id=entry["name"])
    for document in load_documents(CONFIG)
    if document["kind"].endswith("WebhookConfiguration")
    for entry in document["webhooks"]
    if any("UPDATE" in rule["operations"] for rule in entry["rules"])
]
GOING = {"!has(object.metadata.deletionTimestamp)"}
TO_THE_END = {
    "updates.penstock.dev": "touches-what-is-ours",
    "updates-of-jobs.penstock.dev": "touches-what-is-ours",
    "resizes.penstock.dev": "is-ours",
}
"""A pod may run on for a long grace period, and stays charged: what it must not touch meanwhile, by what condition."""


@pytest.mark.parametrize("entry", UPDATES)
def test_updates_of_deleted_objects_are_shown_if_they_are_ours(entry: dict[str, Any]) -> None:
    conditions = {condition["name"]: condition["expression"] for condition in entry["matchConditions"]}
    if entry["name"] in TO_THE_END:
        assert TO_THE_END[entry["name"]] in conditions
        assert "finalizers" not in str(conditions)
    else:
        assert set(conditions.values()) >= GOING


def test_deletion_itself_is_shown_to_nobody() -> None:
    entries = [
        entry
        for document in load_documents(CONFIG)
        if document["kind"].endswith("WebhookConfiguration")
        for entry in document["webhooks"]
    ]
    assert len(entries) > len(UPDATES) > 0
    for entry in entries:
        assert all({"DELETE", "*"}.isdisjoint(rule["operations"]) for rule in entry["rules"]), entry["name"]


def test_the_webhook_has_every_registration_trust_it() -> None:
    named: dict[str, set[str]] = {}
    for document in load_documents(CONFIG):
        if document["kind"].endswith("WebhookConfiguration"):
            assert all("service" in entry["clientConfig"] for entry in document["webhooks"])
            named.setdefault(f"{document['kind'].lower()}s", set()).add(document["metadata"]["name"])
    assert {kind: set(names) for kind, names in NAMES.items()} == named
    (role,) = [one for one in load_documents(CONFIG / "server") if one["kind"] == "ClusterRole"]
    (rule,) = role["rules"]
    assert set(rule["resources"]) == named.keys()
    assert set(rule["resourceNames"]) == set().union(*named.values())
    assert set(rule["verbs"]) == {"get", "update"}
