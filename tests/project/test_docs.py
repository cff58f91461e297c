"""What the docs say is what the code does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.workspace import project

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")])


def test_the_reference_pages_are_those_that_the_code_makes() -> None:
    pages = runpy.run_path(str(ROOT / "docs/generate.py"))["pages"]()
    for name, text in pages.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, (
            f"run docs/generate.py: {name} is stale"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_in_the_docs_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_tells_anyone_to_install_another_package_of_our_name(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(?:pip|pipx|uv|uvx)[\w \-]*install[\w \-]* '?llmdo(?!-workspace)\b", text)


def test_the_manifest_in_the_page_about_the_shell_is_right(tmp_path: Path) -> None:
    text = (ROOT / "docs/shell.md").read_text(encoding="utf-8")
    block = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0]
    head = 'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n'
    (tmp_path / "llmdo.toml").write_text(head + block, encoding="utf-8")
    (tmp_path / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [shell]\n---\nGo.\n")
    findings = checks.check(project.read(tmp_path))
    assert [finding.code for finding in findings] == ["LDO402"]
