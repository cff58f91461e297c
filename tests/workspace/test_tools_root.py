"""`[workspace] root`: what tools work on lies elsewhere, and all else stays where `llmdo.toml` is."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmdo
from llmdo.base.source import Source
from llmdo.diff import diff
from llmdo.graph.keys import Reference
from llmdo.journal import Runs
from llmdo.policy.shell import ShellSettings
from llmdo.policy.shell.words import CommandRefused
from llmdo.runtime import ApproveAll
from llmdo.syntax.document import Document, Place
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.filesystem import FilesystemToolset
from llmdo.toolsets.machine import Grants, Machine
from llmdo.toolsets.paths import PathMap, PathRefused, normalise
from llmdo.workspace.root import Folders
from tests.support import commands
from tests.support.building import Step, script
from tests.support.laws import tried

AT = Place(Document(Source("llmdo.toml", ""), {}, dict), ())

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["workers/*.worker"]
toolset-modules = ["tools/*.py"]
root = "{root}"

[approvals.rules]
"fs.write" = "allowed"
"proc.exec.read" = "allowed"
"x" = "allowed"

[toolsets.shell]
isolation = "{isolation}"
presets = ["read-only"]

[paths]
{paths}

[entries.go]
worker = "main"
input = "look at deck.txt"
"""

WORKER = """\
---
name: main
model: python:models.py:main
toolsets:
  filesystem: { write: ["**"] }
  shell: { presets: [read-only] }
  where: {}
---
Look.
"""

WHERE = """\
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

where = FunctionToolset()

@where.tool
def root(ctx: RunContext) -> str:
    return ctx.deps.root.name
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A workspace beside the folder that its tools work on."""
    workspace = tmp_path / "outer/team"
    for folder in ("workers", "tools", "input", "../site/input", "../private"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "workers/main.worker").write_text(WORKER, encoding="utf-8")
    (workspace / "tools/where.py").write_text(WHERE, encoding="utf-8")
    (workspace / "input/deck.txt").write_text("of the team", encoding="utf-8")
    (workspace / "../site/input/deck.txt").write_text("of the site", encoding="utf-8")
    (workspace / "../private/secret.txt").write_text("private", encoding="utf-8")
    return written(workspace)


def written(
    team: Path, root: str = "../site", isolation: str = "off", paths: str = '"deck.txt" = "input/deck.txt"'
) -> Path:
    manifest = MANIFEST.format(root=root, isolation=isolation, paths=paths)
    (team / "llmdo.toml").write_text(manifest, encoding="utf-8")
    return team


def calling(team: Path, *calls: tuple[str, dict[str, object]]) -> str:
    """What the worker is answered that makes these calls at once; nobody answers questions."""
    steps: list[Step] = [list(calls), "{results}"]
    script(team, main=steps)
    outcome = llmdo.run(team, "go", journal=True)
    assert outcome.status == "completed", outcome.error
    return str(outcome.output)


def test_tools_work_on_the_root_and_the_journal_stays_in_the_workspace(team: Path) -> None:
    site = team.parent / "site"
    answer = calling(
        team,
        ("read_file", {"path": "deck.txt"}),
        ("list_files", {}),
        ("write_file", {"path": "out/a.txt", "content": "made"}),
        ("shell", {"command": "cat input/deck.txt"}),
        ("root", {}),
    )
    assert answer.count("of the site") == 2
    assert "input/deck.txt" in answer
    assert answer.endswith("[success: site]")
    assert "team" not in answer
    assert (site / "out/a.txt").read_text(encoding="utf-8") == "made"
    assert not (team / "out").exists()
    assert len(Runs(team).names()) == 1
    assert not (site / ".llmdo").exists()


