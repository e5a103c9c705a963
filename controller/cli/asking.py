"""What questions about queues are answered from: the visibility API, a live cluster, or a file of a snapshot.

Where the API is served, the controller answers from what it knows, each viewer what their rights allow. Elsewhere the
cluster is listed and decided on here, which takes the right to list all of it.

What decides takes long to import: only who decides here does that.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from controller.cli.as_controller import OPTIONS, AsController, controller_options
from controller.cli.target_completion import complete_namespace
from controller.cli.visibility_client import WITHOUT_API, NotServed, VisibilityClient, visibility_client
from controller.core.kubernetes.names import is_dns_label
from controller.kube import clock, config
from controller.telemetry.options import connection_options

if TYPE_CHECKING:
    from controller.core.snapshot import Snapshot
    from controller.simulator.world import World
    from controller.visibility.findings import Findings

_T = TypeVar("_T")
_R = TypeVar("_R", bound=Struct)


@dataclass(frozen=True, slots=True)
class Served(Generic[_R]):
    """A resource of the visibility API, and the type of its rows."""

    plural: str
    row: type[_R]
    is_namespaced: bool = True


@dataclass(frozen=True, slots=True)
class Answer(Generic[_R]):
    """Rows, and when they were true, in seconds since 1970."""

    rows: list[_R]
    now: float


@dataclass(frozen=True, slots=True)
class Source:
    """Where the answers come from: `file` of a snapshot, else the cluster; and of which namespaces.

    `is_without_api`: the cluster is listed even where it serves the visibility API.
    """

    file: str | None
    kubeconfig: str | None
    context: str | None
    namespace: str | None
    is_of_all: bool
    as_controller: AsController
    is_without_api: bool = False

    def from_api(self, ask: Callable[[VisibilityClient], Awaitable[_T]]) -> _T | None:
        """Ask the visibility API; None: it is not served, or not to be asked. Raises KubeError."""
        if self.file is not None or self.is_without_api:
            return None
        try:
            return asyncio.run(self._asked(ask))
        except NotServed:
            return None

    def rows(self, served: Served[_R], listed: Callable[[Snapshot], list[_R]]) -> Answer[_R]:
        """Return the rows of the API, or without it those that `listed` makes of a snapshot. Raises KubeError."""
        spaces = self.namespaces if served.is_namespaced else None
        found = self.from_api(lambda api: api.rows(served.plural, served.row, None if spaces is None else spaces[0]))
        if found is not None:
            return Answer(found, clock.now())
        with self.snapshot() as snapshot:
            return Answer(listed(snapshot), snapshot.now)

    async def _asked(self, ask: Callable[[VisibilityClient], Awaitable[_T]]) -> _T:
        async with visibility_client(self.kubeconfig, self.context) as client:
            return await ask(client)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read the file, or the cluster; what fails on a file is told as its fault. Raises KubeError."""
        from controller.cli.snapshot_input import read_cluster, read_file, telling_faults

        if self.file is None:
            yield read_cluster(self.kubeconfig, self.context, self.as_controller).snapshot
            return
        with telling_faults(self.file):
            yield read_file(self.file).snapshot

    def world(self) -> World:
        """Read the file, or the cluster, as a world that can be played forward."""
        from controller.cli.played import saved_world

        return saved_world(self.file, self.kubeconfig, self.context, self.as_controller)

    @property
    def namespaces(self) -> list[str] | None:
        """The namespaces that are asked about; None: all. Without -n that of the context, of a file all."""
        if self.is_of_all or (self.file is not None and self.namespace is None):
            return None
        return [self.namespace or config.namespace(self.kubeconfig, self.context)]

    @property
    def place(self) -> str:
        """Where is asked about, in texts."""
        return "in any namespace" if self.namespaces is None else f"in namespace {self.namespaces[0]}"


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --snapshot, --namespace, -A, --kubeconfig and --context; the command gets what they come to as `source`."""

    @wraps(command)
    def with_source(
        *,
        file: str | None,
        kubeconfig: str | None,
        context: str | None,
        namespace: str | None,
        everywhere: bool,
        as_controller: AsController,
        without_api: bool = False,
        **options: Any,
    ) -> None:
        if namespace is not None and not is_dns_label(namespace):
            raise click.UsageError(f"--namespace: {namespace!r} is no name of a namespace")
        if namespace is not None and everywhere:
            raise click.UsageError("-n names one namespace and -A means all: leave one of them out")
        if without_api and file is not None:
            raise click.UsageError(f"{WITHOUT_API} lists a cluster and --snapshot reads a file: leave one of them out")
        # whoever gives options of the controller wants a decision with them; the API has what the controller decided
        is_without_api = without_api or any(map(is_given, OPTIONS))
        source = Source(file, kubeconfig, context, namespace, everywhere, as_controller, is_without_api)
        return command(source=source, **options)

    found = controller_options(connection_options(with_source))
    found = click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Of all namespaces.")(found)
    found = click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        shell_complete=complete_namespace,
        help="Default: the context's, or all of a file.",
    )(found)
    told = "Ask this file of `penstock snapshot` instead of a cluster; - reads stdin."
    return click.option("--snapshot", "file", metavar="FILE", help=told)(found)


def without_api_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add --without-api to a command that asks the visibility API; outside of `source_options`."""
    told = "List the cluster and decide locally, even where it serves the visibility API; implied by options of the "
    told += "controller, such as --backfill-depth."
    return click.option(WITHOUT_API, "without_api", is_flag=True, help=told)(command)


def is_given(option: str) -> bool:
    """Whether an option of the command that runs, by the name of its parameter, is on the command line."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def found_out(snapshot: Snapshot) -> Findings:
    """Decide on a snapshot, as the controller would."""
    from controller.core.decision.decide import decide
    from controller.visibility.findings import Findings

    return Findings.of(decide(snapshot, limit=sys.maxsize))
