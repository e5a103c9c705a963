"""Whether a pod uses what its policies demand, and nothing that they do not allow.

What is required is allowed too, and so is what is given by default. What the pod has without having asked for it
(`pod.Exempt`) is no use and needs no permission, but counts where something is required. Affinities are judged in
`affinity_judgement`.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.scheduling_policies.affinity_judgement import judge_affinities
from controller.core.scheduling_policies.entries import allowed_selector, default_selector, required_selector
from controller.core.scheduling_policies.forms import permits
from controller.core.scheduling_policies.merging import Merged
from controller.core.scheduling_policies.names import PRIORITY_CLASS, RUNTIME_CLASS, SCHEDULER, NameField
from controller.core.scheduling_policies.pod import Pod
from controller.core.scheduling_policies.policy import Names
from controller.core.scheduling_policies.violation import Breach, Violation
from controller.core.scheduling_policies.wording import alternatives, listed, toleration_form_text, toleration_text


def judge(pod: Pod, merged: Merged) -> tuple[Violation, ...]:
    """Return everything that is wrong with the pod, which is expected to be complete (`completion`)."""
    found: list[Violation] = []
    found += _name(SCHEDULER, pod, merged)
    found += _name(PRIORITY_CLASS, pod, merged)
    if merged.speaks_of_runtime_classes:
        found += _name(RUNTIME_CLASS, pod, merged)
    directives = pod.directives
    if directives.node_name:
        found += _node_name(directives.node_name, merged)
    if directives.node_selector or merged.required.node_selectors:
        found += _node_selector(pod, merged)
    if directives.tolerations:
        found += judge_tolerations(pod, merged)
    found += judge_affinities(pod, merged)
    return tuple(found)


def _name(field: NameField, pod: Pod, merged: Merged) -> Iterator[Violation]:
    required, own = field.required(merged.required), field.current(pod)
    if required is not None:
        if own not in required:
            yield Violation(
                path=field.path,
                value=repr(own) if own else "",
                breach=Breach.REQUIRED,
                entry=f"required.{field.entry}",
                wanted=listed(required),
                policies=(merged.giver(lambda policy: field.required(policy.required)),),
            )
        return
    if not field.is_used(pod):
        return
    allowed, default = field.allowed(merged.allowed), field.default(merged.default)
    if own == default or (allowed is not None and (not allowed or own in allowed)):
        return
    speaking = merged.speaking(
        lambda policy: field.allowed(policy.allowed), lambda policy: field.default(policy.default)
    )
    yield _not_allowed(
        merged, field.path, own, f"allowed.{field.entry}", (*(allowed or ()), *([default] if default else [])), speaking
    )


def _not_allowed(
    merged: Merged, path: str, value: str, entry: str, names: Names, speaking: tuple[str, ...]
) -> Violation:
    """A name or value that is none of `names`, which are what would be allowed."""
    return Violation(
        path=path,
        value=repr(value),
        breach=Breach.NOT_ALLOWED if names else Breach.UNSPOKEN,
        entry=entry,
        wanted=listed(dict.fromkeys(names)) if names else "",
        policies=speaking if names else merged.names,
    )


def _node_name(name: str, merged: Merged) -> Iterator[Violation]:
    allowed = merged.allowed.node_names
    if allowed is None or (allowed and name not in allowed):
        speaking = merged.speaking(lambda policy: policy.allowed.node_names)
        yield _not_allowed(merged, "spec.nodeName", name, "allowed.nodeNames", allowed or (), speaking)


def _node_selector(pod: Pod, merged: Merged) -> Iterator[Violation]:
    required = merged.required.node_selectors or {}
    default, own = merged.default.node_selector or {}, dict(pod.directives.node_selector)
    for key, values in required.items():
        if own.get(key) not in values:
            yield Violation(
                path=f"spec.nodeSelector[{key}]",
                value=repr(own[key]) if key in own else "",
                breach=Breach.REQUIRED,
                entry=f"required.nodeSelectors[{key}]",
                wanted=listed(values),
                policies=(merged.giver(required_selector(key)),),
            )
    for key, value in own.items():
        if key in required or (key, value) in pod.exempt.node_selector or default.get(key) == value:
            continue
        values_allowed = _values_allowed(merged, key)
        if values_allowed is None or (values_allowed and value not in values_allowed):
            names = (*(values_allowed or ()), *([default[key]] if key in default else []))
            yield _not_allowed(
                merged,
                f"spec.nodeSelector[{key}]",
                value,
                f"allowed.nodeSelectors[{key}]",
                names,
                merged.speaking(allowed_selector(key), default_selector(key)),
            )


def _values_allowed(merged: Merged, key: str) -> Names | None:
    allowed = merged.allowed.node_selectors
    if allowed is None:
        return None
    return allowed.get(key) if allowed else ()


def judge_tolerations(pod: Pod, merged: Merged) -> Iterator[Violation]:
    """Return what is wrong with the pod's tolerations."""
    forms, defaults = merged.allowed.tolerations, merged.default.tolerations or ()
    is_spoken_of = forms is not None or bool(defaults)
    wanted = alternatives([*map(toleration_form_text, forms or ()), *map(toleration_text, defaults)])
    speaking = merged.speaking(lambda policy: policy.allowed.tolerations, lambda policy: policy.default.tolerations)
    for index, toleration in pod.used_tolerations():
        if toleration in defaults or (forms is not None and (not forms or any(permits(f, toleration) for f in forms))):
            continue
        yield Violation(
            path=f"spec.tolerations[{index}]",
            value=toleration_text(toleration),
            breach=Breach.NOT_ALLOWED if is_spoken_of else Breach.UNSPOKEN,
            entry="allowed.tolerations",
            wanted=wanted,
            policies=speaking if is_spoken_of else merged.names,
        )