@pytest.mark.needs_bwrap
def test_an_isolated_command_sees_the_root_and_not_the_workspace(team: Path) -> None:
    written(team, isolation="require")
    paths = [f"{team}/llmdo.toml", "../team/llmdo.toml"]
    script(
        team,
        main=[[("shell", {"command": ["cat", path]}) for path in ("input/deck.txt", *paths)], "{results}"],
    )
    manifest = team / "llmdo.toml"
    rules = '"proc" = "allowed"\n"fs.read.protected" = "allowed"\n'
    manifest.write_text(manifest.read_text().replace('"x" = "allowed"\n', f'"x" = "allowed"\n{rules}'))
    output = str(llmdo.run(team, "go", approver=ApproveAll()).output)
    assert "of the site" in output
    assert output.count("No such file or directory") == 2


@pytest.mark.needs_bwrap
def test_an_isolated_command_cannot_write_a_workspace_that_lies_in_the_root(team: Path) -> None:
    folders = Folders(team, Reference("..", AT))
    governing = folders.governed(frozenset({"tools/where.py"}))
    settings = ShellSettings(isolation="require")
    with closing(Root.of(folders)) as files:
        environ = {"PATH": os.environ["PATH"], "HOME": "/home/x"}
        machine = Machine.prepare(folders, files, settings, governing, environ)
        for path in ("team/new.txt", "team/tools/where.py", "team/input/deck.txt", "site/made.txt"):
            command = ("sh", "-c", f"echo harm > {path}")
            asyncio.run(machine.run(command, Grants(write=("**",)), 5.0))
    harmed = [path for path in team.parent.rglob("*") if path.is_file() and "harm" in path.read_text()]
    assert harmed == [team.parent / "site/made.txt"]


def test_programs_of_neither_folder_are_run(team: Path) -> None:
    site, folders = team.parent / "site", Folders(team, Reference("../site", AT))
    for folder in (team / "bin", site / "bin"):
        folder.mkdir()
        (folder / "own").write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / "own").chmod(0o755)
    for folder in (team, site):
        with closing(Root.of(folders)) as files:
            environ = {"PATH": f"{folder}/bin:/usr/bin"}
            machine = Machine.prepare(folders, files, ShellSettings(isolation="off"), (), environ)
        with pytest.raises(CommandRefused):
            machine.programs.find("own")


def test_a_root_that_becomes_a_link_is_not_opened(team: Path) -> None:
    site = team.parent / "site"

    class Raced(Folders):
        """What becomes a link between the look and the opening."""

        def require(self) -> None:
            super().require()
            site.rename(site.with_name("moved"))
            site.symlink_to("private")

    with pytest.raises(PathRefused, match="link"):
        Root.of(Raced(team, Reference("../site", AT)))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "path", ["../team/llmdo.toml", "../private/secret.txt", "/etc/passwd", "link/secret.txt"]
)
def test_no_tool_reads_or_writes_outside_of_the_root(team: Path, path: str) -> None:
    (team.parent / "site/link").symlink_to("../private")
    answer = calling(
        team,
        ("read_file", {"path": path}),
        ("write_file", {"path": path, "content": "harm"}),
        ("list_files", {"path": path.rpartition("/")[0]}),
        ("shell", {"command": ["cat", path]}),
    )
    assert "private" not in answer.replace("../private", "")
    assert "success" not in answer
    assert (team.parent / "private/secret.txt").read_text(encoding="utf-8") == "private"
    assert "harm" not in (team / "llmdo.toml").read_text(encoding="utf-8")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "path",
    ["llmdo.toml", "workers/main.worker", "tools/where.py", "tools/new.py", "models.py", "input/new.txt"],
)
def test_the_workspace_is_protected_in_a_root_that_holds_it(team: Path, path: str) -> None:
    written(team, root="..", paths="")
    before = {file: file.read_bytes() for file in team.rglob("*") if file.is_file()}
    script(team, main=[[("write_file", {"path": f"team/{path}", "content": "harm"})], "{results}"])
    outcome = llmdo.run(team, "go")
    assert [denied.decision for denied in outcome.denied] == ["needs_approval"]
    assert "fs.write.protected" in outcome.denied[0].reasons[0]
    assert {file: file.read_bytes() for file in before if file.name != "scripts.json"} == {
        file: content for file, content in before.items() if file.name != "scripts.json"
    }


