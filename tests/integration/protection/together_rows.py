"""Rows of the table: new pods of which several things are removed and added together, in maps that are there or not.

Each says all labels, annotations and gates that the pod has afterwards, so that both ways make the same pod of it.
"""

from __future__ import annotations

from controller.core.gate.protection import Rule
from controller.core.keys import (
    ADMITTED_AT,
    FLAVOR,
    GATE,
    KUEUE_GROUP,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
    KUEUE_REQUIRED_TOPOLOGY,
    KUEUE_SLICE_SIZE,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    USER,
)
from tests.integration.protection.table import (
    BY_KUEUE,
    GATED,
    ON_NODE,
    QUEUED_LABELS,
    STAMPS,
    Allowed,
    Create,
    Json,
    Row,
    Where,
    Who,
    joined,
)

ONLY_LABEL = {"labels": {FLAVOR: "spot"}}
ONLY_ANNOTATION = {"annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z"}}
NOTED = {"annotations": {USER: "jane"}}
KUEUE_LABELS = {"labels": {KUEUE_PRIORITY_CLASS: "high", KUEUE_GROUP: "train"}}
OUR_LABELS = {"labels": {PRIORITY_CLASS: "high", POD_GROUP: "train"}}
KUEUE_NOTES = {"annotations": {KUEUE_REQUIRED_TOPOLOGY: "zone", KUEUE_SLICE_SIZE: "2"}}
OUR_NOTES = {"annotations": {REQUIRED_TOPOLOGY: "zone", SLICE_SIZE: "2"}}
ANOTHER_GATE = {"schedulingGates": [{"name": "example.com/wait"}]}


def _row(name: str, does: Create, metadata: Json, gates: tuple[str, ...] = (GATE,)) -> Row:
    return Row(
        rule=Rule.GATE_REQUIRED,
        name=name,
        who=Who.ADMINISTRATOR,
        does=does,
        outcome=Allowed(metadata=metadata, gates=gates),
    )


TOGETHER = (
    _row(
        "without labels and annotations: both maps are made",
        Create(where=Where.DEFAULTED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with empty maps: they are filled",
        Create({"labels": {}, "annotations": {}}, where=Where.DEFAULTED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with a stamp for its only label: the queue comes in its place",
        Create(ONLY_LABEL, where=Where.DEFAULTED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with a stamp for its only annotation: the user comes in its place",
        Create(joined(QUEUED_LABELS, ONLY_ANNOTATION)),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with stamps alone in both maps",
        Create(STAMPS, where=Where.DEFAULTED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with stamps, another's user, and keys of its own, which stay",
        Create(joined(STAMPS, {"labels": {"app": "a"}, "annotations": {USER: "victim", "note": "b"}}, QUEUED_LABELS)),
        joined({"labels": {"app": "a"}}, QUEUED_LABELS, {"annotations": {USER: "jane", "note": "b"}}),
    ),
    _row(
        "with labels of Kueue and no annotations",
        Create(joined(BY_KUEUE, KUEUE_LABELS), where=Where.KUEUE),
        joined(BY_KUEUE, KUEUE_LABELS, QUEUED_LABELS, OUR_LABELS, NOTED),
    ),
    _row(
        "with annotations of Kueue and no others",
        Create(joined(BY_KUEUE, KUEUE_NOTES), where=Where.KUEUE),
        joined(BY_KUEUE, KUEUE_NOTES, QUEUED_LABELS, OUR_NOTES, NOTED),
    ),
    _row(
        "with annotations of Kueue and no labels, so that the default queue counts",
        Create(KUEUE_NOTES, where=Where.KUEUE),
        joined({"labels": {QUEUE_NAME: "other"}}, KUEUE_NOTES, OUR_NOTES, NOTED),
    ),
    _row(
        "with stamps beside all that Kueue says",
        Create(joined(STAMPS, BY_KUEUE, KUEUE_LABELS, KUEUE_NOTES), where=Where.KUEUE),
        joined(BY_KUEUE, KUEUE_LABELS, KUEUE_NOTES, QUEUED_LABELS, OUR_LABELS, OUR_NOTES, NOTED),
    ),
    _row(
        "with what Kueue says where nobody has that accepted: only our keys are touched",
        Create(joined(STAMPS, {"labels": {KUEUE_QUEUE: "x"}}, KUEUE_NOTES), where=Where.DEFAULTED),
        joined({"labels": {KUEUE_QUEUE: "x"}}, KUEUE_NOTES, QUEUED_LABELS, NOTED),
    ),
    _row(
        "with a gate of somebody else: ours comes after it",
        Create(ONLY_LABEL, ANOTHER_GATE, where=Where.DEFAULTED),
        joined(QUEUED_LABELS, NOTED),
        ("example.com/wait", GATE),
    ),
    _row(
        "with our gate already: there is one",
        Create(joined(QUEUED_LABELS, ONLY_ANNOTATION), GATED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with queue, gate and user as they should be: nothing is to be done",
        Create(joined(QUEUED_LABELS, NOTED), GATED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with queue and gate, and another's user",
        Create(joined(QUEUED_LABELS, {"annotations": {USER: "victim"}}), GATED),
        joined(QUEUED_LABELS, NOTED),
    ),
    _row(
        "with queue, gate and user, and a label of Kueue that is not taken over yet",
        Create(joined(QUEUED_LABELS, NOTED, KUEUE_LABELS), GATED, where=Where.KUEUE),
        joined(QUEUED_LABELS, NOTED, KUEUE_LABELS, OUR_LABELS),
    ),
    _row(
        "with queue, gate and user, and an annotation of Kueue that is not taken over yet",
        Create(joined(QUEUED_LABELS, NOTED, KUEUE_NOTES), GATED, where=Where.KUEUE),
        joined(QUEUED_LABELS, NOTED, KUEUE_NOTES, OUR_NOTES),
    ),
    _row(
        "on a node in a namespace with a default queue: stamps go, and nothing comes",
        Create(STAMPS, ON_NODE, where=Where.DEFAULTED),
        {},
        (),
    ),
)
