"""Rows of the table: pods that are resized."""

from __future__ import annotations

from controller.core.gate.protection import Rule
from tests.integration.protection.table import ALLOWED, IN_CPU, Refused, Row, Start, Update, Who, resources

RESIZE = (
    *(
        Row(
            rule=Rule.NO_GROWTH,
            name=f"a {start} pod cannot grow{by}",
            who=who,
            does=Update(start, resources({"cpu": "2"}), "resize"),
            outcome=Refused(IN_CPU),
        )
        for who, by in ((Who.EDITOR, ""), (Who.ADMINISTRATOR, ", whoever administers"))
        for start in (Start.QUEUED, Start.RELEASED)
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a thousandth more is growth, however it is written",
        does=Update(Start.RELEASED, resources({"cpu": "1001m"}), "resize"),
        outcome=Refused(IN_CPU),
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="the same amount written otherwise is no growth",
        does=Update(Start.RELEASED, resources({"cpu": "1000m"}), "resize"),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a request that was not there is growth",
        does=Update(Start.RELEASED, resources({"memory": "1Mi"}), "resize"),
        outcome=Refused(("spec.containers[main].resources.requests.memory",)),
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a request of nothing that was not there is no growth",
        does=Update(Start.RELEASED, resources({"memory": "0"}), "resize"),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a limit that was not there brings a request, which is growth",
        does=Update(Start.RELEASED, resources({}, {"memory": "1Mi"}), "resize"),
        outcome=Refused(("spec.containers[main].resources.requests.memory",)),
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a limit alone is not charged",
        does=Update(Start.RELEASED, resources({}, {"cpu": "4"}), "resize"),
        outcome=ALLOWED,
    ),
    *(
        Row(
            rule=Rule.NO_GROWTH,
            name=f"a {start} pod may shrink",
            does=Update(start, resources({"cpu": "500m"}), "resize"),
            outcome=ALLOWED,
        )
        for start in (Start.QUEUED, Start.RELEASED)
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a pod that names no queue may grow",
        does=Update(Start.FOREIGN, resources({"cpu": "2"}), "resize"),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="the break-glass group may let a pod grow",
        who=Who.BREAK_GLASS,
        does=Update(Start.RELEASED, resources({"cpu": "2"}), "resize"),
        outcome=ALLOWED,
    ),
)
