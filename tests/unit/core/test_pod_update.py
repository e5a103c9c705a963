"""The rule that an update breaks, and what people are told. Whether it is refused, and where: the corpus."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.core.kubernetes.names import DNS_LABEL_FORM, DNS_SUBDOMAIN_FORM
from controller.core.pod_update import Cause, Rule, Violation, may_change
from controller.core.pod_update.violation import shown
from tests.support.pod_documents import a_pod_document
from tests.support.pod_update_rules import PREFERRED, REQUIRED

Json = dict[str, Any]
X: Json = {"key": "x", "operator": "Exists"}
Y: Json = {"key": "y", "operator": "In", "values": ["1"]}
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


def terms(*expressions: list[Json]) -> Json:
    listed = [{"matchExpressions": one} if one else {} for one in expressions]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}}


def the_fault(old: Json, new: Json, *, gates: tuple[str, ...] = ("example.com/g",)) -> Violation:
    """The only fault of an update of the spec, the rest of the pod being the same and gated."""
    before, after = (a_pod_document(gates=gates, spec=spec) for spec in (old, new))
    (found,) = may_change(before, after)
    return found


def the_fault_of_metadata(old: Json, new: Json) -> Violation:
    (found,) = may_change(a_pod_document(metadata=old), a_pod_document(metadata=new))
    return found


@pytest.mark.parametrize(
    ("old", "new", "rule", "text"),
    [
        (
            {"nodeSelector": {"pool": "spot"}},
            {"nodeSelector": {"pool": "steady"}},
            Rule.NODE_SELECTOR_GROWS,
            'spec.nodeSelector: pool was "spot" and would be "steady"; keys can only be added',
        ),
        (
            {"nodeSelector": {"pool": "spot"}},
            {},
            Rule.NODE_SELECTOR_GROWS,
            'spec.nodeSelector: pool was "spot" and would be not set; keys can only be added',
        ),
        (
            terms([X]),
            terms([X], [Y]),
            Rule.TERM_COUNT_STAYS,
            f"{TERMS}: has 1 terms and would have 2; a gated pod keeps its terms, which can only grow",
        ),
        (
            terms([X]),
            terms([Y, X]),
            Rule.TERM_GROWS,
            f'{TERMS}[0]: matchExpressions[0] was {{"key": "x", "operator": "Exists"}} and would be '
            '{"key": "y", "operator": "In", "values": ["1"]}; requirements keep their places and new ones go behind '
            "them",
        ),
        (
            terms([X, Y]),
            terms([X]),
            Rule.TERM_GROWS,
            f'{TERMS}[0]: matchExpressions[1] was {{"key": "y", "operator": "In", "values": ["1"]}} and would be not '
            "set; requirements keep their places and new ones go behind them",
        ),
        (
            terms([]),
            terms([X]),
            Rule.TERM_GROWS,
            f"{TERMS}[0]: the term is empty, which matches no node; it cannot be given requirements",
        ),
        (
            {"tolerations": [X]},
            {},
            Rule.TOLERATIONS_ONLY_ADDED,
            'spec.tolerations: {"key": "x", "operator": "Exists"} is gone or changed; tolerations can be added, and '
            "their tolerationSeconds changed",
        ),
        (
            terms([Y]),
            terms([Y | {"operator": "NotIn"}]),
            Rule.TERM_GROWS,
            f'{TERMS}[0]: matchExpressions[0] was {{"key": "y", "operator": "In", "values": ["1"]}} and would be '
            '{"key": "y", "operator": "NotIn", "values": ["1"]}; requirements keep their places and new ones go behind '
            "them",
        ),
        (
            {"nodeSelector": {"a": "1", "b": "2"}},
            {"nodeSelector": {}},
            Rule.NODE_SELECTOR_GROWS,
            'spec.nodeSelector: a was "1" and would be not set; keys can only be added',
        ),
        (
            {"tolerations": [X, {"key": "y", "operator": "Exists"}]},
            {},
            Rule.TOLERATIONS_ONLY_ADDED,
            'spec.tolerations: {"key": "x", "operator": "Exists"} is gone or changed; tolerations can be added, and '
            "their tolerationSeconds changed",
        ),
        (
            {},
            {"schedulingGates": [{"name": "other"}]},
            Rule.GATES_ONLY_GO,
            'spec.schedulingGates[0].name: the gate "other" was not there; gates can only be removed, once the pod '
            "exists",
        ),
        (
            {},
            {"containers": []},
            Rule.CONTAINERS_STAY,
            "spec.containers: has 1 containers and would have 0; containers cannot be added or removed: make a new pod",
        ),
        (
            {"containers": [{"name": "main", "image": "pause:3"}]},
            {"containers": [{"name": "main"}]},
            Rule.VALID,
            'spec.containers[0].image: was "pause:3" and would be empty; name an image',
        ),
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 6},
            Rule.DEADLINE_SHRINKS,
            "spec.activeDeadlineSeconds: was 5 and would be 6; it can only be made shorter",
        ),
        (
            {"activeDeadlineSeconds": 5},
            {},
            Rule.DEADLINE_SHRINKS,
            "spec.activeDeadlineSeconds: was 5 and would be gone; it can only be made shorter",
        ),
        (
            {},
            {"tolerations": [{"key": "no key", "operator": "Exists"}]},
            Rule.VALID,
            'spec.tolerations[0].key: is "no key"; must be an optional DNS prefix and "/", then at most 63 letters, '
            'digits, "-", "_" or ".", first and last a letter or digit',
        ),
        (
            {"priority": 1},
            {"priority": 2, "hostname": "h", "affinity": {"podAffinity": {}}, "terminationGracePeriodSeconds": 1},
            Rule.SPEC_STAYS,
            'spec: spec.hostname was not set and would be "h"; spec.priority was 1 and would be 2; '
            "spec.affinity.podAffinity was not set and would be {}; spec.affinity was not set and would be "
            '{"podAffinity": {}} (and 1 more); make a new pod instead',
        ),
        (
            {"serviceAccountName": "a", "schedulingGroup": {"podGroupName": "g"}},
            {"serviceAccountName": "b"},
            Rule.SPEC_STAYS,
            'spec: spec.serviceAccountName was "a" and would be "b"; spec.schedulingGroup was {"podGroupName": "g"} '
            "and would be not set; make a new pod instead",
        ),
    ],
)
def test_a_change_of_the_spec_is_refused_in_words(old: Json, new: Json, rule: Rule, text: str) -> None:
    fault = the_fault(old, new)
    assert (fault.rule, str(fault)) == (rule, text)


@pytest.mark.parametrize(
    ("old", "new", "rule", "text"),
    [
        ({}, {"name": "b"}, Rule.IDENTITY_STAYS, 'metadata.name: was "pod" and would be "b"; it cannot be changed'),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            {"finalizers": ["example.com/f"]},
            Rule.NO_NEW_FINALIZERS,
            'metadata.finalizers: ["example.com/f"] is new; a pod that is being deleted gets no more finalizers',
        ),
        (
            {"annotations": {"kubernetes.io/config.mirror": "a"}},
            {},
            Rule.ANNOTATION_STAYS,
            'metadata.annotations[kubernetes.io/config.mirror]: was "a" and would be not set; it is set when the pod '
            "is created",
        ),
        (
            {},
            {"labels": {"a": "no value"}},
            Rule.VALID,
            'metadata.labels: a is "no value"; must be empty, or at most 63 letters, digits, "-", "_" or ".", first '
            "and last a letter or digit",
        ),
    ],
)
def test_a_change_of_the_metadata_is_refused_in_words(old: Json, new: Json, rule: Rule, text: str) -> None:
    fault = the_fault_of_metadata(old, new)
    assert (fault.rule, str(fault)) == (rule, text)


@pytest.mark.parametrize(
    ("new", "directive"),
    [
        ({"nodeSelector": {"pool": "spot"}}, 'spec.nodeSelector was not set and would be {"pool": "spot"}'),
        ({"affinity": {"nodeAffinity": {}}}, "spec.affinity.nodeAffinity was not set and would be {}"),
    ],
)
def test_a_released_pod_is_told_that_it_is_too_late(new: Json, directive: str) -> None:
    text = the_fault({}, new, gates=()).text
    late = ", which can only be added to, and only while the pod is gated; make a new pod instead"
    assert text == f"{directive}{late}"


def test_a_long_value_is_cut_in_messages() -> None:
    fault = the_fault({}, {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h" * 500]}]})
    assert len(fault.text) < 250
    assert "h…" in fault.text
    assert shown("h" * 118) == f'"{"h" * 118}"'
    assert shown("h" * 119) == f'"{"h" * 119}…'


def test_annotations_have_room_for_256_kib_together() -> None:
    room = 256 * 1024 - len("ab")
    fits, exceeds = ({"annotations": {"a": "", "b": "ä" * (size // 2) + "x" * (size % 2)}} for size in (room, room + 1))
    assert may_change(a_pod_document(), a_pod_document(metadata=fits)) == ()
    fault = the_fault_of_metadata({}, exceeds)
    assert (fault.path, fault.cause) == ("metadata.annotations", Cause.TOO_LONG)
    assert fault.text == "take 262145 bytes together; at most 262144 are kept"


@pytest.mark.parametrize("stage", ["alpha", "beta"])
@pytest.mark.parametrize("what", ["s", "-statuses"])
def test_annotations_that_the_apiserver_drops_take_no_room(stage: str, what: str) -> None:
    long = {"annotations": {f"pod.{stage}.kubernetes.io/init-container{what}": "x" * 256 * 1024}}
    assert may_change(a_pod_document(), a_pod_document(metadata=long)) == ()


@pytest.mark.parametrize(("field", "form"), [("name", DNS_SUBDOMAIN_FORM), ("namespace", DNS_LABEL_FORM)])
def test_a_new_name_that_is_none_is_refused_for_that_too(field: str, form: str) -> None:
    stays, valid = may_change(a_pod_document(), a_pod_document(metadata={field: "no name"}))
    assert (stays.rule, valid.rule) == (Rule.IDENTITY_STAYS, Rule.VALID)
    assert str(valid) == f'metadata.{field}: is "no name"; must be {form}'


def test_neither_pod_is_changed_by_the_question() -> None:
    old = a_pod_document(spec=terms([X]) | {"tolerations": [X], "affinity": {"nodeAffinity": {PREFERRED: []}}})
    new = a_pod_document(spec=terms([Y]), metadata={"labels": {"-": "-"}})
    before = copy.deepcopy((old, new))
    assert may_change(old, new)
    assert (old, new) == before


class Untouchable(dict[str, Any]):
    """A spec that only may be compared."""

    def get(self, key: str, default: Any = None) -> Any:
        raise AssertionError(f"{key} was read")


def test_a_spec_that_is_the_same_is_only_compared() -> None:
    old, new = ({**a_pod_document(), "spec": Untouchable(a_pod_document()["spec"])} for _ in range(2))
    assert may_change(old, new) == ()


def test_since_1_37_a_fault_names_the_owner_that_has_it() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"},
        {"apiVersion": "v1", "kind": "Pod", "uid": "1"},
    ]
    old, new = a_pod_document(), a_pod_document(metadata={"ownerReferences": owners})
    (before,), (since,) = may_change(old, new, minor=36), may_change(old, new)
    assert (before.path, before.cause) == ("metadata.ownerReferences.name", Cause.INVALID)
    assert (since.path, since.cause) == ("metadata.ownerReferences[1].name", Cause.REQUIRED)
