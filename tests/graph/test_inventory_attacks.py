"""Attacks on the inventory: ways to what is executed that no question and no lock stands before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.graph.described import Server
from llmdo.policy.protection import is_code, is_protected, raised_by_change
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.exposure import WriteGuard, expose, set_aside_intruders
from llmdo.toolsets.launch import Launcher
from llmdo.workspace import project
from llmdo.workspace.programs import programs_of
from llmdo.workspace.root import Folders
from llmdo.workspace.source_files import SourceFiles
from tests.graph.test_inventory import WRITER
from tests.support.commands import llmdo, unprivileged
from tests.support.mcp_workspaces import workspace
from tests.support.work import calls_made
from tests.toolsets.mcp.test_running import locked

SRC = "src/pkg/__init__.py"


@pytest.mark.parametrize(
    ("command", "args", "cwd", "executed"),
    [
        ("uv", ["--directory", "srv", "run", "server.py"], None, "srv/server.py"),
        ("uv", ["--directory", "srv", "run", "python", "-m", "server"], None, "srv/server.py"),
        ("poetry", ["-C", "srv", "run", "python", "server.py"], None, "srv/server.py"),
        ("uv", ["run", "--directory", "srv", "server.py"], None, "srv/server.py"),
        ("uv", ["run", "python", "-m", "pkg"], None, SRC),
        (".venv/bin/serve", [], None, SRC),
        ("uvx", ["--from", "./srv", "serve"], None, "srv/server.py"),
        ("npx", ["./srv"], None, "srv/main.js"),
        ("npx", ["-c", "node srv/main.js"], None, "srv/main.js"),
        ("python3", ["-um", "server"], None, "server.py"),
        ("python3", ["-uc", "import server"], None, "server.py"),
        ("python3.13t", ["-m", "server"], None, "server.py"),
        ("python3", ["-m", "uvicorn", "--app-dir", "srv", "server:app"], None, "srv/server.py"),
        ("python3", ["-m", "fastmcp", "run"], None, "server.py"),
        ("${PYTHON:-python3}", ["-m", "server"], None, "server.py"),
        ("python3", ["${SERVER:-server.py}"], None, "server.py"),
        ("python3", ["${PWD}/server.py"], None, "server.py"),
        ("mcp-proxy", ["python3", "-m", "server"], None, "server.py"),
        ("op", ["run", "--", "python3", "-m", "server"], None, "server.py"),
        ("coverage", ["run", "-m", "server"], None, "server.py"),
        ("supergateway", ["--stdio", "python3 server.py"], None, "server.py"),
        ("fastapi", ["run"], None, "main.py"),
        ("sh", ["start.txt"], None, "start.txt"),
        ("make", ["-f", "srv/rules.txt", "serve"], None, "srv/rules.txt"),
        ("docker", ["compose", "-f", "srv/stack.yml", "up"], None, "srv/stack.yml"),
        ("fastmcp", ["run", "fastmcp.json"], None, "fastmcp.json"),
        ("ninja", [], None, "build.ninja"),
        ("ant", ["serve"], None, "build.xml"),
        ("sbt", ["run"], None, "build.sbt"),
        ("cargo", ["run"], None, ".cargo/config.toml"),
        ("rackup", ["config.ru"], None, "config.ru"),
        ("node", ["srv/main.js"], None, "package.json"),
        ("node", ["."], "link", "srv/main.js"),
        ("bash", ["-c", "python3 ../server.py"], "srv", "server.py"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)  # fmt: skip
def test_the_lock_holds_what_a_server_executes(
    tmp_path: Path, command: str, args: list[str], cwd: str | None, executed: str
) -> None:
    others = ("server.py", "srv/server.py", "srv/main.js", "package.json", SRC, ".venv/bin/serve", "main.py")
    for path in {*others, executed}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / "link").symlink_to("srv")
    server = Server(command=command, args=tuple(args), cwd=cwd)
    before = programs_of(server, SourceFiles(tmp_path))
    (tmp_path / executed).write_text("changed")
    after = programs_of(server, SourceFiles(tmp_path))
    asks = is_protected(executed, before.governing) or is_code(executed)
    assert (before.digests != after.digests, asks) == (True, True), "(held by the lock, asks before a write)"


@pytest.mark.parametrize(
    "path",
    [
        ".hg/hgrc", ".pdbrc", ".gitpod.yml", ".replit", ".helix/languages.toml", ".theia/tasks.json",
        ".codesandbox/tasks.json", "crush.json", ".rules", ".claude-plugin/plugin.json", ".kilocode/rules/x.md",
        ".agent/rules/x.md", "mcp_agent.config.yaml", "fastmcp.json", "nodemon.json", "babel.config.json",
        ".prettierrc", "wrangler.toml", "firebase.json", ".goreleaser.yaml", "config.ru", ".rspec", ".rvmrc", "build.sbt",
        "build.xml", ".mvn/extensions.xml", "gradle/wrapper/gradle-wrapper.properties", "deps.edn", "rebar.config", "dune",
        "a.csx", "a.fsx", "a.vcxproj", "nuget.config", "a.pyz", "a.xsh", "build.ninja", "BUILD", ".bazelrc",
        "CMakePresets.json", "a.nf", "dvc.yaml", "terragrunt.hcl", "ansible.cfg", "cdk.json", "buildspec.yml",
        "appveyor.yml", ".semaphore/semaphore.yml", ".pytest.ini", "pytest.toml", "mypy.ini", ".pylintrc", ".flake8",
        "alembic.ini", "poetry.toml", ".pdm-python", "hatch.toml", "pylock.toml", "requirements/dev.txt",
        "dev-requirements.txt", "supervisord.conf", ".cargo/config.toml", ".config/nextest.toml", ".air.toml",
        "latexmkrc", ".latexmkrc", "mkdocs.yml", ".readthedocs.yaml", "book.toml", "_quarto.yml", "Doxyfile",
        ".Renviron", ".mise.local.toml", ".mise/config.toml", ".config/mise/config.toml", "backend/env/bin/activate",
        ".htaccess", "a.jsp", "App.xcodeproj/project.pbxproj", ".run/serve.run.xml",
    ],
)  # fmt: skip
def test_a_file_that_a_tool_executes_is_written_only_after_a_question(path: str) -> None:
    assert is_code(path) or is_protected(path)


@pytest.mark.parametrize(
    "path", ["model.pth", "composer-notes.yml", ".env-notes", "dockerfiles.md", "pixi.png", "head/notes.md"]
)
def test_a_file_of_data_asks_no_question(path: str) -> None:
    assert not is_protected(path)
    assert not is_code(path)


TOOLS = """\
import shutil
from pathlib import Path
from pydantic_ai import FunctionToolset

