"""Pods at random but for their scheduling directives: metadata, containers and the rest of the spec, and changes there.

What is changed outside the directives is changed to something legal: of other faults only the verdict is promised.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

from tests.differential import words
from tests.differential.words import chance

Json = dict[str, Any]

_MIRROR: Final = "kubernetes.io/config.mirror"
APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_ANNOTATIONS: Final[dict[str, tuple[str, ...]]] = {
    "example.com/note": ("", "x", "ä"),
    "No Key": ("x",),
    "UPPER.com/a": ("x",),
    _MIRROR: ("m", "n"),
    f"{APPARMOR}main": ("runtime/default", "localhost/p", "unconfined", "", "odd"),
    f"{APPARMOR}other": ("runtime/default",),
    "seccomp.security.alpha.kubernetes.io/pod": ("runtime/default", "docker/default", "unconfined", "odd", ""),
    "container.seccomp.security.alpha.kubernetes.io/main": (
        "localhost/a",
        "localhost//a",
        "localhost/../a",
        "localhost/",
    ),
    "controller.kubernetes.io/pod-deletion-cost": (
        *("0", "7", "-7", "-07", "007", "+7", "x", "", "-", "2147483647", "2147483648", "-2147483648", "-2147483649"),
        "-" + "0" * 5000 + "1",
    ),
    "scheduler.alpha.kubernetes.io/tolerations": (
        *("", "null", "[]", "[null]", "{}", "[", '"x"', "[1]", "[[]]", "[NaN]"),
        *('[{"key":"a","operator":"Exists"}]', '[{"KEY":"no key","Operator":"Exists"}]', '[{"key":1}]'),
        *('[{"key":"a","tolerationSeconds":1.0}]', '[{"key":"a","effect":"NoExecute","tolerationSeconds":1}]'),
        *('[{"key":"a","tolerationSeconds":1}]', '[{"key":"a","tolerationSeconds":1,"TOLERATIONSECONDS":null}]'),
        *('[{"key":"a","operator":"Lt","value":"1"}]', '[{"key":"a","key":null}]', '[{"key":"a","unknown":[1]}]'),
        '[{"key":"a","tolerationSeconds":9223372036854775808}]',
    ),
    "pod.alpha.kubernetes.io/init-containers": ("[]",),
    "pod.beta.kubernetes.io/init-container-statuses": ("x",),
}
_LEGAL_ANNOTATIONS: Final = ("example.com/note", f"{APPARMOR}main", "controller.kubernetes.io/pod-deletion-cost")
_METADATA: Final[dict[str, tuple[Any, ...]]] = {
    "name": ("pod", "other", "No", "", "a" * 254, ".", "a/b"),
    "namespace": ("default", "other", "No", ""),
    "uid": ("uid", "other", ""),
    "generation": (0, 1, 2, 9),
    "resourceVersion": ("7", "8", ""),
    "creationTimestamp": (None, "2026-03-01T08:00:00Z", "2026-03-01T09:00:00Z"),
    "deletionTimestamp": (None, "2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z"),
    "deletionGracePeriodSeconds": (None, 0, 30),
    "generateName": (None, "", "pod-", "No-", "a-", "ab-", "-", "x" * 254, "a/b", "a.b-"),
    "finalizers": (
        *(None, [], ["example.com/f"], ["orphan"], ["foregroundDeletion"], ["kubernetes"], ["no"], ["no name"]),
        *(["orphan", "foregroundDeletion"], ["a/b/c"], [""], ["example.com/f", "example.com/g"]),
    ),
    "selfLink": ("", "/a"),
}
_OWNER: Final[dict[str, tuple[Any, ...]]] = {
    "apiVersion": ("apps/v1", "v1", "", "/", "a/b/c", "apps/", "/v1"),
    "kind": ("ReplicaSet", "Event", ""),
    "name": ("owner", ""),
    "uid": ("1", ""),
    "controller": (True, False, None),
}
# Ways in which the rest of a spec can legally be; the first of each is the default, and equal ones are on one line.
_SPEC: Final[dict[str, tuple[Any, ...]]] = {
    "nodeName": (None, "node-1", "node-2", "No", "n" * 254),
    "schedulerName": ("default-scheduler", "other"),
    "priority": (None, 0, 5),
    "priorityClassName": (None, "high", "low", "No Class"),
    "preemptionPolicy": (None, "PreemptLowerPriority", "Never", "Perhaps", ""),
    "runtimeClassName": (None, "gvisor", "No Class", ""),
    "overhead": ({}, None, {"cpu": "1"}, {"cpu": "1000m"}, {"cpu": "2"}),
    "restartPolicy": ("Always", "Never"),
    "dnsPolicy": ("ClusterFirst", "Default"),
    "enableServiceLinks": (True, False),
    "automountServiceAccountToken": (None, True, False),
    "serviceAccountName": (None, "robot", "other"),
    "serviceAccount": (None, "robot", "other"),
    "terminationGracePeriodSeconds": (30, 1, -1, -2, 0),
    "hostNetwork": (None, True),
    "hostname": (None, "h"),
    "hostnameOverride": (None, "h", "h" * 64, "h" * 65, "No", ""),
    "subdomain": (None, "s"),
    "setHostnameAsFQDN": (None, False, True),
    "shareProcessNamespace": (None, False, True),
    "readinessGates": (None, [], [{"conditionType": "example.com/a"}]),
    "os": (None, {"name": "linux"}),
    "schedulingGroup": (None, {"podGroupName": "g"}),
    "imagePullSecrets": ([], [{"name": "s"}]),
    "hostAliases": ([], [{"ip": "10.0.0.1", "hostnames": ["h"]}]),
    "securityContext": ({}, {"runAsUser": 0}, {"runAsUser": 1}),
    "dnsConfig": (None, {}, {"options": []}, {"options": [{"name": "ndots", "value": "2"}]}),
    "volumes": (
        *([], None, [{"name": "v", "emptyDir": {}}], [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]),
        *([{"name": "v", "emptyDir": {"sizeLimit": "1024Mi"}}], [{"name": "v", "emptyDir": {"sizeLimit": "0"}}]),
        [{"name": "v", "csi": {"driver": "d.example.com", "volumeAttributes": {}}}],
        [{"name": "v", "csi": {"driver": "d.example.com"}}],
        [{"name": "v", "csi": {"driver": "d.example.com", "volumeAttributes": {"divisor": "1"}}}],
        [{"name": "v", "csi": {"driver": "d.example.com", "volumeAttributes": {"divisor": "1000m"}}}],
    ),
}
_STORED: Final = ("priority", "overhead", "serviceAccountName", "terminationGracePeriodSeconds", "volumes")
RESOURCES: Final[tuple[Json, ...]] = (
    *({}, {"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}}, {"requests": {"cpu": "2"}}),
    *({"requests": {}}, {"requests": {"memory": "1Gi"}}, {"requests": {"memory": "1024Mi"}}),
)
_CONTAINER: Final[dict[str, tuple[Any, ...]]] = {
    "image": ("pause:3", "pause:4", "", " pause:3", "pause:3\n", "\x1cpause", "\u2003", "pause\x85"),
    "command": (None, [], ["run"]),
    "env": ([], None, [{"name": "A", "value": "1"}], [{"name": "A"}]),
    "resources": RESOURCES,
    "imagePullPolicy": ("IfNotPresent", "Always"),
    "securityContext": (None, {}, {"privileged": False}, {"runAsUser": 0}),
    "tty": (None, True),
    "workingDir": (None, "/w"),
}
_DEADLINES: Final = (None, None, 1, 60, 61, 2**31 - 1, 0, -1, 2**31)


def container(random: Random, name: str) -> Json:
    found: Json = {
        "name": name,
        "image": "pause:3",
        "imagePullPolicy": "IfNotPresent",
        "resources": copy.deepcopy(random.choice(_CONTAINER["resources"])) if chance(random, 30) else {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    for field in ("env", "securityContext"):
        if chance(random, 10):
            found[field] = copy.deepcopy(random.choice(_CONTAINER[field]))
    return found


def plain_pod(random: Random) -> Json:
    """A pod without scheduling directives, with all defaults."""
    metadata: Json = {"name": "pod", "namespace": "default", "uid": "uid", "resourceVersion": "7", "generation": 2}
    metadata["creationTimestamp"] = "2026-03-01T08:00:00Z"
    metadata["labels"] = {random.choice(words.LEGAL_KEYS): random.choice(words.LEGAL_VALUES)}
    if chance(random, 10):
        metadata["deletionTimestamp"] = "2026-03-02T08:00:00Z"
        metadata["deletionGracePeriodSeconds"] = 30
    if chance(random, 20):
        # of each the first, which is legal
        metadata["annotations"] = {name: _ANNOTATIONS[name][0] for name in _LEGAL_ANNOTATIONS if chance(random, 50)}
    if chance(random, 20):
        metadata["finalizers"] = ["example.com/f"]
    if chance(random, 20):
        metadata["ownerReferences"] = [{name: options[0] for name, options in _OWNER.items()}]
    spec: Json = {
        "containers": [container(random, name) for name in ("main", "side")[: 1 + chance(random, 20)]],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
    }
    if chance(random, 10):
        spec["initContainers"] = [container(random, "first")]
    if chance(random, 20):
        spec["activeDeadlineSeconds"] = random.choice(_DEADLINES[2:6])
    for name in _STORED:
        if chance(random, 10):
            spec[name] = copy.deepcopy(random.choice(_SPEC[name]))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def mirror(pod: Json) -> None:
    """Make it a kubelet's own pod, which needs a node."""
    pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), _MIRROR: "m"}


