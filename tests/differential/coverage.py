"""How much of Kubernetes' rules on updates of pods a run of the oracle has reached: blocks of the Go functions.

The oracle is built again for this, with counters; what it counts is told function by function.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from controller.sandbox import toolchain
from controller.sandbox.layout import cache_folder
from controller.sandbox.progress import Progress
from tests.differential.oracle import MODULE, modfile

_COUNTED: Final = ".,k8s.io/kubernetes/pkg/apis/core/validation,k8s.io/apimachinery/pkg/api/validation"
_SETTINGS: Final = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}
_RULES: Final = (
    *("ValidatePodUpdate", "validateOnlyDeletedSchedulingGates", "validateOnlyAddedTolerations"),
    *("validateNodeSelectorMutation", "validateNodeAffinityMutation", "validateNodeSelectorTermHasOnlyAdditions"),
    *("ValidateContainerUpdates", "ValidatePodSpecificAnnotationUpdates", "ValidatePodSpecificAnnotations"),
    *("ValidateTolerations", "validateSchedulingGates", "validateNodeAffinity", "ValidateNodeSelectorRequirement"),
    *("ValidateNodeFieldSelectorRequirement", "ValidatePreferredSchedulingTerms", "validatePodAffinityTerm"),
    *("ValidateMatchLabelKeysAndMismatchLabelKeys", "validateTopologySpreadConstraints", "ValidateAnnotations"),
    *("ValidateOwnerReferences", "ValidateFinalizers", "ValidateObjectMetaAccessorUpdate"),
)


@contextmanager
def measured() -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the program and the environment that makes it count; print what was reached in the end."""
    progress = Progress()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        go = toolchain.go(cache_folder(), progress)
        program, counts = folder / "oracle", folder / "counts"
        counts.mkdir()
        build = [str(go), "build", "-trimpath", f"-modfile={modfile()}", "-cover", f"-coverpkg={_COUNTED}", "-o"]
        build += [str(program), "."]
        environment = {**os.environ, **_SETTINGS}
        log = folder / "build.log"
        if progress.run("building the oracle with counters", build, log=log, environment=environment, folder=MODULE):
            raise SystemExit(f"the oracle cannot be built: {toolchain.last_line(log)}")
        yield program, {"GOCOVERDIR": str(counts)}
        found = subprocess.run(
            [go, "tool", "covdata", "func", f"-i={counts}"], capture_output=True, text=True, check=True, cwd=MODULE
        )
        for line in found.stdout.splitlines():
            match = re.fullmatch(r"\S+/(?:validation|objectmeta)\.go:\d+:\s+(\w+)\s+([\d.]+%)", line)
            if match and match[1] in _RULES and match[2] != "0.0%":
                click.echo(f"{match[2]:>7} {match[1]}")
