"""Pairs of Jobs at random: one that the apiserver has, with its status, and one that somebody wants it to be."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import orjson

from tests.differential import foreign, pairs, words
from tests.differential.words import chance

Json = dict[str, Any]
Pair = tuple[Json, Json]

_EACH: Final = 5
_GENERATED: Final = {
    "controller-uid": "uid",
    "job-name": "pod",
    "batch.kubernetes.io/controller-uid": "uid",
    "batch.kubernetes.io/job-name": "pod",
}
"""Of a Job that is called as the pods of the other tests are."""
_FAILURE: Final = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
_SUCCESSES: Final[tuple[Json, ...]] = (
    {"rules": [{"succeededCount": 1}]},
    {"rules": [{"succeededIndexes": "0"}, {"succeededCount": 2}]},
    {"rules": [{"succeededIndexes": "0-1,2", "succeededCount": 3}]},
)
"""That fit so many completions."""
_SPEC: Final[dict[str, tuple[Any, ...]]] = {
    "suspend": (True, True, False, None),
    "parallelism": (0, 1, 2, 3, None, -1, 100_000, 100_001, 10_001),
    "completions": (None, 1, 2, 3, 0, -1, 100_001),
    "completionMode": ("NonIndexed", "Indexed", None, "Odd", ""),
    "activeDeadlineSeconds": (None, 0, 60, -1),
    "backoffLimit": (6, 0, -1),
    "backoffLimitPerIndex": (None, 1, 0, -1),
    "maxFailedIndexes": (None, 0, 1, 5, -1, 10_001, 100_001),
    "ttlSecondsAfterFinished": (None, 0, 60, -1),
    "manualSelector": (None, True, False),
    "managedBy": (None, "example.com/manager", "kubernetes.io/job-controller"),
    "podReplacementPolicy": ("TerminatingOrFailed", "Failed", None, "Odd"),
    "podFailurePolicy": (None, _FAILURE),
    "successPolicy": (None, *_SUCCESSES),
    "selector": (
        {"matchLabels": {"batch.kubernetes.io/controller-uid": "uid"}},
        {"matchLabels": {"batch.kubernetes.io/controller-uid": "other"}},
        {"matchLabels": {"controller-uid": "uid", "a": "1"}},
        None,
    ),
}
_DEFAULTS: Final = {
    "parallelism": 1,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
    "manualSelector": False,
}
_STATUS: Final[tuple[Json, ...]] = (
    {},
    {"conditions": [{"type": "Suspended", "status": "True"}]},
    {"startTime": "2026-03-01T08:00:00Z", "active": 2},
    {"startTime": "2026-03-01T08:00:00Z"},
    {"startTime": "2026-03-01T08:00:00Z", "conditions": [{"type": "Suspended", "status": "True"}]},
    {"startTime": "2026-03-01T08:00:00Z", "conditions": [{"type": "Suspended", "status": "False"}]},
    {"conditions": [{"type": "Suspended", "status": "True"}], "active": 1},
)


def job_pairs(random: Random, count: int) -> Iterator[Pair]:
    """So many updates, several of each Job."""
    while count > 0:
        old = stored_job(random)
        for _ in range(min(count, _EACH)):
            yield old, changed(random, old)
        count -= _EACH


def stored_job(random: Random) -> Json:
    """A Job with all defaults, as the apiserver writes it."""
    pod = pairs.stored_pod(random)
    metadata: Json = {**pod["metadata"], "annotations": {"example.com/note": "x"}}
    template = {"metadata": {"labels": _labels(random)}, "spec": _template_spec(random, pod["spec"])}
    if chance(random, 20):
        template["metadata"]["annotations"] = {"example.com/note": "x"}
    spec: Json = {
        "parallelism": random.choice((0, 1, 2)),
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": chance(random, 75),
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": copy.deepcopy(_SPEC["selector"][0]),
        "template": template,
    }
    if chance(random, 30):
        spec |= {"completionMode": "Indexed", "completions": random.choice((1, 2, 3))}
        if chance(random, 30):
            spec["backoffLimitPerIndex"] = 1
        if chance(random, 30):
            spec["successPolicy"] = copy.deepcopy(_SUCCESSES[random.randrange(spec["completions"])])
    elif chance(random, 50):
        spec["completions"] = random.choice((1, 2, 3))
    if chance(random, 15) and template["spec"]["restartPolicy"] == "Never":
        spec |= {"podFailurePolicy": copy.deepcopy(_FAILURE), "podReplacementPolicy": "Failed"}
    for name in ("managedBy", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        if chance(random, 15):
            spec[name] = _SPEC[name][1]
    status = copy.deepcopy(random.choice(_STATUS))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, "status": status}
    if chance(random, 10):
        _make_old(job)
    return job


def _labels(random: Random) -> Json:
    """What was generated, and now and then more."""
    return {**_GENERATED, **({"a": "1"} if chance(random, 30) else {})}


def _make_old(job: Json) -> None:
    """Let it be of a Kubernetes that generated two labels, without a prefix."""
    spec = job["spec"]
    labels = spec["template"]["metadata"]["labels"]
    spec["template"]["metadata"]["labels"] = {key: value for key, value in labels.items() if "/" not in key}
    spec["selector"] = {"matchLabels": {"controller-uid": "uid"}}


def _template_spec(random: Random, spec: Json) -> Json:
    """A pod's spec as a template has it."""
    spec.pop("nodeName", None)
    spec["restartPolicy"] = random.choice(("Never", "Never", "OnFailure"))
    return spec