HERE = Path(__file__).parent.parent


class Files(FunctionToolset):
    def get_capabilities(self, name, args, ctx, config):
        kind = {"remove": "fs.delete", "move": "fs.delete", "report": "fs.write.report"}[name]
        return {f"{kind}:{args['path']}"} | ({f"fs.write:{args['to']}"} if name == "move" else set())


files = Files(id="files")


@files.tool_plain(metadata={"capabilities": ["fs.delete"]})
def remove(path: str) -> str:
    shutil.rmtree(HERE / path)
    return "ok"


@files.tool_plain(metadata={"capabilities": ["fs.delete", "fs.write"]})
def move(path: str, to: str) -> str:
    (HERE / path).rename(HERE / to)
    return "ok"


@files.tool_plain(metadata={"capabilities": ["fs.write"]})
def report(path: str, text: str) -> str:
    (HERE / path).write_text(text)
    return "ok"
"""


def acted(root: Path, *plan: tuple[str, dict[str, str]]) -> Path:
    """A workspace in which a worker has made these calls, one after the other."""
    files = {
        "llmdo.toml": 'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\nmodel = "python:models.py:rules"\n'
        'toolset-modules = ["tools/*.py"]\n[approvals.rules]\n"fs.write" = "allowed"\n"fs.delete" = "allowed"\n',
        "main.worker": "---\nname: main\nentry: true\n"
        "toolsets: { filesystem: { write: ['**'] }, files: {} }\n---\nGo.\n",
        "models.py": WRITER.replace("if returns:", "if len(returns) == len(json.loads((HERE / 'plan.json').read_text())):")
        .replace("for name, arguments in plan]", "for name, arguments in plan[len(returns):][:1]]"),
        "tools/files.py": TOOLS,
        "evals/own.yaml": "",
        "plan.json": json.dumps(plan),
    }  # fmt: skip
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    done = llmdo(root, "run", "main", "{}", environ={**os.environ, "LLMDO_TRUST": "1"})
    assert "success" in done.stdout or "failed" in done.stdout, done.stderr
    return root


def test_a_capability_below_fs_write_is_a_write_as_well(tmp_path: Path) -> None:
    root = acted(tmp_path, ("report", {"path": "llmdo.toml", "text": "evil"}))
    assert (root / "llmdo.toml").read_text() != "evil"


@pytest.mark.parametrize("folder", ["tools", "evals"])
def test_a_folder_that_governs_runs_is_not_deleted_unasked(tmp_path: Path, folder: str) -> None:
    assert (acted(tmp_path, ("remove", {"path": folder})) / folder).exists()


def test_a_folder_that_governs_runs_is_not_renamed_unasked(tmp_path: Path) -> None:
    assert (acted(tmp_path, ("move", {"path": "evals", "to": "old"})) / "evals").exists()


def test_the_path_of_a_folder_with_what_governs_raises_more_than_a_deletion() -> None:
    assert [*raised_by_change("evals/**", frozenset({"evals/*.yaml", "evals/own.py"}))]


@pytest.mark.parametrize(("text", "old", "new"), [("# /bin/sh\n", " ", "!"), ("x#!/bin/sh\n", "x#", "#")])
def test_an_edit_makes_no_script_unasked(tmp_path: Path, text: str, old: str, new: str) -> None:
    write = ("write_file", {"path": "notes", "content": text})
    root = acted(tmp_path, write, ("edit_file", {"path": "notes", "old": old, "new": new}))
    assert not (root / "notes").read_text().startswith("#!")


def test_a_command_that_makes_many_files_leaves_no_code_behind(tmp_path: Path) -> None:
    (tmp_path / "out/many").mkdir(parents=True)
    with Root.open(tmp_path) as files:
        exposure = expose(files, tmp_path, ["out/**"], WriteGuard(frozenset()))
    (tmp_path / "out/evil.py").write_text("")
    for number in range(50_001):
        (tmp_path / f"out/many/{number}").touch()
    with suppress(LlmdoError):
        set_aside_intruders(tmp_path, exposure)
    assert not (tmp_path / "out/evil.py").exists()


AS_ANYBODY = """\
import sys
from pathlib import Path
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.exposure import WriteGuard, expose, set_aside_intruders