def change_metadata(random: Random, new: Json) -> None:
    metadata = new["metadata"]
    match random.randrange(3):
        case 0:
            labels = dict(metadata.get("labels") or {})
            labels[random.choice(words.KEYS)] = random.choice(words.VALUES)
            metadata["labels"] = random.choice((labels, labels, labels, {}, None))
        case 1:
            owner = {name: random.choice(options) for name, options in _OWNER.items()}
            metadata["ownerReferences"] = [*(metadata.get("ownerReferences") or ()), owner]
        case _:
            name = random.choice(sorted(_METADATA))
            metadata[name] = random.choice(_METADATA[name])


def change_annotations(random: Random, new: Json) -> None:
    annotations = dict(new["metadata"].get("annotations") or {})
    if annotations and chance(random, 30):
        del annotations[random.choice(sorted(annotations))]
    else:
        key = random.choice(sorted(_ANNOTATIONS))
        annotations[key] = random.choice(_ANNOTATIONS[key])
        if chance(random, 2):
            # as much as all annotations together may have, or a byte too much
            size = sum(len(one) for pair in annotations.items() for one in pair)
            annotations["filler"] = "y" * (256 * 1024 - len("filler") - size + random.randrange(2))
    new["metadata"]["annotations"] = annotations


def change_spec(random: Random, new: Json) -> None:
    name = random.choice(sorted(_SPEC))
    value = copy.deepcopy(random.choice(_SPEC[name]))
    if value is None and chance(random, 50):
        new["spec"].pop(name, None)
    else:
        new["spec"][name] = value


def change_containers(random: Random, new: Json) -> None:
    name = random.choice(("containers", "containers", "initContainers"))
    containers = new["spec"].get(name) or []
    if chance(random, 10) or not containers:
        containers = (
            [*containers, container(random, f"{name.lower()}-{len(containers)}")]
            if chance(random, 60)
            else containers[:-1] or containers
        )
    else:
        field = random.choice((*_CONTAINER, "image", "image"))
        random.choice(containers)[field] = copy.deepcopy(random.choice(_CONTAINER[field]))
    new["spec"][name] = containers


def change_limits(random: Random, new: Json) -> None:
    new["spec"]["activeDeadlineSeconds"] = random.choice(_DEADLINES)
