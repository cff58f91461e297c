"""Whatever names, descriptions and files hold: the page shows it as text, with what is hidden spelled out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.page.subject import Subject
from tests.page.conftest import Served

pytestmark = pytest.mark.browser

Serve = Callable[..., Served]

HOSTILE = {
    "markup": "<img src=x onerror=document.title='hit'><b>bold</b>",
    "script": "</script><script>document.title='hit'</script>",
    "bidi": "safe\u202egnp.exe\u2066\u200b",
    "entity": "&lt;b&gt;&#60;script&#62;",
    "control": "bell\u0007escape\u001b[31m",
}


def written(root: Path, description: str, folder: str) -> Path:
    """A workspace with an agent of another tool, whose format allows any text."""
    agents = root / ".claude" / "agents"
    agents.mkdir(parents=True)
    quoted = description.replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(
        each if each.isprintable() and ord(each) < 0x2000 else f"\\u{ord(each):04x}" for each in quoted
    )
    (agents / "a.md").write_text(
        f'---\nname: agent-a\ndescription: "{escaped}"\ntools: Read, Bash\n---\nGo.\n', encoding="utf-8"
    )
    manifest = 'schema = 1\n[workspace]\nname = "w"\nworkers = ["**/*.worker"]\n'
    (root / "llmdo.toml").write_text(manifest, encoding="utf-8")
    inner = root / folder.replace("/", "_")
    inner.mkdir()
    (inner / "main.worker").write_text(
        f'---\nname: main\nentry: true\ndescription: "{escaped}"\ntoolsets:\n  filesystem: {{ write: ["{escaped}/**"] }}\n---\nGo.\n',
        encoding="utf-8",
    )
    return root


@pytest.mark.parametrize(
    "kind", ["markup", *(pytest.param(kind, marks=pytest.mark.long) for kind in HOSTILE if kind != "markup")]
)
def test_hostile_text_is_text(page: Page, serve: Serve, tmp_path: Path, kind: str) -> None:
    text = HOSTILE[kind]
    folder = text if kind in ("markup", "bidi", "entity") else "folder"
    serve(written(tmp_path, text, folder)).open(page, "#/reach/main?at=main")
    assert "hit" not in page.title()
    assert page.locator("main img, main b, main script, .witness b").count() == 0
    shown = page.locator(".witness").inner_text()
    for hidden in ("\u202e", "\u2066", "\u200b", "\u0007", "\u001b"):
        assert hidden not in page.locator("body").inner_text()
        if hidden in text:
            assert f"\\u{{{ord(hidden):x}}}" in shown
    if kind != "control":  # of which there is no path
        page.locator(".row", has_text="fs.write:").first.click()
        expect(page.locator(".row[aria-pressed=true]")).to_have_count(1)
    expect(page.locator(".witness")).to_contain_text(text.split("\u202e")[0].split("\u0007")[0])


@pytest.mark.long
def test_a_description_of_most_of_a_megabyte_is_shown_and_can_be_left(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    agents = tmp_path / ".claude" / "agents"
    agents.mkdir(parents=True)
    long = "x" * 900_000
    (agents / "a.md").write_text(
        f"---\nname: a\ndescription: {long}\ntools: Bash\n---\nGo.\n", encoding="utf-8"
    )
    served = serve(Subject(origin=("claude", str(tmp_path))))
    served.open(page, "#/reach/a?at=a")
    assert len(page.locator(".witness").inner_text()) > 900_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page.locator("h1")).to_have_text("What can be reached")
