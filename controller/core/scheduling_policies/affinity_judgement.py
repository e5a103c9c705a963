"""Whether a pod's affinities are those that its policies demand and allow.

Node affinity is looked into, by the forms of policies. Affinity to other pods is allowed or required as a whole, by
part, because what it costs does not depend on what its terms say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.core.kubernetes.directives import PREFERRED, REQUIRED, PodAffinity
from controller.core.kubernetes.labels import Requirement, Term
from controller.core.scheduling_policies.entries import (
    default_nodes,
    default_pods,
    permitted_affinity,
    required_kind,
    required_terms,
)
from controller.core.scheduling_policies.forms import allowed_part, has_form, permit
from controller.core.scheduling_policies.merging import Merged
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import AffinityKind, DefaultAffinity, TermForms
from controller.core.scheduling_policies.violation import Breach, Violation
from controller.core.scheduling_policies.wording import (
    alternatives,
    counted,
    term_form_text,
    terms_text,
)

_PARTS = (REQUIRED, PREFERRED)
_FIELDS = {
    AffinityKind.NODE: "spec.affinity.nodeAffinity",
    AffinityKind.TOGETHER: "spec.affinity.podAffinity",
    AffinityKind.APART: "spec.affinity.podAntiAffinity",
}
_TO_PODS = {AffinityKind.TOGETHER: PodAffinity.TOGETHER, AffinityKind.APART: PodAffinity.APART}


def judge_affinities(pod: Pod, merged: Merged) -> Iterator[Violation]:
    """Return what is wrong with the pod's affinities."""
    if merged.required.affinities:
        yield from _required(pod, merged)
    directives = pod.directives
    if directives.required:
        yield from _node_requirements(pod, merged, REQUIRED, directives.required)
    if directives.preferred:
        yield from _node_requirements(pod, merged, PREFERRED, [one.term for one in directives.preferred])
    if directives.pod_terms:
        yield from _to_pods(pod, merged)


# -- required ------------------------------------------------------------------------------------------------------


def _required(pod: Pod, merged: Merged) -> Iterator[Violation]:
    for kind, parts in (merged.required.affinities or {}).items():
        entry = f"required.affinities.{kind}"
        if not parts:
            if not any(_has_terms(pod, kind, part) for part in _PARTS):
                giver = merged.giver(required_kind(kind))
                yield _missing(_FIELDS[kind], entry, (), giver)
            continue
        for part, forms in parts.items():
            giver = merged.giver(required_terms(kind, part, forms))
            path, entry_of_part = f"{_FIELDS[kind]}.{part}", f"{entry}.{part}"
            if (kind, part) == (AffinityKind.NODE, REQUIRED):
                yield from _required_nodes(pod, path, entry_of_part, forms, giver)
            elif not _has_terms(pod, kind, part) or (forms and not _prefers(pod, forms)):
                yield _missing(path, entry_of_part, forms, giver)


def _has_terms(pod: Pod, kind: AffinityKind, part: str) -> bool:
    directives = pod.directives
    if kind is not AffinityKind.NODE:
        return bool(directives.pod_terms.get((_TO_PODS[kind], part)))
    return bool(directives.preferred) if part == PREFERRED else pod.requires_nodes


def _prefers(pod: Pod, forms: TermForms) -> bool:
    return any(has_form(one.term, form) for one in pod.directives.preferred for form in forms)


def _required_nodes(pod: Pod, path: str, entry: str, forms: TermForms, giver: str) -> Iterator[Violation]:
    """Every alternative of the pod has to hold one of the required terms; an empty one matches no node anyway."""
    terms = pod.directives.required
    if not terms or (not forms and not pod.requires_nodes):
        yield _missing(path, entry, forms, giver)
        return
    for index, term in enumerate(terms):
        if forms and not term.is_empty and not any(has_form(term, form) for form in forms):
            yield Violation(
                path=f"{path}.nodeSelectorTerms[{index}]",
                value=terms_text((term,)),
                breach=Breach.REQUIRED,
                entry=entry,
                wanted=_wanted(forms),
                policies=(giver,),
            )


