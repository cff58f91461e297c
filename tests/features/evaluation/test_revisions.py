"""Workers and manifest of other revisions, taken from git without a checkout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from llmdo.features.evaluation.document import Evaluations
from llmdo.features.evaluation.recording import _is_inside
from tests.cli.conftest import Llmdo
from tests.features.evaluation.conftest import MODELS, write
from tests.support.locks import locked

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]


def commit(root: Path, message: str) -> None:
    for words in (["add", "-A", "--", "."], ["commit", "-qm", message]):
        subprocess.run([*GIT, *words], cwd=root, check=True)


@pytest.fixture
def repository(root: Path) -> Path:
    """A workspace with a commit tagged `first`, in which `look` asked and `helper` did not exist."""
    subprocess.run([*GIT, "init", "-q"], cwd=root, check=True)
    (root / ".gitignore").write_text(".llmdo/\n__pycache__/\neffects.log\n", encoding="utf-8")
    now = {name: (root / name).read_text(encoding="utf-8") for name in ("llmdo.toml", "main.worker")}
    (root / "llmdo.toml").write_text(now["llmdo.toml"].replace('look" = "allowed', 'look" = "needs_approval'))
    (root / "main.worker").write_text(now["main.worker"].replace(", helper", ""), encoding="utf-8")
    locked(root)
    commit(root, "first")
    subprocess.run([*GIT, "tag", "first"], cwd=root, check=True)
    for name, text in now.items():
        (root / name).write_text(text, encoding="utf-8")
    return locked(root)


CASES = [{"name": "looks", "input": "call look\nsay done"}, {"name": "says", "input": "say done"}]


def status(root: Path) -> str:
    return subprocess.run(
        [*GIT, "status", "--porcelain"], cwd=root, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.long
def test_a_revision_runs_with_its_workers_and_manifest(llmdo: Llmdo, repository: Path) -> None:
    write(repository, CASES, evaluators={"contains": "done"})
    before = status(repository)
    done = llmdo("eval", "--rev", "first..worktree", "--format", "json", cwd=repository)
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert [(case["name"], case["passed"]) for case in data["cases"]] == [
        ("looks", {"first": 0.0, "worktree": 1.0}),  # where it asked, nobody answered
        ("says", {"first": 1.0, "worktree": 1.0}),
    ]
    assert data["comparisons"][0]["sentence"].startswith(
        "worktree is better in 1 case, worse in 0, p = 1: not shown"
    )
    assert status(repository) == before
    assert llmdo("eval", "resume", "last", "--format", "json", cwd=repository).out == done.out


def test_a_revision_of_an_older_llmdo_runs_by_the_rules_that_the_lock_of_the_folder_holds(
    llmdo: Llmdo, repository: Path
) -> None:
    lock = repository / "llmdo.lock"
    now = lock.read_text(encoding="utf-8")
    lock.write_text(now.replace("built-in-rules = 3", "built-in-rules = 2"), encoding="utf-8")
    commit(repository, "older")
    write(repository, CASES[1:], evaluators={"contains": "done"})
    words = ("eval", "--rev", "HEAD..worktree", "--format", "json")
    refused = llmdo(*words, cwd=repository)
    assert (refused.code, "takes in the built-in rules" in refused.err) == (2, True)
    lock.write_text(now, encoding="utf-8")
    done = llmdo(*words, cwd=repository)
    assert (done.code, json.loads(done.out)["cases"][0]["passed"]) == (0, {"HEAD": 1.0, "worktree": 1.0})


def test_every_revision_runs_with_every_model(llmdo: Llmdo, repository: Path) -> None:
    write(repository, CASES[1:], evaluators={"contains": "done"})
    models = ["--model", "python:models.py:rules", "--model", "python:models.py:loud"]
    done = llmdo("eval", "--rev", "first..worktree", *models, "--format", "json", cwd=repository)
    labels = [f"{rev}, {model}" for rev in ("first", "worktree") for model in models[1::2]]
    assert [variant["label"] for variant in json.loads(done.out)["variants"]] == labels


@pytest.mark.long
def test_a_revision_with_other_python_is_refused_unless_that_is_asked_for(
    llmdo: Llmdo, repository: Path
) -> None:
    write(repository, CASES[1:], evaluators={"contains": "DONE"})
    models = MODELS.replace("rules = FunctionModel(answer", "rules = FunctionModel(shout")
    (repository / "models.py").write_text(models, encoding="utf-8")
    locked(repository)
    refused = llmdo("eval", "--rev", "first..worktree", cwd=repository)
    assert refused.code == 2
    assert "the Python at `first` is not that of the workspace: `models.py`" in refused.err
    assert "`--sources first` runs it" in refused.err
    assert Evaluations(repository).names() == []
    done = llmdo("eval", "--rev", "first..worktree", "--sources", "first", "--format", "json", cwd=repository)
    assert done.code == 0, done.err
    assert json.loads(done.out)["cases"][0]["passed"] == {"first": 0.0, "worktree": 1.0}


@pytest.mark.long
def test_a_run_of_a_revision_that_stopped_goes_on_with_what_that_had(llmdo: Llmdo, repository: Path) -> None:
    write(repository, CASES[:1], evaluators={"contains": "done"})
    waiting = llmdo("eval", "--rev", "first..worktree", "--format", "json", cwd=repository)
    run = json.loads(waiting.out)["variants"][0]["trials"][0]["run"]
    assert json.loads(waiting.out)["variants"][0]["trials"][0]["state"] == "waiting"
    assert llmdo("approve", run, "--yes", "main/look#1", cwd=repository).code == 0
    done = llmdo("eval", "resume", "last", "--format", "json", cwd=repository)
    trial = json.loads(done.out)["variants"][0]["trials"][0]
    assert (trial["state"], trial["output"], trial["run"]) == ("completed", "done", run), trial


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("rev", "message"),
    [
        ("first", "does not name two revisions"),
        ("first..", "does not name two revisions"),
        ("first...worktree", "there is no revision `.worktree`"),
        ("first..first", "does not name two revisions"),
        ("nothing..worktree", "there is no revision `nothing`"),
        ("--upload-pack=x..worktree", "is not a revision"),
    ],
)
def test_what_names_no_revisions_is_an_error(llmdo: Llmdo, repository: Path, rev: str, message: str) -> None:
    write(repository, CASES, evaluators={"contains": "done"})
    done = llmdo("eval", f"--rev={rev}", cwd=repository)
    assert (done.code, message in done.err) == (2, True), done.err


def test_sources_are_those_of_a_revision_that_is_run(llmdo: Llmdo, repository: Path) -> None:
    write(repository, CASES, evaluators={"contains": "done"})
    assert (
        "is about a revision that `--rev` does not name"
        in llmdo("eval", "--sources", "first", cwd=repository).err
    )


@pytest.mark.parametrize(
    "path", ["../x", "/x", "a/../../x", ".git/config", "a/.git/hooks/x", ".llmdo/runs/x"]
)
def test_a_tree_of_a_stranger_writes_nothing_elsewhere(path: str) -> None:
    assert not _is_inside(path)
    assert _is_inside("a/.github/x.py")
