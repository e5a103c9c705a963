"""What the apiserver's audit log tells of usage: when each pod was released, and when its end was reported.

A pod counts from the moment when the release was answered until its end began to be written, both by the apiserver's
clock. So what is found to be too much was too much; what passes for less than that is not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

CONTROLLER = "system:serviceaccount:penstock-system:penstock-controller"
_NOT_KUBELETS = (CONTROLLER, "system:kube-scheduler")
_NOBODY_WAITS = 504
"""The apiserver's code for a request whose client has gone."""


class _Object(msgspec.Struct):
    resource: str = ""
    name: str = ""
    namespace: str = ""
    subresource: str = ""


class _User(msgspec.Struct):
    username: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _Entry(msgspec.Struct, rename="camel"):
    verb: str
    user: _User
    request_uri: str = msgspec.field(name="requestURI")
    request_received_timestamp: str
    stage_timestamp: str
    object_ref: _Object = msgspec.field(default_factory=_Object)
    response_status: _Answer = msgspec.field(default_factory=_Answer)


@dataclass(slots=True)
class Log:
    """Releases and ends in a growing log, read on from where it was left. Times are RFC 3339 texts.

    `unanswered` are releases of a controller that was killed before the answer: they took effect, or did not.
    """

    path: Path
    releases: Counter[str] = field(default_factory=Counter)
    unanswered: set[str] = field(default_factory=set)
    released: dict[str, str] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)
    _offset: int = 0

    def read_on(self) -> None:
        """Take in what was written since."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self._offset += whole
        for line in text[:whole].splitlines():
            self._take(msgspec.json.decode(line, type=_Entry))

    def _take(self, entry: _Entry) -> None:
        if entry.object_ref.resource != "pods" or "dryRun=All" in entry.request_uri:
            return  # another request of the controller, or one by which a new leader tries the fence
        is_done = entry.response_status.code < 300
        if entry.verb != "patch" or not (is_done or entry.response_status.code == _NOBODY_WAITS):
            return
        name, user = entry.object_ref.name, entry.user.username
        if user == CONTROLLER and not entry.object_ref.subresource:
            if is_done:
                self.releases[name] += 1
            else:
                self.unanswered.add(name)
            self.released[name] = entry.stage_timestamp
        elif entry.object_ref.subresource == "status" and user not in _NOT_KUBELETS and is_done:
            # first that it runs, then that it has ended; fake kubelets say that twice now and then
            if name in self._begun:
                self.ended.setdefault(name, entry.request_received_timestamp)
            self._begun.add(name)

    def changes(self, sizes: Mapping[str, tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
        """(pod, team, cpus) in the order of time: more when a pod was released, less when it ended."""
        begins = ((at, 1, name) for name, at in self.released.items())
        ends = ((at, -1, name) for name, at in self.ended.items())
        for _, sign, name in sorted([*begins, *ends]):
            team, cpu = sizes[name]
            yield name, team, sign * cpu
