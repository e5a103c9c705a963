"""The file of --quota-resources: what it says, and what is wrong with it, in the words that its writer gets."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from controller.core.kubernetes.quota_resources import QuotaResources, Transformation
from controller.objects.quota_resources import QuotaResourcesError, read


def read_text(folder: Path, text: str) -> QuotaResources:
    file = folder / "resources.yaml"
    file.write_text(text)
    return read(file)


def test_all_of_it_is_read(tmp_path: Path) -> None:
    text = """
excludeResourcePrefixes: [vendor.example.com/]
transformations:
  - {input: example.com/mig, strategy: Replace, outputs: {example.com/memory: 5Ki, example.com/slices: 1}}
  - {input: cpu, multiplyBy: example.com/hours, outputs: {example.com/credits: 2}}
  - {input: example.com/free, strategy: Replace}
"""
    outputs = ("example.com/memory", Fraction(5120)), ("example.com/slices", Fraction(1))
    assert read_text(tmp_path, text) == QuotaResources(
        ("vendor.example.com/",),
        (
            Transformation("example.com/mig", outputs, is_replaced=True),
            Transformation("cpu", (("example.com/credits", Fraction(1, 500)),), multiplied_by="example.com/hours"),
            Transformation("example.com/free", is_replaced=True),
        ),
    )


_REPLACED = "input: a/b, strategy: Replace"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "must be one object, such as transformations: [], is a list"),
        ("{}\n---\n{}", "must be one object, is 2 documents"),
        ("transformation: []", "transformation: … is not a field"),
        ("transformations: [{input: a/b}]", "transformations[0].outputs: … must name a resource, unless strategy is"),
        ("transformations: [{input: a b, outputs: {a/c: 1}}]", "transformations[0].input: … must be the name of a"),
        ("transformations: [{input: pods, outputs: {a/c: 1}}]", "transformations[0].input: … is the number of pods"),
        ("transformations: [{input: a/b, outputs: {cpu: 1}}]", "transformations[0].outputs.cpu: … must be a resource"),
        ("transformations: [{input: a/b, outputs: {a/c: many}}]", "transformations[0].outputs[a/c]: … not a quantity"),
        (
            "transformations: [{input: a/b, strategy: Drop}]",
            "transformations[0].strategy: … must be 'Retain' or 'Replace'",
        ),
        (f"transformations: [{{{_REPLACED}, multiplyBy: a/d}}]", "transformations[0].multiplyBy: … needs outputs"),
        (f"transformations: [{{{_REPLACED}}}, {{{_REPLACED}}}]", "transformations[1].input: … has a transformation"),
        (
            "transformations: [{input: a/b, outputs: {a/c: 1}}, {input: a/c, strategy: Replace}]",
            "transformations[0].outputs[a/c]: … must not be an output, since it is the input of a transformation",
        ),
        (
            f"{{excludeResourcePrefixes: [a/], transformations: [{{{_REPLACED}}}]}}",
            "transformations[0].input: … is left out by excludeResourcePrefixes",
        ),
        (
            "{excludeResourcePrefixes: [c/], transformations: [{input: a/b, outputs: {c/d: 1}}]}",
            "transformations[0].outputs[c/d]: … is left out by excludeResourcePrefixes",
        ),
        ("excludeResourcePrefixes: ['']", "excludeResourcePrefixes[0]: … must not be empty"),
    ],
)
def test_a_fault_says_what_where_and_what_to_do(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(QuotaResourcesError) as raised:
        read_text(tmp_path, text)
    where, _, what = fault.rpartition("… ")
    assert str(raised.value).startswith(f"{tmp_path}/resources.yaml: {where}")
    assert what in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(QuotaResourcesError, match=r"nowhere\.yaml: cannot be read"):
        read(tmp_path / "nowhere.yaml")


def test_devices_of_a_class_are_charged_alike_however_requested(tmp_path: Path) -> None:
    text = "deviceClassMappings: [{name: example.com/gpu, deviceClassNames: [large.example.com, small.example.com]}]"
    found = read_text(tmp_path, text)
    implicit = "deviceclass.resource.kubernetes.io/small.example.com"
    assert found.device_resources == {"large.example.com": "example.com/gpu", "small.example.com": "example.com/gpu"}
    assert dict(found.charged(((implicit, 2),)))["example.com/gpu"] == 2
    assert found.needs_no_quota(implicit)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("deviceClassMappings: [{name: a/b, deviceClassNames: []}]", "deviceClassMappings[0].deviceClassNames: "),
        ("deviceClassMappings: [{name: a/b, deviceClassNames: [A]}]", "must be the name of a DeviceClass"),
        ("deviceClassMappings: [{name: a/b, deviceClassNames: [a, a]}]", "has a mapping already; leave one out"),
        (
            "{excludeResourcePrefixes: [a/], deviceClassMappings: [{name: a/b, deviceClassNames: [a]}]}",
            "deviceClassMappings[0].name: ",
        ),
        (
            "{transformations: [{input: deviceclass.resource.kubernetes.io/a, strategy: Replace}], "
            "deviceClassMappings: [{name: a/b, deviceClassNames: [a]}]}",
            "must not have a transformation of deviceclass.resource.kubernetes.io/a beside its mapping",
        ),
    ],
)
def test_a_fault_of_a_mapping_is_told(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(QuotaResourcesError) as raised:
        read_text(tmp_path, text)
    assert fault in str(raised.value)
