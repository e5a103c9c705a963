"""Updates of Jobs at the edges of each rule, which pairs at random seldom meet, with what Kubernetes says of them.

`python -m tests.differential.job_vectors` asks both versions of Kubernetes anew and writes `job_vectors.json`.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from tests.differential.oracle import Oracle, Pair, Verdict, ensure
from tests.support.job_documents import Json, a_job_document

FILE: Final = Path(__file__).with_suffix(".json")
VERSIONS: Final = {36: "1.36.3", 37: "1.37.2"}
_LABELS: Final = "spec.template.metadata.labels"
_GENERATED: Final = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
_FAILURE: Final = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
_SETTLED: Final = {"conditions": [{"type": "Suspended", "status": "True"}]}
_BEGUN: Final = {"startTime": "2026-03-01T08:00:00Z"}
_INDEXED: Final = {"spec.completionMode": "Indexed"}
_MANY: Final = {**_INDEXED, "spec.completions": 100_001, "spec.parallelism": 10_000, "spec.backoffLimitPerIndex": 1}
_LONG: Final = "a" * 60

Edits = Mapping[str, Any]
"""Values by dotted path; None removes what is there. Dots within a key are written as `|`."""


def laid(document: Json, edits: Edits) -> Json:
    """The Job with these edits."""
    changed = copy.deepcopy(document)
    for path, value in edits.items():
        *parents, last = (part.replace("|", ".") for part in path.split("."))
        at: Any = changed
        for part in parents:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        if value is None:
            at.pop(last, None)
        else:
            at[last] = copy.deepcopy(value)
    return changed


def vectors() -> dict[str, Pair]:
    """Pairs of a stored Job and an update, by a name that says what is tried."""
    found: dict[str, Pair] = {}
    job = laid(a_job_document(name="pod"), {"spec.template.spec.containers.0.volumeMounts": None})
    for name, before, after in (
        *_numbers(),
        *_choices(),
        *_names(),
        *_indexes(),
        *_many(),
        *_successes(),
        *_generated(),
        *_template(),
    ):
        assert name not in found, name
        old = laid(job, before)
        found[name] = old, laid(old, after)
    return found


def _numbers() -> Iterator[tuple[str, Edits, Edits]]:
    limits = {**_INDEXED, "spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 1}
    for field in ("parallelism", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        for value in (-1, 0, None):
            yield f"{field} is {value}", {f"spec.{field}": 3}, {f"spec.{field}": value}
    for field in ("completions", "backoffLimitPerIndex", "maxFailedIndexes"):
        for value in (-1, 0, None):
            yield f"{field} of an Indexed Job is {value}", limits, {f"spec.{field}": value}
    none_left = {"spec.completions": -1, "spec.parallelism": -1}
    yield "fewer than no indexes at a time and in all", _INDEXED, none_left


def _choices() -> Iterator[tuple[str, Edits, Edits]]:
    value: str | None
    for value in ("Indexed", "Odd", ""):
        yield f"completionMode is {value!r}", {}, {"spec.completionMode": value}
    for value in ("Failed", "Odd", "", None):
        yield f"podReplacementPolicy is {value!r}", {}, {"spec.podReplacementPolicy": value}
    failing = {"spec.podFailurePolicy": _FAILURE, "spec.podReplacementPolicy": "Failed"}
    yield "pods that terminate are replaced beside a failure policy", failing, {"spec.podReplacementPolicy": "Odd"}
    yield "both replacements beside a failure policy", failing, {"spec.podReplacementPolicy": "TerminatingOrFailed"}
    yield "no replacement beside a failure policy", failing, {"spec.podReplacementPolicy": None}
    yield "a failure policy is new", {}, {"spec.podFailurePolicy": _FAILURE}
    for value in ("OnFailure", "Always", "Odd", "", None):
        yield f"restartPolicy is {value!r}", {}, {"spec.template.spec.restartPolicy": value}
        yield (
            f"restartPolicy is {value!r} beside a failure policy",
            failing,
            {"spec.template.spec.restartPolicy": value},
        )


def _names() -> Iterator[tuple[str, Edits, Edits]]:
    for field, value in (("managedBy", "example.com/x"), ("successPolicy", {"rules": [{"succeededCount": 1}]})):
        yield f"{field} is new", {}, {f"spec.{field}": value}
        yield f"{field} is new on an Indexed Job", _INDEXED, {f"spec.{field}": value}
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        yield f"{name} is new without indexes", {}, {f"spec.{name}": 1}
        yield f"{name} is new with indexes", _INDEXED, {f"spec.{name}": 1}
    for prefix in ("a/b", "a%b", "a-", "A", "a" * 250):
        yield f"generateName is {prefix[:9]!r}", {}, {"metadata.generateName": prefix}
    for key in ("a b", "a/b/c", "kept|example|com/A_b", ""):
        yield f"an annotation is {key!r}", {}, {f"metadata.annotations.{key}": "x"}
    yield "an annotation is changed", {"metadata.annotations": {"a": "1"}}, {"metadata.annotations": {"a": "2"}}


def _indexes() -> Iterator[tuple[str, Edits, Edits]]:
    for completions, parallelism in ((3, 2), (3, 3), (2, 3), (1, 1), (1, 2), (1, None), (0, 0), (None, 2)):
        edits = {"spec.completions": completions, "spec.parallelism": parallelism}
        yield f"{completions} completions with {parallelism} at a time", {}, edits
        yield f"{completions} indexes with {parallelism} at a time", _INDEXED, edits
    for parallelism in (100_000, 100_001):
        yield f"{parallelism} indexes at a time", _INDEXED, {"spec.parallelism": parallelism}
        both = {"spec.parallelism": parallelism, "spec.completions": parallelism}
        yield f"{parallelism} indexes at a time and in all", _INDEXED, both
        yield f"{parallelism} indexes with a limit for each", {**_INDEXED, "spec.backoffLimitPerIndex": 1}, both


def _many() -> Iterator[tuple[str, Edits, Edits]]:
    for failed in (None, 10_000, 10_001, 100_000, 100_001):
        yield f"{failed} of many may fail", {**_MANY, "spec.maxFailedIndexes": 5}, {"spec.maxFailedIndexes": failed}
        huge = {**_INDEXED, "spec.completions": 200_000, "spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 5}
        yield f"{failed} of a huge Job may fail", {**huge, "spec.parallelism": 1}, {"spec.maxFailedIndexes": failed}
    for parallelism in (10_000, 10_001, None):
        limits = {**_MANY, "spec.maxFailedIndexes": 5}
        yield f"many indexes, {parallelism} at a time", limits, {"spec.parallelism": parallelism}
    for failed in (2, 3):
        yield (
            f"{failed} of two may fail",
            {**_INDEXED, "spec.backoffLimitPerIndex": 1},
            {"spec.maxFailedIndexes": failed},
        )
    for completions in (0, 1, 100, 101):
        edits = {"spec.completions": completions, "spec.parallelism": completions}
        yield f"a long name with {completions} indexes", {**_INDEXED, **_named(_LONG)}, edits
        yield f"a name of 62 with {completions} indexes", {**_INDEXED, **_named("a" * 62, completions=0)}, edits
    huge = {**_INDEXED, "spec.completions": 200_000, "spec.parallelism": 1}
    for failed in (100_000, 100_001):
        yield f"{failed} of a huge Job may fail without a limit for each", huge, {"spec.maxFailedIndexes": failed}


def _successes() -> Iterator[tuple[str, Edits, Edits]]:
    for text in (
        "0",
        "0-1",
        "0-2",
        "0,2",
        "2",
        "3",
        "1-0",
        "1-1",
        "0,0",
        "0-1,1",
        "0,1-2",
        "",
        "x",
        "0-1-2",
        "-1",
        "0,",
    ):
        for count in (None, 0, 1, 2, 3, 4):
            rule = {"succeededIndexes": text, **({} if count is None else {"succeededCount": count})}
            before = {**_INDEXED, "spec.completions": 3, "spec.parallelism": 3}
            yield f"success is {text!r}, {count}", before, {"spec.successPolicy": {"rules": [rule]}}
    fits = {"spec.successPolicy": {"rules": [{"succeededCount": 1}, {"succeededIndexes": "0-2", "succeededCount": 3}]}}
    for completions in (2, 3):
        before = {**_INDEXED, "spec.completions": 3, "spec.parallelism": 3, **fits}
        edits = {"spec.completions": completions, "spec.parallelism": completions}
        yield f"a success policy with {completions} completions", before, edits


def _named(name: str, completions: int = 1) -> Edits:
    labels = {key: name if "name" in key else "pod" for key in _GENERATED}
    return {"metadata.name": name, _LABELS: labels, "spec.completions": completions, "spec.parallelism": completions}


def _generated() -> Iterator[tuple[str, Edits, Edits]]:
    prefixed = {"spec.selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "pod"}}}
    legacy = {
        _LABELS: {"controller-uid": "pod", "job-name": "pod"},
        "spec.selector": {"matchLabels": {"controller-uid": "pod"}},
    }
    for of, before in (("a Job", prefixed), ("an old Job", legacy), ("a manual Job", {"spec.manualSelector": True})):
        for key in _GENERATED:
            path = f"{_LABELS}.{key.replace('.', '|')}"
            yield f"{key} of {of} is gone", before, {path: None}
            yield f"{key} of {of} is another", before, {path: "other"}
        yield f"the selector of {of} is gone", before, {"spec.selector": None}
        yield f"the selector of {of} is another", before, {"spec.selector": {"matchLabels": {"a": "1"}}}
        both = {"spec.selector": {"matchLabels": {"a": "1"}}, f"{_LABELS}.a": "1"}
        yield f"the selector of {of} is another that matches", before, both
        yield f"{of} becomes manual", before, {"spec.manualSelector": True, f"{_LABELS}.job-name": None}
    own = {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"a": "1"}}, f"{_LABELS}.a": "1"}
    for value in (None, False):
        yield f"a selector of one's own is generated: {value}", own, {"spec.manualSelector": value}


def _template() -> Iterator[tuple[str, Edits, Edits]]:
    container = "spec.template.spec.containers.0"
    more = {"name": "more", "image": "none", "imagePullPolicy": "IfNotPresent", "resources": {}}
    more |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    first = {"spec.template.spec.initContainers": [{**more, "name": "first"}]}
    edits: dict[str, Edits] = {
        "node selector": {"spec.template.spec.nodeSelector": {"a": "1"}},
        "label": {f"{_LABELS}.a": "1"},
        "annotation": {"spec.template.metadata.annotations": {"a": "1"}},
        "creation": {"spec.template.metadata.creationTimestamp": "2026-03-01T08:00:00Z"},
        "name": {"spec.template.metadata.name": "x"},
        "resources": {f"{container}.resources": {"requests": {"cpu": "2"}}},
        "resources of a renamed one": {f"{container}.resources": {"requests": {"cpu": "2"}}, f"{container}.name": "x"},
        "image": {f"{container}.image": "other"},
        "init container's image": {"spec.template.spec.initContainers.0.image": "other"},
        "init container's resources": {"spec.template.spec.initContainers.0.resources": {"requests": {"cpu": "2"}}},
        "no init container": {"spec.template.spec.initContainers": None},
        "five fields": {f"spec.template.spec.{one}": True for one in ("hostNetwork", "hostPID", "hostIPC")},
    }
    states: dict[str, Edits] = {
        "new": {},
        "running": {"spec.suspend": False, "status": {**_BEGUN, "active": 1}},
        "begun": {"status": _BEGUN},
        "settled": {"status": {**_BEGUN, **_SETTLED}},
        "resumed": {"status": {**_BEGUN, "conditions": [{"type": "Suspended", "status": "False"}]}},
        "failed": {"status": {**_BEGUN, "conditions": [{"type": "Failed", "status": "True"}]}},
        "busy": {"status": {**_SETTLED, "active": 1}},
    }
    for state, before in states.items():
        for what, after in edits.items():
            yield f"{what} of a {state} Job", {**before, **first}, after


def known() -> dict[int, dict[str, Verdict]]:
    """What Kubernetes said, by its minor version and the name of the vector."""
    return {
        int(minor): {name: tuple((path, cause) for path, cause in faults) for name, faults in verdicts.items()}
        for minor, verdicts in orjson.loads(FILE.read_bytes()).items()
    }


def main() -> None:
    """Ask anew."""
    asked, found = vectors(), {}
    for minor, version in VERSIONS.items():
        with Oracle(ensure(version)) as kubernetes:
            verdicts = kubernetes.judge(list(asked.values()))
        found[str(minor)] = dict(zip(asked, verdicts, strict=True))
        for name, verdict in found[str(minor)].items():
            if isinstance(verdict, str):
                raise SystemExit(f"{version} cannot judge {name}: {verdict}")
    FILE.write_bytes(orjson.dumps(found, default=repr, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.write(f"{len(asked)} vectors\n")


if __name__ == "__main__":
    main()
