"""config/crd is what the models render to."""

from __future__ import annotations

from pathlib import Path

from controller.api.crd import render_files
from controller.api.generate import DESTINATION, write


def test_the_committed_crds_are_those_of_the_models() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in DESTINATION.glob("*.yaml")}
    rendered = render_files()

    stale = sorted(name for name in committed.keys() | rendered.keys() if committed.get(name) != rendered.get(name))

    assert not stale, f"config/crd differs from controller/api in {', '.join(stale)}: run `make generate`"


def test_generating_removes_what_no_kind_stands_for(tmp_path: Path) -> None:
    (tmp_path / "penstock.dev_old.yaml").write_text("{}")

    write(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(render_files())
