"""Whatever names, descriptions and files hold: the page shows it as text, with what is hidden spelled out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from llmdo.features.page.subject import Subject
from llmdo.journal import Runs
from tests.features.page.conftest import Served, go
from tests.features.page.test_files import opened
from tests.features.page.test_runs import SLOW, allowing, api, llmdo_elsewhere
from tests.support.asking import MODELS

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


EVERYTHING = "".join(f"[{text}]" for text in HOSTILE.values())


def hostile_runs(root: Path) -> None:
    """Two runs and a batch whose prompts, answers, arguments, results, keys and errors are hostile."""
    allowing(root, 1)
    constants = f"NUMBER, PATH, CONTENT = 1, 'out/{{}}.txt', {EVERYTHING!r}\n"
    answering = (
        f"    if returns: return ModelResponse(parts=[TextPart({EVERYTHING!r} + ' '.join(returns))])\n"
    )
    failing = f"    if 'key' in str(text): raise ValueError({EVERYTHING!r})\n"
    models = MODELS.replace("    if returns:\n", f"{failing}{answering}    if returns:\n")
    (root / "models.py").write_text(constants + models, encoding="utf-8")
    with (root / "llmdo.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('\n[entries.write]\nworker = "writer"\n')
    for _ in range(2):
        done = llmdo_elsewhere(root, "run", "main", "--input", EVERYTHING.replace("/", ""))
        assert done.returncode == 0, done.stderr
    (root / "in.jsonl").write_text(json.dumps({"key": HOSTILE["markup"], "text": "key"}), encoding="utf-8")
    words = ("batch", "write", "--inputs", "in.jsonl", "--key", "key", "--input", "{text}")
    assert "1 failed" in llmdo_elsewhere(root, *words).stderr


def check_that_all_is_text(page: Page, *shown: str) -> None:
    """Nothing hostile became an element, ran, or reached the page as a character that hides."""
    for text in shown:
        expect(page.locator("main")).to_contain_text(text, timeout=SLOW)
    everything = page.evaluate("document.documentElement.innerText + document.title")
    for hidden in ("\u202e", "\u2066", "\u200b", "\u0007", "\u001b"):
        assert hidden not in everything
    assert page.locator("main img, main b, main script").count() == 0
    assert "hit" not in page.title()


@pytest.mark.long
@pytest.mark.timeout(240)
def test_hostile_runs_and_batches_are_text_in_every_view(page: Page, serve: Serve, tmp_path: Path) -> None:
    root = tmp_path / "w"
    hostile_runs(root)
    served = serve(root)
    served.open(page)
    failed, *runs = sorted(
        Runs(root).names(), key=lambda name: api(served, f"/api/run?run={name}")[1]["run"]["entry"] == "main"
    )
    markup, bidi, escape = "<img src=x onerror=", "safe\\u{202e}gnp.exe\\u{2066}\\u{200b}", "\\u{1b}[31m"
    batch = api(served, "/api/batches")[1]["batches"][0]["batch"]
    call = "call/main/writer%231/write_file%231"
    for view, texts in {
        "#/runs": (markup,),
        f"#/run/{runs[0]}": (markup,),
        f"#/run/{runs[0]}/{call}": (markup, bidi, escape),
        f"#/run/{failed}": (markup,),
        f"#/compare/{runs[0]}/{runs[1]}": (markup,),
        "#/totals": ("Decisions by rule",),
        "#/batches": ("1 failed",),
        f"#/batch/{batch}": (markup, "</script><script>"),
    }.items():
        go(page, view)
        check_that_all_is_text(page, *texts)
    go(page, f"#/run/{runs[0]}/call/main")
    expect(page.locator(".request .is-answer")).to_have_count(2)
    check_that_all_is_text(page, markup, bidi, escape)
    file = tmp_path / "run.html"
    assert llmdo_elsewhere(root, "page", "--export", str(file), "--run", runs[0]).returncode == 0
    opened(page, file)
    check_that_all_is_text(page, markup)
    go(page, f"#/run/{runs[0]}/{call}")
    check_that_all_is_text(page, markup, bidi, escape)


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
