"""`eval new --from-runs`: cases of the past, redacted, which run as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Llmdo
from tests.support.commands import llmdo as command

SECRET = "correct-horse-battery-staple-17"


@pytest.mark.long
def test_past_runs_become_cases_that_can_be_evaluated(llmdo: Llmdo, root: Path) -> None:
    for text in ("say first", "say second: \x1b[31m \u202e 'x' # y", "say first", "call refund\nsay never"):
        llmdo("run", "main", text, cwd=root)
    done = llmdo("eval", "new", "past", "--from-runs", "main", cwd=root)
    assert (done.code, "wrote 2 cases" in done.err) == (0, False) or "cases to" in done.err
    text = (root / "evals/past.yaml").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert "\u202e" not in text
    text = text.replace("# contains_expected", "contains_expected")
    (root / "evals/past.yaml").write_text(text, encoding="utf-8")
    assert llmdo("eval", "past", "--reject-all", "--fail-under", "1", cwd=root).code == 0
    again = llmdo("eval", "new", "past", "--from-runs", "main", cwd=root)
    assert (again.code, "exists already" in again.err) == (2, True)


def test_a_secret_of_the_environment_is_in_no_case(root: Path) -> None:
    environ = {**os.environ, "SHOP_API_KEY": SECRET}
    assert command(root, "run", "main", f"say {SECRET} it is", environ=environ).returncode == 0
    for known in (environ, {**os.environ}):
        done = command(root, "eval", "new", f"e{len(known)}", "--from-runs", "main", environ=known)
        assert done.returncode == 0, done.stderr
        assert SECRET not in (root / f"evals/e{len(known)}.yaml").read_text(encoding="utf-8")


def test_what_makes_no_eval_is_an_error(llmdo: Llmdo, root: Path) -> None:
    for words, message in (
        (("../x", "--from-runs", "main"), "cannot be the name of an eval"),
        (("x", "--from-runs", "mian"), "did you mean `main`?"),
        (("x", "--from-runs", "main"), "no run of entry `main` completed"),
    ):
        done = llmdo("eval", "new", *words, cwd=root)
        assert (done.code, message in done.err) == (2, True), done.err
    assert not (root / "evals").exists()
