"""What pods in the differential tests are made of: values that rules tell apart, legal and not, by the field's name."""

from __future__ import annotations

from random import Random
from typing import Any, Final

Json = dict[str, Any]

LEGAL_KEYS: Final = ("a", "b", "example.com/zone")
ODD_KEYS: Final = ("", "no key", "-a", "x" * 64, "a/b/c", "/a", "a/", "Upper.com/a", "y" * 254 + "/a", "ä")
LEGAL_VALUES: Final = ("", "1", "2", "spot")
ODD_VALUES: Final = ("-1", "no value", "v" * 64, "a/b", "ü")
KEYS: Final = LEGAL_KEYS * 6 + ODD_KEYS
VALUES: Final = LEGAL_VALUES * 6 + ODD_VALUES
NODE_NAMES: Final = ("node-1", "node-2", "node-1", "Node", "", "n" * 254)
OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt") * 4 + ("", "Near")
SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist") * 4 + ("", "Gt")
TOLERATION_OPERATORS: Final = ("Equal", "Exists", "Exists", "", "Equal", "Lt", "Gt", "Near")
EFFECTS: Final = ("NoSchedule", "NoExecute", "NoExecute", "PreferNoSchedule", "", "NoEntry")
SECONDS: Final = (None, None, None, 0, 30, -1)
WEIGHTS: Final = (1, 50, 100, 1, 50, 100, 0, 101, -1)
GATES: Final = ("penstock.dev/queue", "example.com/gate", "other") * 3 + ("", "no gate", "a/b/c")
NAMESPACES: Final = ("default", "team-a", "default", "Team", "")
COMPARED: Final = ("0", "7", "-7", "07", "-", "", "1" * 19, "9223372036854775808", "-9223372036854775808", "1.5")

WORDS: Final[dict[str, tuple[Any, ...]]] = {
    "key": KEYS,
    "value": VALUES + COMPARED,
    "values": VALUES + NODE_NAMES,
    "effect": EFFECTS,
    "tolerationSeconds": SECONDS[3:],
    "weight": WEIGHTS,
    "topologyKey": KEYS,
    "namespaces": NAMESPACES,
    "matchLabelKeys": KEYS,
    "mismatchLabelKeys": KEYS,
    "maxSkew": (1, 2, 0, -1),
    "minDomains": (1, 2, 0, -1),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway", "Wait", ""),
    "nodeAffinityPolicy": ("Honor", "Ignore", "Maybe", ""),
    "nodeTaintsPolicy": ("Honor", "Ignore", "Maybe", ""),
    "operator": OPERATORS + TOLERATION_OPERATORS,
    "name": GATES,
}
"""For leaves that are changed where they stand, in whatever part of the directives."""


def chance(random: Random, percent: int) -> bool:
    """Say yes in so many of a hundred cases."""
    return random.randrange(100) < percent


def some(random: Random, most: int, least: int = 0) -> range:
    """A number of times, small ones more often."""
    return range(min(random.randint(least, most), random.randint(least, most)))
