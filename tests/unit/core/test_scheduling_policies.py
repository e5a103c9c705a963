"""What SchedulingPolicies give to a pod and what is no use of anything, beyond the examples of the proposal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.kubernetes.directives import PodAffinity, Preferred
from controller.core.kubernetes.taints import Toleration
from controller.core.scheduling_policies.completion import Addition, complete
from controller.core.scheduling_policies.pod import Exempt
from controller.core.scheduling_policies.policy import MergeOption
from controller.core.scheduling_policies.runtime_class import ChosenClass, ClassSource, choose_class
from tests.support.api_objects import Json
from tests.support.builders import a_term
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.scheduling import PODS, a_pod, as_one, faults, given, is_admitted, needs, nodes

DAEMON = Exempt(is_daemon_set_pod=True)
NOT_READY = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}"
EQUAL: Json = {"key": "a", "operator": "Equal", "value": "x"}
A_EXISTS = "{matchExpressions: [{key: a, operator: Exists}]}"
A_IN_X_Y = "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [x, y]}]}]}"
NEAR = "[{topologyKey: z}]"


def near(*terms: Json) -> Json:
    return {"affinity": {"podAffinity": {REQUIRED: list(terms)}}}


# -- completion ----------------------------------------------------------------------------------------------------


def test_the_only_required_name_comes_before_any_default() -> None:
    spec = "required: {schedulerNames: [a], priorityClassNames: [b], runtimeClassNames: [c], nodeSelectors: {d: [e]}}"
    assert given("{}", spec) == (
        ("spec.schedulerName", "a"),
        ("spec.priorityClassName", "b"),
        ("spec.runtimeClassName", "c"),
        ("spec.nodeSelector[d]", "e"),
    )
    assert given("{}", "required: {nodeSelectors: {d: [e]}}", "default: {nodeSelector: {d: f}}") == (
        ("spec.nodeSelector[d]", "e"),
    )


def test_of_several_names_that_are_required_none_is_given() -> None:
    spec = "required: {schedulerNames: [a, b], nodeSelectors: {d: [e, f]}}"
    assert given("{}", spec) == ()
    assert faults(a_pod(), as_one(spec)) == [
        "spec.schedulerName is 'default-scheduler', must be 'a' or 'b' (required.schedulerNames of SchedulingPolicy "
        "'schedpol-a')",
        "spec.nodeSelector[d] is not set, must be 'e' or 'f' (required.nodeSelectors[d] of SchedulingPolicy "
        "'schedpol-a')",
    ]


def test_the_global_priority_class_gives_way_to_a_default() -> None:
    pod = a_pod("priorityClassName: everybody", Exempt(priority_class="everybody"))
    assert is_admitted(pod, "{}")
    assert not is_admitted(replace(pod, exempt=Exempt()), "{}")
    done = complete(pod, as_one("default: {priorityClassName: high}"))
    assert (done.pod.priority_class, done.replaces_priority) == ("high", True)
    assert not complete(pod, as_one("default: {priorityClassName: everybody}")).replaces_priority
    assert is_admitted(pod, "required: {priorityClassNames: [everybody, high]}")


def test_a_default_against_the_pods_affinity_is_not_given() -> None:
    spec = "{allowed: {affinities: {}}, default: {nodeSelector: {arch: amd64}}}"
    assert given(needs("arch In arm64"), spec) == ()
    assert given(needs("arch In arm64", "arch In amd64"), spec) == (("spec.nodeSelector[arch]", "amd64"),)
    assert is_admitted(needs("arch In arm64"), spec)


def test_what_nodes_require_comes_before_a_default_against_it() -> None:
    required = nodes("required", "[{keys: [arch], operators: [In], values: [arm64]}]")
    assert given("{}", required, "default: {nodeSelector: {arch: amd64}}") == (
        (f"spec.affinity.nodeAffinity.{REQUIRED}", "arch In [arm64]"),
    )


@pytest.mark.parametrize(
    ("forms", "text"),
    [
        ("[{keys: [a], operators: [In], values: [x]}]", "a In [x]"),
        (
            "[{keys: [a], operators: [Exists]}, {keys: [b], operators: [NotIn], values: [y]}]",
            "a Exists and b NotIn [y]",
        ),
        ("[{keys: [a], operators: [DoesNotExist], values: []}]", "a DoesNotExist"),
        ("[{keys: [a, b], operators: [Exists]}]", None),
        ("[{keys: [a], operators: [In, NotIn], values: [x]}]", None),
        ("[{keys: [a], operators: [In], values: [x, y]}]", None),
        ("[{keys: [a], operators: [In], values: []}]", None),
        ("[{keys: [], operators: [Exists]}]", None),
        ("[{operators: [Exists]}]", None),
    ],
)
def test_required_node_affinity_is_given_without_a_choice(forms: str, text: str | None) -> None:
    spec = nodes("required", forms)
    assert given("{}", spec) == (((f"spec.affinity.nodeAffinity.{REQUIRED}", text),) if text else ())
    assert is_admitted("{}", spec) is (text is not None)


def test_required_node_affinity_ends_every_alternative() -> None:
    spec = nodes("required", "[{keys: [a], operators: [In], values: [x]}]")
    done = complete(a_pod(needs("b Exists", "a In x & c Exists")), as_one(spec, "allowed: {affinities: {}}"))
    assert done.pod.directives.required == (a_term("b Exists", "a In x"), a_term("a In x", "c Exists"))


def test_two_required_terms_are_a_choice() -> None:
    form = "[{{keys: [a], operators: [In], values: [{}]}}]"
    assert given("{}", nodes("required", form.format("x"), form.format("y"))) == ()


def test_default_affinity_is_given_kind_by_kind() -> None:
    prefers = "[{weight: 5, preference: {matchExpressions: [{key: a, operator: Exists}]}}]"
    near = "[{topologyKey: zone}]"
    spec = f"""
    default:
      affinity:
        nodeAffinity: {{{PREFERRED}: {prefers}}}
        podAffinity: {{{REQUIRED}: {near}}}
    """
    whole = complete(a_pod(), as_one(spec)).pod.directives
    assert whole.preferred == (Preferred(5, a_term("a Exists")),)
    assert whole.pod_terms == {(PodAffinity.TOGETHER, REQUIRED): ({"topologyKey": "zone"},)}
    assert [path for path, _ in given({"affinity": {"podAffinity": {PREFERRED: PODS}}}, spec)] == [
        f"spec.affinity.nodeAffinity.{PREFERRED}"
    ]
    assert [path for path, _ in given(needs("b Exists"), spec)] == [f"spec.affinity.podAffinity.{REQUIRED}"]
    assert is_admitted("{}", spec)


def test_additions_name_the_policy_whose_word_it_was() -> None:
    specs = (
        "default: {nodeSelector: {a: x}}",
        "{default: {nodeSelector: {a: y, b: z}}, required: {schedulerNames: [s]}}",
    )
    assert complete(a_pod(), as_one(*specs)).additions == (
        Addition("spec.schedulerName", "s", "required.schedulerNames", "schedpol-b"),
        Addition("spec.nodeSelector[a]", "x", "default.nodeSelector[a]", "schedpol-a"),
        Addition("spec.nodeSelector[b]", "z", "default.nodeSelector[b]", "schedpol-b"),
    )
    assert given("{}", *specs)[1:] == (("spec.nodeSelector[a]", "x"), ("spec.nodeSelector[b]", "z"))


@pytest.mark.parametrize(
    ("default", "pod", "other"),
    [
        ("schedulerName: s", {"schedulerName": "s"}, {"schedulerName": "t"}),
        ("nodeSelector: {a: x}", {"nodeSelector": {"a": "x"}}, {"nodeSelector": {"a": "y"}}),
        ("tolerations: [{key: a, values: [x]}]", {"tolerations": [EQUAL]}, {"tolerations": [{**EQUAL, "value": "y"}]}),
        (f"affinity: {{nodeAffinity: {{{REQUIRED}: {A_IN_X_Y}}}}}", needs("a In y,x"), needs("a In x")),
        (f"affinity: {{podAffinity: {{{REQUIRED}: {NEAR}}}}}", near({"topologyKey": "z"}), near({"topologyKey": "h"})),
    ],
)
def test_what_is_given_by_default_is_allowed_alone(default: str, pod: Json, other: Json) -> None:
    spec = f"default: {{{default}}}"
    assert given(pod, spec) == ()
    assert is_admitted(pod, spec)
    assert not is_admitted(other, spec)


def test_a_default_that_every_pod_has_is_not_given_twice() -> None:
    default = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}"
    spec = f"default: {{tolerations: [{default}, {{key: a, operator: Exists}}]}}"
    assert given(f"tolerations: [{NOT_READY}]", spec) == (("spec.tolerations", "a"),)


def test_a_pod_whose_affinity_matches_no_node_is_given_no_other() -> None:
    spec = f"default: {{affinity: {{nodeAffinity: {{{PREFERRED}: [{{weight: 1, preference: {A_EXISTS}}}]}}}}}}"
    empty: Json = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}}
    assert given(empty, spec) == ()
    assert given("{}", spec)


# -- what is no use ------------------------------------------------------------------------------------------------

UNREACHABLE = NOT_READY.replace("not-ready", "unreachable")


def test_the_apiservers_two_tolerations_hide_no_default() -> None:
    pod = f"tolerations: [{NOT_READY}, {UNREACHABLE}]"
    assert is_admitted(pod, "{}")
    assert given(pod, "default: {tolerations: [{key: a, operator: Exists}]}") == (("spec.tolerations", "a"),)


@pytest.mark.parametrize("other", [("300", "301"), ("NoExecute", "NoSchedule"), ("Exists", "Equal")])
def test_any_other_toleration_of_these_taints_is_a_use(other: tuple[str, str]) -> None:
    assert not is_admitted(f"tolerations: [{NOT_READY.replace(*other)}]", "{}")


def test_what_the_runtime_class_gives_is_no_use_but_counts() -> None:
    of_class = Exempt(node_selector=frozenset({("pool", "kata")}), tolerations=(Toleration("kata", "", "yes"),))
    pod = a_pod("{nodeSelector: {pool: kata}, tolerations: [{key: kata, operator: Equal, value: 'yes'}]}", of_class)
    assert is_admitted(pod, "{}")
    assert is_admitted(pod, "required: {nodeSelectors: {pool: [kata, runc]}}")
    assert not is_admitted(pod, "required: {nodeSelectors: {pool: [runc]}}")
    assert given("{}", "default: {tolerations: [{key: a, operator: Exists}]}")
    assert not is_admitted(replace(pod, exempt=Exempt()), "{}")


def test_what_the_daemon_set_controller_gives_is_no_use() -> None:
    name = "{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}"
    spec = f"""
    tolerations:
      - {{key: node.kubernetes.io/disk-pressure, operator: Exists, effect: NoSchedule}}
      - {{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}}
    affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{name}]}}}}}}
    """
    assert is_admitted(a_pod(spec, DAEMON), "{}")
    assert faults(a_pod(spec), as_one("{}")) == [
        "spec.tolerations[0] is node.kubernetes.io/disk-pressure:NoSchedule, which needs allowed.tolerations, not "
        "given by SchedulingPolicy 'schedpol-a'",
        "spec.tolerations[1] is node.kubernetes.io/not-ready:NoExecute, which needs allowed.tolerations, not given by "
        "SchedulingPolicy 'schedpol-a'",
        f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchFields[0] is metadata.name In [node-1], "
        f"which needs allowed.affinities.nodeAffinities.{REQUIRED}, not given by SchedulingPolicy 'schedpol-a'",
    ]
    default = "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}"
    given_too = f"default: {{affinity: {{nodeAffinity: {{{REQUIRED}: {default}}}}}}}"
    done = complete(a_pod(spec, DAEMON), as_one(given_too)).pod.directives.required
    assert done == (a_term("a Exists", fields=["metadata.name In node-1"]),)
    assert not is_admitted(a_pod(spec, DAEMON), f"required: {{affinities: {{nodeAffinities: {{{REQUIRED}: {{}}}}}}}}")


def test_a_node_named_by_the_pod_is_a_use() -> None:
    assert not is_admitted("nodeName: node-1", "{}")
    assert is_admitted("nodeName: node-1", "allowed: {nodeNames: []}")
    assert is_admitted("nodeName: node-1", "allowed: {nodeNames: [node-1]}")
    assert faults(a_pod("nodeName: node-1"), as_one("allowed: {nodeNames: [node-2]}")) == [
        "spec.nodeName is 'node-1', allowed is 'node-2' (allowed.nodeNames of SchedulingPolicy 'schedpol-a')"
    ]


# -- runtime classes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("specs", "admitted"),
    [
        (["{}"], True),
        (["allowed: {schedulerNames: []}"], True),
        (["allowed: {runtimeClassNames: [kata]}"], True),
        (["allowed: {runtimeClassNames: []}"], True),
        (["allowed: {runtimeClassNames: [runc]}"], False),
        (["required: {runtimeClassNames: [runc]}"], False),
        (["default: {runtimeClassName: runc}"], False),
        (["{}", "allowed: {runtimeClassNames: [runc]}"], False),
        (["allowed: {runtimeClassNames: [kata]}", "allowed: {runtimeClassNames: [runc]}"], True),
    ],
)
def test_runtime_classes_are_restricted_where_spoken_of(specs: list[str], admitted: bool) -> None:
    assert is_admitted("runtimeClassName: kata", *specs) is admitted


@pytest.mark.parametrize(
    ("pod", "spec", "name", "source"),
    [
        ("runtimeClassName: own", "default: {runtimeClassName: policy}", "own", ClassSource.POD),
        ("{}", "{required: {runtimeClassNames: [only]}}", "only", ClassSource.POLICY),
        ("{}", "default: {runtimeClassName: policy}", "policy", ClassSource.POLICY),
        ("{}", "required: {runtimeClassNames: [a, b]}", "namespace", ClassSource.NAMESPACE),
        ("{}", None, "namespace", ClassSource.NAMESPACE),
    ],
)
def test_the_class_is_the_pods_the_policies_or_the_namespaces(
    pod: str, spec: str | None, name: str, source: ClassSource
) -> None:
    merged = None if spec is None else as_one(spec)
    chosen = choose_class(a_pod(pod), merged, of_namespace="namespace", of_cluster="cluster")
    assert chosen is not None
    assert (chosen.name, chosen.source) == (name, source)
    assert (chosen.policy is not None) is (source is ClassSource.POLICY)


def test_the_clusters_class_is_the_last_and_there_may_be_none() -> None:
    assert choose_class(a_pod(), None, of_namespace="", of_cluster="c") == ChosenClass("c", ClassSource.CLUSTER)
    assert choose_class(a_pod(), as_one("{}"), of_namespace="", of_cluster="") is None


def test_a_daemon_set_pod_gets_no_mere_default_class() -> None:
    pod = a_pod("{}", DAEMON)
    by_default, required = as_one("default: {runtimeClassName: kata}"), as_one("required: {runtimeClassNames: [kata]}")
    assert choose_class(pod, by_default, of_namespace="n", of_cluster="c") is None
    assert complete(pod, by_default).additions == ()
    assert complete(pod, required).pod.runtime_class == "kata"


# -- words ---------------------------------------------------------------------------------------------------------


def test_a_violation_names_what_is_allowed_and_by_whom() -> None:
    specs = "allowed: {nodeSelectors: {disk: [ssd]}}", "allowed: {nodeSelectors: {disk: [sata], zone: []}}"
    pod = a_pod("nodeSelector: {disk: nvme}")
    assert faults(pod, as_one(*specs)) == [
        "spec.nodeSelector[disk] is 'nvme', allowed is 'ssd' or 'sata' (allowed.nodeSelectors[disk] of "
        "SchedulingPolicies 'schedpol-a' and 'schedpol-b')"
    ]
    for option in (MergeOption.FIRST_ENTRY, MergeOption.FIRST_POLICY):
        assert faults(pod, as_one(*specs, option=option)) == [
            "spec.nodeSelector[disk] is 'nvme', allowed is 'ssd' (allowed.nodeSelectors[disk] of SchedulingPolicy "
            "'schedpol-a')"
        ]


def test_a_violation_of_many_policies_names_the_first_of_them() -> None:
    text = faults(a_pod("nodeName: n"), as_one(*["{}"] * 10))[0]
    assert text.endswith("'schedpol-g', 'schedpol-h' and 2 more")


def test_a_forbidden_toleration_is_told_the_allowed_forms() -> None:
    spec = (
        "allowed: {tolerations: [{keys: [a], operators: [Equal], values: [x, y], effects: []}, {effects: [NoExecute]}]}"
    )
    assert faults(a_pod("tolerations: [{operator: Exists}]"), as_one(spec)) == [
        "spec.tolerations[0] is every taint, allowed is key a, operator Equal, value x or y, any effect; or no key, no "
        "operator, effect NoExecute (allowed.tolerations of SchedulingPolicy 'schedpol-a')"
    ]
