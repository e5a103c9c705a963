"""The documentation builds as a site: every link and anchor leads somewhere, and every page is in the navigation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docsite.building import SiteError, build

CONFIG = """[project]
site_name = "P"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = [{}]
"""
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"([^\"]*)\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("docs"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of one page, `docs/a.md`."""
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    for name in PROJECT:
        (root / name).write_text(f"# {name}\n", encoding="utf-8")
    (root / "docs" / "a.md").write_text("# A\n", encoding="utf-8")
    return root


def built(root: Path, *pages: str) -> Path:
    """Build the site of `root`, whose navigation has the documents at the root and these pages."""
    config = root / "zensical.toml"
    nav = ["index.md", *(f"project/{name}" for name in PROJECT[:-1]), *pages]
    config.write_text(CONFIG.format(", ".join(f'"{page}"' for page in nav)), encoding="utf-8")
    return build(root / "build", root, config)


def test_the_site_builds_strictly(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 30


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not [one for one in LOADED.findall(text) if ":" in one and not one.startswith("data:")], page
        assert 'class="mermaid"' not in text, f"{page}: a diagram whose script would come from another host"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[gone](b.md)", "page does not exist"),
        ("[gone](../NOTES.md)", "page does not exist"),
        ("[gone](../README.md#no-such-part)", "anchor does not exist"),
        ("[gone](#no-such-part)", "anchor does not exist"),
    ],
)
def test_a_link_that_leads_nowhere_is_an_error(root: Path, text: str, fault: str) -> None:
    (root / "docs" / "a.md").write_text(f"# A\n\n{text}\n", encoding="utf-8")
    with pytest.raises(SiteError, match=fault):
        built(root, "a.md")


def test_a_page_outside_of_the_navigation_is_an_error(root: Path) -> None:
    (root / "docs" / "b.md").write_text("# B\n", encoding="utf-8")
    with pytest.raises(SiteError, match=r"docs/b\.md: is not in the nav"):
        built(root, "a.md")


def test_an_entry_of_the_navigation_needs_its_page(root: Path) -> None:
    with pytest.raises(SiteError, match=r"gone\.md: is no page"):
        built(root, "a.md", "gone.md")
    with pytest.raises(SiteError, match=r"a\.md: is there twice"):
        built(root, "a.md", "a.md")


def test_links_out_of_docs_lead_to_pages(root: Path) -> None:
    (root / "config").mkdir()
    (root / "config" / "job.yaml").write_text("kind: Job\n", encoding="utf-8")
    links = "[all](../README.md#readmemd) [one](../config/job.yaml) [folder](../config) [rules](../CONTRIBUTING.md)"
    (root / "docs" / "a.md").write_text(f"# A\n\n{links}\n\n```text\n[code](../README.md)\n```\n", encoding="utf-8")
    site = built(root, "a.md")
    page = (site / "a.html").read_text(encoding="utf-8")
    targets = ["index.html#readmemd", "files/config/job.yaml.html", "files/config.html", "project/CONTRIBUTING.html"]
    assert [one for one in targets if f'href="{one}"' in page] == targets
    assert "[code](../README.md)" in page
    assert "kind" in (site / targets[1]).read_text(encoding="utf-8")
    assert 'href="config/job.yaml.html"' in (site / targets[2]).read_text(encoding="utf-8")
