"""The exceptions of `make rights` are rights that the roles in config/ give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from controller.kube.manifests import load_documents
from deploy.generate import ROOT
from tests.support.rights import HOME, REFUSED, UNUSED, Given, compare, given, is_fallback

ADMISSION = "admissionregistration.k8s.io"


@pytest.mark.parametrize("one", [*UNUSED, *REFUSED], ids=str)
def test_an_exception_is_a_right_of_the_account(one: Given) -> None:
    assert one in given()


def test_no_role_gives_what_another_one_gives_always() -> None:
    # of optional features each may be on alone
    assert {one.resource for one, times in given().items() if times > 1} == {"runtimeclasses.node.k8s.io"}


def test_uninstalling_may_delete_all_that_is_ours_and_no_more() -> None:
    text = (ROOT / "deploy" / "chart" / "templates" / "uninstall.yaml").read_text()
    rules = yaml.safe_load(text[text.index("rules:") : text.index("---\n")])["rules"]
    (named,) = (one["resourceNames"] for one in rules if ADMISSION in one["apiGroups"] and one["verbs"] == ["delete"])
    documents = load_documents(ROOT / "config")
    ours = {one["metadata"]["name"] for one in documents if one["apiVersion"].startswith(f"{ADMISSION}/")}
    assert set(named) == ours


def an_entry(one: Given, decision: str = "allow") -> dict[str, Any]:
    name, _, group = one.resource.partition(".")
    resource, _, subresource = name.partition("/")
    return {
        "verb": one.verb,
        "user": {"username": f"system:serviceaccount:{HOME}:{one.account}"},
        "requestURI": "/somewhere",
        "objectRef": {"resource": resource, "subresource": subresource, "apiGroup": group},
        "annotations": {"authorization.k8s.io/decision": decision},
    }


def compared(folder: Path, *entries: dict[str, Any]) -> list[str]:
    (folder / "one.log").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in entries))
    return compare(folder)


def test_rights_that_are_used_are_neither_missing_nor_too_many(tmp_path: Path) -> None:
    rights = given()
    used = [one for one in rights if one not in UNUSED and not is_fallback(one, rights)]
    assert compared(tmp_path, *map(an_entry, used)) == []

    (exception, *_), evict = UNUSED, Given("penstock-controller", "pods/eviction", "create")
    delete = Given("penstock-controller", "pods", "delete")
    entries = [*(an_entry(one) for one in (*used, exception) if one != evict), an_entry(delete, "forbid")]
    assert compared(tmp_path, *entries) == [
        f"refused: {delete} (/somewhere): no rule allows it",
        f"never used: {evict}",
        f"used, so no exception: {exception}",
    ]
