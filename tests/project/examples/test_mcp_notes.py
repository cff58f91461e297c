"""The example `mcp_notes`: a pinned server, and what one character more in it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import llmdo
from tests.support.examples import copied

ANSWER = "greenhouse: We decided on cedar, because it can be mended here.\n(kept in notes/answers.md)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copied("mcp_notes", tmp_path)


@pytest.mark.long
def test_the_notes_answer_and_keep_the_answer(root: Path) -> None:
    done = llmdo(root, "run", "--locked")
    assert (done.returncode, done.stdout) == (0, ANSWER), done.stderr
    assert "cedar" in (root / "notes/answers.md").read_text(encoding="utf-8")
    again = llmdo(root, "run", "ask", "What about a boat?")
    assert "No note says anything about that." in again.stdout


@pytest.mark.long
def test_one_character_more_is_refused_at_a_run_and_shown(root: Path) -> None:
    server = root / "server.py"
    text = server.read_text(encoding="utf-8")
    server.write_text(text.replace("Returns the text of one note.", "Returns the text of one note!"))
    changed = "its description changed: -`Returns the text of one note.` +`Returns the text of one note!`"
    run = llmdo(root, "run")
    assert (run.returncode, run.stdout) == (2, "")
    assert (
        "what the MCP server `notes` offers, with its program as it is: it is not in the lock" in run.stderr
    )
    locked = llmdo(root, "run", "--locked")
    assert (locked.returncode, locked.stdout) == (1, "")
    assert "out of date for toolset `notes`: its program changed" in locked.stderr
    check = llmdo(root, "lock", "--check")
    assert (check.returncode, changed in check.stdout) == (1, True)


@pytest.mark.long
def test_a_run_is_replayed_without_its_server(root: Path) -> None:
    llmdo(root, "run")
    run = llmdo(root, "runs").stdout.split()[0]
    (root / "server.py").unlink()
    (root / "notes/answers.md").unlink()
    again = llmdo(root, "runs", "replay", run)
    assert (again.returncode, again.stdout) == (0, ANSWER), again.stderr
    assert not (root / "notes/answers.md").exists(), "nothing is executed again"


def test_a_worker_may_not_rewrite_the_script_that_its_server_runs(root: Path) -> None:
    (root / "workers/main.worker").write_text(
        "---\nname: main\nentry: true\ntoolsets: { filesystem: { write: ['**'] }, notebook: {} }\n---\nGo.\n"
    )
    (root / "workers/librarian.worker").unlink()
    (root / "models.yaml").write_text(
        'main:\n  - call: { write_file: { path: server.py, content: x } }\n  - answer: "{result}"\n'
    )
    manifest = (root / "llmdo.toml").read_text(encoding="utf-8").partition("[entries.ask]")[0]
    (root / "llmdo.toml").write_text(
        manifest.replace('"fs.write:notes/**" = "allowed"', '"fs.write" = "allowed"')
    )
    done = llmdo(root, "run", "main", "x", "--approve-all")
    assert "`fs.write.protected:server.py`" in done.stdout, done.stderr
