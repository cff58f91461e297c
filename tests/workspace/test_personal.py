"""A person's own policy: it tightens every run on their machine, and where it cannot be read nothing runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.policy.protection import is_protected
from llmdo.runtime import ApproveAll
from llmdo.workspace import personal
from tests.support import commands
from tests.support.building import go, graph, rules, script, use, worker

MANIFEST = """
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:main"
[approvals.rules]
"fs.write" = "allowed"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path / "home")}


def write(environ: dict[str, str], text: str) -> Path:
    path = personal.path_of(environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_a_policy_nothing_is_forbidden(environ: dict[str, str]) -> None:
    read = personal.read(environ)
    assert (read.is_there, read.rules, read.approve_all) == (False, (), True)


def test_a_policy_says_what_it_forbids_and_where(environ: dict[str, str]) -> None:
    path = write(
        environ,
        'schema = 1\n[approvals]\napprove-all = false\n[approvals.rules]\n"net" = "blocked"\n'
        '"fs.write:reports/**" = "needs_approval"\n"x.calc" = "blocked"\n',
    )
    read = personal.read(environ)
    assert [str(rule) for rule in read.rules] == [
        '"fs.write:reports/**" = "needs_approval"', '"net" = "blocked"', '"x.calc" = "blocked"',
    ]  # fmt: skip
    assert {rule.origin for rule in read.rules} == {"your policy.toml"}
    assert read.rules[1].at is not None
    at = read.rules[1].at.location
    assert (at.path, at.span and at.span.line) == (str(path), 5)
    assert (read.is_there, read.approve_all) == (True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "schema"),
        ("schema = 1\n[approvals", "line 2"),
        ("schema = 2\n", "line 1"),
        ('schema = 1\n[approvals.rules]\n"net" = "allowed"\n', "line 3"),
        ('schema = 1\n[approvals.rules]\n"net" = "block"\n', "line 3"),
        (
            'schema = 1\n[approvals.rules]\n"nett" = "blocked"\n',
            "line 3: `nett` is not a capability (did you",
        ),
        ('schema = 1\n[approvals.rules]\n"net.connect:a" = "blocked"\n', "`net.connect` has no scopes"),
        ("schema = 1\n[approvals]\napprove_all = false\n", "did you mean `approve-all`"),
        ("schema = 1\n[approvals]\napprove-all = 'no'\n", "line 3"),
        ("schema = 1\n[rules]\nnet = 'blocked'\n", "rules"),
    ],
)
def test_a_policy_that_is_wrong_is_reported_and_not_used(
    environ: dict[str, str], text: str, message: str
) -> None:
    write(environ, text)
    with pytest.raises(LlmdoError) as raised:
        personal.read(environ)
    assert message in raised.value.message
    assert "nobody knows what it forbids" in raised.value.message


def test_all_that_is_wrong_is_reported_at_once(environ: dict[str, str]) -> None:
    write(environ, 'schema = 1\n[approvals.rules]\n"nett" = "blocked"\n"fs.wrte" = "blocked"\n')
    with pytest.raises(LlmdoError) as raised:
        personal.read(environ)
    assert "line 3: `nett`" in raised.value.message
    assert "line 4: `fs.wrte`" in raised.value.message


def test_what_cannot_be_read_is_no_missing_policy(environ: dict[str, str]) -> None:
    path = write(environ, "")
    makers = [
        lambda: path.write_bytes(b"\xff\xfe"),
        lambda: path.write_bytes(b"#" * (personal.MAX_BYTES + 1)),
        lambda: path.mkdir(),
        lambda: os.mkfifo(path),
        lambda: path.symlink_to("nowhere"),
        lambda: path.symlink_to(path.name),
        lambda: (path.parent.parent.joinpath("config") and path.parent.rmdir()) or path.parent.write_text(""),
    ]
    for make in makers:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        make()
        with pytest.raises(LlmdoError, match="cannot be read"):
            personal.read(environ)


def test_where_the_policy_is(monkeypatch: pytest.MonkeyPatch) -> None:
    home = {"HOME": "/home/a"}
    monkeypatch.setattr(sys, "platform", "linux")
    assert personal.path_of(home) == Path("/home/a/.config/llmdo/policy.toml")
    assert personal.path_of({**home, "XDG_CONFIG_HOME": "/c"}) == Path("/c/llmdo/policy.toml")
    assert personal.path_of({**home, "XDG_CONFIG_HOME": "relative"}) == Path(
        "/home/a/.config/llmdo/policy.toml"
    )
    assert personal.path_of({}).is_absolute()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert personal.path_of(home) == Path("/home/a/Library/Application Support/llmdo/policy.toml")


