"""An answer that stands after an edit is the one that a check would give."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdo.base import cache
from llmdo.cli import quick, restating
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.cli.test_cache import FILES, checked, known_answer, remembered, root, template_workspace
from tests.support.laws import tried
from tests.support.waiting import aged

__all__ = ["root", "template_workspace"]  # fixtures


MAIN = FILES["workers/main.worker"]
PLAIN = FILES["more/deep/other.worker"]
OTHER = {
    ("more/deep/other", "a prompt"): f"{PLAIN}\nAnd on.\n",
    ("more/deep/other", "as it was"): PLAIN,
    ("more/deep/other", "a toolset"): PLAIN.replace("  kit: {}", "  filesystem: {}"),
    ("more/deep/other", "a description"): PLAIN.replace("name: other", "name: other\ndescription: It helps."),
    ("more/deep/other", "another name"): PLAIN.replace("name: other", "name: another"),
}
DESCRIBED = "name: main\ndescription: It leads."
EDITS = {
    "a prompt": MAIN.replace("Go on.", "Go on, and on."),
    "a comment": MAIN.replace("---\n", "---\n# note\n", 1),
    "a blank line": MAIN.replace("toolsets", "\n\ntoolsets"),
    "a description": MAIN.replace("name: main", DESCRIBED),
    "a description above the name": MAIN.replace("name: main", "description: It leads.\nname: main"),
    "both texts": MAIN.replace("name: main", DESCRIBED).replace("Go on.", "Lead."),
    "an empty prompt": MAIN.replace("Go on.", " "),
    "an alias": MAIN.replace("Go on.", "Read deck.md."),
    "an alias in a description": MAIN.replace("name: main", "name: main\ndescription: It reads deck.md."),
    "something hidden": MAIN.replace("Go on.", "Go\u200b on."),
    "another letter": MAIN.replace("Go on.", "Géht weiter."),
    "a description with an escape": MAIN.replace("name: main", 'name: main\ndescription: "It\\u200b leads."'),
    "an empty description": MAIN.replace("name: main", 'name: main\ndescription: ""'),
    "no description after all": MAIN.replace("name: main", "name: main\ndescription:"),
    "a number for a description": MAIN.replace("name: main", "name: main\ndescription: 5"),
    "a setting": MAIN.replace("name: main", "name: main\nmodel_settings: { temperature: 0.1 }"),
    "a misspelt key": MAIN.replace("name: main", "name: main\ndescripton: It leads."),
    "a misspelt name": MAIN.replace("  other", "  othr"),
    "another order": MAIN.replace("  filesystem: {}\n  other: {}\n", "  other: {}\n  filesystem: {}\n"),
    "no header": "Go on.\n",
    "no end": MAIN.replace("---\nGo", "--\nGo"),
    "nothing": "",
    "line ends": MAIN.replace("\n", "\r\n"),
    "a header of YAML": MAIN.replace("filesystem: {}", "filesystem: !!map {}"),
    "a longer header": MAIN.replace("toolsets:", "description: >\n  It leads.\ntoolsets:"),
}
KNOWN = (
    "a prompt", "a comment", "a blank line", "a description", "a description above the name", "both texts",
)  # fmt: skip
"""What changes nothing that a check says, but that the lock lacks a text for models."""


def forms() -> list[tuple[str, ...]]:
    return [(), ("--locked",), ("--strict", "--format", "concise"), ("--locked", "--format", "json")]


@pytest.mark.long
@pytest.mark.parametrize("form", forms(), ids=" ".join)
@pytest.mark.parametrize("has_lock", [True, False], ids=["a lock", "no lock"])
def test_an_answer_stands_after_an_edit_only_if_a_check_would_give_it(
    root: Path, form: tuple[str, ...], *, has_lock: bool
) -> None:
    if not has_lock:
        (root / "llmdo.lock").unlink()
    aged(root.parent)
    checked(root, *form)
    kept = []
    for name, text in EDITS.items():
        (root / "workers" / "main.worker").write_bytes(text.encode())
        if (known := known_answer(root, *form)) is not None:
            kept.append(name)
            assert known == checked(root, *form, "--no-cache"), name
    assert kept == list(KNOWN)


@pytest.mark.law
@tried(25)
@given(
    form=st.sampled_from(forms()),
    edits=st.lists(
        st.sampled_from([("workers/main", name) for name in EDITS] + list(OTHER)), min_size=2, max_size=6
    ),
)
def test_after_any_edits_of_two_workers_the_memory_says_what_a_check_says(
    tmp_path_factory: pytest.TempPathFactory,
    template_workspace: Path,
    form: tuple[str, ...],
    edits: list[tuple[str, str]],
) -> None:
    folder = tmp_path_factory.mktemp("edited")
    root = Path(shutil.copytree(template_workspace, folder / "w"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LLMDO_NO_CACHE", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        aged(root.parent)
        checked(root, *form)
        for worker, name in edits:
            text = EDITS[name] if worker == "workers/main" else OTHER[worker, name]
            (root / f"{worker}.worker").write_bytes(text.encode())
            aged(root.parent)
            known = known_answer(root, *form)
            answer = checked(root, *form, "--no-cache")
            assert known in (None, answer)
            assert known_answer(root, *form) == known  # as it was written down, or not at all
            checked(root, *form)
    shutil.rmtree(folder)


def test_the_answer_about_texts_that_the_lock_lacks_follows_their_edits(root: Path) -> None:
    edited = root / "workers" / "main.worker"
    aged(root.parent)
    clean = checked(root)
    for name in ("a prompt", "both texts", "a description", "a description above the name", "a comment"):
        edited.write_text(EDITS[name])
        aged(root.parent)
        assert known_answer(root) == checked(root, "--no-cache"), name
    edited.write_text(MAIN)  # the lock has it
    assert known_answer(root) == clean


def test_a_finding_about_a_line_of_a_header_stays_while_that_line_does(root: Path) -> None:
    edited = root / "workers" / "main.worker"
    wrong = MAIN.replace("  other", "  othr").replace("name: main", DESCRIBED)
    (root / "llmdo.lock").unlink()
    edited.write_text(wrong)
    aged(root.parent)
    checked(root)
    edited.write_text(wrong.replace("It leads.", "It leads others."))
    assert known_answer(root) == checked(root, "--no-cache")
    for other in (
        wrong.replace("description", "# note\ndescription"),
        wrong.replace("othr: {}", "othr:  {}"),
    ):
        edited.write_text(other)
        assert remembered(root) is None


def test_with_many_findings_a_check_is_made(root: Path) -> None:
    for number in range(restating.MAX_FINDINGS + 1):
        (root / "more" / f"worker_{number}.worker").write_text(f"---\nname: worker_{number}\n---\nGo.\n")
    (root / "llmdo.lock").unlink()
    lock.write(root, locking.derive(project.read(root)))
    aged(root.parent)
    assert checked(root)[1].count("LDO303") == restating.MAX_FINDINGS + 1
    (root / "workers" / "main.worker").write_text(EDITS["a prompt"])
    assert remembered(root) is None


def test_an_alias_that_only_this_prompt_mentions_counts(root: Path) -> None:
    (root / "llmdo.toml").write_text(FILES["llmdo.toml"].replace("Read deck.md.", "Read it."))
    edited = root / "workers" / "main.worker"
    edited.write_text(EDITS["an alias"])
    (root / "llmdo.lock").unlink()
    aged(root.parent)
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
    aged(root.parent)
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
    aged(root.parent)
    _, text = checked(root)
    edited.write_text(EDITS["a comment"])
    aged(root.parent)
    assert remembered(root) == text
    question = cache.CheckQuestion(locked=False, strict=False, form="text", colour=False)
    known = cache.answer(
        str(root), question, os.environ, lambda *_: pytest.fail("nothing was edited since"), quick._answer_now
    )
    assert known == (0, text)
    edited.write_text(EDITS["a setting"])
    assert remembered(root) is None


def test_many_edited_files_are_checked_anew(root: Path) -> None:
    (root / "llmdo.lock").unlink()
    for number in range(cache.MOST_EDITED + 1):
        (root / "more" / f"worker_{number}.worker").write_text(f"---\nname: worker_{number}\n---\nGo.\n")
    aged(root.parent)
    _, text = checked(root)
    assert remembered(root) == text
    for number in range(cache.MOST_EDITED + 1):
        (root / "more" / f"worker_{number}.worker").write_text(f"---\nname: worker_{number}\n---\nGo on.\n")
    assert remembered(root) is None


def test_an_answer_is_given_only_while_what_it_shows_stays_what_it_was(root: Path) -> None:
    edited = root / "workers" / "main.worker"
    aged(root.parent)
    checked(root)
    question = cache.CheckQuestion(locked=False, strict=False, form="text", colour=False)

    def answer_while(happens: Callable[[], object]) -> tuple[int, str] | None:
        def answer_now(*words: Any) -> cache.Answer | None:
            answer = quick._answer_now(*words)
            happens()
            return answer

        return cache.answer(str(root), question, os.environ, quick._meaning_now, answer_now)

    edited.write_text(EDITS["a prompt"])
    assert answer_while(lambda: None) == checked(root, "--no-cache")
    assert answer_while(lambda: edited.write_text(EDITS["both texts"])) is None
    assert answer_while(lambda: (root / "llmdo.toml").touch()) is None


class Interrupted(io.StringIO):
    """What is printed while somebody writes a file."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__()
        self._path, self._text = path, text

    def write(self, text: str) -> int:
        self._path.write_text(self._text)
        return super().write(text)


def test_a_finding_whose_file_was_written_to_while_it_was_shown_is_not_remembered(root: Path) -> None:
    edited = root / "workers" / "main.worker"
    edited.write_text(EDITS["a misspelt name"])
    (root / "llmdo.lock").unlink()
    aged(root.parent)
    checked(root, out=Interrupted(edited, EDITS["a misspelt name"].replace("Go on.", "Go.")))
    assert remembered(root) is None
    checked(root)
    aged(root.parent)
    checked(root)
    assert remembered(root) == checked(root, "--no-cache")[1]
