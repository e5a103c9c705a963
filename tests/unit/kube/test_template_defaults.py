"""What templates are completed with: requests by limits and LimitRanges, RuntimeClasses, priorities."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.cache import template_defaults as sinks
from controller.core.kubernetes.priority_classes import PriorityClass
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Toleration
from controller.core.workloads.pods import Pod
from controller.kube.decode import PodDecoder
from controller.kube.decode_jobs import JobDecoder
from controller.kube.errors import UnreadableObject
from controller.kube.template_defaults import TemplateDefaults, decode_limit_range
from controller.kube.wire import Owned
from tests.support.builders import a_cache
from tests.support.job_documents import a_job_document

Json = dict[str, Any]
SANDBOXED = RuntimeClass(
    name="kata",
    node_selector={"runtime": "kata"},
    tolerations=(Toleration("kata", "Exists"),),
    overhead={"cpu": "250m"},
)


def a_limit_range(namespace: str = "default", name: str = "usual", **limits: Json) -> bytes:
    items = [{"type": "Pod", "max": {"cpu": "9"}}, {"type": "Container", **limits}]
    return orjson.dumps({"metadata": {"namespace": namespace, "name": name}, "spec": {"limits": items}})


def read(template: Json, *ranges: bytes, defaults: TemplateDefaults | None = None) -> Pod:
    pods = PodDecoder()
    pods.defaults = defaults or TemplateDefaults()
    for raw in ranges:
        sinks.limit_ranges(a_cache(), pods.defaults).upsert(decode_limit_range(raw))
    found = JobDecoder(pods)(orjson.dumps(a_job_document(template=template))).pods
    assert found is not None
    return found


def one(**resources: Any) -> Json:
    return {"containers": [{"name": "main", "resources": resources}]}


@pytest.mark.parametrize(
    ("resources", "cpu"),
    [
        ({}, 500),
        ({"requests": {"memory": "1Gi"}}, 500),
        ({"requests": {"cpu": "1"}}, 1000),
        ({"limits": {"cpu": "2"}}, 2000),
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, 1000),
    ],
)
def test_a_limit_range_fills_in_what_is_missing(resources: Json, cpu: int) -> None:
    raw = a_limit_range(default={"cpu": "4"}, defaultRequest={"cpu": "500m"})
    assert dict(read(one(**resources), raw).shape.requests)["cpu"] == cpu


def test_of_several_limit_ranges_the_first_by_name_counts() -> None:
    ranges = [a_limit_range(name=name, defaultRequest={"cpu": cpu}) for name, cpu in (("b", "2"), ("a", "1"))]
    assert dict(read(one(), *ranges).shape.requests)["cpu"] == 1000
    assert "cpu" not in dict(read(one(), a_limit_range("other", defaultRequest={"cpu": "2"})).shape.requests)


def test_a_runtime_class_brings_overhead_and_rules() -> None:
    defaults = TemplateDefaults()
    defaults.runtime_classes["kata"] = SANDBOXED
    job = read(
        {**one(requests={"cpu": "1"}), "runtimeClassName": "kata", "nodeSelector": {"a": "b"}}, defaults=defaults
    )
    assert dict(job.shape.requests)["cpu"] == 1250
    assert dict(job.shape.constraints.node_selector) == {"a": "b", "runtime": "kata"}
    assert [toleration.key for toleration in job.shape.constraints.tolerations] == ["kata"]
    assert (job.outline.node_selector, job.outline.tolerations) == (True, False)


def test_a_template_that_contradicts_its_class_stays_as_it_is() -> None:
    defaults = TemplateDefaults()
    defaults.runtime_classes["kata"] = SANDBOXED
    template = {**one(requests={"cpu": "1"}), "runtimeClassName": "kata", "nodeSelector": {"runtime": "other"}}
    assert dict(read(template, defaults=defaults).shape.requests)["cpu"] == 1000


@pytest.mark.parametrize(("named", "priority"), [("high", 1000), (None, 7), ("gone", 0)])
def test_the_priority_is_that_of_the_class(named: str | None, priority: int) -> None:
    defaults = TemplateDefaults()
    for found in (PriorityClass(name="high", value=1000), PriorityClass(name="usual", value=7, is_default=True)):
        sinks.priority_classes(a_cache(), defaults).upsert(found)
    template = {**one(), **({"priorityClassName": named} if named else {})}
    assert read(template, defaults=defaults).priority == priority


def test_each_change_has_templates_read_anew() -> None:
    cache, defaults = a_cache(), TemplateDefaults()
    sink = sinks.runtime_classes(cache, defaults)
    versions = [defaults.version]
    for _ in range(2):
        sink.upsert(SANDBOXED)
        versions.append(defaults.version)
    sink.remove(Owned(name="kata"))
    assert [*versions, defaults.version] == [0, 1, 1, 2]
    for _ in sink.replace([SANDBOXED]):
        pass
    assert (list(defaults.runtime_classes), defaults.version) == (["kata"], 3)


def test_bytes_that_are_no_limit_range_are_told() -> None:
    with pytest.raises(UnreadableObject, match="limitrange"):
        decode_limit_range(b"[]")
