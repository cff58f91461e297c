"""What comes before a run begins, is resumed or is repeated: consent, the person's policy, secrets of the environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import llmdo
from llmdo.journal import Runs
from llmdo.workspace import project
from tests.cli.test_trusting import CODE, WORKER, at_terminal, canary, team  # noqa: F401  # fixtures
from tests.support.commands import llmdo as command
from tests.support.commands import process

ASKS = '"x.calc" = "needs_approval"'
LOOKS = """\
import ctypes
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")


@tools.tool_plain(metadata={"capabilities": []})
def look(text: str) -> int:
    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)  # PR_GET_DUMPABLE
"""
CALLS = """\
def answer(messages, info):
    text = messages[0].parts[-1].content
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("note", {"text": text})])
    return ModelResponse(parts=[TextPart(f"told: {messages[-1].parts[0].content}")])


rules = FunctionModel(answer)"""


@pytest.fixture
def calling(team: Path) -> Path:  # noqa: F811  # a fixture
    """The workspace with a model that calls its tool, which asks: with a current lock."""
    sign = team.parent / "canary"
    code = CODE.format(canary=str(sign)).replace("TextPart\n", "TextPart, ToolCallPart\n")
    code = code.replace("    return text\n", "    Path('noted').touch()\n    return text\n")
    before, _, after = code.partition("rules = ")
    (team / "tools.py").write_text(before + CALLS + after[after.index("\n") :])
    manifest = (team / "llmdo.toml").read_text().replace('"x.calc" = "allowed"', ASKS)
    (team / "llmdo.toml").write_text(manifest)
    assert command(team, "lock", "--trust").returncode == 0
    sign.unlink()
    return team


def waiting(root: Path, text: str = "x") -> str:
    """A run that waits for an answer; its id."""
    done = command(root, "run", "main", text, "--approvals", "later", "--trust")
    assert done.returncode == 3, done.stderr
    return Runs(root).find("last")


def with_policy(root: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The person's own policy."""
    folder = root.parent / "config" / "llmdo"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.toml").write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))


def edited(root: Path) -> bytes:
    """Edits a prompt, which imports nothing; the lock that is behind it."""
    (root / "main.worker").write_text(WORKER.replace("Go.", "Go on."))
    return (root / "llmdo.lock").read_bytes()


def test_a_lock_is_taken_in_by_the_very_run_in_which_a_person_answers_for_it(calling: Path) -> None:
    before = edited(calling)
    code, person = at_terminal(calling, "run", "main", "x", "--reject-all", answers=("content\n",))
    assert (code, len(person.prompts)) == (0, 1), person.text()
    assert (calling / "llmdo.lock").read_bytes() != before
    assert project.read(calling).is_current
    assert "wrote llmdo.lock (worker main)" in person.text()


@pytest.mark.parametrize("words", [("run", "main", "x", "--log-events", "e.jsonl"), ("chat", "main")])
def test_what_nobody_answers_for_leaves_nothing_behind(calling: Path, words: tuple[str, ...]) -> None:
    before = edited(calling)
    files = sorted(calling.rglob("*"))
    code, person = at_terminal(calling, *words, answers=("no\n",))
    assert (code, sorted(calling.rglob("*"))) == (2, files), person.text()
    assert (calling / "llmdo.lock").read_bytes() == before


@pytest.mark.parametrize("verb", ["resume", "replay"])
def test_what_goes_on_or_is_repeated_asks_before_anything_watches_it(calling: Path, verb: str) -> None:
    run = waiting(calling)
    words = [verb, run, "--log-events", "e.jsonl", *(["--rerun-tools"] if verb == "replay" else [])]
    code, person = at_terminal(calling, *words, answers=("no\n",))
    assert (code, (calling / "e.jsonl").exists()) == (2, False), person.text()


@pytest.mark.parametrize("verb", ["resume", "replay"])
def test_ctrl_c_at_the_question_ends_the_command(calling: Path, verb: str) -> None:
    run = waiting(calling)
    words = [verb, run, *(["--rerun-tools"] if verb == "replay" else [])]
    code, person = at_terminal(calling, *words, answers=("\x03",))
    assert code == 130, person.text()
    assert "stopping" not in person.text()


