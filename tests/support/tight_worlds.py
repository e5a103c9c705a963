"""Worlds in which room and quota are short now and are not then: for the cache's state machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from controller.core.kubernetes.nodes import Node
from controller.core.queueing.effective import FIXED, Override, Variation, WrittenQuota
from controller.core.queueing.mix import Mix
from controller.core.queueing.queues import ClusterQueue, FlavorMode, QueueingStrategy
from controller.core.queueing.shares import Amount, Share
from tests.support.builders import HOLD, a_cluster_queue, a_node, a_quota, a_shape
from tests.support.strategies import cluster_queues, nodes, shapes
from tests.support.zones import a_window

SHAPES = st.one_of(shapes(), *[st.just(a_shape(cpu=cpu)) for cpu in ("1", "2", "3", "4")])
"""Mostly pods that could run anywhere: what matters here is room that is short, not rules that exclude."""


@st.composite
def tight_nodes(draw: st.DrawFn, name: str) -> Node:
    """Nodes on which a few pods fit; now and then any node at all."""
    if draw(st.integers(0, 4)) == 0:
        return draw(nodes(name))
    labels = {"pool": draw(st.sampled_from(("spot", "steady"))), "zone": "a"}
    return a_node(name, labels=labels, cpu=draw(st.sampled_from(("2", "4"))), memory="16Gi")


@st.composite
def tight_queues(draw: st.DrawFn, name: str) -> ClusterQueue:
    """Best-effort queues of one or two node flavors, with quota that is now the shortage and now is not."""
    if draw(st.integers(0, 4)) == 0:
        return draw(cluster_queues(name))
    names = draw(st.sampled_from((("spot",), ("spot", "steady"), ("steady", "spot"))))
    given = {"memory": "64Gi"}
    quotas = [a_quota(one, cpu=draw(st.sampled_from(("2", "4", "64"))), **given) for one in names]
    mode = draw(st.sampled_from((*FlavorMode, FlavorMode.ORDERED))) if len(names) > 1 else FlavorMode.ORDERED
    is_any = mode is FlavorMode.ANY
    first = replace(quotas[0], fallback_after=0 if is_any else draw(st.sampled_from((0, 300, 3000))))
    timeout = draw(st.sampled_from((None, 300)))
    of_each = draw(st.sampled_from(({}, {}, {"cpu": 2000}, {"cpu": 3000, "pods": 2})))
    parent = draw(st.sampled_from(("", "org")))
    mix = None if is_any else draw(st.sampled_from((None, None, Mix(1, 100), Mix(0, 50), Mix(1, 70))))
    limits = draw(st.sampled_from(({}, {}, {"cpu": 5000})))
    fields: dict[str, Any] = {"user_limits": of_each, "reservation_timeout": timeout, "mix": mix}
    fields |= {"flavor_mode": mode, "limits": limits}
    queue = a_cluster_queue(name, first, *quotas[1:], parent=parent, **fields)
    return replace(queue, strategy=draw(st.sampled_from((queue.strategy, QueueingStrategy.BACKFILL))))


HALF, ALL = Share(5000), Share(10_000)
AMOUNTS: tuple[Amount, ...] = (0, 3000, 64_000, HALF, ALL)
SPOT_CPU = st.sampled_from(AMOUNTS).map(lambda cpu: (WrittenQuota("spot", {"cpu": cpu}),))
WINDOWS = (a_window("night", "0 20 * * *", "8h"), a_window("lunch", "0 12 * * *", "1h"))
OVERRIDES = st.tuples(
    *(st.builds(Override, window=st.just(w), quotas=SPOT_CPU, stop=st.sampled_from((None, HOLD))) for w in WINDOWS)
)
VARIATIONS = st.one_of(
    st.just(FIXED),
    st.builds(
        Variation,
        shares=st.sampled_from(((), (WrittenQuota("spot", {"cpu": HALF}),))),
        overrides=st.one_of(st.just(()), OVERRIDES),
    ),
)
"""Half of the queues stay as they are, the others have shares of `spot`, windows, or both."""
