"""What passes as no growth is never charged more, whatever the node has reported of the pod meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.core.gate.protection import Actor, Guarded, no_growth
from controller.core.keys import QUEUE_NAME
from controller.core.kubernetes.demand import ContainerDemand, Quantities, Reported, pod_demand

AMOUNTS = st.sampled_from(["0", "1m", "999.5m", "999.9m", "1", "1000m", "1500m", "2", "1Gi", "1024Mi", "4Gi"])
REQUESTS = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/gpu"]), AMOUNTS, max_size=3)
NAMES = ("a", "b", "c")
PLAIN, SIDECAR, INIT = range(3)


@st.composite
def resizes(draw: st.DrawFn) -> tuple[dict[str, Quantities], dict[str, Quantities], dict[str, int]]:
    """Requests by container before and after, and what each container is."""
    before: dict[str, Quantities] = {name: draw(REQUESTS) for name in NAMES}
    # mostly near the old ones, or hardly any resize would pass
    after: dict[str, Quantities] = {
        name: {resource: draw(st.one_of(st.just(text), AMOUNTS)) for resource, text in asked.items()}
        if draw(st.booleans())
        else asked
        for name, asked in before.items()
    }
    return before, after, {name: draw(st.sampled_from([PLAIN, SIDECAR, INIT])) for name in NAMES}


def guarded(requests: dict[str, Quantities], kinds: dict[str, int]) -> Guarded:
    part = {PLAIN: "containers", SIDECAR: "initContainers", INIT: "initContainers"}
    paths = {f"spec.{part[kinds[name]]}[{name}].resources.requests": asked for name, asked in requests.items()}
    return Guarded(labels={QUEUE_NAME: "main"}, requests=paths)


def charged(
    requests: dict[str, Quantities], kinds: dict[str, int], held: dict[str, Quantities] | None
) -> dict[str, int]:
    def demand(name: str) -> ContainerDemand:
        reported = Reported(held[name], held[name]) if held is not None else None
        return ContainerDemand(name, requests[name], reported, is_sidecar=kinds[name] == SIDECAR)

    plain = [demand(name) for name in NAMES if kinds[name] == PLAIN]
    return dict(pod_demand(plain, [demand(name) for name in NAMES if kinds[name] != PLAIN]))


@given(resizes(), st.booleans())
def test_a_resize_that_passes_never_raises_the_charge(
    resize: tuple[dict[str, Quantities], dict[str, Quantities], dict[str, int]], is_on_node: bool
) -> None:
    before, after, kinds = resize
    if no_growth(guarded(before, kinds), guarded(after, kinds), Actor.ANYBODY):
        return
    held = before if is_on_node else None  # the kubelet has not carried the resize out yet
    once, then = charged(before, kinds, held), charged(after, kinds, held)
    assert all(amount <= once.get(resource, 0) for resource, amount in then.items())
