from __future__ import annotations

import secrets
import subprocess
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.core.pod_update import equality, may_change
from controller.core.pod_update.violation import NEWEST
from controller.sandbox import binaries
from controller.sandbox.versions import VERSIONS
from tests.differential import oracle
from tests.differential.agreement import disagreements, our_verdict, report
from tests.differential.corpus import cases
from tests.differential.oracle import Oracle, Unjudged
from tests.differential.pairs import changed, pairs, stored_pod
from tests.support.kubernetes import MINOR

_PAIRS = 20_000
_BATCH = 2_500


def test_every_verdict_is_that_of_the_apiserver(kubernetes: Oracle) -> None:
    seed = secrets.randbits(32)
    random = Random(seed)  # noqa: S311 - cases, not secrets
    for _ in range(_PAIRS // _BATCH):
        different = disagreements(kubernetes, list(pairs(random, _BATCH)))
        assert not different, f"seed {seed}\n{report(kubernetes, different[0])}"


def test_the_verdicts_that_stay_are_those_of_the_apiserver(kubernetes: Oracle) -> None:
    known = cases()
    verdicts = kubernetes.judge([(case.old, case.new) for case in known])
    # those that stay are of the newest
    wanted = [case.verdict if MINOR == NEWEST else our_verdict(case.old, case.new) for case in known]
    assert [case.name for case, *both in zip(known, verdicts, wanted, strict=True) if both[0] != both[1]] == []


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_no_search_finds_another_verdict(kubernetes: Oracle, random: Random) -> None:
    old = stored_pod(random)
    pair = (old, changed(random, old))
    theirs = kubernetes.judge([pair])[0]
    assert theirs == our_verdict(*pair)


def test_the_pairs_are_worth_judging(kubernetes: Oracle) -> None:
    verdicts = kubernetes.judge(list(pairs(Random(1), 5000)))  # noqa: S311
    assert not any(isinstance(verdict, Unjudged) for verdict in verdicts)
    legal = sum(verdict == () for verdict in verdicts)
    assert 1000 < legal < 4000
    assert len({fault for verdict in verdicts for fault in verdict}) > 100


def test_each_violation_says_something_of_its_own() -> None:
    for old, new in pairs(Random(2), 3000):  # noqa: S311
        for violation in may_change(old, new):
            assert len(violation.text) > 10
            assert "\n" not in violation.text
            assert str(violation).startswith(violation.path)


def test_our_table_of_fields_is_that_of_kubernetes() -> None:
    lines = subprocess.run([oracle.ensure(), "fields"], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = {name: frozenset(found.split(",")) for name, found in (line.split() for line in lines)}

    def named(*wanted: str) -> frozenset[str]:
        return frozenset(name for name, found in kinds.items() if found <= set(wanted) and found != {"list"})

    assert named("map", "list") == equality.TEXT_MAPS
    assert named("struct") == equality.STRUCTS
    assert named("quantities") == equality.QUANTITY_MAPS
    assert named("quantity") == equality.QUANTITIES


@pytest.mark.parametrize("kubernetes", VERSIONS)
def test_the_oracle_is_of_the_kubernetes_that_the_sandbox_runs(kubernetes: str) -> None:
    ours = _versions((oracle.MODULE / oracle.modfile(kubernetes)).read_text())
    theirs = _versions((binaries.module("kube-apiserver", kubernetes) / "go.mod").read_text())
    assert ours["k8s.io/kubernetes"] == f"v{kubernetes}"
    # the same versions throughout: what the sandbox fetched and compiled serves here too
    assert {name: theirs[name] for name in ours} == ours


def _versions(text: str) -> dict[str, str]:
    lines = (line.split() for line in text.splitlines())
    placed = {line[0]: line[1] for line in lines if len(line) > 1 and line[1].startswith("v")}
    replaced = (line.split() for line in text.splitlines() if "=>" in line)
    return {**placed, **{line[0]: line[3] for line in replaced}}
