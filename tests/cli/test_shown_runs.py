"""`runs show` in full: what calls were given, what was decided and what came of it, whoever wrote it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.examples import copied
from tests.support.locks import locked

from .conftest import Llmdo

TOOLS = """\
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

HOSTILE = "ok\\n## Heading\\n```\\n<script>alert(1)</script>\\x1b[2J\\u202eevil\\r\\u2028end\\n"


@tools.tool_plain(metadata={"capabilities": ["x.tools.note"]})
def note(text: str) -> str:
    match text:
        case "hostile":
            return HOSTILE
        case "large":
            return "a" * 500 + "b" * 1_000_000 + "c" * 500
        case "broken":
            raise OSError("the notes cannot be read")
    return f"noted {text}"
"""


@pytest.fixture
def noting(workspace: Path) -> Path:
    """A workspace whose `main` notes what its input says, `note:text:hello`."""
    manifest = (workspace / "llmdo.toml").read_text()
    rules = '[approvals.rules]\n"x.tools" = "allowed"\n'
    (workspace / "llmdo.toml").write_text(f'{manifest}\n[toolsets.tools]\npython = "tools.py:tools"\n{rules}')
    (workspace / "tools.py").write_text(TOOLS)
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo.\n")
    return locked(workspace)


def full(llmdo: Llmdo, root: Path, *words: str) -> str:
    done = llmdo("runs", "show", "last", "--calls", *words, cwd=root)
    assert done.code == 0, done.err
    return done.out


def calls(llmdo: Llmdo, root: Path) -> dict[str, dict[str, object]]:
    """Each call of the last run by its path."""
    known: dict[str, dict[str, object]] = {}
    waiting = json.loads(full(llmdo, root, "--format", "json"))["calls"]
    while waiting:
        known[waiting[0]["path"]] = waiting[0]
        waiting += waiting.pop(0)["children"]
    return known


def test_calls_of_delegates_show_arguments_attachments_and_results(llmdo: Llmdo, tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    assert llmdo("run", "pitchdeck", "Evaluate decks/brightwell.md", cwd=root).code == 0
    report = (root / "reports" / "brightwell.md").read_text(encoding="utf-8")
    short = full(llmdo, root)
    assert (
        '  argument attachments: ["decks/brightwell.md"]\n  raises: agent.delegate:pitch_evaluator, ' in short
    )
    assert f"  argument content: {len(report):,} characters\n    | # Pitch deck report" in short
    left_out = len(report) - 600
    assert f"    ... {left_out:,} characters left out: `--whole` shows them ...\n" in short
    assert (
        "  allowed by rules; the rules say allowed\n    because `fs.write:reports/brightwell.md`: " in short
    )
    for form in ("text", "markdown"):
        whole = full(llmdo, root, "--whole", "--format", form)
        assert all(f"    | {line}\n" in whole for line in report.splitlines())
        assert "left out" not in whole
    known = calls(llmdo, root)
    assert known["main/write_file#1"]["decisions"][0]["arguments"]["content"] == report
    assert known["main/pitch_evaluator#1"]["result"] + "\n" == report
    assert known["main"]["input"] == "Evaluate decks/brightwell.md"


def test_a_hostile_result_is_shown_as_text(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:text:hostile", cwd=noting)
    text = full(llmdo, noting, "--whole")
    assert "    | <script>alert(1)</script>\\u{1b}[2J\\u{202e}evil\\u{d}\\u{2028}end\n" in text
    for form in ("text", "markdown", "json"):
        out = full(llmdo, noting, "--format", form)
        assert re.search("[\x1b\u202e\r\u2028]", out) is None
    markdown = full(llmdo, noting, "--format", "markdown")
    assert "        | ## Heading\n        | ```\n" in markdown  # indented code, which nothing in it can end


@pytest.mark.long
def test_a_large_result_is_counted_and_whole_on_request(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:text:large", cwd=noting)
    short = full(llmdo, noting)
    assert len(short) < 5_000
    assert "  result: 1,001,000 characters\n" in short
    assert "    ... 1,000,400 characters left out: `--whole` shows them ...\n" in short
    assert f"    | {'c' * 200}\n" in short
    assert "b" * 1_000_000 in full(llmdo, noting, "--whole")
    assert len(calls(llmdo, noting)["main/note#1"]["result"]) == 1_001_000


def test_a_failure_shows_its_error_and_frames(llmdo: Llmdo, noting: Path) -> None:
    assert llmdo("run", "main", "note:text:broken", cwd=noting).code == 1
    shown = full(llmdo, noting)
    assert "\nmain/note#1, " in shown
    assert '  argument text: "broken"\n' in shown
    assert "  error: " in shown
    assert "the notes cannot be read" in shown
    assert "--> tools.py:" in shown
    assert 'raise OSError("the notes cannot be read")' in shown


def test_arguments_that_fit_no_tool_are_shown_as_they_were_written(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:words:hello", cwd=noting)
    shown = full(llmdo, noting)
    assert '  argument words: "hello"\n  not decided on\n' in shown
    assert calls(llmdo, noting)["main/note#1"]["written"] == {"words": "hello"}


def test_a_call_that_waits_shows_what_would_run_and_why_it_asks(llmdo: Llmdo, workspace: Path) -> None:
    waits = llmdo("run", "main", "write_file:out/a.md:hello", "--approvals", "later", cwd=locked(workspace))
    assert waits.code == 3
    shown = full(llmdo, workspace)
    assert '  argument path: "out/a.md"\n  argument content: "hello"\n  raises: fs.write:out/a.md\n' in shown
    assert "  waits for an answer\n    because " in shown
    llmdo("approve", "last", "--no", "main/write_file#1", "--reason", "not today", cwd=workspace)
    llmdo("resume", "last", cwd=workspace)
    answered = full(llmdo, workspace)
    assert re.search(r"^  refused by \S+: not today$", answered, re.MULTILINE)
    assert "waits" not in answered


@pytest.mark.long
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_no_secret_is_shown_here_or_of_a_run_that_was_exported(
    llmdo: Llmdo, noting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    value, token = "correct-horse-battery", "ghp_" + "x1" * 15
    monkeypatch.setenv("ACME_API_KEY", value)
    assert llmdo("run", "main", f"note:text:{value} {token}", cwd=noting).code == 0
    shown = full(llmdo, noting, "--whole", "--format", form)
    assert llmdo("runs", "export", "last", str(tmp_path / "run.sqlite"), cwd=noting).code == 0
    assert llmdo("runs", "prune", "last", cwd=noting).code == 0
    assert llmdo("runs", "import", str(tmp_path / "run.sqlite"), cwd=noting).code == 0
    for out in (shown, full(llmdo, noting, "--whole", "--format", form)):
        assert "redacted" in out
        assert value not in out
        assert token not in out


def messages(llmdo: Llmdo, root: Path, *words: str) -> list[dict[str, object]]:
    done = llmdo("runs", "show", "last", "--messages", *words, "--format", "json", cwd=root)
    assert done.code == 0, done.err
    return json.loads(done.out)["messages"]


def test_messages_show_what_each_model_was_told_with_tools_and_files(llmdo: Llmdo, tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    assert llmdo("run", "pitchdeck", "Evaluate decks/brightwell.md", cwd=root).code == 0
    report = (root / "reports" / "brightwell.md").read_text(encoding="utf-8").strip()
    asked = messages(llmdo, root)
    assert [(each["path"], each["request"]) for each in asked] == [
        ("main", 1), ("main", 2), ("main/pitch_evaluator#1", 1), ("main", 3), ("main", 4),
    ]  # fmt: skip
    prompt = (root / "workers" / "main.worker").read_text(encoding="utf-8").split("\n---\n", 1)[1].strip()
    assert asked[0]["instructions"] == prompt
    assert {tool["name"] for tool in asked[0]["tools"]} >= {"list_files", "write_file", "pitch_evaluator"}
    assert asked[0]["given"] == [
        {"kind": "user-prompt", "tool": "", "call": "", "value": "Evaluate decks/brightwell.md"}
    ]
    files = asked[2]["given"][0]["value"]
    assert files[-1] == {"file": "decks/brightwell.md", "media_type": "text/markdown"}
    assert asked[3]["given"][0]["call"] == "main/pitch_evaluator#1"
    assert asked[3]["given"][0]["value"] == report
    assert asked[3]["answered"][0]["value"]["content"].strip() == report
    own = messages(llmdo, root, "main/pitch_evaluator#1")
    assert own == [asked[2]]
    for form in ("text", "markdown"):
        shown = llmdo("runs", "show", "last", "--messages", "--whole", "--format", form, cwd=root).out
        assert all(f"    | {line}\n" in shown for line in [*prompt.splitlines(), *report.splitlines()])


def test_a_path_that_asked_no_model_is_refused(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:text:hello", cwd=noting)
    refused = llmdo("runs", "show", "last", "--messages", "main/note#1", cwd=noting)
    assert (refused.code, "no model was asked at `main/note#1`" in refused.err) == (2, True)
    alone = llmdo("runs", "show", "last", "main", cwd=noting)
    assert (alone.code, "add `--messages`" in alone.err) == (2, True)


def test_a_model_was_told_why_its_call_failed(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:words:hello;unheard:of:tool", cwd=noting)
    parts = messages(llmdo, noting)[1]["given"]
    fault = next(part for part in parts if part["call"] == "main/note#1")
    assert "text" in str(fault["value"])
    unknown = next(part for part in parts if part["tool"] == "unheard")
    assert unknown["value"] is None
    text = llmdo("runs", "show", "last", "--messages", cwd=noting).out
    assert ": not in the journal, which has its digest\n" in text


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_messages_hold_no_secret_and_nothing_that_steers(
    llmdo: Llmdo, noting: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "correct-horse-battery")
    text = "note:text:hostile;note:text:correct-horse-battery ghp_" + "x1" * 15
    assert llmdo("run", "main", text, cwd=noting).code == 0
    shown = llmdo("runs", "show", "last", "--messages", "--whole", "--format", form, cwd=noting).out
    assert "script" in shown
    assert "redacted" in shown
    assert "correct-horse-battery" not in shown
    assert "x1x1" not in shown
    assert re.search("[\x1b\u202e\r\u2028]", shown) is None
