"""docs/reference and docs/pictures are what the code says: one that differs, or is edited by hand, is a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.api.crd import KINDS
from controller.cli.main import root
from controller.core.reasons import NEEDS_A_CHANGE, Reason
from docsite.generate import DOCS, render, write
from docsite.reference.tables import cell, code

FILES = render()


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_written_page_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == FILES[name], "run `make generate`"


def test_no_page_is_there_that_is_not_written() -> None:
    there = {f"{folder}/{one.name}" for folder in ("reference", "pictures") for one in (DOCS / folder).iterdir()}
    assert there == FILES.keys(), "run `make generate`"


def test_writing_deletes_what_is_no_longer_written(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "gone.md").write_text("# Gone\n", encoding="utf-8")
    write(tmp_path)
    assert sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*.*")) == sorted(FILES)


def test_every_kind_command_and_reason_has_its_place() -> None:
    assert {f"reference/{kind.definition.kind.lower()}.md" for kind in KINDS} <= FILES.keys()
    for name in root.list_commands(root.make_context("penstock", [], resilient_parsing=True)):
        assert f"\n## penstock {name}\n" in FILES["reference/commands.md"]
    waits = FILES["reference/reasons.md"].partition("## Why a pod is evicted")[0].splitlines()
    for reason in Reason:
        (row,) = (one for one in waits if one.startswith(f"| `{reason}` |"))
        assert row.endswith("| Warning |" if reason in NEEDS_A_CHANGE else "| Normal |")


def test_a_field_has_its_type_default_bounds_and_text() -> None:
    page = FILES["reference/clusterqueue.md"]
    (row,) = (one for one in page.splitlines() if one.startswith("| `spec.spotPercent` |"))
    assert row.startswith("| `spec.spotPercent` | integer | ")
    assert row.endswith(" At least 0; at most 100. |")
    (row,) = (one for one in page.splitlines() if one.startswith("| `spec.flavorMode` |"))
    assert row.endswith(" Default: `Ordered`. One of `Ordered`, `Any`. |")
    assert "| `spec.flavors[].name` | string | **Required.** The name of a ResourceFlavor. " in page


def test_nothing_in_a_cell_ends_it() -> None:
    assert cell("a | b\n  <c> *d*") == "a \\| b &lt;c> \\*d\\*"
    assert (code("a|b"), code("")) == ("`a\\|b`", "")


def test_the_page_of_reasons_has_each_of_them() -> None:
    text = (DOCS / "reasons.md").read_text(encoding="utf-8")
    assert not [reason for reason in Reason if f"\n| `{reason}` | " not in text]
