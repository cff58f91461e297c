"""The example `approvals_demo`: every decision, and every answer of a person at a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.commands import llmdo
from tests.support.examples import attempted, copied
from tests.support.ptys import Person, Reaction, wait_for

POST = ".github/workflows/post.yml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copied("approvals_demo", tmp_path)


def sent(root: Path) -> list[str]:
    folder = root / "sent"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def at_a_terminal(root: Path, *answers: Reaction, steps: str | None = None) -> tuple[int, Person]:
    """The exit code of the run, and the person who gave these answers."""
    words = [sys.executable, "-m", "llmdo", "run", "demo", *([] if steps is None else ["--input", steps])]
    environ = {name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR")}
    with Person(*answers, columns=120) as person:
        return wait_for(person.start(words, root, environ)), person


def test_without_a_terminal_all_questions_are_answered_with_no(root: Path) -> None:
    done = llmdo(root, "run", "demo", "--locked")
    assert done.returncode == 1
    assert "rules, not a language model" in done.stderr
    assert "4 of the calls needed an approval; nobody can be asked here" in done.stderr
    assert sent(root) == []
    assert (root / "letters/ada.txt").exists()
    assert not (root / POST).exists()
    assert not (root / "drafts/.env").exists()


def test_approve_all_answers_neither_for_what_governs_runs_nor_for_what_is_blocked(root: Path) -> None:
    done = llmdo(root, "run", "demo", "--approve-all")
    assert done.returncode == 1  # a question found nobody: it is for a person alone
    assert "1 of the calls needed an approval; `--approve-all` cannot approve this" in done.stderr
    assert sent(root) == ["1-Ada.txt", "2-Ada.txt"]
    assert not (root / "drafts/ada.txt").exists()
    assert (root / "letters/ada.txt").exists()
    assert not (root / POST).exists()
    assert not (root / "drafts/.env").exists()


def test_the_answers_that_the_readme_walks_through(root: Path) -> None:
    changed = '{"to": "Bo", "text": "Dear Bo, thank you."}\n\n'

    def edit(person: Person) -> None:
        person.type("edit\n")
        person.type(changed)

    code, person = at_a_terminal(root, "show\n", edit, "once\n", "always\n", "no keep the draft\n", "stop\n")
    assert code == 130
    assert sent(root) == ["1-Bo.txt", "2-Ada.txt"]
    assert (root / "sent/1-Bo.txt").read_text(encoding="utf-8") == "Dear Bo, thank you.\n"
    assert (root / "drafts/ada.txt").exists()
    assert not (root / POST).exists()
    assert len(person.prompts) == 6


@pytest.mark.long
def test_always_is_not_asked_again_about_the_same_call(root: Path) -> None:
    steps = 'Send "Hi." to Ada.\nSend "Hi." to Ada.\nSend "Hi!" to Ada.'
    code, person = at_a_terminal(root, "always\n", "no\n", steps=steps)
    assert (code, sent(root)) == (0, ["1-Ada.txt", "2-Ada.txt"])
    assert len(person.prompts) == 2


def test_a_person_at_the_terminal_may_write_what_governs_runs(root: Path) -> None:
    code, person = at_a_terminal(root, "once\n", steps=f'Write "on: push" to {POST}.')
    assert (code, (root / POST).read_text(encoding="utf-8")) == (0, "on: push")
    assert f"fs.write.protected:{POST}" in "\n".join(person.prompts[0])


@pytest.mark.long
def test_a_reason_reaches_the_model(root: Path) -> None:
    _, person = at_a_terminal(root, "no write to Bo instead\n", steps='Send "Hi." to Ada.')
    assert "1 send_letter: " in person.text()
    assert "write to Bo instead" in person.text().partition("1 send_letter: ")[2]


@pytest.mark.long
def test_strangers_steps_stay_where_they_may(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("kept", encoding="utf-8")
    (root / "drafts").symlink_to(tmp_path)
    (root / "letters/link.txt").symlink_to(outside)
    steps = (
        "Read letters/link.txt.\nRead ../outside.txt.\nRead llmdo.toml.\nShred drafts/outside.txt.\n"
        'Write "x" to drafts/outside.txt.\nWrite "x" to llmdo.toml.\nSend "Hi." to ../../x.\n'
        "Shred ../outside.txt.\nDance.\n"
    )
    done = llmdo(root, "run", "demo", "--approve-all", "--input", steps)
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 8
    assert "kept" not in done.stdout
    assert outside.read_text(encoding="utf-8") == "kept"
    assert sent(root) == []


@pytest.mark.long
def test_what_is_blocked_stays_blocked_for_a_model_of_any_kind(root: Path) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("shred", {"path": "letters/ada.txt"}),
        ("shred", {"path": "letters/../letters/ada.txt"}),
        ("shred", {"path": "drafts/../letters/ada.txt"}),
        ("write_file", {"path": "drafts/.env", "content": "TOKEN=1"}),
        ("write_file", {"path": POST, "content": "on: push"}),
        ("write_file", {"path": "drafts/../llmdo.toml", "content": ""}),
        ("publish", {"text": "x"}),
    ]
    outcomes = attempted(root, "demo", calls, "--approve-all")
    assert [outcome for outcome, _ in outcomes] == ["failed"] * 6 + ["retried"]
    assert (root / "letters/ada.txt").exists()
    assert not (root / POST).exists()