def changed(random: Random, old: Json) -> Json:
    """The Job after some changes, many of which are not legal."""
    new: Json = orjson.loads(orjson.dumps(old))
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        random.choice(_CHANGES)(random, new)
    if new["spec"].get("successPolicy") is not None:
        # without completions, `validateSuccessPolicyRule` of 1.36.3 follows a nil pointer
        new["spec"].setdefault("completions", 1)
    _default(new)
    return new


def _default(new: Json) -> None:
    """Write what the apiserver does where nothing is sent (`SetDefaults_Job`)."""
    spec, metadata = new["spec"], new["metadata"]
    for name, value in _DEFAULTS.items():
        if spec.get(name) is None:
            spec[name] = value
    if not metadata.get("labels"):
        metadata["labels"] = spec["template"]["metadata"].get("labels")


def _change_spec(random: Random, new: Json) -> None:
    name = random.choice(sorted(_SPEC))
    value = copy.deepcopy(random.choice(_SPEC[name]))
    if value is None:
        new["spec"].pop(name, None)
    else:
        new["spec"][name] = value


def _resume(random: Random, new: Json) -> None:
    new["spec"]["suspend"] = False


def _in_tandem(random: Random, new: Json) -> None:
    new["spec"]["completions"] = new["spec"]["parallelism"] = random.choice((1, 2, 4))


def _change_template(random: Random, new: Json) -> None:
    """What may be changed of a pod's spec, and what may not, in the place of a pod."""
    pod = {"metadata": {}, "spec": new["spec"]["template"]["spec"]}
    pairs.change_directives(random, pod)
    pod["spec"].pop("nodeName", None)


def _change_labels(random: Random, new: Json) -> None:
    metadata = new["spec"]["template"]["metadata"]
    labels = dict(metadata.get("labels") or {})
    if chance(random, 40) and labels:
        del labels[random.choice(sorted(labels))]
    else:
        labels[random.choice((*words.KEYS, *_GENERATED))] = random.choice((*words.VALUES, "uid", "pod"))
    metadata["labels"] = labels


def _change_annotations(random: Random, new: Json) -> None:
    template = new["spec"]["template"]
    foreign.change_annotations(random, template)


def _change_other(random: Random, new: Json) -> None:
    """A field of the template's spec that is no directive, legal in itself."""
    spec = new["spec"]["template"]["spec"]
    name, values = random.choice(
        (
            ("schedulerName", ("default-scheduler", "other")),
            ("hostNetwork", (None, True)),
            ("dnsPolicy", ("ClusterFirst", "Default")),
            ("terminationGracePeriodSeconds", (30, 1, 0)),
            ("restartPolicy", ("Never", "OnFailure", "Always")),
            ("enableServiceLinks", (True, False)),
        )
    )
    value = random.choice(values)
    if value is None:
        spec.pop(name, None)
    else:
        spec[name] = value


def _change_resources(random: Random, new: Json) -> None:
    container = random.choice(new["spec"]["template"]["spec"]["containers"])
    container["resources"] = copy.deepcopy(random.choice(foreign.RESOURCES))


def _change_containers(random: Random, new: Json) -> None:
    containers = new["spec"]["template"]["spec"]["containers"]
    match random.randrange(3):
        case 0:
            containers.append(foreign.container(random, f"more-{len(containers)}"))
        case 1:
            random.choice(containers)["image"] = random.choice(("pause:3", "pause:4"))
        case _:
            random.choice(containers)["tty"] = True


Change = Callable[[Random, Json], None]

_CHANGES: tuple[Change, ...] = (
    *(_change_spec, _change_spec, _change_spec, _resume, _resume, _in_tandem),
    *(_change_template, _change_template, _change_template, _change_template),
    *(_change_labels, _change_annotations, foreign.change_metadata),
    *(_change_other, _change_resources, _change_containers),
)
