"""The verdict table of the apiserver's rules, against our port of them: the oracle that other tests rely on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.pod_documents import a_pod_document
from tests.support.pod_update_rules import PREFERRED, REQUIRED, faults_of_update

Json = dict[str, Any]
X: Json = {"key": "x", "operator": "Exists"}
Y: Json = {"key": "y", "operator": "Exists"}
FIELD: Json = {"key": "metadata.name", "operator": "In", "values": ["n"]}
AB: Json = {"key": "x", "operator": "In", "values": ["a", "b"]}
A: Json = {"key": "x", "operator": "In", "values": ["a"]}
WEIGHTED = [{"weight": 1, "preference": {"matchExpressions": [X]}}]


def terms(*all_terms: Json) -> Json:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(all_terms)}}}}


def t(*expressions: Json, fields: tuple[Json, ...] = ()) -> Json:
    return {"matchExpressions": list(expressions), **({"matchFields": list(fields)} if fields else {})}


@pytest.mark.parametrize(
    ("old", "new", "is_legal"),
    [
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": "1", "b": "2"}}, True),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": "2"}}, False),
        ({"nodeSelector": {"a": "1"}}, {}, False),
        ({}, terms(t(X)), True),
        ({"affinity": {"nodeAffinity": {PREFERRED: WEIGHTED}}}, terms(t(X)), True),
        (terms(t(X)), terms(t(X), t(Y)), False),
        (terms(t(X)), terms(), False),
        (terms(t(X)), terms(t(X, Y)), True),
        (terms(t(X)), terms(t(Y, X)), False),
        (terms(t(X), t(Y)), terms(t(Y), t(X)), False),
        (terms(t(AB)), terms(t(A)), False),
        (terms(t(AB)), terms(t(AB, A)), True),
        (terms({}), terms(t(X)), False),
        (terms({}), terms({"matchExpressions": []}), True),
        (terms(t(fields=(FIELD,))), terms(t(X, fields=(FIELD,))), True),
        (terms(), terms(t(X)), True),
        ({}, {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}}, False),
        (
            {"schedulingGates": [{"name": "g"}, {"name": "h"}]},
            {"schedulingGates": [{"name": "h"}], **terms(t(X))},
            True,
        ),
        ({}, {"schedulingGates": [], **terms(t(X))}, True),
        ({"schedulingGates": []}, {"schedulingGates": [], **terms(t(X))}, False),
        ({"schedulingGates": []}, {"schedulingGates": [], "nodeSelector": {"a": "1"}}, False),
        ({}, {"schedulingGates": [{"name": "g"}, {"name": "new"}]}, False),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "a"}, {"key": "b"}]}, True),
        ({"tolerations": [{"key": "a"}], "schedulingGates": []}, {"tolerations": [{"key": "a"}, {}]}, True),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, False),
        ({}, {"nodeName": "n"}, False),
        ({}, {"schedulerName": "other"}, False),
    ],
)
def test_the_oracle_judges_as_the_apiserver_does(old: Json, new: Json, *, is_legal: bool) -> None:
    gated = {"schedulingGates": [{"name": "g"}]}
    new = {**({"schedulingGates": []} if old.get("schedulingGates") == [] else gated), **new}
    before, after = (a_pod_document(gates=(), spec=spec) for spec in ({**gated, **old}, new))
    assert (faults_of_update(before, after) == []) is is_legal
