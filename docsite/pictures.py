"""The pictures of the documentation, drawn by code. `docsite.generate` writes them to docs/pictures."""

from __future__ import annotations

from docsite.drawing import Arrow, Box, Picture


def pictures() -> dict[str, str]:
    """The text of each picture, by its name."""
    drawn = {"way-of-a-pod": _way_of_a_pod(), "objects": _objects(), "tree": _tree(), "flavors": _flavors()}
    return {f"{name}.svg": picture.svg() for name, picture in drawn.items()}


def _way_of_a_pod() -> Picture:
    pod = Box(20, 40, 150, ("Job or pod", "with a queue label"))
    gated = Box(260, 40, 150, ("Gated pod", "SchedulingGated"))
    decision = Box(500, 40, 170, ("Decision", "quota, order, room"), ours=True)
    bound = Box(760, 40, 180, ("Running pod", "bound by kube-scheduler"))
    waits = Box(260, 150, 150, ("Condition, Event", "say why it waits"), ours=True)
    return Picture(
        960,
        220,
        "A pod with a queue label gets a gate, waits for a decision, and is released by one patch",
        (pod, gated, decision, bound, waits),
        (
            Arrow(pod.right, gated.left, "gate added"),
            Arrow(gated.right, decision.left),
            Arrow(decision.right, bound.left, "one patch"),
            Arrow((decision.x, decision.y + 50), (waits.x + waits.width, waits.y + 20), "not yet", dashed=True),
            Arrow(waits.top, gated.bottom, dashed=True),
        ),
    )


def _objects() -> Picture:
    pod = Box(10, 40, 180, ("Pod", "penstock.dev/queue-name"))
    local = Box(250, 40, 160, ("LocalQueue", "of the namespace"), ours=True)
    cluster = Box(480, 40, 160, ("ClusterQueue", "quota, order, rules"), ours=True)
    spot = Box(710, 20, 170, ("ResourceFlavor spot", "selects nodes by label"), ours=True)
    demand = Box(710, 110, 170, ("ResourceFlavor", "on-demand"), ours=True)
    spot_nodes = Box(950, 20, 120, ("Nodes", "spot"))
    demand_nodes = Box(950, 110, 120, ("Nodes", "on-demand"))
    return Picture(
        1090,
        190,
        "A pod names a LocalQueue, which leads to a ClusterQueue with quota of flavors, which select nodes",
        (pod, local, cluster, spot, demand, spot_nodes, demand_nodes),
        (
            Arrow(pod.right, local.left, "names"),
            Arrow(local.right, cluster.left, "leads to"),
            Arrow(cluster.right, spot.left, "first"),
            Arrow(cluster.right, demand.left, "then"),
            Arrow(spot.right, spot_nodes.left),
            Arrow(demand.right, demand_nodes.left),
        ),
    )


def _tree() -> Picture:
    root = Box(270, 20, 200, ("organization", "owns 8 cpu itself"), ours=True)
    research = Box(40, 150, 220, ("research: 64 cpu", "uses 90: it borrows 26"), ours=True)
    production = Box(480, 150, 220, ("production: 64 cpu", "uses 40: it lends 24"), ours=True)
    return Picture(
        740,
        230,
        "Two ClusterQueues below one parent: one borrows what the parent and the other do not use",
        (root, research, production),
        (
            Arrow(root.bottom, research.top, "lends 2"),
            Arrow((370, 76), production.top),
            Arrow(production.left, research.right, "lends 24", dashed=True),
        ),
    )


def _flavors() -> Picture:
    pod = Box(20, 70, 130, ("Pod", "its turn"))
    spot = Box(220, 20, 190, ("spot", "quota? room on a node?"), ours=True)
    demand = Box(220, 120, 190, ("on-demand", "quota? room on a node?"), ours=True)
    admitted = Box(520, 70, 150, ("Admitted", "flavor for life"))
    waits = Box(520, 180, 150, ("Waits", "with a reason"))
    return Picture(
        690,
        260,
        "A pod tries the flavors of its queue in order and gets the first with quota and room",
        (pod, spot, demand, admitted, waits),
        (
            Arrow(pod.right, spot.left, "first"),
            Arrow(spot.right, admitted.left, "yes"),
            Arrow(spot.bottom, demand.top, "no"),
            Arrow(demand.right, admitted.left, "yes"),
            Arrow(demand.right, waits.left, "no"),
        ),
    )
