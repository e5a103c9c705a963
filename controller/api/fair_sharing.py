"""Fair sharing as a ClusterQueue writes it, and as its status says it. The rules are `core.fair_turns`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StrictInt

from controller.api.base import Model, Status
from controller.api.rules import Rule, SchemaKeys
from controller.api.values import Quantity

ONLY_BELOW: Final = "goes only with spec.parent: without one there is nobody to share with"
HAS_SOMEBODY_TO_SHARE_WITH: Final = Rule(
    "!has(self.fairSharing) || !has(self.fairSharing.weight) || has(self.parent)",
    f"weight {ONLY_BELOW}",
    field_path=".fairSharing",
)


class FairSharing(Model):
    """How the queues of a tree take turns. On the root, even empty, it lets the whole tree share fairly."""

    weight: Annotated[
        Quantity | None,
        Field(
            description="What the queue counts for among the queues of its parent: its share is what it has borrowed, "
            "of all that it could get, divided by this. Left out: 1. Zero: as soon as it borrows, it goes after all "
            "others. Only with a parent, and only in effect where the root of the tree has fairSharing."
        ),
    ] = None


class FairSharingStatus(Status):
    """Where the queue stands among those of its parent."""

    weighted_share: Annotated[
        StrictInt,
        Field(
            description="What the queue has borrowed of each resource, in thousandths of what the queues of its parent "
            "could get at most; the largest of these, divided by the weight and rounded up. 9223372036854775807: the "
            "weight is zero.",
            ge=0,
        ),
        SchemaKeys(format="int64"),
    ] = 0
