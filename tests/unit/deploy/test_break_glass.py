"""docs/protection.md names every place of config/ in which the break-glass group stands, and no other."""

from __future__ import annotations

import json
import re

from controller.core.keys import BREAK_GLASS
from controller.kube.manifests import load_documents
from deploy import generate

FOLDERS = [file.parent for file in generate.CONFIG.rglob("kustomization.yaml")]


def test_the_document_lists_the_folders_that_name_the_group() -> None:
    text = (generate.ROOT / "docs" / "protection.md").read_text(encoding="utf-8")
    section = text.partition("\n## Break glass\n")[2].partition("\n## ")[0]
    items = re.findall(r"^- (.*?)[,:]", section, re.MULTILINE)
    listed = {path for item in items for path in re.findall(r"`(config/[a-z/-]+)`", item)}

    naming = {
        str(folder.relative_to(generate.ROOT))
        for folder in FOLDERS
        if BREAK_GLASS in json.dumps(load_documents(folder))
    }

    assert listed == naming