@pytest.mark.parametrize("way", ["command line", "Python"])
def test_nothing_is_imported_for_a_resume_under_a_policy_that_nobody_can_read(
    calling: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, sign = waiting(calling), calling.parent / "canary"
    sign.unlink()
    (calling / "tools.py").write_text((calling / "tools.py").read_text() + "# changed\n")
    with_policy(calling, monkeypatch, "schema = ")
    monkeypatch.setenv("LLMDO_TRUST", "1")
    if way == "Python":
        with pytest.raises(llmdo.LlmdoError, match="nobody knows what it forbids"):
            llmdo.resume(calling, run, allow_drift="calc")
    else:
        refused = command(calling, "resume", run, "--allow-drift", "calc")
        assert refused.returncode == 2
        assert "nobody knows what it forbids" in refused.stderr
    assert not sign.exists()


@pytest.mark.parametrize("begins", [True, False], ids=["begins", "is resumed"])
def test_an_item_of_a_batch_obeys_the_policy_of_the_person_who_works_it_off(
    calling: Path, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_TRUST", "1")
    (calling / "in.jsonl").write_text('{"input": "x"}\n')
    start, answer = ["batch", "main", "--inputs", "in.jsonl"], ["--approve", "x.calc"]
    if not begins:
        assert command(calling, *start).returncode == 3
        assert command(calling, "approve", "last", "--yes", "main/note#1").returncode == 0
    with_policy(calling, monkeypatch, 'schema = 1\n[approvals.rules]\n"x.calc" = "blocked"\n')
    command(calling, *(start if begins else ["batch", "resume", "last"]), *answer)
    assert not (calling / "noted").exists()
    with_policy(calling, monkeypatch, "schema = 1\n")  # and only that was in the way
    assert command(calling, *start, *answer).returncode == 0
    assert (calling / "noted").exists()


def test_a_replay_runs_no_tool_again_that_the_person_forbids(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a.txt").write_text("old")
    assert command(workspace, "run", "main", "read_file:path:a.txt").returncode == 0
    (workspace / "a.txt").write_text("new")
    again = command(workspace, "runs", "replay", "last", "--rerun-tools")
    assert "it was success" in again.stderr
    with_policy(workspace, monkeypatch, 'schema = 1\n[approvals.rules]\n"fs.read:a.txt" = "blocked"\n')
    forbidden = command(workspace, "runs", "replay", "last", "--rerun-tools")
    assert (forbidden.returncode, forbidden.stdout) == (0, "old\n"), forbidden.stderr
    assert "it was success" not in forbidden.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can")
def test_a_tool_that_runs_again_in_a_replay_reads_no_more_of_the_process_than_in_a_run(
    workspace: Path,
) -> None:
    (workspace / "tools.py").write_text(LOOKS)
    manifest = (workspace / "llmdo.toml").read_text()
    (workspace / "llmdo.toml").write_text(f'{manifest}\n[toolsets.tools]\npython = "tools.py:tools"\n')
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo.\n")
    assert process(workspace, "run", "main", "look:text:x").stdout == "0\n"
    again = process(workspace, "runs", "replay", "last", "--rerun-tools")
    assert (again.returncode, again.stdout) == (0, "0\n"), again.stderr


SECRET = "sk-of-nobody-1234567890abcdef"


def stored(root: Path, run: str) -> bytes:
    """The file of a journal with what is not in it yet."""
    file = Runs(root).path(run)
    return b"".join(path.read_bytes() for path in file.parent.glob(f"{run}*") if path.is_file())


def test_an_answer_with_a_secret_is_kept_without_it_and_told_to_the_model_with_it(
    calling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    run = waiting(calling)
    done = command(calling, "approve", run, "--no", "main/note#1", "--reason", f"not with {SECRET}")
    assert done.returncode == 0, done.stderr
    assert SECRET.encode() not in stored(calling, run)
    resumed = command(calling, "resume", run, "--trust")
    assert resumed.stdout.startswith("told: `note` needs approval, which was not given"), resumed.stderr
    assert resumed.stdout.endswith(f"says: not with {SECRET}\n")
    assert SECRET.encode() not in stored(calling, run)


def test_a_complete_run_says_its_secret_again_which_its_journal_does_not_hold(
    calling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    monkeypatch.setenv("LLMDO_TRUST", "1")
    done = command(calling, "run", "main", SECRET, "--approve", "x.calc")
    assert done.stdout == f"told: {SECRET}\n", done.stderr
    assert command(calling, "resume", "last").stdout == done.stdout
    assert llmdo.resume(calling).output == done.stdout.strip()
    assert SECRET.encode() not in stored(calling, Runs(calling).find("last"))
