"""Applying a patch of our own: what it did not touch is shared, and nothing that was given is changed."""

from __future__ import annotations

import copy

from webhook.reviews.patching import applied


def test_neither_document_nor_operation_is_changed() -> None:
    document = {"spec": {"tolerations": [{"key": "a"}]}, "metadata": {"labels": {"x": "y"}}}
    operations = (
        {"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": {}}},
        {"op": "add", "path": "/spec/affinity/nodeAffinity/required", "value": [1]},
        {"op": "add", "path": "/spec/affinity/nodeAffinity/required/-", "value": 2},
        {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}},
        {"op": "remove", "path": "/metadata/labels/x"},
        {"op": "add", "path": "/metadata/labels/a~1b~0c", "value": "d"},
    )
    before = copy.deepcopy((document, operations))
    result = applied(document, operations)
    assert result == {
        "spec": {"tolerations": [{"key": "a"}, {"key": "b"}], "affinity": {"nodeAffinity": {"required": [1, 2]}}},
        "metadata": {"labels": {"a/b~c": "d"}},
    }
    assert (document, operations) == before


def test_what_is_not_on_the_way_to_a_change_is_shared() -> None:
    containers = [{"name": "main"}]
    result = applied({"spec": {"containers": containers}}, ({"op": "add", "path": "/spec/nodeName", "value": "n"},))
    assert result["spec"]["containers"] is containers
