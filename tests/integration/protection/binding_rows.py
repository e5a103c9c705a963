"""Rows of the table: Bindings, through `pods/binding` and the `bindings` of old."""

from __future__ import annotations

from controller.core.gate.protection import Rule
from controller.core.keys import FLAVOR, POLICIES, QUEUE_NAME
from tests.integration.protection.table import ALLOWED, IN_QUEUE_NAME, Bind, Refused, Row, Start, Who

BINDING = (
    *(
        Row(
            rule=Rule.BINDING_KEYS,
            name=f"a binding cannot bring {what}{through}",
            who=who,
            does=Bind(Start.RELEASED, metadata, is_legacy),
            outcome=Refused((path,)),
        )
        for is_legacy, through in ((False, ""), (True, " through `bindings`"))
        for what, who, metadata, path in (
            ("another queue", Who.EDITOR, {"labels": {QUEUE_NAME: "other"}}, *IN_QUEUE_NAME),
            ("a flavor", Who.EDITOR, {"labels": {FLAVOR: "x"}}, f"metadata.labels[{FLAVOR}]"),
            ("policies", Who.EDITOR, {"annotations": {POLICIES: "x"}}, f"metadata.annotations[{POLICIES}]"),
            ("an administrator's queue", Who.ADMINISTRATOR, {"labels": {QUEUE_NAME: "other"}}, *IN_QUEUE_NAME),
        )
    ),
    Row(
        rule=Rule.BINDING_KEYS,
        name="a binding may bring labels of others",
        does=Bind(Start.RELEASED, {"labels": {"app": "a"}}),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.BINDING_KEYS,
        name="a binding of the scheduler is none of our business",
        who=Who.SCHEDULER,
        does=Bind(Start.RELEASED, {}),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.BINDING_KEYS,
        name="the break-glass group may bind with what it likes",
        who=Who.BREAK_GLASS,
        does=Bind(Start.RELEASED, {"labels": {QUEUE_NAME: "other"}}),
        outcome=ALLOWED,
    ),
)
