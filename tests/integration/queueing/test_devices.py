"""Devices of dynamic resource allocation (resource.k8s.io) as quota, with kube-scheduler that allocates them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.kube.errors import NotFound
from tests.support.eventually import eventually
from tests.support.team import Json, Team

pytestmark = pytest.mark.integration

_API = "/apis/resource.k8s.io/v1"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"


def exactly(device_class: str, count: int = 1, **fields: Any) -> Json:
    return {"name": "gpu", "exactly": {"deviceClassName": device_class, "count": count, **fields}}


def claim(template: str) -> Json:
    return {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}]}


def of_resource(resource: str, count: int) -> Json:
    amounts = {"cpu": "1", resource: str(count)}
    resources = {"requests": amounts, "limits": {resource: str(count)}}
    return {"containers": [{"name": "main", "image": "none", "resources": resources}]}


class Devices:
    """A DeviceClass of the team's driver, and its devices on a node of the team."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self.driver = f"{team.id}.example.com"
        self.device_class = self.driver

    async def open(self, node: str, count: int, extended_resource: str = "") -> None:
        selector = {"cel": {"expression": f"device.driver == '{self.driver}'"}}
        spec = {"selectors": [selector], **({"extendedResourceName": extended_resource} if extended_resource else {})}
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{number}"} for number in range(count)]
        named = {"metadata": {"name": self.driver}}
        await self._team.client.post(f"{_API}/deviceclasses", {**named, "spec": spec})
        slices = {"driver": self.driver, "nodeName": node, "pool": pool, "devices": devices}
        await self._team.client.post(f"{_API}/resourceslices", {**named, "spec": slices})

    async def close(self) -> None:
        for plural in ("resourceslices", "deviceclasses"):
            try:
                await self._team.client.delete(f"{_API}/{plural}/{self.driver}")
            except NotFound:
                continue

    async def template(self, name: str, *requests: Json) -> None:
        body = {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": list(requests)}}}}
        path = f"{_API}/namespaces/{self._team.namespace}/resourceclaimtemplates"
        await self._team.client.post(path, body)


@pytest.fixture
async def devices(team: Team) -> Any:
    made = Devices(team)
    yield made
    await made.close()


async def test_claims_of_a_template_are_charged_by_class(team: Team, devices: Devices) -> None:
    resource = _IMPLICIT + devices.device_class
    await team.ready({"spot": {"cpu": 8, resource: 3}})
    await devices.open(team.full("spot-0"), 8)
    await devices.template("two", exactly(devices.device_class, 2))
    await team.pod("first", spec=claim("two"))
    await team.until_bound("first")
    await team.pod("second", spec=claim("two"))
    text = await team.until_waiting("second", "QuotaExceeded")
    assert text == f"flavor {team.full('spot')}: needs 2 {resource}, more than is free of its quota"
    await team.delete("first")
    await team.until_bound("second")


async def test_devices_requested_like_extended_resources_are_charged(team: Team, devices: Devices) -> None:
    named = f"{team.id}.example.com/gpu"
    await team.ready({"spot": {"cpu": 8, named: 2, _IMPLICIT + devices.device_class: 1}})
    await devices.open(team.full("spot-0"), 8, named)
    await devices.template("one", exactly(devices.device_class))
    await team.pod("named", spec=of_resource(named, 1))
    await team.pod("claimed", spec=claim("one"))
    await team.pod("implicit", spec=of_resource(_IMPLICIT + devices.device_class, 1))
    await team.until_bound("named", "claimed", "implicit")
    await team.pod("more", spec=claim("one"))
    text = await team.until_waiting("more", "QuotaExceeded")
    assert text == f"flavor {team.full('spot')}: needs 1 {named}, more than is free of its quota"


async def test_what_cannot_be_counted_names_the_request(team: Team, devices: Devices) -> None:
    await team.ready({"spot": {"cpu": 8, _IMPLICIT + devices.device_class: 3}})
    every = {"deviceClassName": devices.device_class, "allocationMode": "All"}
    await devices.template("all", {"name": "every", "exactly": every})
    choices = [{"name": kind, "deviceClassName": f"{kind}.{devices.driver}"} for kind in ("large", "small")]
    await devices.template("any", {"name": "some", "firstAvailable": choices})
    await devices.template("later", exactly(devices.device_class))
    for name in ("all", "any", "later", "absent"):
        await team.pod(name, spec=claim(name))
    await team.pod("shared", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]})
    start = "spec.resourceClaims[gpu]: ResourceClaimTemplate"
    expected = {
        "any": f"{start} any: request some: DeviceClass large.{devices.driver} does not exist; create it",
        "later": f"{start} later: request gpu: DeviceClass {devices.device_class} does not exist; create it",
        "absent": f"{start} absent does not exist; create it",
        "all": f"{start} all: request every: allocationMode All takes all devices of a node, and nobody knows how many "
        "before; write a count",
        "shared": "spec.resourceClaims[gpu]: ResourceClaim mine may be shared by pods, and cannot be charged to one of "
        "them; name a ResourceClaimTemplate",
    }
    found = {name: await team.until_waiting(name, "UnsupportedResourceClaims") for name in expected}
    assert found == expected
    await devices.open(team.full("spot-0"), 8)
    await devices.template("absent", exactly(devices.device_class))
    await team.until_bound("later", "absent")

    async def gone() -> bool:
        usage = (await team.status("clusterqueues", team.full("cq")))["flavorsUsage"][0]["resources"]
        assert {one["name"]: one["total"] for one in usage}[_IMPLICIT + devices.device_class] == "2"
        return True

    await eventually(gone, message="the devices of both pods are not charged")
