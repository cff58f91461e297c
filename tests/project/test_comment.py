"""The comment of the action on a pull request, with a GitHub of ours: there is one, and no token is sent elsewhere."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Llmdo
from tests.cli.conftest import llmdo as llmdo
from tests.cli.test_diff import commit, git, let_triage_publish
from tests.cli.test_diff import team as team
from tests.project.test_ci import ROOT, STEPS, Runner

BOT = "github-actions[bot]"
ANSWER = "### llmdo: widened\n\nMore than before.\n"
MARK = "<!-- llmdo . -->\n"


class OurGitHub(ThreadingHTTPServer):
    """The comments of one pull request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()
        self.status = 200
        """The answer to whoever writes."""
        self.elsewhere = ""
        """The address to which every question is redirected."""

    def add(self, body: str, login: str = BOT) -> int:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"login": login}})
        return len(self.comments)


class Answering(BaseHTTPRequestHandler):
    server: OurGitHub

    def do_GET(self) -> None:
        page = int(self.path.rpartition("page=")[2])
        self.answer(200, self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        self.write(lambda body: self.server.add(body))

    def do_PATCH(self) -> None:
        number = int(self.path.rpartition("/")[2])
        self.write(lambda body: self.server.comments[number - 1].update(body=body))

    def write(self, change: Any) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        if self.server.status == 200:
            change(body)
        self.answer(self.server.status, {})

    def answer(self, status: int, data: object) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.tokens.add(self.headers["Authorization"])
        content = json.dumps(data).encode()
        self.send_response(302 if self.server.elsewhere else status)
        if self.server.elsewhere:
            self.send_header("Location", self.server.elsewhere)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Nothing: the test asks."""


@pytest.fixture
def github() -> Iterator[OurGitHub]:
    with OurGitHub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Commenter:
    """The step of the action, as a runner starts it for a pull request."""

    def __init__(self, runner: Runner, github: OurGitHub) -> None:
        self.runner = runner
        self.environ = {
            "TOKEN": "t0ken",
            "REPOSITORY": "acme/team",
            "NUMBER": "7",
            "BASE": "a" * 40,
            "HEAD": "b" * 40,
            "FOLDER": ".",
            "PLAYGROUND": "",
            "COMPARED": "success",
            "RUN": "https://github.com/acme/team/actions/runs/1",
        }
        runner.environment |= {
            "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
            "GITHUB_ACTION_PATH": str(ROOT),
            "NO_PROXY": "*",
        }

    def run(self, answer: str, **environ: str) -> str:
        """The output of the step after a comparison."""
        Path(self.runner.environment["RUNNER_TEMP"], "llmdo-diff.md").write_text(answer, encoding="utf-8")
        done = self.runner.run("Comment", **{**self.environ, **environ})
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    @property
    def summary(self) -> str:
        return self.runner.summary.read_text(encoding="utf-8")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    folder = tmp_path / "runner"
    folder.mkdir()
    runner = Runner(tmp_path / "w", folder)
    runner.workspace.mkdir()
    python = folder / "bin/python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return runner


@pytest.fixture
def commenter(runner: Runner, github: OurGitHub) -> Commenter:
    return Commenter(runner, github)


def test_there_is_one_comment_which_is_edited(commenter: Commenter, github: OurGitHub) -> None:
    assert commenter.run(ANSWER) == ""
    assert [each["body"] for each in github.comments] == [
        f"{MARK}{ANSWER}\n\n[The run](https://github.com/acme/team/actions/runs/1)\n"
    ]
    commenter.run("### llmdo: narrowed\n")
    (only,) = github.comments
    assert only["body"].startswith(f"{MARK}### llmdo: narrowed\n")
    assert github.tokens == {"Bearer t0ken"}
    assert github.asked[-1] == "PATCH /repos/acme/team/issues/comments/1"
    commenter.run("### llmdo: same\n\nNothing.\n")
    assert "### llmdo: same" in only["body"]


def test_nothing_is_said_where_nothing_changed_and_nothing_was_said(
    commenter: Commenter, github: OurGitHub
) -> None:
    commenter.run("### llmdo: same\n\nNothing.\n")
    commenter.run("", COMPARED="skipped")
    assert github.comments == []


def test_what_could_not_be_compared_leaves_no_old_answer(commenter: Commenter, github: OurGitHub) -> None:
    commenter.run(ANSWER)
    for compared in ("skipped", "failure"):
        commenter.run(ANSWER if compared == "skipped" else "", COMPARED=compared)
        assert "### llmdo: not compared" in github.comments[0]["body"]
        assert "More than before" not in github.comments[0]["body"]


def test_each_folder_has_its_own(commenter: Commenter, github: OurGitHub) -> None:
    for folder in (".", "a/-->b", ".", "a/-->b"):
        commenter.run(ANSWER, FOLDER=folder)
    assert [each["body"].partition("\n")[0] for each in github.comments] == [
        "<!-- llmdo . -->",
        "<!-- llmdo a%2F--%3Eb -->",
    ]


def test_a_comment_of_anybody_else_is_left_alone(commenter: Commenter, github: OurGitHub) -> None:
    for number in range(250):
        github.add(f"{MARK}### llmdo: same" if number % 2 else "hello", login="stranger")
    commenter.run(ANSWER)
    commenter.run(ANSWER)
    assert len(github.comments) == 251
    assert github.comments[-1]["user"]["login"] == BOT
    assert all(each["user"]["login"] == "stranger" for each in github.comments[:250])
    assert "More than before" not in str(github.comments[:250])


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_that_may_not_write_leaves_a_sentence_in_the_summary(
    status: int, commenter: Commenter, github: OurGitHub
) -> None:
    github.status = status
    output = commenter.run(ANSWER, PLAYGROUND="https://play.example/")
    assert (
        "The token of this run may not comment on the pull request, as with one from a fork"
        in commenter.summary
    )
    assert "[Look at this change in the playground]" in commenter.summary
    assert output.replace("\n", "") in commenter.summary.replace("\n", "")


def test_a_github_that_fails_fails_no_run(commenter: Commenter, github: OurGitHub) -> None:
    github.status = 500
    assert commenter.run(ANSWER) == "There is no comment: GitHub answered 500.\n"
    commenter.runner.environment["GITHUB_API_URL"] = "http://127.0.0.1:9"
    assert "GitHub could not be asked (ConnectionRefusedError)" in commenter.run(ANSWER)


def test_the_token_follows_no_redirection(commenter: Commenter, github: OurGitHub) -> None:
    with OurGitHub() as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        github.elsewhere = f"http://127.0.0.1:{other.server_port}/repos/x?page=1"
        assert "GitHub answered 302" in commenter.run(ANSWER)
        other.shutdown()
        assert other.asked == []


@pytest.mark.parametrize(
    ("address", "link"),
    [
        (
            "https://play.example/llmdo/",
            f"(https://play.example/llmdo/?repo=acme/team&diff={'a' * 40}...{'b' * 40})",
        ),
        ("javascript:alert(1)", ""),
        ("https://play.example/) <b>", ""),
    ],
)
def test_it_links_to_the_playground(address: str, link: str, commenter: Commenter, github: OurGitHub) -> None:
    commenter.run(ANSWER, PLAYGROUND=address)
    (comment,) = github.comments
    assert ("playground" in comment["body"]) is bool(link)
    assert link in comment["body"]
    assert ("`playground` is not an address" in commenter.summary) is not bool(link)


def test_a_long_answer_is_cut_and_closed(commenter: Commenter, github: OurGitHub) -> None:
    commenter.run(ANSWER + "<details>\n\n" + "* a line of it\n" * 9_000 + "</details>\n")
    body = github.comments[0]["body"]
    assert len(body) < 65_536
    assert "* a line of it\n</details>\n\nThat is not all: the run has the rest.\n" in body


def test_modules_of_the_change_are_not_imported(commenter: Commenter, github: OurGitHub) -> None:
    (commenter.runner.workspace / "json.py").write_text("raise SystemExit('taken over')\n")
    commenter.runner.environment["PYTHONPATH"] = str(commenter.runner.workspace)
    commenter.run(ANSWER)
    assert len(github.comments) == 1


def test_it_is_for_pull_requests_alone() -> None:
    condition = STEPS["Comment"]["if"]
    assert "github.event.pull_request.number" in condition
    assert "inputs.comment == 'true'" in condition


@pytest.mark.long
def test_the_difference_of_a_workspace_becomes_the_comment(
    team: Path, commenter: Commenter, github: OurGitHub, llmdo: Llmdo
) -> None:
    let_triage_publish(team, llmdo)
    commit(team, "let triage publish")
    commenter.runner.workspace = team
    done = commenter.runner.run("Compare", BASE="HEAD~1", FAIL_ON="widened", FROM="")
    assert done.returncode == 1
    assert commenter.runner.run("Comment", **commenter.environ).returncode == 0
    assert "#### `triage`: widened" in github.comments[0]["body"]


def test_a_project_of_another_tool_is_compared_without_a_workspace(
    commenter: Commenter, github: OurGitHub, tmp_path: Path
) -> None:
    agent = tmp_path / "w/.claude/agents/a.md"
    agent.parent.mkdir(parents=True)
    agent.write_text("---\nname: a\ndescription: d\ntools: Read\n---\nDo it.\n")
    git(tmp_path / "w", "init", "-q")
    commit(tmp_path / "w", "first")
    agent.write_text("---\nname: a\ndescription: d\ntools: Read, Bash\n---\nDo it.\n")
    commit(tmp_path / "w", "second")
    assert commenter.runner.run("Check a project of another tool", FROM="auto").returncode == 0
    done = commenter.runner.run("Compare", BASE="HEAD~1", FAIL_ON="widened", FROM="auto")
    assert done.returncode == 1, done.stderr
    assert commenter.runner.run("Comment", **commenter.environ).returncode == 0
    (comment,) = github.comments
    assert "#### `a`: widened" in comment["body"]
    assert "proc.exec.unlisted" in comment["body"]