def test_no_tool_changes_a_policy_unasked() -> None:
    assert is_protected(".config/llmdo/policy.toml")
    assert is_protected(".config/LLMDO/Policy.toml ")
    assert not is_protected("reports/policy.toml")


def test_it_tightens_the_whole_tree_and_lifts_nothing(tmp_path: Path) -> None:
    script(
        tmp_path,
        main=[[("helper", {"input": "x"}), ("write_file", {"path": "a.txt", "content": "x"})], "{results}"],
        helper=[[("write_file", {"path": "b.txt", "content": "x"})], "{results}"],
    )
    files = use("filesystem", write=["**"])
    team_graph = graph(
        worker("main", "helper", files), worker("helper", files), approvals={"fs.write": "allowed"}
    )
    assert len(go(team_graph, tmp_path).denied) == 0
    mine = rules({"fs.write:b.txt": "blocked", "fs.write:a.txt": "needs_approval"}, "your policy.toml")
    outcome = go(team_graph, tmp_path, tightening=mine)
    assert sorted((call.path, call.decision) for call in outcome.denied) == [
        ("main/helper#1/write_file#1", "blocked"), ("main/write_file#1", "needs_approval"),
    ]  # fmt: skip
    assert all("your policy.toml" in call.reasons[0] for call in outcome.denied)
    assert len(go(team_graph, tmp_path, tightening=mine, approver=ApproveAll()).denied) == 1


def test_code_entries_are_tightened_too(tmp_path: Path) -> None:
    (tmp_path / "entries.py").write_text(
        "async def nightly(runtime, input):\n    return await runtime.call_agent('helper', 'x')\n"
    )
    script(tmp_path, helper=["helped"])
    team_graph = graph(worker("helper"), function="entries.py:nightly", calls=["helper"])
    assert go(team_graph, tmp_path).output == "helped"
    outcome = go(team_graph, tmp_path, tightening=rules({"agent": "blocked"}, "your policy.toml"))
    assert "is blocked" in (outcome.error or "")


def llmdo(root: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return commands.llmdo(root, *words, environ=os.environ | environ)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "main.worker").write_text(
        "---\nname: main\nentry: true\ntoolsets: {filesystem: {write: ['**']}}\n---\nGo.\n"
    )
    script(root, main=[[("write_file", {"path": "a.txt", "content": "x"})], "{results}"])
    return root


def test_a_run_obeys_the_policy_and_a_check_does_not_know_it(
    workspace: Path, environ: dict[str, str]
) -> None:
    assert llmdo(workspace, environ, "run", "main", "x").returncode == 0
    (workspace / "a.txt").unlink()
    write(
        environ, 'schema = 1\n[approvals]\napprove-all = false\n[approvals.rules]\n"fs.write" = "blocked"\n'
    )
    before = llmdo(workspace, {"XDG_CONFIG_HOME": "/nonexistent"}, "check", "--format", "json").stdout
    assert llmdo(workspace, environ, "check", "--format", "json").stdout == before
    done = llmdo(workspace, environ, "run", "main", "x")
    assert not (workspace / "a.txt").exists()
    forbidden = llmdo(workspace, environ, "run", "--approve-all", "main", "x")
    assert (forbidden.returncode, done.returncode) == (2, 0)
    assert "`--approve-all` is forbidden on this machine" in forbidden.stderr


def test_a_run_under_a_broken_policy_does_not_begin(workspace: Path, environ: dict[str, str]) -> None:
    (workspace / "tools.py").write_text("import pathlib; pathlib.Path('ran').touch()\n")
    manifest = (
        (workspace / "llmdo.toml").read_text().replace("model =", 'toolset-modules = ["tools.py"]\nmodel =')
    )
    (workspace / "llmdo.toml").write_text(manifest)
    write(environ, "schema = ")
    done = llmdo(workspace, environ, "run", "main", "x")
    assert done.returncode == 2
    assert "nobody knows what it forbids" in done.stderr
    assert not (workspace / "a.txt").exists()
    assert not (workspace / "ran").exists()
    assert llmdo(workspace, environ, "check").returncode == 0
