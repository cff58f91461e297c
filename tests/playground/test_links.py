"""The links of the docs: each holds what a reader has by then, and llmdo reads it."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

from playground.answers import Subject, answer
from playground.links import examples, on_page_markdown, packed

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [path for path in sorted(DOCS.glob("*.md")) if [*examples(path.read_text(encoding="utf-8"))]]


def unpacked(text: str) -> dict[str, str]:
    padded = text + "=" * (-len(text) % 4)
    return dict(json.loads(zlib.decompress(base64.urlsafe_b64decode(padded), -15)))


def test_the_tutorial_is_among_the_pages_and_gathers_its_files() -> None:
    assert "tutorial.md" in {page.name for page in PAGES}
    steps = [*examples((DOCS / "tutorial.md").read_text(encoding="utf-8"))]
    assert "tools/orders.py" in steps[0]
    assert "workers/clerk.worker" in steps[-1]
    assert unpacked(packed(steps[-1])) == steps[-1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_that_is_linked_is_read(page: Path, tmp_path: Path) -> None:
    for number, files in enumerate(examples(page.read_text(encoding="utf-8"))):
        folder = tmp_path / str(number)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        for command in ("check", "reach"):
            asked = {"path": "/api/printed", "parameters": {"command": command}}
            assert "data" in json.loads(answer(Subject(after=folder), json.dumps(asked))), files


def test_a_page_without_examples_stays_as_it_is() -> None:
    text = "# Title\n\n```console\n$ llmdo check\n```\n"
    assert on_page_markdown(text) == text
    linked = on_page_markdown('```toml\nschema = 1\n\n[workspace]\nname = "a"\n```\n')
    assert linked.count("playground/index.html?files=") == 1
