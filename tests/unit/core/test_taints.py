from __future__ import annotations

import pytest

from controller.core.kubernetes.taints import Toleration, are_tolerated
from tests.support.builders import a_taint

SPOT = Toleration(key="spot", operator="Exists")


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="spot", operator="Exists"), True),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="spot", operator="Equal", value="yes"), True),
        (Toleration(key="spot", value="yes"), True),
        (Toleration(key="spot", operator="Equal", value="no"), False),
        (Toleration(key="spot", operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="spot", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="spot", operator="Gt", value="1"), False),
        (Toleration(key="spot", operator="Exists", effect="NoSchedule", seconds=0), True),
    ],
)
def test_a_toleration_tolerates_as_in_kubernetes(toleration: Toleration, *, tolerates: bool) -> None:
    assert tolerates is toleration.tolerates(a_taint("spot", "yes"))


def test_every_repelling_taint_has_to_be_tolerated() -> None:
    both = [a_taint("spot"), a_taint("gpu", effect="NoExecute")]
    assert not are_tolerated(both, [SPOT])
    assert are_tolerated(both, [SPOT, Toleration(key="gpu", operator="Exists")])
    assert are_tolerated([], [])


def test_a_taint_that_only_prefers_keeps_nobody_off() -> None:
    assert are_tolerated([a_taint("spot", effect="PreferNoSchedule")], [])
