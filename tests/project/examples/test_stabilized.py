"""The example `stabilized`: one job done by prompts and by Python, with the same reports for fewer requests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import llmdo
from tests.support.examples import CALLER, copied

USED = re.compile(r"^used: (\d+) requests, \d+ tool calls?\n((?:  \w+ .*\n)+)", re.MULTILINE)
WORKER = re.compile(r"^  (\w+) +(\d+) requests, \d+ tool calls?$", re.MULTILINE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copied("stabilized", tmp_path)


@pytest.fixture
def mine(root: Path) -> Path:
    """An empty folder for a test's own decks."""
    for deck in (root / "input").iterdir():
        deck.unlink()
    return root / "input"


def reports(root: Path) -> dict[str, str]:
    folder = root / "reports"
    return (
        {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} if folder.exists() else {}
    )


def answering(root: Path, text: str) -> list[str]:
    """Flags that make the judge say `text`, whatever it is asked."""
    caller = CALLER.replace("TextPart(json.dumps(told))", f"TextPart({text!r})")
    (root / "caller.py").write_text(caller, encoding="utf-8")
    (root / "calls.json").write_text(json.dumps([]), encoding="utf-8")
    return ["--model", "judge=python:caller.py:model"]


@pytest.mark.long
def test_both_write_the_same_reports_and_the_readme_counts_the_requests(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    written, needed = [], []
    for entry in ("prompted", "stabilized"):
        done = llmdo(root, "run", entry, "--locked", "-v")
        assert done.returncode == 0, done.stderr
        [(requests, workers)] = USED.findall(done.stderr)  # and no tokens, for nobody counts them
        [(promised, row)] = re.findall(rf"^\| `{entry}` \| (\d+) \| (.*) \|$", readme, re.MULTILINE)
        assert promised == requests
        assert re.findall(r"`(\w+)` (\d+):", row) == WORKER.findall(workers)
        needed.append(int(requests))
        written.append(reports(root))
        for report in (root / "reports").iterdir():
            report.unlink()
    assert needed[1] < needed[0]
    assert written[0] == written[1]
    assert set(written[0]) == {"crustwise.md", "tidepool.md", "vantablox.md"}
    assert "| traction | 17 | 214 shops of 19 bakeries use it today;" in written[0]["crustwise.md"]
    assert "answer yes" not in written[0]["vantablox.md"]


@pytest.mark.long
@pytest.mark.parametrize("entry", ["prompted", "stabilized"])
def test_a_strangers_decks_get_a_report_each(root: Path, mine: Path, entry: str) -> None:
    (mine / "acme.md").write_text("# Acme\n\nFarms lose 8% of | their <b>milk</b>.\n", encoding="utf-8")
    (mine / "acme.txt").write_text("We are raising $300,000.\n", encoding="utf-8")
    (mine / "empty.md").touch()
    (mine / "notes.pdf").write_bytes(b"%PDF-1.4\n")
    done = llmdo(root, "run", entry, "--locked")
    assert done.stdout == (
        "input/acme.md: PASS, 1 of 7 -> reports/acme.md.md\n"
        "input/acme.txt: PASS, 1 of 7 -> reports/acme.txt.md\n"
        "input/empty.md: PASS, 0 of 7 -> reports/empty.md\n"
    )
    assert r"| problem | 3 | Farms lose 8% of \| their \<b>milk\</b>. |" in reports(root)["acme.md.md"]
    assert llmdo(root, "run", entry, "Evaluate acme.txt.").stdout.count("\n") == 1


def test_a_deck_that_cannot_be_read_or_filed_leaves_the_others_alone(
    root: Path, mine: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("We are raising $1.\n", encoding="utf-8")
    (mine / "link.md").symlink_to(outside)
    (mine / "hard.md").hardlink_to(outside)
    (mine / "good.md").write_text("We are raising $300,000.\n", encoding="utf-8")
    (mine / "victim.md").write_text("We are raising $2.\n", encoding="utf-8")
    (mine / "huge.md").write_text("x" * 1_000_001, encoding="utf-8")
    (root / "reports").mkdir()
    (root / "reports/victim.md").symlink_to(outside)
    done = llmdo(root, "run", "stabilized")
    assert done.stdout.splitlines() == [
        "input/good.md: PASS, 1 of 7 -> reports/good.md",
        "input/hard.md: not evaluated, `input/hard.md` is a hard link, perhaps to a file elsewhere: copy the file instead",
        "input/huge.md: not evaluated, `input/huge.md` is larger than 1,000,000 bytes",
        "input/victim.md: not evaluated, `reports/victim.md` is a link: give the path of the file itself",
    ]
    assert outside.read_text(encoding="utf-8") == "We are raising $1.\n"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("judgement", "why"),
    [
        ("problem: 1", "the judge left out solution, team, market, traction, finances, ask"),
        (
            "problem: 99\nsolution: no\nteam: no\nmarket: no\ntraction: no\nfinances: no\nask: no",
            "the judge named line 99, where the deck says nothing",
        ),
        (
            "problem: 2\nsolution: no\nteam: no\nmarket: no\ntraction: no\nfinances: no\nask: no",
            "the judge named line 2, where the deck says nothing",
        ),
        ("I would rather talk about the weather.", "the judge left out problem, "),
    ],
    ids=["some", "beyond", "blank", "none"],
)
def test_what_a_judge_makes_up_is_not_filed(root: Path, mine: Path, judgement: str, why: str) -> None:
    (mine / "deck.md").write_text("# Deck\n\nFarms lose 8% of their milk.\n", encoding="utf-8")
    done = llmdo(root, "run", "stabilized", *answering(root, judgement))
    assert done.stdout.startswith(f"input/deck.md: not evaluated, {why}")
    assert reports(root) == {}


def test_a_request_for_files_elsewhere_finds_no_deck(root: Path) -> None:
    assert llmdo(root, "run", "stabilized", "Evaluate ../../secret.md").stdout == "no such deck in input/\n"
