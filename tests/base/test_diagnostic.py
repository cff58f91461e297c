"""Suggestions, and how many findings of a kind there are."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base import checking
from llmdo.base.codes import CODES
from llmdo.base.diagnostic import MANY, nearest, only_match, shown
from llmdo.workspace import project
from tests.support.commands import llmdo


@pytest.mark.parametrize(
    ("name", "known", "near", "only"),
    [
        ("filesytem", {"filesystem", "shell"}, "filesystem", "filesystem"),
        ("fs.wrte", {"fs.read", "fs.write"}, "fs.write", "fs.write"),
        ("ab", {"abc", "abd"}, "abd", None),
        ("x", {"filesystem"}, None, None),
        ("", {"a"}, None, None),
    ],
)
def test_a_name_is_suggested_where_it_is_near_and_certain_where_no_other_is(
    name: str, known: set[str], near: str | None, only: str | None
) -> None:
    assert (nearest(name, known), only_match(name, known)) == (near, only)


@pytest.mark.long
def test_a_near_name_is_found_among_very_many_and_in_time() -> None:
    known = {f"worker_{number}_{'x' * (number % 40)}" for number in range(20_000)} | {"pitch_evaluator"}
    assert only_match("pitch_evalutor", known) == "pitch_evaluator"
    start = time.process_time()
    for number in range(100):
        nearest(f"wroker_{number}", known)
    assert time.process_time() - start < 10


def test_among_too_many_that_are_alike_none_is_meant() -> None:
    assert nearest("worker_000", {f"worker_{number:03}x" for number in range(MANY + 1)}) is None


@pytest.mark.parametrize(
    "character", ["\x00", "\x1b", "\x7f", "\u202e", "\u200b", "\u3164", "\ud800", "\ue000", "\n"]
)
def test_what_cannot_be_seen_is_spelled_out(character: str) -> None:
    assert shown(f"a{character}b") == f"a\\u{{{ord(character):x}}}b"


def manifest(root: Path, entries: int, accept: str = "") -> None:
    text = 'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n'
    for number in range(entries):
        text += f'[entries.e{number:04}]\nworker = "main"\nmay = []\n'
    (root / "llmdo.toml").write_text(text + accept, encoding="utf-8")


def test_of_very_many_findings_of_a_kind_the_first_are_shown_and_the_last_says_that_there_are_more(
    tmp_path: Path,
) -> None:
    manifest(tmp_path, checking.MAX_OF_A_KIND + 4)
    findings = [finding for finding in checks.check(project.read(tmp_path)) if finding.code == "LDO203"]
    assert len(findings) == checking.MAX_OF_A_KIND + 1
    *others, last = ["findings of this kind are shown" in finding.message for finding in findings]
    assert last
    assert not any(others)


def test_what_is_accepted_hides_nothing_that_comes_after_it(tmp_path: Path) -> None:
    number_accepted = checking.MAX_OF_A_KIND + 3
    (tmp_path / "main.worker").write_text(
        "---\nname: main\ntoolsets: [filesystem]\n---\nGo.\n", encoding="utf-8"
    )
    accepted = "".join(
        f'[[check.accept]]\ncode = "LDO501"\nentry = "e{number:04}"\nreason = "x"\n'
        for number in range(number_accepted)
    )
    manifest(tmp_path, number_accepted + 1, accepted)
    findings = [finding for finding in checks.check(project.read(tmp_path)) if finding.code == "LDO501"]
    assert findings
    assert {finding.subject for finding in findings} == {f"e{number_accepted:04}"}


REMEDY = re.compile(
    r"^Fixed"
    r"|(?:^|[.:;] |\n)(?:Accept|Add|Allow|Ask|Correct|Declare|Delegate|Exclude|Give|Install|Lower|Make|Mention|Move|Name|Pin|Put|Read|Remove"
    r"|Rename|Run|Save|Say|Set|Take|Use|Widen|Write)\b",
    re.MULTILINE,
)


@pytest.mark.parametrize("code", CODES)
def test_every_explanation_says_what_to_do(code: str) -> None:
    assert REMEDY.search(checks.documentation(code).partition("\n")[2]), checks.documentation(code)


@pytest.mark.parametrize("words", [["schema"], ["schema", "manifst"], ["check", "--format", "txt"]])
def test_what_a_command_takes_is_reported_in_one_line(words: list[str], tmp_path: Path) -> None:
    done = llmdo(tmp_path, *words)
    assert done.returncode == 2
    assert "\\u{" not in done.stderr
    assert len(done.stderr.splitlines()) == 2
