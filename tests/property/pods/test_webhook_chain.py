"""The whole chain of the webhook, with a class and policies of both kinds: twice is once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Toleration
from controller.objects.pod_policies import read_policy
from tests.support.api_objects import node_terms, pod_policy, scheduling_policy
from tests.support.scheduling_strategies import pod_specs, policy_specs
from tests.support.scheduling_worlds import NAMESPACE, a_pod, a_request, a_world
from tests.support.seeds import examples
from tests.support.strategies import KEYS
from webhook.reviews.patching import applied
from webhook.steps.chain import mutate

Json = dict[str, Any]
THOROUGH = settings(max_examples=examples(300))
_TAINTS = st.sampled_from(("spot", "gpu"))


def _tolerations() -> st.SearchStrategy[Json]:
    """In all the ways in which one can be written and can cover another: an operator may be left out."""
    exists = st.fixed_dictionaries({"operator": st.just("Exists")}, optional={"key": _TAINTS})
    equal = st.fixed_dictionaries(
        {"key": _TAINTS}, optional={"operator": st.just("Equal"), "value": st.sampled_from(("x", "y"))}
    )
    effects = st.sampled_from(({}, {"effect": "NoSchedule"}, {"effect": "NoExecute", "tolerationSeconds": 30}))
    return st.builds(lambda one, effect: {**one, **effect}, exists | equal, effects)


def _lists(least: int = 0) -> st.SearchStrategy[list[Json]]:
    return st.lists(_tolerations(), min_size=least, max_size=3)


_NOT_SPOT: Json = node_terms({"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["spot"]}]})
_unique = st.lists(_tolerations(), max_size=2, unique_by=lambda one: tuple(one.get(k) for k in ("key", "effect")))
_selectors = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("a", "b")), max_size=1)


@THOROUGH
@given(
    pod_specs(),
    _lists(),
    _lists(),
    st.lists(st.tuples(_unique, _selectors), max_size=2),
    st.lists(policy_specs(), max_size=2),
    st.booleans(),
)
@example(
    {},
    [{"key": "spot"}],
    [{"key": "a", "operator": "Exists"}],
    [([{"key": "spot", "operator": "Exists"}], {})],
    [],
    False,
)
@example(
    {}, [], [], [([], {"pool": "a"})], [{"default": {"nodeSelector": {"pool": "spot"}, "affinity": _NOT_SPOT}}], False
)
def test_what_was_changed_once_is_not_changed_again(
    spec: Json,
    own: list[Json],
    of_class: list[Json],
    chosen: list[tuple[list[Json], Json]],
    more: list[Json],
    queued: bool,
) -> None:
    held = tuple(map(_toleration, of_class))
    classes = [RuntimeClass(name=name, handler="h", tolerations=held) for name in ("default", "x", "y", "z")]
    world = a_world(
        *(scheduling_policy(f"s{number}", **one) for number, one in enumerate(more)),
        classes=classes,
        default_class="default",
        labels={"penstock.dev/default-queue": "q"} if queued else {},
    )
    for number, (tolerations, selector) in enumerate(chosen):
        written = pod_policy(f"p{number}", NAMESPACE, tolerations=tolerations, nodeSelector=selector)
        world.policies.put(read_policy(Raw(orjson.dumps(written))))
    assert world.faulty_policies() == []
    request = a_request(a_pod(**{**spec, "tolerations": [*spec.get("tolerations", []), *own]}))
    first = mutate(request, world)
    if first.denial is None:
        again = mutate(replace(request, pod=applied(request.pod, first.operations)), world)
        assert (again.denial, again.operations) == (None, ())


def _toleration(one: Json) -> Toleration:
    """As the apiserver stores a class: an operator that was left out stays so."""
    names = ("key", "operator", "value", "effect")
    key, operator, value, effect = (one.get(name, "") for name in names)
    return Toleration(key, operator, value, effect, one.get("tolerationSeconds"))
