"""Every example, through the command line, as its README tells: it checks clean, its lock is current, it runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from llmdo.workspace import project
from tests.support.commands import llmdo, process
from tests.support.examples import EXAMPLES, copied, sessions

ALL = sorted(path.parent.name for name in ("llmdo.toml", "team.yaml") for path in EXAMPLES.glob(f"*/{name}"))
READMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))

OUTPUTS = {
    "greeter": "Hello Ada, how nice to meet you!\n",
    "calculator": "factorial of 7: 5040\nprime factors of 360: 2 x 2 x 2 x 3 x 3 x 5\n",
    "confused_deputy": "published v1.2.0\n",
    "issue_desk": "kettle-too-loud: drafts/kettle-too-loud.md\nurgent: drafts/urgent.md\n",
}
WORDS = {"confused_deputy": ["release"], "pitchdeck": ["pitchdeck"]}


@pytest.mark.few(7)
@pytest.mark.parametrize("name", ALL)
def test_an_example_checks_clean_and_its_lock_is_current(name: str, tmp_path: Path) -> None:
    root = copied(name, tmp_path)
    done = llmdo(root, "check", "--locked", "--strict")
    assert (done.returncode, done.stdout) == (0, "no findings\n")
    assert llmdo(root, "lock", "--check").returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_example_runs_as_locked(name: str, tmp_path: Path) -> None:
    done = process(copied(name, tmp_path), "run", *WORDS.get(name, []), "--locked")
    assert (done.returncode, done.stdout) == (0, OUTPUTS[name])
    assert re.search("(rules|a script), not a language model", done.stderr)


@pytest.mark.long
@pytest.mark.parametrize("name", READMES)
def test_what_a_readme_shows_is_what_happens(name: str, tmp_path: Path) -> None:
    root = copied(name, tmp_path)
    for command, expected in sessions((root / "README.md").read_text(encoding="utf-8")):
        if expected:
            program, *words = shlex.split(command)
            done = llmdo(root, *words)
            assert (program, done.stdout.rstrip("\n")) == ("llmdo", expected), (command, done.stderr)


def test_every_example_is_run_by_a_test() -> None:
    own = {path.stem.removeprefix("test_") for path in (Path(__file__).parent / "examples").glob("test_*.py")}
    assert set(ALL) <= {*OUTPUTS, *own, "pitchdeck"}


def test_the_pitch_decks_get_a_report_each(tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    done = llmdo(root, "run", "pitchdeck", "--locked")
    assert done.returncode == 0, done.stderr
    reports = {path.name: path.read_text(encoding="utf-8") for path in (root / "reports").iterdir()}
    assert set(reports) == {"brightwell.md", "broken_empty.md", "trailcrate.md", "zentoryx.md"}
    assert "**Verdict: GO**" in reports["brightwell.md"]
    assert "**Verdict: WATCH**" in reports["trailcrate.md"]
    assert "**Verdict: PASS** (decline as it stands)" in reports["zentoryx.md"]
    assert "**Verdict: NOT JUDGED**" in reports["broken_empty.md"]
    for text in reports.values():
        assert "rules (not a language model)" in text
    for name in reports:
        assert f"reports/{name}" in done.stdout


def test_decks_that_nobody_can_read_do_not_stop_the_others(tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    decks = root / "input"
    for deck in decks.iterdir():
        deck.unlink()
    outside = tmp_path / "outside.md"
    outside.write_text("# Secret\n\nOur secret revenue is $9M.\n", encoding="utf-8")
    (decks / "link.md").symlink_to(outside)
    with (decks / "huge.md").open("wb") as file:
        file.truncate(50_000_000)
    (decks / "latin.txt").write_bytes(
        "ACME\n\nProblem\nKaffeeküchen verlieren 30% ihrer Zeit.\n".encode("latin-1")
    )
    (decks / "binary.md").write_bytes(bytes(range(256)) * 4)
    (decks / "good.md").write_text(
        "# Lumenfold\n\n## Problem\n\nBakeries throw away 12% of their bread every day.\n\n## Ask\n\nWe raise $400,000.\n",
        encoding="utf-8",
    )
    done = llmdo(root, "run", "pitchdeck")
    assert "Traceback" not in done.stderr
    assert "huge.md" in done.stdout
    reports = root / "reports"
    good = (reports / "good.md").read_text(encoding="utf-8")
    assert '"Bakeries throw away 12% of their bread every day."' in good
    assert '- Raising: line 9: "We raise $400,000."' in good
    assert "### Team: not stated" in good
    assert {path.name for path in reports.iterdir()} == {"good.md"}
    assert "latin.txt` is not UTF-8 text" in done.stdout
    assert not any("9M" in path.read_text(encoding="utf-8") for path in reports.iterdir())
    assert not [
        path
        for path in root.rglob("*")
        if path.name.startswith(".") and path.is_file() and "llmdo" in path.name
    ]


def test_a_deck_by_another_name_can_be_mapped(tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    (root / "elsewhere").mkdir()
    (root / "elsewhere/mine.md").write_text("# Mine\n\nProblem: nobody knows.\n", encoding="utf-8")
    done = llmdo(root, "run", "pitchdeck", "--path", "decks/=elsewhere/")
    assert "`list_files` may list `input/**`; `elsewhere/**` lies outside" in done.stderr
    assert not (root / "reports/mine.md").exists()


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_every_run_of_an_example_is_repeated_from_its_journal(name: str, tmp_path: Path) -> None:
    root = copied(name, tmp_path)
    entries = project.read(root).workspace.tables("entries")
    for entry in [candidate for candidate, table in entries.items() if "input" in table] or WORDS.get(
        name, ["main"]
    ):
        done = llmdo(root, "run", entry, "--approve-all")
        if not list((root / ".llmdo" / "runs").glob("*.sqlite")):
            continue  # it could not begin here
        again = llmdo(root, "runs", "replay", "last")
        # A question that found nobody makes the exit code of a run 1, and is none in a replay.
        assert again.stdout == done.stdout, again.stderr
        assert "the journal" not in again.stderr
