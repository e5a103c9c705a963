"""DeviceClasses and ResourceClaimTemplates off the wire."""

from __future__ import annotations

import orjson
import pytest

from controller.core.kubernetes.devices import DeviceClass, DeviceOption, DeviceRequest, PodClaim
from controller.kube.decode_devices import ClaimTemplate, decode_claim_template, decode_device_class
from controller.kube.errors import UnreadableObject
from tests.support.pod_documents import a_pod_document, decoded

META = {"namespace": "team", "name": "gpus", "uid": "u"}


def test_a_class_may_name_an_extended_resource() -> None:
    named = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu", "selectors": []}}
    assert decode_device_class(orjson.dumps(named)) == DeviceClass("gpu", "example.com/gpu")
    assert decode_device_class(orjson.dumps({"metadata": {"name": "gpu"}, "spec": {}})) == DeviceClass("gpu")


def test_a_template_says_what_its_claims_request() -> None:
    requests = [
        {"name": "one", "exactly": {"deviceClassName": "gpu"}},
        {"name": "all", "exactly": {"deviceClassName": "gpu", "allocationMode": "All", "adminAccess": True}},
        {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "big", "count": 2}]},
        {"name": "none"},
    ]
    document = {"metadata": META, "spec": {"spec": {"devices": {"requests": requests}}}}
    found = decode_claim_template(orjson.dumps(document))
    assert found == ClaimTemplate(
        "team",
        "gpus",
        (
            DeviceRequest("one", (DeviceOption("gpu"),)),
            DeviceRequest("all", (DeviceOption("gpu", is_all=True, is_admin=True),)),
            DeviceRequest("any", (DeviceOption("big", 2),)),
            DeviceRequest("none"),
        ),
    )
    assert decode_claim_template(orjson.dumps({"metadata": META, "spec": {"spec": {}}})).requests == ()


def test_a_pod_names_its_claims() -> None:
    claims = [{"name": "a", "resourceClaimTemplateName": "gpus"}, {"name": "b", "resourceClaimName": "mine"}]
    assert decoded(a_pod_document(spec={"resourceClaims": claims})).claims == (
        PodClaim("a", template="gpus"),
        PodClaim("b", claim="mine"),
    )


@pytest.mark.parametrize("decode", [decode_device_class, decode_claim_template])
def test_what_has_another_form_is_unreadable(decode: object) -> None:
    assert callable(decode)
    with pytest.raises(UnreadableObject):
        decode(b'{"metadata": {"name": "gpu"}, "spec": 3}')
