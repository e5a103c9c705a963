"""What the API serves, as values: a resource is its names, the form of its rows, and the functions that answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from msgspec import Struct

R = TypeVar("R", bound=Struct)

GROUP = "visibility.penstock.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
HIDDEN = "(hidden)"
"""In the place of a name that its reader may not see."""
EVERYWHERE = frozenset({""})
"""Among the namespaces of which something names objects: it is for who may list the pods of all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked of a resource: in which namespace (empty: in all), and which object (empty: all).

    Of a subresource that lists, `name` is the object's that it belongs to. At most `limit` objects are asked for, those
    behind `after`: what the page before has called its end; empty: from the first. `parameters` are those of the
    resource. `namespaces`: of a list over all, those of `Resource.namespaces` whose pods the viewer may list.
    """

    namespace: str = ""
    name: str = ""
    after: str = ""
    limit: int = 1
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    namespaces: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One object: its name, its namespace (empty: it has none), and its row, which clients find in `status`.

    `names` are the namespaces of which the row, or the entry, names an object.
    """

    name: str
    namespace: str
    row: Struct
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries in order. `end` is where the next page goes on; empty: there is none. `remaining` come behind."""

    entries: Sequence[Entry]
    end: str = ""
    remaining: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody has sent to be answered: its name or none, its `spec`, and by when (`kube.clock.monotonic`).

    `namespace` is that of the request; empty: the resource has none. Its viewer may list the pods there.
    """

    name: str
    spec: Any
    until: float
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """How objects of a resource are created: nobody keeps them, the answer is all.

    `spec` is the form of what is asked. `names` are the namespaces of which a spec names an object: its viewer has to
    see names there. `answer` returns what clients find in `status`, and may raise Refused.
    """

    spec: type[Struct]
    names: Callable[[Any], frozenset[str]]
    answer: Callable[[Question], Awaitable[Entry]]


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """A column of the table that `kubectl get` shows of rows of one type; `is_wide`: only with `-o wide`.

    `type` is string or integer, as in OpenAPI.
    """

    name: str
    cell: Callable[[R], str | int | None]
    description: str
    type: str = "string"
    is_wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource, or with `subresource` that of each object of `plural`.

    `list`, `get` and `create` answer; what is None is no verb of it. They work in steps that are short, or give up the
    event loop in between. `get` returns None where there is no such object. `list` of a subresource returns None where
    its object does not exist, and `redact` an entry without the names of objects in namespaces that are not among those
    seen. `namespaces`: only who may list the pods of a namespace sees anything of it, and a list over all is asked for
    those of these that its viewer sees. `parameters`: what may be asked besides, each with its description. `most`:
    objects of one answer; 0: all that there are.
    """

    plural: str
    singular: str
    kind: str
    is_namespaced: bool
    item: type[Struct]
    columns: Sequence[Column[Any]] = ()
    short_names: Sequence[str] = ()
    subresource: str = ""
    list: Callable[[Query], Awaitable[Page | None]] | None = None
    get: Callable[[Query], Awaitable[Entry | None]] | None = None
    create: Creation | None = None
    redact: Callable[[Entry, Set[str]], Entry] | None = None
    namespaces: Callable[[], Awaitable[Collection[str]]] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    most: int = 0

    @property
    def path(self) -> str:
        """As discovery names it: `clusterqueues`, `clusterqueues/pendingworkloads`."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    @property
    def list_kind(self) -> str:
        """The kind of a list of its objects."""
        return f"{self.kind}List"

    @property
    def verbs(self) -> tuple[str, ...]:
        """What may be done, in the order of the alphabet; whoever reads a subresource gets it, list or not."""
        if self.subresource:
            return ("get",)
        answers = (("create", self.create), ("get", self.get), ("list", self.list))
        return tuple(verb for verb, answer in answers if answer is not None)


@dataclass(frozen=True, slots=True)
class Absent:
    """A resource that is not served here, and why, as a sentence that says how to change that."""

    plural: str
    why: str


class Registry:
    """All resources, by path. Raises ValueError for two of the same path, and for a subresource of nothing."""

    def __init__(self, resources: Sequence[Resource], absent: Sequence[Absent] = ()) -> None:
        self._absent = {one.plural: one.why for one in absent}
        self._by_path: dict[str, Resource] = {}
        for one in resources:
            if one.path in self._by_path:
                raise ValueError(f"two resources are called {one.path}")
            if one.subresource and one.plural not in self._by_path:
                raise ValueError(f"{one.path} comes before the resource that it belongs to")
            self._by_path[one.path] = one

    def find(self, plural: str, subresource: str = "") -> Resource | None:
        """Return the resource of these names."""
        return self._by_path.get(f"{plural}/{subresource}" if subresource else plural)

    def why_absent(self, plural: str) -> str:
        """Say why a resource is not there; empty: there never is one of this name."""
        return self._absent.get(plural, "")

    @property
    def all(self) -> Sequence[Resource]:
        """Each resource, in the order given."""
        return tuple(self._by_path.values())
