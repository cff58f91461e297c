"""Policies that a manifest extends: they only tighten, for check and run alike, and what is wrong with one has its place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo import checks
from llmdo.diff import diff
from llmdo.graph.inventory import Inventory
from llmdo.graph.resolved import Graph
from llmdo.runtime import ApproveAll
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support.commands import llmdo

MANIFEST = """\
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
model = "python:models.py:rules"
[policy]
extends = [{extends}]
[approvals.rules]
"fs.write" = "allowed"
"""
WORKER = '---\nname: main\nentry: true\ntoolsets:\n  filesystem: { read: ["**"], write: ["**"] }\n---\nGo.\n'
MODEL = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if returns:
        return ModelResponse(parts=[TextPart(str(returns[-1].content))])
    return ModelResponse(parts=[ToolCallPart("write_file", {"path": "out/a.txt", "content": "x"})])


rules = FunctionModel(answer)
"""
BLOCKING = 'schema = 1\n[approvals.rules]\n"fs.write:out/**" = "blocked"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    (root / "policies").mkdir(parents=True)
    (root / "main.worker").write_text(WORKER)
    (root / "models.py").write_text(MODEL)
    extend(root, "policies/base.toml")
    (root / "policies/base.toml").write_text(BLOCKING)
    return root


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, of which `acme_policy` must never run."""
    folder = tmp_path / "packages"
    (folder / "acme_policy").mkdir(parents=True)
    (folder / "acme_policy/__init__.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\n")
    (folder / "acme_policy/base.toml").write_text(BLOCKING)
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(folder: Path, files: str = "acme_policy/__init__.py,,\nacme_policy/base.toml,,\n") -> Path:
    """What an installer writes down of the distribution `acme-policy` in a folder of packages."""
    facts = folder / "acme_policy-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-policy\nVersion: 1.0\n")
    (facts / "RECORD").write_text(files)
    return facts


def extend(root: Path, *names: str) -> None:
    (root / "llmdo.toml").write_text(MANIFEST.format(extends=", ".join(f'"{name}"' for name in names)))


def findings(root: Path) -> list[str]:
    read = project.read(root)
    return [
        f"{each.at.path}:{each.at.span.line if each.at.span else 0} {each.code} {each.message}"
        for each in checks.check(read)
        if each.code != "LDO402"
    ]


def test_a_policy_blocks_in_check_and_run_and_the_reason_has_its_place(root: Path) -> None:
    reach = llmdo(root, "reach", "main").stdout
    assert "fs.write:out/**" in reach
    why = llmdo(root, "reach", "main", "fs.write:out/a.txt", "--all").stdout
    assert "policies/base.toml:3" in why
    done = llmdo(root, "run", "main", "x")
    assert done.returncode == 0
    assert "`write_file` is blocked" in done.stdout
    assert "policies/base.toml:3" in done.stdout
    assert not (root / "out").exists()
    extend(root)
    assert "blocked" not in llmdo(root, "run", "main", "x").stdout
    assert (root / "out/a.txt").exists()


def test_no_flag_lifts_what_a_policy_says(root: Path) -> None:
    assert "is blocked" in llmdo(root, "run", "main", "x", "--approve-all").stdout
    (root / "policies/base.toml").write_text("schema = 1\n[approvals]\napprove-all = false\n")
    refused = llmdo(root, "run", "main", "x", "--approve-all")
    assert refused.returncode == 2
    assert "by `approve-all = false` in `policies/base.toml`" in refused.stderr


def test_python_may_not_approve_all_either(root: Path) -> None:
    import llmdo as package

    (root / "policies/base.toml").write_text("schema = 1\n[approvals]\napprove-all = false\n")
    with pytest.raises(package.LlmdoError, match="forbidden for this workspace"):
        package.run(root, "main", "x", approver=ApproveAll())


def test_a_policy_may_require_trust(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLMDO_TRUST")
    (root / "policies/base.toml").write_text('schema = 1\ntrust = "required"\n')
    done = llmdo(root, "run", "main", "x")
    assert done.returncode == 2
    assert "and `policies/base.toml` requires that: nothing of it was run" in done.stderr


def test_policies_extend_others_relative_to_themselves(root: Path) -> None:
    (root / "policies/base.toml").write_text('schema = 1\nextends = ["more/strict.toml"]\n')
    (root / "policies/more").mkdir()
    (root / "policies/more/strict.toml").write_text(BLOCKING)
    assert findings(root) == []
    names = [policy.name for policy in project.read(root).graph.policies]
    assert names == ["policies/base.toml", "policies/more/strict.toml"]
    assert "policies/more/strict.toml:3" in llmdo(root, "run", "main", "x").stdout


def test_a_package_brings_a_policy_and_is_not_imported(root: Path, packages: Path, tmp_path: Path) -> None:
    extend(root, "package:acme_policy/base.toml")
    assert findings(root) == []
    assert llmdo(root, "lock").returncode == 0
    assert "package:acme_policy/base.toml:3" in llmdo(root, "run", "main", "x").stdout
    assert "acme_policy" not in sys.modules
    assert not (tmp_path / "canary").exists()


def test_a_folder_of_the_workspace_is_no_installed_package(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "acme_policy").mkdir()
    (root / "acme_policy/__init__.py").write_text("")
    (root / "acme_policy/base.toml").write_text("schema = 1\n")
    monkeypatch.syspath_prepend(str(root))
    extend(root, "package:acme_policy/base.toml")
    assert findings(root) == [
        "llmdo.toml:7 LDO106 there is no package `acme_policy` for `package:acme_policy/base.toml`"
    ]


NOT_THERE = "there is no package `acme_policy` for `package:acme_policy/base.toml`"


def test_a_folder_that_python_would_import_but_nobody_installed_is_no_package(
    root: Path, packages: Path, tmp_path: Path
) -> None:
    extend(root, "package:acme_policy/base.toml")
    (packages / "acme_policy-1.0.dist-info/RECORD").write_text("acme_other/__init__.py,,\n")
    assert findings(root) == [f"llmdo.toml:7 LDO106 {NOT_THERE}"]
    assert not (tmp_path / "canary").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["-m", "-c", "PYTHONPATH"])
def test_what_lies_in_the_current_folder_is_not_installed_whatever_it_says_of_itself(
    root: Path, tmp_path: Path, how: str
) -> None:
    """The folder around a workspace, such as a checkout, with metadata that somebody committed."""
    (tmp_path / "acme_policy").mkdir()
    (tmp_path / "acme_policy/__init__.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w').close()\n")
    (tmp_path / "acme_policy/base.toml").write_text("schema = 1\n")
    install(tmp_path)
    extend(root, "package:acme_policy/base.toml")
    script = "from llmdo.__main__ import script; script()"
    words = ["-c", script] if how == "-c" else ["-m", "llmdo"]
    environ = {**os.environ, **({"PYTHONPATH": "."} if how == "PYTHONPATH" else {})}
    done = subprocess.run(
        [sys.executable, *words, "check", "--project", "w"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, NOT_THERE in done.stdout) == (1, True), done.stdout + done.stderr
    assert not (tmp_path / "canary").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", ["", "src"])
def test_a_package_that_is_installed_in_place_is_found_by_its_metadata(
    root: Path, packages: Path, tmp_path: Path, layout: str
) -> None:
    source = tmp_path / "source" / layout
    source.mkdir(parents=True)
    (packages / "acme_policy").rename(source / "acme_policy")
    facts = packages / "acme_policy-1.0.dist-info"
    (facts / "RECORD").write_text("acme_policy.pth,,\n")
    extend(root, "package:acme_policy/base.toml")
    assert findings(root) == [f"llmdo.toml:7 LDO106 {NOT_THERE}"]
    url = (tmp_path / "source").as_uri()
    (facts / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {"editable": True}}))
    assert findings(root) == []
    for odd in (
        "{",
        "[]",
        '{"url": 1, "dir_info": {"editable": true}}',
        '{"url": "file:///x", "dir_info": 1}',
    ):
        (facts / "direct_url.json").write_text(odd)
        assert findings(root) == [f"llmdo.toml:7 LDO106 {NOT_THERE}"]


WRONG = {
    "missing": ("policies/none.toml", "llmdo.toml:7 LDO106 `policies/none.toml` does not exist"),
    "above": (
        "../base.toml",
        "llmdo.toml:7 LDO107 `../base.toml` is not a path below the folder of the file",
    ),
    "absolute": ("/etc/base.toml", "llmdo.toml:7 LDO107 `/etc/base.toml` is not a path below the folder"),
    "a folder": ("policies", "policies:0 LDO105 "),
    "of no package": ("package:acme_none/base.toml", "llmdo.toml:7 LDO106 there is no package `acme_none`"),
    "no file of the package": (
        "package:acme_policy/none.toml",
        "llmdo.toml:7 LDO106 `none.toml` is not a file of the installed package `acme_policy`",
    ),
    "above the package": ("package:acme_policy/../base.toml", "llmdo.toml:7 LDO107 "),
    "a package alone": ("package:acme_policy", "llmdo.toml:7 LDO106 "),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", WRONG)
def test_what_is_extended_and_is_not_there_is_found_where_it_is_named(
    root: Path, packages: Path, case: str
) -> None:
    name, expected = WRONG[case]
    extend(root, name)
    problems = findings(root)
    assert len(problems) == 1
    assert problems[0].startswith(expected)
    done = llmdo(root, "run", "main", "x")
    assert (done.returncode, done.stdout) == (1, "")


BROKEN = {
    'schema = 1\n[approvals.rules]\n"fs.write" = "allowed"\n': "policies/base.toml:3 LDO103 ",
    "schema = 1\n[approvals]\nrule = {}\n": "policies/base.toml:3 LDO102 ",
    "schema = 1\n[approval]\n": "policies/base.toml:2 LDO102 ",
    "[approvals]\n": "policies/base.toml:0 LDO104 ",
    "schema = 2\n": "policies/base.toml:1 LDO103 ",
    "schema = \n": "policies/base.toml:1 LDO101 ",
    'schema = 1\n[approvals.rules]\n"fs.wriet" = "blocked"\n': "policies/base.toml:3 LDO207 `fs.wriet` is not a capability",
    'schema = 1\nextends = ["base.toml"]\n': (
        "policies/base.toml:2 LDO103 `policies/base.toml` extends itself: `policies/base.toml` > `policies/base.toml`"
    ),
    'schema = 1\nextends = ["../llmdo.toml"]\n': "policies/base.toml:2 LDO107 ",
    "": "policies/base.toml:0 LDO104 ",
}


@pytest.mark.few(4)
@pytest.mark.parametrize("text", BROKEN)
def test_what_is_wrong_in_a_policy_is_found_there_and_nothing_runs(root: Path, text: str) -> None:
    (root / "policies/base.toml").write_text(text)
    problems = findings(root)
    assert [problem.startswith(BROKEN[text]) for problem in problems] == [True], problems
    assert llmdo(root, "run", "main", "x").returncode == 1


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00" * 10, b"schema = 1 #" + b" " * 2_000_000])
def test_a_policy_that_is_no_text_or_huge_is_found(root: Path, content: bytes) -> None:
    (root / "policies/base.toml").write_bytes(content)
    assert [problem.split()[1] for problem in findings(root)] == ["LDO105"]


def test_a_circle_over_several_is_found_once_and_ends(root: Path) -> None:
    (root / "policies/base.toml").write_text('schema = 1\nextends = ["a.toml"]\n')
    (root / "policies/a.toml").write_text('schema = 1\nextends = ["base.toml"]\n')
    assert len(findings(root)) == 1


def test_very_many_policies_are_too_many(root: Path) -> None:
    for number in range(60):
        (root / f"policies/{number}.toml").write_text("schema = 1\n")
    extend(root, *(f"policies/{number}.toml" for number in range(60)))
    assert {problem.partition(" ")[2] for problem in findings(root)} == {
        "LDO103 more than 50 policies are extended"
    }


def test_a_link_is_no_policy(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text("schema = 1\n")
    (root / "policies/base.toml").unlink()
    (root / "policies/base.toml").symlink_to(tmp_path / "outside.toml")
    assert [problem.split()[1] for problem in findings(root)] == ["LDO107"]


def test_the_lock_holds_a_policy_and_is_stale_when_that_changes(root: Path) -> None:
    graph = locking.derive(project.read(root))
    lock.write(root, graph)
    assert project.read(root).is_current
    text = (root / "llmdo.lock").read_text()
    assert '[policy."policies/base.toml"]\ndigest = "sha256:' in text
    assert '"fs.write:out/**" = "blocked"' in text
    (root / "policies/base.toml").write_text(BLOCKING.replace("out", "reports"))
    read = project.read(root)
    [stale] = [each for each in checks.check(read, locked=True) if each.code == "LDO401"]
    assert stale.message.startswith(
        "`llmdo.lock` is out of date for policy `policies/base.toml`: its text changed"
    )
    assert read.locked.graph == graph


def test_a_run_cannot_change_a_policy_unasked(root: Path) -> None:
    assert "policies/base.toml" in Inventory.of(project.read(root).graph).governing


def of(root: Path, *texts: str) -> Graph:
    """The graph of a workspace that extends policies of these texts."""
    extend(root, *(f"policies/{number}.toml" for number, _ in enumerate(texts)))
    for number, text in enumerate(texts):
        (root / f"policies/{number}.toml").write_text(text)
    return project.read(root).graph


ASKING = 'schema = 1\n[approvals.rules]\n"net" = "needs_approval"\n'
NET = ASKING.replace("needs_approval", "blocked")
NOTHING = "schema = 1\n"


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([NET], [], "widened"),
        ([NET], [ASKING], "widened"),
        ([NET], [NOTHING], "widened"),
        ([NET, ASKING], [NET], "narrowed"),
        ([], [NET], "narrowed"),
        ([ASKING], [NET], "narrowed"),
        ([NOTHING, NET], [NET, NOTHING], "narrowed"),
        ([NET], [f"# reviewed\n{NET}"], "changed"),
        ([NET], [NET], "same"),
        (['schema = 1\ntrust = "required"\n'], [NOTHING], "widened"),
        (["schema = 1\n[approvals]\napprove-all = false\n"], [NOTHING], "widened"),
        ([NOTHING], ["schema = 1\n[approvals]\napprove-all = false\n"], "narrowed"),
    ],
)
def test_to_loosen_or_remove_a_policy_widens(
    root: Path, before: list[str], after: list[str], verdict: str
) -> None:
    old, new = of(root, *before), of(root, *after)
    if (before, after) == ([NET, ASKING], [NET]):
        assert diff(old, new).verdict == "changed"  # what is left says more
        return
    assert diff(old, new).verdict in (verdict, "changed" if before == [NOTHING, NET] else verdict)


def test_an_acceptance_of_the_capability_accepts_a_looser_policy(root: Path) -> None:
    old, new = of(root, NET), of(root)
    assert not diff(old, new).is_accepted
    with (root / "llmdo.toml").open("a") as file:
        file.write('[[check.accept]]\ncapability = "net"\nreason = "we need it"\n')
    assert diff(old, project.read(root).graph).is_accepted


def test_a_person_extends_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/llmdo").mkdir(parents=True)
    (tmp_path / "config/llmdo/policy.toml").write_text('schema = 1\nextends = ["x.toml"]\n')
    done = llmdo(root, "run", "main", "x")
    assert done.returncode == 2
    assert "`extends` is for the policies that a manifest extends" in done.stderr


def test_a_check_remembers_nothing_that_depends_on_what_is_installed(
    root: Path, packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMDO_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    extend(root, "package:acme_policy/base.toml")
    assert "error" not in llmdo(root, "check").stdout
    (packages / "acme_policy/base.toml").unlink()
    assert "LDO106" in llmdo(root, "check").stdout
