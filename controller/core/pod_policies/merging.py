"""One policy's directives merged into a pod's, field by field.

The pod's own word stays, and what contradicts it is left out; what an earlier policy gave counts as the pod's own.
Merging is idempotent: on its own result it changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.kubernetes.directives import DEFAULT_SCHEDULER, POD_TERM_LISTS, Directives
from controller.core.kubernetes.labels import Term
from controller.core.kubernetes.node_terms import TERMS_MOST, ConjoinedTerm, TooManyTerms, named, product
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.single_requirements import Remainder, remainder

_TERMS = "spec.affinity.nodeAffinity: required terms"


@dataclass(frozen=True, slots=True)
class Conflict:
    """What of a policy was left out: the field of the policy, and why, with path and value in the pod."""

    field: str
    text: str


@dataclass(slots=True)
class Merge:
    """The merge of one policy into a pod: what came of it so far. Fields are those of the policy's spec."""

    pod: Directives
    changed: list[str] = field(default_factory=list)
    met: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    fault: str | None = None

    @property
    def holds(self) -> bool:
        """Whether something of the policy is on the pod now, put there or found there."""
        return bool(self.changed or self.met)

    def note(self, name: str, *, changed: bool) -> None:
        """Remember that a field, or a part of it, is now as the policy wants it."""
        names = self.changed if changed else self.met
        if name not in names:
            names.append(name)

    def conflict(self, name: str, text: str) -> None:
        """Remember what was left out."""
        self.conflicts.append(Conflict(name, text))


def merge(pod: Directives, policy: Directives, *, is_held: bool) -> Merge:
    """Merge a policy into a pod. `is_held`: a gate waits, or will wait, on the pod, which forbids spec.nodeName."""
    done = Merge(pod)
    _node_selector(done, policy)
    _node_name(done, policy.node_name, is_held=is_held)
    _scheduler_name(done, policy.scheduler_name)
    _tolerations(done, policy)
    if policy.required is not None:
        _require(done, "nodeAffinity", policy.required)
    _preferred(done, policy)
    _pod_terms(done, policy)
    return done


def for_fixed_template(policy: Directives, pod: Directives) -> Directives:
    """Return what of the policy a suspended Job's template can still be given: the rest only where it has it already.

    Without a change of schedulerName and of affinity to other pods, which the apiserver would refuse; nodeName is for
    the caller, who can say that the template is held. Mirrors `validatePodTemplateUpdate` of
    k8s.io/kubernetes/pkg/apis/batch/validation.
    """
    terms = {
        place: tuple(term for term in of if term in pod.pod_terms.get(place, ()))
        for place, of in policy.pod_terms.items()
    }
    scheduler = policy.scheduler_name if pod.scheduler_name or policy.scheduler_name == DEFAULT_SCHEDULER else ""
    return policy.but(scheduler_name=scheduler, pod_terms={place: of for place, of in terms.items() if of})


def _node_selector(done: Merge, policy: Directives) -> None:
    own = dict(done.pod.node_selector)
    for key, value in policy.node_selector:
        if key in own:
            if own[key] == value:
                done.note("nodeSelector", changed=False)
            else:
                done.conflict("nodeSelector", f"spec.nodeSelector[{key}] is {own[key]!r}, not {value!r}")
            continue
        selector = (*done.pod.node_selector, (key, value))
        if can_hold(done.pod, ConjoinedTerm.of(selector, done.pod.node_name)):
            own[key] = value
            done.pod = done.pod.but(node_selector=tuple(sorted(selector)))
            done.note("nodeSelector", changed=True)
        else:
            done.conflict("nodeSelector", f"{_TERMS} rule out {key}={value}")


def can_hold(pod: Directives, conjoined: ConjoinedTerm) -> bool:
    """Whether one of the pod's terms could hold beside this, or it has none that could in any case."""
    terms = [term for term in pod.required or () if not term.is_empty]
    return not terms or any(conjoined.contradicts(term) is None for term in terms)


