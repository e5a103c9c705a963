"""Flavors that are not tried for a while: dry ones for nobody, others not for pods that came back from them."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.calendar.civil import utc_text
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker, DrySpell
from controller.core.workloads.shapes import Shape


def avoided(dry: Mapping[str, DrySpell], flavor: str, shape: Shape) -> Blocker | None:
    """Say why a flavor is not tried for pods of this shape now, and from when it is; None: it is tried."""
    spell = dry.get(flavor)
    if spell is not None:
        return Blocker(flavor, Reason.FLAVOR_DRY, detail=_told(spell.text, spell.until))
    for one in shape.unschedulable:
        if one.flavor == flavor:
            return Blocker(flavor, Reason.UNSCHEDULABLE, detail=_told(one.text, one.until))
    return None


def _told(text: str, until: float) -> str:
    return f"{text}; tried again from {utc_text(int(until))} on"
