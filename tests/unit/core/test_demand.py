from __future__ import annotations

import pytest

from controller.core.kubernetes.amounts import QuantityError, Requests
from controller.core.kubernetes.demand import ContainerDemand, Reported, pod_demand
from tests.support.builders import GPU


def one(name: str = "main", /, **requests: str | int) -> ContainerDemand:
    return ContainerDemand(name, requests)


def sidecar(name: str = "proxy", /, **requests: str | int) -> ContainerDemand:
    return ContainerDemand(name, requests, is_sidecar=True)


def test_containers_add_up_and_a_pod_counts_as_one() -> None:
    assert pod_demand([one(cpu="1", memory="1Ki"), one(cpu="500m")]) == (("cpu", 1500), ("memory", 1024), ("pods", 1))


def test_a_pod_that_asks_for_nothing_still_takes_one_of_pods() -> None:
    assert pod_demand([one(), one(cpu="0")]) == (("pods", 1),)


@pytest.mark.parametrize(
    ("inits", "cpu"),
    [
        ([one("a", cpu="3")], 3000),
        ([one("a", cpu="3"), one("b", cpu="4")], 4000),
        ([one("a", cpu="1")], 2000),
        ([sidecar(cpu="1")], 3000),
        ([sidecar(cpu="1"), one("a", cpu="3")], 4000),
        ([one("a", cpu="3"), sidecar(cpu="1")], 3000),
        ([one("a", cpu="3"), sidecar(cpu="2")], 4000),
        ([sidecar("p", cpu="1"), one("a", cpu="3"), sidecar("q", cpu="2")], 5000),
        ([sidecar("p", cpu="1"), sidecar("q", cpu="2"), one("a", cpu="3")], 6000),
    ],
)
def test_init_peaks_count_with_the_sidecars_started_before_them(inits: list[ContainerDemand], cpu: int) -> None:
    assert cpu == dict(pod_demand([one(cpu="2")], inits))["cpu"]


def test_the_greater_of_peak_and_sum_counts_by_resource() -> None:
    demand = pod_demand([one(cpu="2", memory="1Ki")], [one("a", cpu="1", memory="4Ki", **{GPU: 1})])
    assert demand == (("cpu", 2000), ("memory", 4096), (GPU, 1), ("pods", 1))


def test_the_pod_level_overrides_cpu_and_memory_not_gpus() -> None:
    containers = [one(cpu="2", memory="1Ki", **{GPU: 2})]
    assert pod_demand(containers, pod_level={"cpu": "500m"}) == (("cpu", 500), ("memory", 1024), (GPU, 2), ("pods", 1))
    demand = pod_demand(containers, pod_level={"cpu": 1, "memory": "2Ki", "hugepages-2Mi": "4Mi", GPU: "9"})
    assert demand == (("cpu", 1000), ("hugepages-2Mi", 4 * 2**20), ("memory", 2048), (GPU, 2), ("pods", 1))


def test_overhead_comes_on_top_of_everything() -> None:
    demand = pod_demand([one(cpu="2")], [one("a", cpu="3")], pod_level={"cpu": 1}, overhead={"cpu": "250m"})
    assert demand == (("cpu", 1250), ("pods", 1))


REPORTED = Reported(actuated={"cpu": "3"}, allocated={"cpu": "2", "memory": "4Ki"})


@pytest.mark.parametrize(
    ("asked", "infeasible", "demand"),
    [
        ("1", False, (("cpu", 3000), ("memory", 4096), ("pods", 1))),
        ("5", False, (("cpu", 5000), ("memory", 4096), ("pods", 1))),
        ("5", True, (("cpu", 3000), ("memory", 4096), ("pods", 1))),
    ],
)
def test_a_bound_pod_counts_the_greatest_of_spec_and_report(asked: str, demand: Requests, *, infeasible: bool) -> None:
    resized = ContainerDemand("main", {"cpu": asked, "memory": "1Ki"}, REPORTED)
    assert pod_demand([resized], is_resize_infeasible=infeasible) == demand


def test_a_sidecar_is_resized_and_an_init_container_never() -> None:
    inits = [
        ContainerDemand("p", {"cpu": "1"}, REPORTED, is_sidecar=True),
        ContainerDemand("i", {"cpu": "1"}, REPORTED),
    ]
    assert dict(pod_demand([one(cpu="1")], inits))["cpu"] == 4000


def test_the_pod_level_counts_with_its_report_as_well() -> None:
    demand = pod_demand([one(cpu="1")], pod_level={"cpu": "1"}, pod_reported=REPORTED)
    assert demand == (("cpu", 3000), ("memory", 4096), ("pods", 1))


def test_demand_rounds_up_container_by_container() -> None:
    assert dict(pod_demand([one("a", cpu="0.1m"), one("b", cpu="0.1m")]))["cpu"] == 2


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"containers": [one(cpu="-1")]}, r"spec.containers\[main\].resources.requests.cpu: '-1' is negative"),
        (
            {"containers": [], "init_containers": [one("i", cpu="x")]},
            r"spec.initContainers\[i\].resources.requests.cpu",
        ),
        ({"containers": [], "pod_level": {"memory": "1e30"}}, r"spec.resources.requests.memory: '1e30' is too large"),
        ({"containers": [], "overhead": {"cpu": ""}}, r"spec.overhead.cpu: '' is not a quantity"),
    ],
)
def test_a_bad_request_is_named_by_its_path(arguments: dict[str, list[ContainerDemand]], path: str) -> None:
    with pytest.raises(QuantityError, match=path):
        pod_demand(**arguments)  # type: ignore[arg-type]