def _node_name(done: Merge, name: str, *, is_held: bool) -> None:
    if not name:
        return
    if is_held:
        _require(done, "nodeName", (Term(fields=(named(name),)),))
    elif done.pod.node_name:
        if done.pod.node_name == name:
            done.note("nodeName", changed=False)
        else:
            done.conflict("nodeName", f"spec.nodeName is {done.pod.node_name!r}, not {name!r}")
    elif not can_hold(done.pod, ConjoinedTerm.of(done.pod.node_selector, name)):
        done.conflict("nodeName", f"{_TERMS} rule out node {name!r}")
    else:
        done.pod = done.pod.but(node_name=name)
        done.note("nodeName", changed=True)


def _scheduler_name(done: Merge, name: str) -> None:
    own = done.pod.scheduler_name
    if not name:
        return
    if own and own != name:
        done.conflict("schedulerName", f"spec.schedulerName is {own!r}, not {name!r}")
        return
    if not own:
        done.pod = done.pod.but(scheduler_name=name)
    done.note("schedulerName", changed=not own and name != DEFAULT_SCHEDULER)


def _tolerations(done: Merge, policy: Directives) -> None:
    if not policy.tolerations:
        return
    own = {_without_seconds(one): one for one in reversed(done.pod.tolerations)}
    added: list[Toleration] = []
    for wanted in policy.tolerations:
        has = own.get(_without_seconds(wanted))
        if has is None or wanted in done.pod.tolerations or wanted in added:
            done.note("tolerations", changed=has is None)
        else:
            text = f"spec.tolerations has {_seconds(has)} for {wanted.key or 'every taint'!r}, not {_seconds(wanted)}"
            done.conflict("tolerations", text)
        if has is None:
            own[_without_seconds(wanted)] = wanted
            added.append(wanted)
    if added:
        done.pod = done.pod.but(tolerations=(*done.pod.tolerations, *added))


def _without_seconds(toleration: Toleration) -> tuple[str, str, str, str]:
    return toleration.key, toleration.operator, toleration.value, toleration.effect


def _seconds(toleration: Toleration) -> str:
    return "no end" if toleration.seconds is None else f"{toleration.seconds} s"


def _require(done: Merge, name: str, terms: tuple[Term, ...]) -> None:
    own, conjoined = done.pod.required, ConjoinedTerm.of(done.pod.node_selector, done.pod.node_name)
    try:
        narrowed = product(own, terms, conjoined)
        if narrowed is None:
            _require_in_part(done, name, remainder(own, terms, conjoined))
            return
    except TooManyTerms:
        done.fault = (
            f"{_TERMS}: {len(own or ())} of the pod with {len(terms)} of the policy give more than {TERMS_MOST}; "
            "use fewer alternatives"
        )
        return
    if narrowed != own:
        done.pod = done.pod.but(required=narrowed)
        done.note(name, changed=True)
    elif any(not term.is_empty for term in narrowed):
        done.note(name, changed=False)


def _require_in_part(done: Merge, name: str, rest: Remainder) -> None:
    """Where no alternative can hold: what can of each, and a word on what is left out."""
    done.conflict(name, "; ".join(rest.left_out) or f"{_TERMS} can hold on no node together with spec.nodeSelector")
    if rest.holds:
        is_changed = rest.terms != done.pod.required
        done.pod = done.pod.but(required=rest.terms)
        done.note(name, changed=is_changed)


def _preferred(done: Merge, policy: Directives) -> None:
    for wanted in policy.preferred:
        is_new = wanted not in done.pod.preferred
        if is_new:
            done.pod = done.pod.but(preferred=(*done.pod.preferred, wanted))
        done.note("nodeAffinity", changed=is_new)


def _pod_terms(done: Merge, policy: Directives) -> None:
    for place in POD_TERM_LISTS:
        for wanted in policy.pod_terms.get(place, ()):
            own = done.pod.pod_terms.get(place, ())
            is_new = wanted not in own
            if is_new:
                done.pod = done.pod.but(pod_terms={**done.pod.pod_terms, place: (*own, wanted)})
            done.note(place[0].value, changed=is_new)