def _missing(path: str, entry: str, forms: TermForms, giver: str) -> Violation:
    return Violation(path=path, value="", breach=Breach.REQUIRED, entry=entry, wanted=_wanted(forms), policies=(giver,))


def _wanted(forms: TermForms) -> str:
    return alternatives([term_form_text(form) for form in forms]) if forms else "given"


# -- allowed -------------------------------------------------------------------------------------------------------


def _node_requirements(pod: Pod, merged: Merged, part: str, terms: Sequence[Term]) -> Iterator[Violation]:
    """Each requirement of each term has to be of some form: any combination of those is allowed."""
    kind = AffinityKind.NODE
    allowed = allowed_part(merged.allowed.affinities, kind, part)
    required = allowed_part(merged.required.affinities, kind, part)
    if allowed == () or required == ():
        return
    forms = (*(required or ()), *(allowed or ()))
    given = _given(merged.default.affinity, part)
    for path, requirement in _uses(pod, part, terms):
        is_field = ".matchFields[" in path
        if permit((form.fields if is_field else form.expressions for form in forms), requirement):
            continue
        if not any(
            _is_same(requirement, one) for term in given for one in (term.fields if is_field else term.expressions)
        ):
            wanted = [*map(term_form_text, forms), *(terms_text((term,)) for term in given)]
            yield _not_allowed(merged, kind, part, path, requirement.text, wanted)


def _uses(pod: Pod, part: str, terms: Sequence[Term]) -> Iterator[tuple[str, Requirement]]:
    base = f"{_FIELDS[AffinityKind.NODE]}.{part}"
    for index, term in enumerate(terms):
        where = f"{base}.nodeSelectorTerms[{index}]" if part == REQUIRED else f"{base}[{index}].preference"
        for number, requirement in enumerate(term.expressions):
            yield f"{where}.matchExpressions[{number}]", requirement
        for number, requirement in enumerate(term.fields):
            if part != REQUIRED or not pod.exempt.is_node_of_daemon(requirement):
                yield f"{where}.matchFields[{number}]", requirement


def _given(affinity: DefaultAffinity | None, part: str) -> tuple[Term, ...]:
    if affinity is None:
        return ()
    return (affinity.required or ()) if part == REQUIRED else tuple(one.term for one in affinity.preferred)


def _is_same(one: Requirement, other: Requirement) -> bool:
    return (one.key, one.operator, set(one.values)) == (other.key, other.operator, set(other.values))


def _to_pods(pod: Pod, merged: Merged) -> Iterator[Violation]:
    given = merged.default.affinity.pod_terms if merged.default.affinity is not None else {}
    for kind, which in _TO_PODS.items():
        for part in _PARTS:
            terms, by_default = pod.directives.pod_terms.get((which, part), ()), given.get((which, part), ())
            if all(term in by_default for term in terms):
                continue
            if allowed_part(merged.allowed.affinities, kind, part) is None and (
                allowed_part(merged.required.affinities, kind, part) is None
            ):
                path, wanted = f"{_FIELDS[kind]}.{part}", ["what is given by default"] if by_default else []
                yield _not_allowed(merged, kind, part, path, counted(len(terms), "term"), wanted)


def _not_allowed(
    merged: Merged, kind: AffinityKind, part: str, path: str, value: str, wanted: Sequence[str]
) -> Violation:
    default = default_nodes(part) if kind is AffinityKind.NODE else default_pods((_TO_PODS[kind], part))
    speaking = merged.speaking(permitted_affinity(kind, part), default)
    return Violation(
        path=path,
        value=value,
        breach=Breach.NOT_ALLOWED if wanted else Breach.UNSPOKEN,
        entry=f"allowed.affinities.{kind}.{part}",
        wanted=alternatives(wanted),
        policies=speaking if wanted else merged.names,
    )
