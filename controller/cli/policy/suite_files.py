"""Suites as files: found below a folder, read with the objects and pods that they name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from controller.cli.policy.candidates import JudgedPod, of_document
from controller.cli.policy.expectations import faults_of
from controller.cli.policy.faults import NoAnswer
from controller.cli.policy.from_files import documents_of, holds_known, known_kinds, surroundings_of
from controller.cli.policy.suite import Case, Expectation, Suite, parse_suite
from controller.cli.policy.surroundings import Surroundings
from controller.cli.policy.workloads import KINDS, Unusable, makes_pods
from controller.kube.manifests import Document, ManifestError, is_policy_test, parse, read_text


@dataclass(frozen=True, slots=True)
class ReadyCase:
    """A case with its pod."""

    name: str
    candidate: JudgedPod
    expect: Expectation


@dataclass(frozen=True, slots=True)
class ReadySuite:
    """A suite with all that it needs."""

    name: str
    file: Path
    surroundings: Surroundings
    cases: tuple[ReadyCase, ...]


def suites_below(root: Path) -> list[ReadySuite]:
    """Read every suite below a folder, or the one in a file, in the order of their paths.

    Raises NoAnswer with the faults of all of them.
    """
    files = sorted(file for file in root.rglob("*.yaml") if is_policy_test(file)) if root.is_dir() else [root]
    reader, suites, faults = _Reader(), [], []
    for file in files:
        try:
            suites.append(reader.suite(file))
        except NoAnswer as error:
            faults.append(error.message)
    if faults:
        raise NoAnswer("\n".join(faults))
    return suites


class _Reader:
    """Reads each file once, however many suites and cases name it."""

    def __init__(self) -> None:
        self._documents: dict[Path, list[Document]] = {}

    def suite(self, file: Path) -> ReadySuite:
        written = _suite_in(file)
        objects: list[Document] = []
        for index, name in enumerate(written.objects):
            found = self._read(file, name)
            if not holds_known(found):
                raise NoAnswer(f"{file}: objects[{index}]: {name!r}: holds none of {known_kinds()}")
            objects += found
        surroundings = surroundings_of(objects, written.settings.settings)
        cases, faults = [], []
        for index, case in enumerate(written.cases):
            faults += [f"{file}: cases[{index}].expect.{fault}" for fault in faults_of(case.expect)]
            try:
                cases.append(ReadyCase(case.name, self._candidate(file, case), case.expect))
            except Unusable as error:
                faults += [f"{file}: cases[{index}].pod: {line}" for line in str(error).splitlines()]
        if faults:
            raise NoAnswer("\n".join(faults))
        return ReadySuite(written.name, file, surroundings, tuple(cases))

    def _candidate(self, file: Path, case: Case) -> JudgedPod:
        if isinstance(case.pod, str):
            document: dict[str, Any] = self._only(file, case.pod)
        else:
            document = {"apiVersion": "v1", "kind": "Pod", **case.pod}
            if not makes_pods(document):
                raise Unusable(f"kind: {document['kind']!r}: must be one of {', '.join(KINDS)}")
        candidate = of_document(document, namespace=case.namespace)
        return replace(
            candidate,
            user=candidate.user if case.user is None else case.user,
            groups=candidate.groups if case.groups is None else case.groups,
        )

    def _only(self, file: Path, name: str) -> Document:
        found = [document for document in self._read(file, name) if makes_pods(document)]
        if len(found) != 1:
            raise Unusable(f"{name!r}: must hold one of {', '.join(KINDS)}, and one only; it holds {len(found)}")
        return found[0]

    def _read(self, file: Path, name: str) -> list[Document]:
        path = (file.parent / name).resolve()
        if path not in self._documents:
            self._documents[path] = documents_of([file.parent / name])
        return self._documents[path]


def _suite_in(file: Path) -> Suite:
    try:
        documents = [document for document in parse(read_text(file), str(file)) if document is not None]
    except ManifestError as error:
        raise NoAnswer(str(error)) from None
    if len(documents) != 1:
        raise NoAnswer(f"{file}: must hold one suite, holds {len(documents)} documents")
    suite = parse_suite(documents[0])
    if isinstance(suite, list):
        raise NoAnswer("\n".join(f"{file}: {fault}" for fault in suite))
    return suite