@pytest.mark.long
@pytest.mark.parametrize("path", ["outer/team/new.txt", "outer/team", "outer", "."])
def test_a_command_that_may_write_the_workspace_asks(team: Path, path: str) -> None:
    manifest = written(team, root="../..", paths="") / "llmdo.toml"
    rule = 'rules = [{ run = ["touch"], positional = "paths" }]\n'
    text = manifest.read_text(encoding="utf-8").replace('"proc.exec.read"', '"proc.exec"')
    manifest.write_text(text.replace('presets = ["read-only"]\n', rule), encoding="utf-8")
    worker = WORKER.replace(
        "shell: { presets: [read-only] }", 'shell: { rules: [{ run: ["touch"], positional: paths }] }'
    )
    (team / "workers/main.worker").write_text(worker, encoding="utf-8")
    script(team, main=[[("shell", {"command": ["touch", path]})], "{results}"])
    outcome = llmdo.run(team, "go")
    assert "fs.write.protected" in " ".join(outcome.denied[0].reasons)
    script(team, main=[[("shell", {"command": ["touch", "outer/site/new.txt"]})], "{results}"])
    assert "fs.write.code:outer/site/new.txt/**" in str(llmdo.run(team, "go").output), (
        "it may become a folder"
    )
    (team.parent / "site/new.txt").write_text("")
    assert "success: exit code 0" in str(llmdo.run(team, "go").output)


def test_code_of_the_workspace_is_protected_in_a_root_within_it(team: Path) -> None:
    written(team, root="tools", paths="")
    script(team, main=[[("write_file", {"path": "where.py", "content": "harm"})], "{results}"])
    assert "fs.write.protected" in llmdo.run(team, "go").denied[0].reasons[0]


def test_an_alias_is_added_for_what_lies_in_the_root(team: Path) -> None:
    script(team, main=["never"])
    (team.parent / "site/more.txt").write_text("more", encoding="utf-8")
    done = commands.llmdo(team, "add", "path", "more", "more.txt")
    assert done.returncode == 0, done.stderr
    (team / "own.txt").write_text("own", encoding="utf-8")
    assert "`own.txt` does not exist" in commands.llmdo(team, "add", "path", "own", "own.txt").stderr


