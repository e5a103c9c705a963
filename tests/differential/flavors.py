"""Flavors at random, of the words that the pods of these tests are made of."""

from __future__ import annotations

from random import Random

from controller.core.kubernetes.labels import Operator, Requirement
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.queues import Flavor
from tests.differential import directives, words
from tests.differential.words import some


def a_flavor(random: Random) -> Flavor:
    labels = {random.choice(words.LEGAL_KEYS): random.choice(words.LEGAL_VALUES) for _ in some(random, 2)}
    found = [directives.node_requirement(random, legal=True) for _ in some(random, 3)]
    tolerations = [directives.toleration(random, legal=True) for _ in some(random, 2)]
    return Flavor(
        name="spot",
        node_labels=tuple(sorted(labels.items())),
        requirements=tuple(Requirement(r["key"], Operator(r["operator"]), tuple(r.get("values") or ())) for r in found),
        tolerations=tuple(
            Toleration(t["key"], t["operator"], t.get("value", ""), t.get("effect", ""), t.get("tolerationSeconds"))
            for t in tolerations
            # what a flavor may have: no numeric operators
            if t["operator"] in ("Equal", "Exists")
        ),
    )
