"""What people do by hand, object by object: what it changes, and when there is nothing to change."""

from __future__ import annotations

import pytest

from controller.core.keys import HELD, ON_TOP
from controller.core.queueing.operator_actions import (
    NOTE_MOST,
    ActionMarks,
    Change,
    Misplaced,
    Spared,
    Verb,
    change,
    note,
    told,
)

FREE, HELD_BY_JO, ON_TOP_BY_JO = ActionMarks(), ActionMarks(held="jo: audit"), ActionMarks(on_top="jo")
OPEN, STOPPED = ActionMarks(stop="None"), ActionMarks(held="jo: audit", stop="Hold")
DRAINED = ActionMarks(held="jo", stop="HoldAndDrain")


@pytest.mark.parametrize(
    ("verb", "standing", "expected"),
    [
        (Verb.HOLD, FREE, Change({HELD: "jane"})),
        (Verb.HOLD, ON_TOP_BY_JO, Change({HELD: "jane"})),
        (Verb.HOLD, HELD_BY_JO, Spared("is held already (jo: audit)")),
        (Verb.HOLD, ActionMarks(held=""), Spared("is held already")),
        (Verb.RELEASE, HELD_BY_JO, Change({HELD: None})),
        (Verb.RELEASE, ActionMarks(held=""), Change({HELD: None})),
        (Verb.RELEASE, FREE, Spared("is not held")),
        (Verb.TOP, FREE, Change({ON_TOP: "jane"})),
        (Verb.TOP, ON_TOP_BY_JO, Spared("is on top already (jo)")),
        (Verb.UNTOP, ON_TOP_BY_JO, Change({ON_TOP: None})),
        (Verb.UNTOP, HELD_BY_JO, Spared("is not on top")),
        (Verb.HOLD, OPEN, Change({HELD: "jane"}, "Hold")),
        (Verb.HOLD, STOPPED, Spared("has stopPolicy Hold already (jo: audit)")),
        (Verb.HOLD, ActionMarks(stop="Hold"), Spared("has stopPolicy Hold already")),
        (Verb.RELEASE, STOPPED, Change({HELD: None}, "None")),
        (Verb.HOLD, DRAINED, Spared("has stopPolicy HoldAndDrain already (jo)")),
        (Verb.RELEASE, OPEN, Spared("is open")),
        (Verb.RELEASE, DRAINED, Misplaced("is drained (jo): penstock open undoes that")),
        (Verb.DRAIN, OPEN, Change({HELD: "jane"}, "HoldAndDrain")),
        (Verb.DRAIN, STOPPED, Change({HELD: "jane"}, "HoldAndDrain")),
        (Verb.DRAIN, DRAINED, Spared("has stopPolicy HoldAndDrain already (jo)")),
        (Verb.OPEN, OPEN, Spared("is open")),
        (Verb.OPEN, DRAINED, Change({HELD: None}, "None")),
        (Verb.OPEN, STOPPED, Misplaced("is held (jo: audit): penstock release undoes that")),
    ],
)
def test_each_verb_is_undone_by_its_opposite(
    verb: Verb, standing: ActionMarks, expected: Change | Spared | Misplaced
) -> None:
    assert change(verb, standing, "jane") == expected


def test_a_note_says_who_and_why_on_one_short_line() -> None:
    assert (note("jane", ""), note("jane", "the audit")) == ("jane", "jane: the audit")
    assert told(" jane:\n the audit ") == "jane: the audit"
    assert told("x" * NOTE_MOST) == "x" * NOTE_MOST
    assert told("x" * (NOTE_MOST + 1)) == "x" * NOTE_MOST + "…"
