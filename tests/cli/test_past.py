"""Runs of the past from the command line: go on, repeat, list, show, remove."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli import app
from llmdo.journal import Runs
from tests.support import forking
from tests.support.forging import forging
from tests.support.locks import locked
from tests.support.waiting import until

from .conftest import Llmdo

TOOLS = """\
import os
from pathlib import Path
from pydantic_ai.toolsets import FunctionToolset

tools = FunctionToolset(id="tools")

@tools.tool_plain(metadata={"capabilities": ["x.tools.note"]})
def note(text: str) -> str:
    with Path(__file__).with_name("notes.log").open("a") as log:
        log.write(text + "\\n")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), 9)
    if Path(__file__).with_name("broken").exists():
        raise OSError("the notes cannot be read")
    return f"noted {text}"
"""


@pytest.fixture
def noting(workspace: Path) -> Path:
    """A workspace whose `main` notes what its input says, `note:text:hello`."""
    manifest = (workspace / "llmdo.toml").read_text()
    (workspace / "llmdo.toml").write_text(
        f'{manifest}\n[toolsets.tools]\npython = "tools.py:tools"\n[approvals.rules]\n"x.tools" = "allowed"\n'
    )
    (workspace / "tools.py").write_text(TOOLS)
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo.\n")
    return locked(workspace)


def die(root: Path) -> str:
    """Starts a run that is killed within its tool; its id."""
    done = forking.run(
        [sys.executable, "-m", "llmdo", "run", "main", "note:text:hello"],
        cwd=root,
        env={**os.environ, "DIE": "1"},
        capture_output=True,
    )
    assert done.returncode == -9
    return Runs(root).find("last")


def notes(root: Path) -> list[str]:
    return (root / "notes.log").read_text().splitlines()


def test_a_killed_run_goes_on_when_its_open_call_is_decided_on(llmdo: Llmdo, noting: Path) -> None:
    run = die(noting)
    listed = llmdo("runs", cwd=noting)
    assert re.fullmatch(rf"{run}  stopped  \S+ \S+  main\s+1 request  note:text:hello\n", listed.out)
    refused = llmdo("resume", run, cwd=noting)
    assert refused.code == 2
    assert "`note` at main/note#1: started and not finished when the run stopped" in refused.err
    assert "`--again main/note#1`" in refused.err
    assert notes(noting) == ["hello"]
    unknown = llmdo("resume", "last", "--again", "main/note#2", cwd=noting)
    assert "`main/note#2` is not a call that was started and did not finish, or that" in unknown.err
    done = llmdo("resume", "last", "--again", "main/note#1", cwd=noting)
    assert (done.code, done.out) == (0, "noted hello\n")
    assert notes(noting) == ["hello", "hello"]
    again = llmdo("resume", "last", cwd=noting)
    assert (again.code, again.out) == (0, "noted hello\n")
    assert "is complete" in again.err
    as_json = json.loads(llmdo("resume", "last", "--format", "json", cwd=noting).out)
    assert (as_json["status"], as_json["output"]) == ("completed", "noted hello")


@pytest.mark.long
def test_an_open_call_can_be_given_up(llmdo: Llmdo, noting: Path) -> None:
    die(noting)
    done = llmdo("resume", "last", "--give-up", "main/note#1", cwd=noting)
    assert done.out == "`note` was interrupted; nobody knows whether it took effect\n"
    assert notes(noting) == ["hello"]


@pytest.mark.long
def test_a_tool_that_ended_the_run_runs_again_where_the_person_says_so(llmdo: Llmdo, noting: Path) -> None:
    (noting / "broken").touch()
    first = llmdo("run", "main", "note:text:hello", cwd=noting)
    assert first.code == 1
    run = Runs(noting).find("last")
    assert f"hint: `llmdo resume {run} --again main/note#1` runs it again" in first.err
    resumed = llmdo("resume", run, cwd=noting)
    assert (resumed.code, resumed.err.splitlines()[-4:]) == (1, first.err.splitlines()[-4:])
    for words in (["--give-up", "main/note#1"], ["--again", "main/note#2"]):
        refused = llmdo("resume", run, *words, cwd=noting)
        assert (refused.code, "is not a call that was started and did not finish" in refused.err) == (2, True)
    assert notes(noting) == ["hello"]
    (noting / "broken").unlink()
    again = [sys.executable, "-m", "llmdo", "resume", run, "--again", "main/note#1"]
    killed = forking.run(again, cwd=noting, env={**os.environ, "DIE": "1"}, capture_output=True)
    assert killed.returncode == -9
    assert "started and not finished when the run stopped" in llmdo("resume", run, cwd=noting).err
    assert "which the journal does not hold and ends here" in llmdo("replay", run, cwd=noting).err
    assert notes(noting) == ["hello"] * 2
    done = llmdo("resume", run, "--again", "main/note#1", cwd=noting)
    assert (done.code, done.out) == (0, "noted hello\n")
    assert llmdo("replay", run, cwd=noting).out == done.out
    assert llmdo("audit", run, "--verify", cwd=noting).code == 0
    assert notes(noting) == ["hello"] * 3


@pytest.mark.long
def test_a_limit_is_set_anew_by_its_name(llmdo: Llmdo, noting: Path) -> None:
    die(noting)
    for text, message in (
        ("request=3", "`request` is not a limit"),
        ("requests=2.5", "`--limit requests=2.5` does not set `requests` to a whole number above 0"),
        ("seconds=nan", "`--limit seconds=nan` does not set `seconds` to a number above 0"),
        ("cost-usd", "`--limit cost-usd` does not set `cost-usd` to a number above 0"),
    ):
        refused = llmdo("resume", "last", "--limit", text, cwd=noting)
        assert refused.code == 2
        assert message in refused.err
    spent = llmdo("resume", "last", "--again", "main/note#1", "--limit", "requests=1", cwd=noting)
    assert spent.code == 1
    assert "limit of 1 request is reached" in spent.err
    done = llmdo("resume", "last", "--limit", "requests=2", cwd=noting)
    assert (done.code, done.out) == (0, "noted hello\n")
    assert '"limits":{"requests":2}' in llmdo("audit", "last", "--format", "jsonl", cwd=noting).out
    assert 'new limits: {"requests": 2}' in llmdo("audit", "last", cwd=noting).out


@pytest.mark.long
def test_a_change_since_the_run_began_is_refused_unless_it_is_named(llmdo: Llmdo, noting: Path) -> None:
    die(noting)
    (noting / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo on.\n")
    refused = llmdo("resume", "last", "--again", "main/note#1", cwd=noting)
    assert refused.code == 2
    assert "what runs is not what ran when the run began: worker `main`: its prompt changed" in refused.err
    assert "--allow-drift main" in refused.err
    wrong = llmdo("resume", "last", "--allow-drift", "other", cwd=noting)
    assert "`other` is not among what changed since the run began" in wrong.err
    done = llmdo("resume", "last", "--again", "main/note#1", "--allow-drift", "main", cwd=noting)
    assert (done.code, done.out) == (0, "noted hello\n")
    assert "accepted: worker `main`: its prompt changed" in done.err


@pytest.mark.long
def test_what_the_run_does_not_use_may_change(llmdo: Llmdo, noting: Path) -> None:
    die(noting)
    (noting / "other.worker").write_text("---\nname: other\nentry: true\n---\nGo.\n")
    done = llmdo("resume", "last", "--again", "main/note#1", cwd=noting)
    assert done.code == 0


@pytest.mark.long
def test_a_replay_needs_neither_the_models_nor_the_tools_nor_the_files(
    llmdo: Llmdo, noting: Path, tmp_path: Path
) -> None:
    first = llmdo("run", "main", "note:text:hello", cwd=noting)
    assert first.out == "noted hello\n"
    for name in ("models.py", "tools.py", "main.worker", "llmdo.lock"):
        (noting / name).unlink(missing_ok=True)
    assert llmdo("replay", "last", cwd=noting).out == first.out
    file = next((noting / ".llmdo" / "runs").glob("*.sqlite")).rename(tmp_path / "run.sqlite")
    file.chmod(0o400)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert llmdo("replay", str(file), cwd=elsewhere).out == first.out
    assert list(elsewhere.iterdir()) == []
    assert notes(noting) == ["hello"]


def test_a_replay_stops_where_it_is_told(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:text:hello", cwd=noting)
    for step in ("main/note#1", "main@2"):
        stopped = llmdo("replay", "last", "--until", step, cwd=noting)
        assert (stopped.code, stopped.out) == (0, "")
        assert f"stopped before {step}, as asked" in stopped.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "place", ["main@9", "main/note#2", "main/note#1@1", "main", "", "main@x", f"main@{9**99}"]
)
def test_a_place_that_the_run_does_not_have_is_no_place_to_stop(
    llmdo: Llmdo, noting: Path, place: str
) -> None:
    llmdo("run", "main", "note:text:hello", cwd=noting)
    refused = llmdo("replay", "last", f"--until={place}", cwd=noting)
    assert (refused.code, refused.out) == (2, "")
    assert f"the run has no place `{place}`" in refused.err


@pytest.mark.long
def test_a_replay_of_a_killed_run_ends_where_its_journal_ends(llmdo: Llmdo, noting: Path) -> None:
    die(noting)
    ended = llmdo("replay", "last", cwd=noting)
    assert ended.code == 1
    assert "main/note#1 calls `note`, which the journal does not hold and ends here" in ended.err


def test_tools_that_only_read_can_run_again_in_a_replay(llmdo: Llmdo, workspace: Path) -> None:
    (workspace / "a.txt").write_text("old")
    llmdo("run", "main", "read_file:path:a.txt", cwd=workspace)
    same = llmdo("replay", "last", "--rerun-tools", cwd=workspace)
    assert same.code == 0, same.err
    (workspace / "a.txt").write_text("new")
    changed = llmdo("replay", "last", "--rerun-tools", cwd=workspace)
    assert changed.code == 1
    assert 'main/read_file#1: success {"content":"new"}, it was success {"content":"old"}' in changed.err
    assert changed.out == "old\n"


@pytest.mark.long
def test_runs_are_listed_shown_and_removed(llmdo: Llmdo, workspace: Path) -> None:
    for text in ("one", "read_file:path:none.txt"):
        llmdo("run", "main", text, cwd=workspace)
    listed = json.loads(llmdo("runs", "list", "--format", "json", cwd=workspace).out)
    assert listed["schema"] == "llmdo.runs/1"
    assert [run["status"] for run in listed["runs"]] == ["completed", "completed"]
    assert llmdo("runs", "list", "--status", "failed", cwd=workspace).out == ""
    assert llmdo("runs", "list", "--limit", "1", cwd=workspace).out.count("\n") == 1
    shown = llmdo("runs", "show", "last", cwd=workspace).out
    assert re.search(r"^    read_file#1  \+\d.\d\d s, took \d.\d\d s, failed: ", shown, re.MULTILINE)
    assert (
        "| main/read\\_file#1 |" in llmdo("runs", "show", "last", "--format", "markdown", cwd=workspace).out
    )
    tree = json.loads(llmdo("runs", "show", "last", "--format", "json", cwd=workspace).out)
    assert tree["calls"][0]["children"][0]["outcome"] == "failed"
    latest, old = Runs(workspace).names()[::-1]
    assert llmdo("runs", "prune", "--keep", "1", "--dry-run", cwd=workspace).out == f"{old}\n"
    assert llmdo("runs", "prune", "--keep", "1", "--older-than", "9" * 400, cwd=workspace).out == ""
    assert llmdo("runs", "prune", "--keep", "1", cwd=workspace).out == f"{old}\n"
    assert Runs(workspace).names() == [latest]


def test_a_clock_that_was_set_back_makes_no_negative_times(llmdo: Llmdo, noting: Path) -> None:
    llmdo("run", "main", "note:text:hello", cwd=noting)
    run = Runs(noting).names()[-1]
    with forging(Runs(noting).path(run)) as connection:
        connection.execute("UPDATE entry SET at = at - 5000 WHERE seq > 3")
    for words in (["list"], ["show", run], ["show", run, "--format", "markdown"]):
        shown = llmdo("runs", *words, cwd=noting)
        assert (shown.code, re.search(r"-\d+\.\d+ s", shown.out)) == (0, None), shown.out
    assert llmdo("audit", run, "--verify", cwd=noting).code == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["list"],
        ["list", "--limit", "1"],
        ["list", "--limit=0", "--format=json", "--entry", "main"],
        ["list", "--status", "completed", "--project", "."],
        ["list", "--entry", "other"],
        ["list", "--limit", "-1"],
        ["list", "--format", "xml"],
        ["list", "--project", "nowhere"],
        ["list", "one-too-many"],
        ["--limit", "1"],
        ["--limit", "9" * 18],
        ["--limit", "9" * 40],
        ["list", "--limit", "9" * 5000],
    ],
)
def test_a_list_is_the_same_with_and_without_the_command_line_library(
    llmdo: Llmdo, workspace: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("one", "two"):
        llmdo("run", "main", text, cwd=workspace)
    quickly = llmdo("runs", *words, cwd=workspace)
    try:
        code = app.run(["runs", *words])
    except LlmdoError as error:
        code = error.exit_code
    captured = capsys.readouterr()
    assert (quickly.code, quickly.out) == (code, captured.out)
    assert quickly.code == (2 if quickly.err and not quickly.err.startswith("no such run") else 0)


def test_a_run_that_could_go_on_is_not_pruned_unless_the_person_says_so(llmdo: Llmdo, noting: Path) -> None:
    run = die(noting)
    assert llmdo("runs", "prune", "--keep", "0", cwd=noting).out == ""
    assert llmdo("runs", "prune", run, cwd=noting).out == f"{run}\n"
    assert llmdo("runs", "prune", run, cwd=noting).code == 2


@pytest.mark.long
def test_a_journal_that_holds_no_run_is_pruned_and_is_not_the_last_run(llmdo: Llmdo, workspace: Path) -> None:
    llmdo("run", "main", "hi", cwd=workspace)
    runs = Runs(workspace)
    runs.create("zz").close()
    assert llmdo("replay", "last", cwd=workspace).out == "echo hi\n"
    assert llmdo("runs", "prune", "--keep", "9", "--dry-run", cwd=workspace).out == "zz\n"
    with runs.claim("zz"):
        assert llmdo("runs", "prune", "--keep", "9", cwd=workspace).out == ""
    assert llmdo("runs", "prune", "--keep", "9", cwd=workspace).out == "zz\n"
    assert len(runs.names()) == 1


def test_a_run_without_a_journal_says_so(llmdo: Llmdo, workspace: Path) -> None:
    done = llmdo("run", "main", "hi", "--no-journal", cwd=workspace)
    assert "no journal is kept" in done.err
    assert not (workspace / ".llmdo").exists()


def test_where_no_journal_can_be_written_a_run_does_not_begin(llmdo: Llmdo, workspace: Path) -> None:
    (workspace / ".llmdo").write_text("in the way")
    refused = llmdo("run", "main", "hi", cwd=workspace)
    assert refused.code == 2
    assert "no journal can be kept" in refused.err
    assert "`--no-journal`" in refused.err
    assert llmdo("run", "main", "hi", "--no-journal", cwd=workspace).out == "echo hi\n"


@pytest.mark.long
def test_a_run_that_never_began_leaves_no_journal(llmdo: Llmdo, workspace: Path) -> None:
    refused = llmdo("run", "main", "hi", "--model", "main=openai:gpt-5-mini", cwd=workspace)
    assert refused.code != 0
    assert Runs(workspace).names() == []


def test_a_journal_that_is_damaged_does_not_hide_the_others(llmdo: Llmdo, workspace: Path) -> None:
    llmdo("run", "main", "hi", cwd=workspace)
    (workspace / ".llmdo" / "runs" / "zz.sqlite").write_text("damaged")
    listed = llmdo("runs", cwd=workspace)
    assert "completed" in listed.out
    assert "zz.sqlite" in listed.err


@pytest.mark.long
def test_looking_at_runs_does_not_load_the_agent_loop(workspace: Path, llmdo: Llmdo) -> None:
    llmdo("run", "main", "hi", cwd=workspace)
    for words in (["runs"], ["runs", "show", "last", "--calls", "--messages"], ["runs", "stats"]):
        script = (
            "import sys\nfrom llmdo.__main__ import main\n"
            f"sys.argv = ['llmdo', *{words!r}]\nmain()\nassert 'pydantic_ai' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", script], cwd=workspace, check=True, capture_output=True)


@pytest.mark.long
def test_a_run_that_goes_on_obeys_the_policy_of_today_and_is_audited(
    llmdo: Llmdo, noting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = die(noting)
    policy = tmp_path / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    policy.write_text("schema = ")
    assert "nobody knows what it forbids" in llmdo("resume", run, "--again", "main/note#1", cwd=noting).err
    policy.write_text('schema = 1\n[approvals.rules]\n"x.tools" = "blocked"\n')
    refused = llmdo("resume", run, "--again", "main/note#1", cwd=noting)
    assert "its tools changed" in refused.err, (
        "a tool that is blocked whatever the call is not there any more"
    )
    assert notes(noting) == ["hello"]
    policy.unlink()
    assert llmdo("resume", run, "--again", "main/note#1", cwd=noting).out == "noted hello\n"
    records = json.loads(llmdo("audit", run, "--format", "json", cwd=noting).out)["records"]
    assert [record["kind"] for record in records].count("run_started") == 3
    decided = [record["decision"] for record in records if record["kind"] == "decided"]
    assert decided == ["allowed", "allowed"], "each execution has a decision of its own"
    assert llmdo("audit", run, "--verify", cwd=noting).code == 0


@pytest.mark.long
def test_an_interrupted_run_goes_on(llmdo: Llmdo, noting: Path) -> None:
    text = (noting / "tools.py").read_text()
    waiting = text.replace("import os\n", "import os, time, asyncio\n").replace("def note", "async def note")
    waiting = waiting.replace(
        '    if os.environ.get("DIE")', '    if os.environ.get("DIE"): await asyncio.sleep(600)\n    if 0'
    )
    (noting / "tools.py").write_text(waiting)
    with forking.Popen(
        [sys.executable, "-m", "llmdo", "run", "main", "note:text:hello"],
        cwd=noting,
        env={**os.environ, "DIE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        until(lambda: (noting / "notes.log").exists() or running.poll() is not None)
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130
    assert (
        json.loads(llmdo("runs", "list", "--format", "json", cwd=noting).out)["runs"][0]["status"]
        == "interrupted"
    )
    refused = llmdo("resume", "last", cwd=noting)
    assert "started and not finished" in refused.err
    done = llmdo("resume", "last", "--give-up", "main/note#1", cwd=noting)
    assert done.code == 0
    assert notes(noting) == ["hello"]


def add_mail(root: Path, title: str) -> None:
    manifest = (root / "llmdo.toml").read_text()
    (root / "llmdo.toml").write_text(f'{manifest}\n[entries.mail]\nworker = "main"\ntitle = "{title}"\n')


def test_a_run_is_called_by_its_input(noting: Path, llmdo: Llmdo) -> None:
    add_mail(noting, "{id}: {subject}")
    locked(noting)
    llmdo("run", "mail", json.dumps({"id": 7, "subject": "Where is\nmy order?"}), cwd=noting)
    llmdo("run", "mail", "Where is it?\nKim", cwd=noting)
    assert [line.partition("  7: ")[2] for line in llmdo("runs", cwd=noting).out.splitlines()][1:] == [
        "Where is my order?"
    ]
    assert llmdo("runs", cwd=noting).out.splitlines()[0].endswith("  Where is it?")
    runs = json.loads(llmdo("runs", "list", "--format", "json", cwd=noting).out)["runs"]
    assert [run["title"] for run in runs] == ["Where is it?", "7: Where is my order?"]
    assert llmdo("runs", "show", "last", cwd=noting).out.splitlines()[1] == "  Where is it?"


def test_a_secret_that_a_title_cuts_through_is_in_no_list(
    noting: Path, llmdo: Llmdo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a secret is not known as one."""
    secret = "s3cr3t-" + "abcdefgh" * 12
    monkeypatch.setenv("A_KEY", secret)
    llmdo("run", "main", "x" * 60 + secret, cwd=noting)
    monkeypatch.delenv("A_KEY")
    for words in (["runs"], ["runs", "show", "last"], ["runs", "list", "--format", "json"]):
        assert secret[:8] not in llmdo(*words, cwd=noting).out


def test_a_title_that_is_no_template_is_a_finding(noting: Path, llmdo: Llmdo) -> None:
    add_mail(noting, "{subject")
    assert "fields stand in braces" in llmdo("check", cwd=noting).out
