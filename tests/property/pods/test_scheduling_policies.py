"""Any SchedulingPolicies, any pod: merged and judged as proposed, nothing loosened, nothing done twice."""

from __future__ import annotations

from typing import Any

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from controller.core.kubernetes.documents import term_document, toleration_document
from controller.core.scheduling_policies.completion import complete
from controller.core.scheduling_policies.judgement import judge
from controller.core.scheduling_policies.merging import merge
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import MergeOption
from controller.core.scheduling_policies.violation import Breach
from tests.support import scheduling_oracle as oracle
from tests.support.api_objects import node_terms, requirement
from tests.support.pod_update_rules import PREFERRED, REQUIRED, may_run_on
from tests.support.scheduling import a_pod, a_policy
from tests.support.scheduling_strategies import allowed_sections, pod_specs, policy_specs
from tests.support.seeds import examples
from tests.support.strategies import node_labels

Json = dict[str, Any]
THOROUGH = settings(max_examples=examples(300))

several = st.lists(policy_specs(), min_size=1, max_size=3)
options = st.sampled_from(MergeOption)


def named(specs: list[Json]) -> Any:
    return [a_policy(spec, f"p{number}") for number, spec in enumerate(specs)]


def as_json(pod: Pod) -> Json:
    """The spec of a pod."""
    said = pod.directives
    node: Json = {}
    if said.required is not None:
        node[REQUIRED] = {"nodeSelectorTerms": [term_document(term) for term in said.required]}
    if said.preferred:
        node[PREFERRED] = [{"weight": one.weight, "preference": term_document(one.term)} for one in said.preferred]
    affinity: Json = {"nodeAffinity": node}
    for (kind, part), terms in said.pod_terms.items():
        affinity.setdefault(kind.value, {})[part] = list(terms)
    return {
        "schedulerName": said.scheduler_name,
        "priorityClassName": pod.priority_class,
        "runtimeClassName": pod.runtime_class,
        "nodeName": said.node_name,
        "nodeSelector": dict(said.node_selector),
        "tolerations": [toleration_document(one) for one in said.tolerations],
        "affinity": affinity,
    }


@THOROUGH
@given(several, options, st.randoms(use_true_random=False))
def test_the_merge_is_that_of_the_proposal_in_any_order(specs: list[Json], option: MergeOption, random: Any) -> None:
    policies = named(specs)
    random.shuffle(policies)
    merged, expected = merge(policies, option), oracle.merged(specs, option.value)
    for section in ("required", "allowed", "default"):
        assert getattr(merged, section) == getattr(a_policy({section: expected[section]}), section)


@THOROUGH
@given(several, options, pod_specs())
def test_a_pod_is_admitted_where_the_proposal_admits_it(specs: list[Json], option: MergeOption, pod: Json) -> None:
    merged, expected = merge(named(specs), option), oracle.merged(specs, option.value)
    for one in (a_pod(pod), complete(a_pod(pod), merged).pod):
        is_admitted = not judge(one, merged)
        event(f"admitted: {is_admitted}")
        assert is_admitted is oracle.admits(expected, as_json(one))


@THOROUGH
@given(policy_specs(), pod_specs())
def test_one_policy_admits_a_pod_where_the_proposal_does(spec: Json, pod: Json) -> None:
    test = merge([a_policy(spec)], MergeOption.DEEP_MERGE)
    for part in pod:
        one = complete(a_pod({part: pod[part]}), test).pod
        assert (not judge(one, test)) is oracle.admits(spec, as_json(one))


@THOROUGH
@given(several, options, pod_specs())
@example(
    [{"default": {"affinity": node_terms({"matchExpressions": [requirement("Gt", "0")]})}}],
    MergeOption.DEEP_MERGE,
    {"affinity": node_terms()},
)
def test_completing_twice_is_once_and_only_appends(specs: list[Json], option: MergeOption, spec: Json) -> None:
    merged, pod = merge(named(specs), option), a_pod(spec)
    done = complete(pod, merged)
    assert complete(done.pod, merged).pod == done.pod
    assert complete(done.pod, merged).additions == ()
    assert (done.pod == pod) is (not done.additions)
    own, now = pod.directives, done.pod.directives
    assert set(own.node_selector) <= set(now.node_selector)
    assert now.tolerations[: len(own.tolerations)] == own.tolerations
    assert now.preferred[: len(own.preferred)] == own.preferred
    assert {addition.policy for addition in done.additions} <= set(merged.names)


@THOROUGH
@given(several, options, pod_specs(), st.lists(node_labels(), min_size=3, max_size=8))
def test_a_completed_pod_runs_on_no_further_node(
    specs: list[Json], option: MergeOption, spec: Json, nodes: list[dict[str, str]]
) -> None:
    pod = a_pod(spec)
    before, after = as_json(pod), as_json(complete(pod, merge(named(specs), option)).pod)
    for number, labels in enumerate(nodes):
        name = f"node-{number}"
        assert may_run_on({"spec": before}, name, labels) or not may_run_on({"spec": after}, name, labels)


@THOROUGH
@given(several, allowed_sections(), pod_specs())
def test_a_policy_that_only_allows_more_takes_no_pod_away(specs: list[Json], allowed: Json, spec: Json) -> None:
    """But for RuntimeClasses, which are free only as long as no policy speaks of them."""
    pod = a_pod({name: value for name, value in spec.items() if name != "runtimeClassName"})
    more = merge(named([*specs, {"allowed": allowed}]), MergeOption.DEEP_MERGE)
    fewer = merge(named(specs), MergeOption.DEEP_MERGE)
    assert {one.path for one in judge(pod, more)} <= {one.path for one in judge(pod, fewer)}


@THOROUGH
@given(several, options, pod_specs())
def test_every_violation_names_policies_and_what_would_be_right(
    specs: list[Json], option: MergeOption, spec: Json
) -> None:
    merged = merge(named(specs), option)
    for one in judge(a_pod(spec), merged):
        assert one.policies
        assert set(one.policies) <= set(merged.names)
        assert bool(one.wanted) is (one.breach is not Breach.UNSPOKEN)
        assert one.value or one.breach is Breach.REQUIRED
        assert one.path in one.text
