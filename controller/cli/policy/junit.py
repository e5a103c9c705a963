"""Results of policy tests as JUnit XML, the form that CI systems read (schema of the Jenkins xUnit plugin)."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from controller.cli.policy.suite_output import SuiteResult

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped (§2.2)."""


def write(file: Path, results: Sequence[SuiteResult]) -> None:
    """Write the report: whole, or not at all. Raises OSError."""
    body = render(results)
    number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(number, "wb") as opened:
            opened.write(body)
            # mkstemp lets nobody else read it; CI often is somebody else
            os.fchmod(opened.fileno(), 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def render(results: Sequence[SuiteResult]) -> bytes:
    """Return the report."""
    suites = [_suite(result) for result in results]
    root = ElementTree.Element("testsuites", _sums("penstock policy test", results))
    root.extend(suites)
    ElementTree.indent(root)
    body: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _suite(result: SuiteResult) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {**_sums(result.name, [result]), "skipped": "0"})
    for case in result.cases:
        attributes = {"name": _clean(case.name), "classname": _clean(result.name), "time": f"{case.seconds:.6f}"}
        element = ElementTree.SubElement(suite, "testcase", {**attributes, "file": _clean(str(result.file))})
        if not case.passed:
            texts = [_clean(str(miss)) for miss in case.misses]
            failure = ElementTree.SubElement(element, "failure", {"message": texts[0], "type": "Unexpected"})
            failure.text = "\n".join(texts)
    return suite


def _sums(name: str, results: Sequence[SuiteResult]) -> dict[str, str]:
    cases = [case for result in results for case in result.cases]
    return {
        "name": _clean(name),
        "tests": str(len(cases)),
        "failures": str(sum(result.failures for result in results)),
        "errors": "0",
        "time": f"{sum(case.seconds for case in cases):.6f}",
    }


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
