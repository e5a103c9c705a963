"""Names are the field's standard terms: private words that were replaced do not come back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
REPLACED = {
    "are_none": "is_in_vain",
    "away": "simulation",
    "beside": "ConjoinedTerm, BookedLedger",
    "brought_up_to_date": "(look at the whole class)",
    "doors": "admission_checks, local_queue_index",
    "entrances": "admission_checks",
    "fronts": "queue_top",
    "giving_way": "reclaim_order",
    "go_on": "(say what continues)",
    "going_on": "rest_of_gang",
    "hands": "operator_actions",
    "is_so_still": "(nothing is remembered)",
    "knownoffers": "KnownReclaimable",
    "leaps": "clock_jumps",
    "letgo": "(nothing is remembered)",
    "looked_at": "visited",
    "nobody_before": "(nothing is remembered)",
    "offer": "reclaimable",
    "offers": "ReclaimableIndex, known_reclaimable",
    "only_freed": "(look at the whole class)",
    "openings": "(nothing is remembered)",
    "outline": "SpecPresence",
    "pass_to": "advance",
    "planted": "(nothing is remembered)",
    "prospects": "larger_shares",
    "rather": "prefer_preemption",
    "rebooked": "(nothing is remembered)",
    "said": "PublishedCondition",
    "see": "observe",
    "settled": "(nothing is remembered)",
    "shelf": "SortedEnds, ResourceKey",
    "standbys": "further_lines",
    "standing": "CandidateRank, ActionMarks, rank",
    "stirred": "(nothing is remembered)",
}
"""What stands in the place of each, by the word in lower case."""


def defined(file: Path) -> Iterator[str]:
    """Return the names of a module, and of its classes, functions and methods."""
    yield file.stem
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def replaced(file: Path) -> list[str]:
    names = {name.strip("_").lower() for name in defined(file)}
    return [f"{file}: {name}: say {REPLACED[name]}" for name in sorted(names & REPLACED.keys())]


def test_no_word_of_our_own_comes_back() -> None:
    files = [file for room in ("controller", "webhook") for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 300
    found = [fault for file in files for fault in replaced(file)]
    assert not found, "\n".join(found)


def test_a_word_that_comes_back_is_named(tmp_path: Path) -> None:
    file = tmp_path / "doors.py"
    file.write_text("class Fronts:\n    def pass_to(self) -> None: ...\n", encoding="utf-8")
    assert [fault.split(": ", 1)[1] for fault in replaced(file)] == [
        "doors: say admission_checks, local_queue_index",
        "fronts: say queue_top",
        "pass_to: say advance",
    ]
