"""An answer that stands after an edit is the one that a check would give."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from llmdo.base import cache
from llmdo.cli import quick
from tests.test_cache import AGE, FILES, checked, known_answer, made, remembered, root

__all__ = ["made", "root"]  # fixtures


MAIN = FILES["workers/main.worker"]
EDITS = {
    "a prompt": MAIN.replace("Go on.", "Go on, and on."),
    "a comment": MAIN.replace("---\n", "---\n# note\n", 1),
    "a blank line": MAIN.replace("toolsets", "\n\ntoolsets"),
    "an alias": MAIN.replace("Go on.", "Read deck.md."),
    "something hidden": MAIN.replace("Go on.", "Go\u200b on."),
    "another letter": MAIN.replace("Go on.", "Géht weiter."),
    "another header": MAIN.replace("name: main", "name: main\ndescription: It leads."),
    "a misspelt name": MAIN.replace("  other", "  othr"),
    "another order": MAIN.replace("  filesystem: {}\n  other: {}\n", "  other: {}\n  filesystem: {}\n"),
    "no header": "Go on.\n",
    "no end": MAIN.replace("---\nGo", "--\nGo"),
    "nothing": "",
    "line ends": MAIN.replace("\n", "\r\n"),
    "a header of YAML": MAIN.replace("filesystem: {}", "filesystem: !!map {}"),
    "a longer header": MAIN.replace("toolsets:", "description: >\n  It leads.\ntoolsets:"),
}
SILENT = ("a prompt", "a comment", "a blank line")
"""What changes nothing that a check without a lock says."""


@pytest.mark.long
@pytest.mark.parametrize("locked", [True, False], ids=["locked", "without a lock"])
def test_an_answer_stands_after_an_edit_only_if_a_check_would_give_it(root: Path, *, locked: bool) -> None:
    if not locked:
        (root / "llmdo.lock").unlink()
    time.sleep(AGE)
    before = checked(root)
    kept = []
    for name, text in EDITS.items():
        (root / "workers" / "main.worker").write_bytes(text.encode())
        if (known := known_answer(root)) is not None:
            kept.append(name)
            assert known == checked(root, "--no-cache") == before, name
    assert kept == [name for name in EDITS if name in SILENT and not (locked and name == "a prompt")]


def test_the_answer_about_a_prompt_that_the_lock_lacks_stands_while_it_is_edited(root: Path) -> None:
    edited = root / "workers" / "main.worker"
    edited.write_text(EDITS["a prompt"])
    time.sleep(AGE)
    _, text = checked(root)
    assert "LDO401" in text
    for prompt in ("Go.", "Go on, and on, and on.\n\nAnd on."):
        edited.write_text(MAIN.replace("Go on.", prompt))
        assert remembered(root) == text == checked(root, "--no-cache")[1]
    edited.write_text(EDITS["a prompt"].replace("---\n", "---\n# note\n", 1))
    assert remembered(root) is None  # what is said about a line of the file is about another line now
    edited.write_text(MAIN)  # the lock has it
    assert remembered(root) is None


def test_an_alias_that_only_this_prompt_mentions_counts(root: Path) -> None:
    (root / "llmdo.toml").write_text(FILES["llmdo.toml"].replace("Read deck.md.", "Read it."))
    edited = root / "workers" / "main.worker"
    edited.write_text(EDITS["an alias"])
    (root / "llmdo.lock").unlink()
    time.sleep(AGE)
    _, text = checked(root)
    assert "LDO305" not in text
    edited.write_text(EDITS["an alias"].replace("Read", "See"))
    assert remembered(root) == text
    edited.write_text(MAIN)
    assert remembered(root) is None
    assert "LDO305" in checked(root, "--no-cache")[1]


def test_a_file_that_an_editor_replaced_is_the_same_file_and_a_link_is_none(
    root: Path, tmp_path: Path
) -> None:
    edited = root / "workers" / "main.worker"
    time.sleep(AGE)
    _, text = checked(root)
    beside = root / "workers" / ".main.worker.swp"
    beside.write_text(EDITS["a comment"])
    beside.replace(edited)
    assert remembered(root) == text
    (root / "workers" / "new.txt").write_text("")
    assert remembered(root) is None
    (root / "workers" / "new.txt").unlink()
    assert remembered(root) == text
    outside = tmp_path / "outside"
    outside.write_text(MAIN)
    edited.unlink()
    edited.symlink_to(outside)
    assert remembered(root) is None
    edited.unlink()
    edited.write_text(MAIN)
    edited.chmod(0o600)
    assert remembered(root) is None


def test_an_answer_that_stands_is_remembered_with_the_edited_file(root: Path) -> None:
    edited = root / "workers" / "main.worker"
    time.sleep(AGE)
    _, text = checked(root)
    edited.write_text(EDITS["a comment"])
    time.sleep(AGE)
    assert remembered(root) == text
    before = quick._meaning_now
    try:
        quick._meaning_now = lambda *_: pytest.fail("nothing was edited since")
        assert remembered(root) == text
    finally:
        quick._meaning_now = before
    edited.write_text(EDITS["another header"])
    assert remembered(root) is None


def test_many_edited_files_are_checked_anew(root: Path) -> None:
    (root / "llmdo.lock").unlink()
    for number in range(cache.MOST_EDITED + 1):
        (root / "more" / f"worker_{number}.worker").write_text(f"---\nname: worker_{number}\n---\nGo.\n")
    time.sleep(AGE)
    _, text = checked(root)
    assert remembered(root) == text
    for number in range(cache.MOST_EDITED + 1):
        (root / "more" / f"worker_{number}.worker").write_text(f"---\nname: worker_{number}\n---\nGo on.\n")
    assert remembered(root) is None
