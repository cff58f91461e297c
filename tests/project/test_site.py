"""The docs as a site: what is linked exists, every page is in the menu, and no page loads anything of others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_loads_nothing_of_others(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {page.stem for page in tmp_path.glob("*.html")}
    assert {page.stem for page in ROOT.glob("docs/*.md")} <= pages
    for page in tmp_path.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert (
            re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^ >]*", text)
            == []
        )