def test_what_is_handed_over_comes_from_the_root(team: Path) -> None:
    script(team, main=["{prompt}", "{prompt}"])
    site = team.parent / "site"
    (site / "other.txt").write_text("other", encoding="utf-8")
    outcome = llmdo.run(team, "go", attachments=["deck.txt", site / "other.txt"])
    assert "<text/plain deck.txt 11>" in str(outcome.output)
    assert "<text/plain other.txt 5>" in str(outcome.output)
    words = [
        "run",
        "go",
        "-v",
        "--project",
        str(team),
        "--path",
        "it=other.txt",
        "--attach",
        "it",
        "--attach",
        "deck.txt",
    ]
    done = commands.llmdo(team.parent / "private", *words)
    assert "<text/plain it 5>" in done.stdout, done.stderr
    assert "approvals reject-all, files of `../site`" in done.stderr
    with pytest.raises(llmdo.LlmdoError, match="outside of the workspace"):
        llmdo.run(team, "go", attachments=[team / "input/deck.txt"])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("root", "words"),
    [
        ("../nowhere", "`../nowhere` is not here"),
        ("../../..", "is or holds the home folder"),
        ("../" * 60 + "..", "is the whole file system"),
        ("../..", "holds your `policy.toml`"),
    ],
)
def test_no_run_starts_in_a_root_that_is_no_project(
    team: Path, root: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = team.parent.parent
    monkeypatch.setenv("HOME", str(above.parent / "somebody"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(above.parent))
    if "policy" in words:
        above.rename(above.parent / "llmdo")
        team = above.parent / "llmdo/outer/team"
    script(team, main=["never"])
    written(team, root=root, paths="")
    with pytest.raises(llmdo.LlmdoError) as caught:
        llmdo.run(team, "go")
    assert words in caught.value.message
    at = caught.value.at
    assert at is not None
    assert at.span is not None
    assert (at.path, at.span.line, at.span.column) == ("llmdo.toml", 7, 8)


@pytest.mark.parametrize(
    "root", ["", ".", "/", "./site", "site/..", "~/site", "../a\\b", "../site/*", "a//b"]
)
def test_a_root_has_one_form(team: Path, root: str) -> None:
    written(team, root=root.replace("\\", "\\\\"), paths="")
    findings = [
        (finding.code, finding.at.span.line if finding.at.span else 0)
        for finding in llmdo.check(llmdo.read(team))
    ]
    assert ("LDO103", 7) in findings


def test_a_root_is_a_text(team: Path) -> None:
    manifest = written(team, paths="") / "llmdo.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"../site"', "5"), encoding="utf-8")
    assert "LDO103" in {finding.code for finding in llmdo.check(llmdo.read(team))}


@pytest.mark.long
def test_another_root_is_drift_and_counts_as_widening(team: Path) -> None:
    script(team, main=[[("read_file", {"path": ".env"})], "{results}"])
    (team.parent / "other/input").mkdir(parents=True)
    (team.parent / "other/input/deck.txt").write_text("of another", encoding="utf-8")
    assert commands.llmdo(team, "lock").returncode == 0
    assert 'root = "../site"' in (team / "llmdo.lock").read_text(encoding="utf-8")
    assert str(team.parent) not in (team / "llmdo.lock").read_text(encoding="utf-8")
    assert "waiting" in commands.llmdo(team, "run", "go", "--approvals", "later").stderr
    before = llmdo.read(team).graph
    written(team, root="../other")
    assert "`root` is `../other`, it was `../site`" in commands.llmdo(team, "check").stdout
    assert "`root` is `../other`, it was `../site`" in commands.llmdo(team, "resume", "last").stderr
    difference = diff(before, llmdo.read(team).graph)
    assert difference.verdict == "widened"
    assert [(change.route, change.effect) for change in difference.changes] == [
        (("settings", "root"), "widens")
    ]


def test_what_shows_reach_says_whose_files_are_meant(team: Path) -> None:
    script(team, main=["never"])
    words = "files of `../site`"
    assert commands.llmdo(team, "reach").stdout.startswith(f"go: depth proved: at most 0, {words}\n")
    assert commands.llmdo(team, "reach", "--graph").stdout.startswith(f"{words}\nentry go\n")
    assert commands.llmdo(team, "reach", "--graph", "--format", "mermaid").stdout.startswith(f"%% {words}\n")
    assert f"at most 0, {words}." in commands.llmdo(team, "reach", "--format", "markdown").stdout
    assert commands.llmdo(team, "reach", "go", "fs.write").stdout.startswith(f"{words}\n")
    for command in ("reach", "graph"):
        assert json.loads(commands.llmdo(team, command, "--format", "json").stdout)["root"] == "../site"
    lines = (team / "llmdo.toml").read_text(encoding="utf-8").replace('root = "../site"\n', "")
    (team / "llmdo.toml").write_text(lines, encoding="utf-8")
    assert "files of" not in "".join(commands.llmdo(team, *words).stdout for words in (["reach"], ["graph"]))


def test_a_run_is_repeated_where_its_root_is_not(team: Path) -> None:
    answer = calling(team, ("read_file", {"path": "deck.txt"}), ("shell", {"command": "cat input/deck.txt"}))
    (team.parent / "site").rename(team.parent / "moved")
    outcome = llmdo.replay(team, "last")
    assert (outcome.status, outcome.output) == ("completed", answer)


def test_a_root_above_is_judged_by_its_name_as_well(team: Path) -> None:
    moved = team.parent / ".github/team"
    moved.parent.mkdir()
    team.rename(moved)
    script(written(moved, root="..", paths=""), main=["never"])
    with pytest.raises(llmdo.LlmdoError, match=r"leads to `\.github`"):
        llmdo.run(moved, "go")


@pytest.mark.parametrize(
    ("root", "governed"),
    [
        ("../TEAM", {"tools/a.py", "b.py"}),
        ("../../OUTER", {"team/"}),
        ("TOOLS", {"a.py"}),
        ("../TEAM/Tools", {"a.py"}),
        ("../tea", set()),
        ("../team2", set()),
    ],
)
def test_what_governs_is_known_by_every_spelling_of_the_root(
    team: Path, root: str, governed: set[str]
) -> None:
    folders = Folders(team, Reference(root, AT))
    assert folders.governed(frozenset({"tools/a.py", "b.py"})) == governed


def test_without_the_key_there_is_one_folder(team: Path) -> None:
    folders = Folders(team)
    assert (folders.root, folders.all, folders.names) == (team, (team,), ())
    assert folders.governed(frozenset({"a"})) == {"a"}


ROOTS = [
    "..",
    "../..",
    "tools",
    "site",
    "../site",
    "../team",
    "../TEAM",
    "../../outer/team",
    "../../outer",
    "../../outer/site",
]
NAMES = [
    "team",
    "TEAM",
    "outer",
    "site",
    "tools",
    "Tools",
    "workers",
    "where.py",
    "main.worker",
    "llmdo.toml",
    "models.py",
]
NAMES += [
    "secret.txt",
    "private",
    "input",
    "deck.txt",
    "link",
    "..",
    ".",
    "",
    "~",
    "../..",
    "e\u0301",
    "\u200bteam",
    "team.",
]


@given(root=st.sampled_from(ROOTS), names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
@tried(300)
def test_a_tool_stays_in_the_root_and_writes_nothing_of_the_workspace_unasked(
    tmp_path_factory: pytest.TempPathFactory, root: str, names: list[str]
) -> None:
    top = _top(tmp_path_factory)
    team, path = top / "outer/team", "/".join(names)
    folders = Folders(team, Reference(root, AT))
    if not folders.is_there:
        return
    governing = folders.governed(frozenset({"tools/where.py", "models.py"}))
    with closing(Root.of(folders)) as files:
        toolset = FilesystemToolset(files, {"write": ["**"]}, PathMap(), governing)
        raised = toolset.get_capabilities("write_file", {"path": path}, SimpleNamespace(), {})  # type: ignore[arg-type]
        try:
            content = files.read(path, 1_000)
        except PathRefused:
            content = b""
        try:
            target = Path(os.path.realpath(folders.root / normalise(path)))
        except PathRefused:
            assert not content
            return
    assert not content or content == target.read_bytes()
    assert not content or target.is_relative_to(folders.root)
    is_above = team.is_relative_to(folders.root) and team != folders.root
    governs = {team / name for name in ("llmdo.toml", "workers/main.worker", "tools/where.py", "models.py")}
    if target in governs or (is_above and target.is_relative_to(team)):
        is_asked = any(capability.name == "fs.write.protected" for capability in raised)
        assert is_asked or "link" in names  # through which nothing is written


_MADE: list[Path] = []


def _top(factory: pytest.TempPathFactory) -> Path:
    """The same folders for all examples, of which none is changed."""
    if not _MADE:
        top = Path(os.path.realpath(factory.mktemp("roots")))
        for file in ("team/llmdo.toml", "team/workers/main.worker", "team/tools/where.py", "team/models.py",
                     "team/site/input/deck.txt", "site/input/deck.txt", "site/tools/where.py", "private/secret.txt"):  # fmt: skip
            (top / "outer" / file).parent.mkdir(parents=True, exist_ok=True)
            (top / "outer" / file).write_text(file, encoding="utf-8")
        (top / "outer/site/link").symlink_to("../private")
        (top / "outer/team/site/link").symlink_to("../../team")
        _MADE.append(top)
    return _MADE[0]
