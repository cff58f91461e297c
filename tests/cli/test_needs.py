"""`suggest --from-runs`: what each worker used, what decided nothing and what nobody used, in a manifest that holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.examples import copied

from .conftest import Llmdo
from .test_suggest import findings, pasted


@pytest.mark.long
def test_runs_say_what_workers_used_and_what_nothing_used(llmdo: Llmdo, tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    manifest = root / "llmdo.toml"
    text = manifest.read_text(encoding="utf-8")
    rule = '"fs.write:reports/**" = "allowed"'
    manifest.write_text(text.replace(rule, f'{rule}\n"net.connect" = "blocked"'), encoding="utf-8")
    assert llmdo("run", "pitchdeck", "Evaluate decks/brightwell.md", cwd=root).code == 0
    printed = llmdo("suggest", "--from-runs", cwd=root).out
    assert "# in 1 run, each worker with those that it called used\n" in printed
    assert '# main: may = ["fs.list:input/**", "fs.read:input/brightwell.md", "fs.write:reports/' in printed
    assert "# pitch_evaluator: may = []\n" in printed
    assert '# decided nothing in 1 run: "net.connect" = "blocked" (llmdo.toml' in printed
    assert f"decided nothing in 1 run: {rule}" not in printed
    before = findings(root)
    text = manifest.read_text(encoding="utf-8")
    bare = re.sub(r"^may = (?:\[\n(?: .*\n)*\]|.*)\n", "", text, flags=re.MULTILINE)
    manifest.write_text(pasted(bare, printed), encoding="utf-8")
    assert "[[check.accept]]" in printed, "what is declared beyond the ceiling is accepted as cut off"
    assert llmdo("lock", cwd=root).code == 0
    assert set(findings(root)) <= set(before)


@pytest.mark.long
def test_a_rule_that_decides_for_one_entry_is_idle_for_none(llmdo: Llmdo, tmp_path: Path) -> None:
    root = copied("pitchdeck", tmp_path)
    deck = ("run", "deck", "--attach", "input/brightwell.md", "Evaluate decks/brightwell.md.")
    assert llmdo(*deck, cwd=root).code == 0
    rule = '"fs.write:reports/**" = "allowed"'
    assert f"decided nothing in 1 run: {rule}" in llmdo("suggest", "deck", "--from-runs", cwd=root).out
    assert llmdo("run", "pitchdeck", "Evaluate decks/brightwell.md", cwd=root).code == 0
    printed = llmdo("suggest", "deck", "--from-runs", cwd=root).out
    assert "admitted by the ceiling of entry `deck`" in printed
    assert "decided nothing" not in printed