root = Path(sys.argv[1])
(root / "out").mkdir()
with Root.open(root) as files:
    exposure = expose(files, root, ["out/**"], WriteGuard(frozenset()))
for path in sys.argv[3:]:
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text("")
(root / sys.argv[3]).parent.chmod(int(sys.argv[2], 8))
try:
    set_aside_intruders(root, exposure)
finally:
    left = []
    for path in sys.argv[3:]:
        try:
            (root / path).open().close()
        except OSError:
            continue
        left.append(path)
    print(left)
"""


@pytest.mark.parametrize(
    ("mode", "paths"),
    [
        ("311", ["out/dark/evil.py"]),  # it is not listed, and its files are opened by their names
        ("555", ["out/fixed/evil.py"]),  # nothing is moved out of it
        ("555", ["out/a.py/x", "out/evil.py"]),  # it is not moved itself, and nothing after it is
    ],
)
def test_modes_of_folders_keep_no_code_where_a_command_made_it(
    tmp_path: Path, mode: str, paths: list[str]
) -> None:
    words = unprivileged([sys.executable, "-c", AS_ANYBODY, str(tmp_path), mode, *paths])
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_bare_repository_that_a_worker_makes_is_no_code_to_git(tmp_path: Path) -> None:
    assert any(
        is_code(f"notes/{name}") or is_protected(f"notes/{name}") for name in ("HEAD", "config", "objects/x")
    )


@pytest.mark.needs_bwrap
@pytest.mark.parametrize("ends", ["well", "with an error"])
def test_what_an_isolated_server_made_is_set_aside_however_the_run_ends(tmp_path: Path, ends: str) -> None:
    (tmp_path / "w").mkdir()
    table = 'isolation = "require"\ncapabilities = { write = ["fs.write:notes/**"] }'
    root = locked(workspace(tmp_path / "w", table=table, rules='"fs.write" = "allowed"'))
    (root / "notes").mkdir()
    read = project.read(root)
    with Root.open(root) as files:
        folders = Folders(root)
        launcher = Launcher(folders=folders, files=files, governing=frozenset(), environ=os.environ)
        with suppress(ZeroDivisionError), launcher.prepared(read.graph.toolsets["raw"]):
            (root / "notes/evil.py").write_text("")
            assert ends == "well" or 1 / 0
    assert not (root / "notes/evil.py").exists()


def test_code_that_somebody_allowed_is_not_set_aside_when_a_server_ends(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with Root.open(tmp_path) as files:
        exposure = expose(files, tmp_path, ["notes/**"], WriteGuard(frozenset()))  # a server starts
        files.write_atomic("notes/allowed.py", b"")  # `write_file`, after a question
        files.write_atomic("notes/changed.py", b"")
        (tmp_path / "notes/changed.py").write_text("by the server")
        assert set_aside_intruders(tmp_path, exposure) == ("notes/changed.py",)  # the server ends
    assert (tmp_path / "notes/allowed.py").exists()


def test_a_workspace_with_much_code_has_isolated_commands_that_write(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for number in range(2_001):
        (tmp_path / f"src/{number}.py").touch()
    with Root.open(tmp_path) as files:
        expose(files, tmp_path, ["**"], WriteGuard(frozenset()))


def test_the_folder_of_a_program_is_not_looked_for_outside_the_workspace(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "w"
    for folder in (outside, root):
        folder.mkdir()
    (root / "link").symlink_to(outside)
    server = Server(command="make", args=("-C", "link", "serve"))
    before = programs_of(server, SourceFiles(root)).digests
    (outside / "other.sh").touch()
    assert programs_of(server, SourceFiles(root)).digests == before


def test_data_beside_a_program_costs_a_check_little(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number in range(1_000):
        (tmp_path / f"data/{number}").touch()
    server = Server(command="make", args=("serve",))
    calls = calls_made(lambda: programs_of(server, SourceFiles(tmp_path)))
    assert calls < 100 * 1_000, "their names and modes are looked at, not what is in them"


@pytest.mark.parametrize("path", ["target/debug/serve", "data/counts", "log"])
def test_what_a_server_writes_does_not_make_the_lock_stale(tmp_path: Path, path: str) -> None:
    (tmp_path / "Cargo.toml").write_text("")
    server = Server(command="cargo", args=("run",))
    before = programs_of(server, SourceFiles(tmp_path)).digests
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("written by the server")
    assert programs_of(server, SourceFiles(tmp_path)).digests == before


def test_a_server_of_odd_words_is_no_crash(tmp_path: Path) -> None:
    for cwd in ("a\0b", "x" * 5_000, "../x"):
        programs_of(Server(command="make", args=("serve",), cwd=cwd), SourceFiles(tmp_path))
