"""How many devices the requests of a claim are, and what cannot be counted."""

from __future__ import annotations

import pytest

from controller.core.kubernetes.devices import DeviceOption, DeviceRequest, UncountableError, devices_of

LARGE, SMALL = DeviceOption("large", 1), DeviceOption("small", 2)


def resource_of(device_class: str) -> str:
    if device_class == "absent":
        raise UncountableError("DeviceClass absent does not exist; create it")
    return "example.com/gpu" if device_class in ("large", "small") else f"example.com/{device_class}"


def test_requests_of_a_claim_are_added_by_resource() -> None:
    requests = [
        DeviceRequest("a", (LARGE,)),
        DeviceRequest("b", (DeviceOption("nic", 3),)),
        DeviceRequest("c", (SMALL,)),
    ]
    assert devices_of(requests, resource_of) == {"example.com/gpu": 3, "example.com/nic": 3}


def test_of_alternatives_the_most_devices_are_counted() -> None:
    assert devices_of([DeviceRequest("a", (LARGE, SMALL))], resource_of) == {"example.com/gpu": 2}


def test_access_of_an_admin_takes_no_device() -> None:
    admin = DeviceOption("absent", 4, is_all=True, is_admin=True)
    assert devices_of([DeviceRequest("a", (admin,)), DeviceRequest("b", (LARGE,))], resource_of) == {
        "example.com/gpu": 1
    }


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ((DeviceOption("large", is_all=True),), "request a: allocationMode All takes all devices of a node"),
        ((LARGE, DeviceOption("nic")), r"charged differently \(example.com/gpu, example.com/nic\)"),
        ((LARGE, DeviceOption("absent")), "request a: DeviceClass absent does not exist"),
        ((), "request a: has neither exactly nor firstAvailable"),
    ],
)
def test_what_cannot_be_counted_names_the_request(options: tuple[DeviceOption, ...], fault: str) -> None:
    with pytest.raises(UncountableError, match=fault):
        devices_of([DeviceRequest("a", options)], resource_of)
