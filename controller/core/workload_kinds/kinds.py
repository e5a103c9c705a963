"""A kind of objects that can be suspended: where such an object says that, its pod templates, and when it has ended.

Paths are those of a CustomResourceDefinition's scale subresource, `.spec.suspend`; here they are tuples of keys.
"""

from __future__ import annotations

from dataclasses import dataclass

Path = tuple[str, ...]
"""Keys from the object, or from an entry of a list or map, downwards."""


@dataclass(frozen=True, slots=True)
class PodSetPaths:
    """Where pods of one make, or of several, are described.

    Without `each` that is one pod set, `name`, and the other paths begin at the object. With it there is a pod set for
    each entry of a list, with the name that is at `name_path`, or of a map, with its key; paths begin at the entry.
    The product of the numbers at `counts` is how many pods there are; a number that is missing is 1.
    """

    template: Path
    name: str = ""
    each: Path = ()
    name_path: Path = ()
    counts: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """What shows that an object has ended: a condition with the status True, or one of these values at a path."""

    condition: str = ""
    path: Path = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Validation:
    """What has to hold of an object that is held as a whole, in CEL, and what is said where it does not."""

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """What is known of a kind; `suspend` is where true keeps an object from having pods."""

    group: str
    version: str
    kind: str
    resource: str
    suspend: Path
    pod_sets: tuple[PodSetPaths, ...]
    endings: tuple[Ending, ...] = ()
    validations: tuple[Validation, ...] = ()

    @property
    def api_version(self) -> str:
        """As in its objects."""
        return f"{self.group}/{self.version}"

    @property
    def name(self) -> str:
        """Its resource and group, which are the name of its WorkloadKind."""
        return f"{self.resource}.{self.group}"

    def path(self, namespace: str, name: str) -> str:
        """Return where an object of it is in the API."""
        return f"/apis/{self.api_version}/namespaces/{namespace}/{self.resource}/{name}"
