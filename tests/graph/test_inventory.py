"""The inventory of a graph: one list of what executes, which trust, the gate, the lock, isolation and imports all go by."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.extensions.registry import features
from llmdo.graph.described import Server
from llmdo.graph.inventory import NAMES_A_PATH, Inventory
from llmdo.policy.protection import is_code, is_protected
from llmdo.services import locking
from llmdo.syntax.globs import is_pattern
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.exposure import WriteGuard, expose
from llmdo.toolsets.launch import Launcher
from llmdo.toolsets.python import Modules
from llmdo.workspace import lock, project
from llmdo.workspace.programs import programs_of
from llmdo.workspace.root import Folders
from llmdo.workspace.source_files import SourceFiles
from llmdo.workspace.trust.consent import question_of
from tests.support.commands import llmdo
from tests.support.mcp_workspaces import SERVER

MARK = "executed"
PAYLOAD = f"import pathlib\nwith pathlib.Path(__file__).parent.joinpath('{MARK}').open('a') as mark:\n    mark.write('x')\n"

MANIFEST = f"""\
schema = 1

[workspace]
name = "whole"
workers = ["workers/*.worker"]
toolset-modules = ["tools/*.py"]
model = "python:models.py:rules"

[models]
played = "replay:recordings/past.sqlite"
written = "script:answers/all.yaml"

[policy]
extends = ["policies/base.toml"]

[toolsets.calc]
sources = ["plugins/*.py"]

[toolsets.installed]
python = "pydantic_ai.toolsets.function:FunctionToolset"

[toolsets.notes]
mcp = {{ command = "{sys.executable}", args = ["-S", "server.py"] }}

[toolsets.shell]
isolation = "auto"
rules = [{{ run = ["sh", "job.txt"] }}]

[approvals.rules]
"fs.write" = "allowed"
"mcp" = "allowed"
"proc.exec" = "allowed"

[entries.main]
worker = "main"

[entries.nightly]
function = "entries.py:nightly"
calls = ["main"]
"""

WRITER = """\
import json
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

HERE = Path(__file__).parent


def act(messages, info):
    returns = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if returns:
        return ModelResponse(parts=[TextPart(json.dumps([part.outcome for part in returns]))])
    plan = json.loads((HERE / "plan.json").read_text())
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in plan] or [TextPart("nothing")])


rules = FunctionModel(act)
"""

FILES = {
    "llmdo.toml": MANIFEST,
    "workers/main.worker": "---\nname: main\nentry: true\nschema_in_ref: schemas.py:Request\n"
    "toolsets: { filesystem: { write: ['**'] }, calc: {}, notes: {}, installed: {}, shell: {} }\n---\nGo.\n",
    "tools/calc.py": "import helpers\nfrom pydantic_ai import FunctionToolset\ncalc = FunctionToolset()\n",
    "helpers.py": "",
    "plugins/extra.py": "",
    "models.py": WRITER,
    "entries.py": "async def nightly(runtime, input):\n    return 'night'\n",
    "schemas.py": "from pydantic import BaseModel\nclass Request(BaseModel):\n    text: str = ''\n",
    "server.py": "import srvlib\n" + SERVER.read_text().replace("from __future__ import annotations\n", ""),
    "srvlib.py": "",
    "policies/base.toml": 'schema = 1\n[approvals.rules]\n"net" = "blocked"\n',
    "evals/e.yaml": 'schema: 1\nentry: main\ncases:\n  - name: a\n    input: "{}"\n'
    "evaluators:\n  function: evals/own.py:ok\n",
    "evals/own.py": "from evals import words\n\n\ndef ok(ctx):\n    return words.YES\n",
    "evals/words.py": "YES = True\n",
    "recordings/past.sqlite": "not read",
    "answers/all.yaml": "main:\n  - answer: done\n",
    ".venv/pyvenv.cfg": "home = /usr\n",
    ".venv/lib/site-packages/lib.py": "",
    "plan.json": "[]",
    "job.txt": "true\n",
}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A workspace with something of every kind, locked."""
    root = tmp_path / "whole"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    lock.write(root, locking.derive_with_servers(project.read(root)).graph)
    assert project.read(root).is_current
    return root


def inventory_of(root: Path) -> Inventory:
    return Inventory.of(project.read(root).graph)


def sample(name: str) -> str:
    """A path that a place of the inventory stands for."""
    return name.replace("**/", "deep/").replace("*", "new").rstrip("/") + (
        "/new.js" if name.endswith("/") else ""
    )


def test_the_workspace_has_something_of_every_kind(whole: Path) -> None:
    kinds = {item.kind for item in inventory_of(whole).items}
    assert kinds == {*NAMES_A_PATH, "package", "server", "shell"} - {
        "adopted"
    }  # `tests/foreign/test_adopted.py`
    names = {item.key for item in inventory_of(whole).items}
    assert {
        "judge evals/own.py", "judge evals/words.py", "program server.py", "program srvlib.py", "python helpers.py",
        "python plugins/extra.py", "python schemas.py", "recording recordings/past.sqlite", "script answers/all.yaml", "policy policies/base.toml",
        "path tools/*.py", "path .venv", "path evals/*.yaml", "path evals/*.json", "path recordings/**", "path *.py",
        "path plugins/*.py", "path workers/*.worker",
    } <= names  # fmt: skip


def test_a_person_is_asked_about_all_that_is_executed(whole: Path) -> None:
    graph = project.read(whole).graph
    assert question_of(graph, whole, {"HOME": str(whole.parent)}).items == Inventory.of(graph).executed


def test_a_change_of_any_file_of_it_makes_the_lock_stale(whole: Path) -> None:
    dated = [item for item in inventory_of(whole).items if item.kind in NAMES_A_PATH and item.digest]
    assert len(dated) > 10
    for item in dated:
        path = whole / item.name
        before = path.read_bytes()
        path.write_bytes(before + (b"\n[trust]\n" if item.kind == "policy" else b"\n# edited\n"))
        assert not project.read(whole).is_current, item.key
        assert llmdo(whole, "check", "--locked").returncode == 1, item.key
        path.write_bytes(before)
    assert project.read(whole).is_current


def test_isolation_mounts_none_of_it_writable(whole: Path) -> None:
    governing = inventory_of(whole).governing
    with Root.open(whole) as files:
        exposure = expose(files, whole, ["**"], WriteGuard(governing))
    modes = {mount.path: mount.mode for mount in exposure.mounts}
    existing = [name for name in governing if not is_pattern(name) and (whole / name.rstrip("/")).exists()]
    assert len(existing) > 10
    for name in existing:
        parts = name.rstrip("/").split("/")
        around = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        deepest = next((modes[path] for path in reversed(around) if path in modes), "read")
        assert deepest == "read", name


def test_what_is_imported_and_started_is_held_against_it_immediately_before(whole: Path) -> None:
    graph = project.read(whole).graph
    for path in [item.name for item in Inventory.of(graph).items if item.kind in ("python", "judge")]:
        (whole / path).write_text(PAYLOAD)
        code = {**graph.code, **graph.judges}
        with (
            Root.open(whole) as files,
            Modules(whole, files, code) as modules,
            pytest.raises(LlmdoError, match="is not what it was when the workspace was read"),
        ):
            modules.load(f"{path}:x")
    with Root.open(whole) as files:
        launcher = Launcher(folders=Folders(whole), files=files, governing=frozenset(), environ=os.environ)
        for path in graph.toolsets["notes"].programs:
            before = (whole / path).read_text()
            (whole / path).write_text(PAYLOAD)
            with (
                pytest.raises(LlmdoError, match="is not what it was when it was locked"),
                launcher.prepared(graph.toolsets["notes"]),
            ):
                pass
            (whole / path).write_text(before)
        with launcher.prepared(graph.toolsets["notes"]) as launch:
            assert launch.command == sys.executable
    assert not [*whole.rglob(MARK)]


KINDS = [
    "fresh.py", "src/app/main.py", "deploy.sh", "web/app.js", "web/app.tsx", "Makefile", "sub/Makefile", "package.json",
    "pyproject.toml", "Dockerfile", "CLAUDE.md", "AGENTS.md", "sub/AGENTS.md", ".mcp.json", ".husky/pre-commit",
    ".zed/tasks.json", "mise.toml", ".env.local", "prod.env", ".envrc", ".vscode/tasks.json", ".claude/settings.json",
    ".cursor/mcp.json", ".github/workflows/ci.yml", ".git/hooks/post-commit", "venv/lib/python3.11/site-packages/x.py",
    ".venv/lib/site-packages/httpx/__init__.py", "node_modules/x/index.js", "tools/new.py", "evals/new.yaml",
    "evals/e.recorded.json", "recordings/new.sqlite", "plugins/new.py", "workers/new.worker", "sitecustomize.py",
    "llmdo.toml", "llmdo.lock", ".llmdo/runs/x", "srvlib/__init__.py", "selectors.py", "tools/helpers.pyc",
]  # fmt: skip
"""The files of the kinds that an attack wrote: none of them may be written without a question."""


def test_no_file_that_could_be_executed_is_written_unasked_or_executed(whole: Path) -> None:
    generated = {sample(name) for name in inventory_of(whole).governing}
    paths = sorted({*KINDS, *generated, "run-me"})
    before = {path: (whole / path).read_bytes() for path in paths if (whole / path).is_file()}
    plan = [("write_file", {"path": path, "content": PAYLOAD}) for path in paths]
    plan[-1:] = [("write_file", {"path": "notes.md", "content": "a note"}), *plan[-1:]]
    plan += [("write_file", {"path": "run-me-too", "content": "#!/bin/sh\n"})]
    (whole / "run-me").write_text("echo\n")
    (whole / "run-me").chmod(0o755)
    before["run-me"] = b"echo\n"
    (whole / "plan.json").write_text(json.dumps(plan))
    done = llmdo(whole, "run", "main", "{}", "--locked", environ={**os.environ, "LLMDO_TRUST": "1"})
    assert "needed an approval; nobody can be asked here" in done.stderr
    outcomes = dict(zip([arguments["path"] for _, arguments in plan], json.loads(done.stdout), strict=True))
    assert [path for path, outcome in outcomes.items() if outcome == "success"] == ["notes.md"]
    assert {path: (whole / path).read_bytes() for path in before} == before
    assert not [path for path in paths if path not in before and (whole / path).is_file()]
    (whole / "plan.json").write_text("[]")
    evaluating = [["eval"] for feature in features() if feature.name == "evaluation"]
    for words in (["lock"], ["run", "main", "{}"], ["run", "nightly", "x"], *evaluating):
        assert llmdo(whole, *words, environ={**os.environ, "LLMDO_TRUST": "1"}).returncode == 0, words
    assert not [*whole.rglob(MARK)]


@pytest.mark.needs_bwrap
def test_no_isolated_command_writes_what_could_be_executed(whole: Path) -> None:
    generated = {sample(name) for name in inventory_of(whole).governing}
    paths = sorted(path for path in {*KINDS, *generated} if "'" not in path)
    before = {path: (whole / path).read_bytes() for path in paths if (whole / path).is_file()}
    (whole / "out").mkdir()
    names = {Path(path).name for path in KINDS}
    lines = [f"mkdir -p '{Path(path).parent}'; echo evil > '{path}'" for path in paths]
    lines += [f"echo evil > out/{name}" for name in names]
    lines += ["echo evil > out/started; chmod 755 out/started"]
    (whole / "job.txt").write_text("\n".join([*lines, "echo fine > out/notes.md"]))
    (whole / "plan.json").write_text(json.dumps([("shell", {"command": ["sh", "job.txt"]})]))
    done = llmdo(whole, "run", "main", "{}", environ={**os.environ, "LLMDO_TRUST": "1"})
    assert done.returncode == 0, done.stderr
    assert (whole / "out/notes.md").read_text() == "fine\n"
    assert {path: (whole / path).read_bytes() for path in before} == before
    assert not [path for path in paths if path not in before and (whole / path).is_file()]
    harmless = {name for name in names if not (is_code(name) or is_protected(name))}
    assert harmless == {
        "ci.yml", "e.recorded.json", "new.sqlite", "new.yaml", "post-commit", "pre-commit", "settings.json", "tasks.json",
        "x",
    }  # fmt: skip  # which only their folders make more than names
    assert {path.name for path in (whole / "out").iterdir()} == {"notes.md", *harmless}


def test_a_ceiling_cuts_code_off_and_the_message_gives_the_line_to_add(whole: Path) -> None:
    manifest = MANIFEST.replace(
        '[entries.main]\nworker = "main"', '[entries.main]\nworker = "main"\nmay = ["fs", "mcp"]'
    )
    (whole / "llmdo.toml").write_text(manifest)
    (whole / "plan.json").write_text(json.dumps([("write_file", {"path": "src/a.js", "content": "x"})]))
    done = llmdo(whole, "run", "main", "{}", "--approve-all", environ={**os.environ, "LLMDO_TRUST": "1"})
    assert 'admits it only by its full name: add "fs.write.code:src/a.js" to `may`' in done.stderr, (
        done.stderr
    )
    assert not (whole / "src").exists()
    (whole / "llmdo.toml").write_text(manifest.replace('"mcp"]', '"mcp", "fs.write.code:src/**"]'))
    asked = llmdo(whole, "run", "main", "{}", environ={**os.environ, "LLMDO_TRUST": "1"})
    assert "needs_approval" in asked.stderr
    assert not (whole / "src").exists()
    llmdo(
        whole,
        "run",
        "main",
        "{}",
        "--approve",
        "fs.write.code:src/**",
        environ={**os.environ, "LLMDO_TRUST": "1"},
    )
    assert (whole / "src/a.js").read_text() == "x"


def test_a_program_that_was_edited_by_hand_is_not_executed_before_it_is_locked_again(whole: Path) -> None:
    for path in ("server.py", "srvlib.py"):
        before = (whole / path).read_text()
        (whole / path).write_text(before + PAYLOAD)
        (whole / "plan.json").write_text(json.dumps([("echo", {"text": "x"})]))
        assert "toolset `notes`: its program changed" in llmdo(whole, "check", "--locked").stdout
        for words in (["run", "main", "{}", "--locked"], ["run", "main", "{}"]):
            done = llmdo(whole, *words, environ={**os.environ, "LLMDO_TRUST": "1"})
            assert done.returncode != 0, words
        assert not [*whole.rglob(MARK)]
        (whole / path).write_text(before)


@pytest.mark.parametrize(
    ("command", "args", "files", "known"),
    [
        ("python3", ["server.py"], ["server.py=import lib", "lib.py", "other.py"], ["lib.py", "server.py"]),
        ("python3", ["-u", "srv/server.py"], ["srv/server.py=import lib", "srv/lib.py", "lib.py"], ["srv/lib.py", "srv/server.py"]),
        ("python3.11", ["-m", "server"], ["server.py=import lib", "lib.py"], ["lib.py", "server.py"]),
        ("python3", ["-Ium", "server"], ["server.py=import lib", "lib.py"], ["lib.py", "server.py"]),
        ("python3", ["-m", "uvicorn", "server:app"], ["server.py=import lib", "lib.py"], ["lib.py", "server.py"]),
        ("python", ["-mpkg.server"], ["pkg/__init__.py", "pkg/server.py=from . import a", "pkg/a.py"], ["pkg/__init__.py", "pkg/a.py", "pkg/server.py"]),
        ("python", ["-m", "pkg"], ["pkg/__init__.py", "pkg/__main__.py=import lib", "lib.py"], ["lib.py", "pkg/__init__.py", "pkg/__main__.py"]),
        ("python3", ["-W", "error", "srv"], ["srv/__main__.py", "srv/x.py", "data.csv"], ["srv/"]),
        ("python3", ["-c", "import lib"], ["lib.py"], ["./"]),
        ("fastmcp", ["run", "server.py:mcp"], ["server.py=import lib", "lib.py"], ["lib.py", "server.py"]),
        ("uvicorn", ["server:app"], ["server.py=import lib", "lib.py"], ["lib.py", "server.py"]),
        ("uv", ["run", "server.py"], ["server.py=import lib", "lib.py", "pyproject.toml"], ["lib.py", "pyproject.toml", "server.py"]),
        ("uv", ["--directory", "srv", "run", "server"], ["srv/pyproject.toml", "srv/x.py"], ["srv/", "srv/pyproject.toml"]),
        ("node", ["."], ["index.js", "package.json", "notes.md"], ["./"]),
        ("node", ["srv"], ["srv/index.js"], ["srv/"]),
        ("node", ["srv/index"], ["srv/index.js"], ["srv/"]),
        ("node", ["srv/main.mjs"], ["srv/main.mjs", "srv/lib.mjs"], ["srv/", "srv/main.mjs"]),
        ("npx", ["tsx", "srv/main.tsx"], ["srv/main.tsx"], ["srv/", "srv/main.tsx"]),
        ("make", ["serve"], ["Makefile", "serve/x.py"], ["./"]),
        ("make", ["-C", "srv", "serve"], ["srv/Makefile"], ["./", "srv/"]),
        ("npm", ["run", "start"], ["package.json"], ["./"]),
        ("runner", ["--script=server.py"], ["server.py=import lib", "lib.py"], ["lib.py", "server.py"]),
        ("sh", ["-c", "python3 server.py"], ["server.py"], ["./", "server.py"]),
        ("./bin/serve", [], ["bin/serve"], ["bin/", "bin/serve"]),
        ("npx", ["-y", "@acme/server@1.2.3", "notes"], ["notes/a.md", "package.json"], []),
        ("github-mcp-server", ["stdio"], ["stdio/x.py", "server.py"], []),
        ("notes-server", ["--db", "data.db", "notes"], ["data.db", "notes/a.md"], []),
        ("python3", ["/opt/acme/server.py"], ["server.py"], []),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value)[:40],
)  # fmt: skip
def test_what_a_server_executes_of_the_workspace_is_known_from_its_words(
    tmp_path: Path, command: str, args: list[str], files: list[str], known: list[str]
) -> None:
    for stated in files:
        path, _, text = stated.partition("=")
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    programs = programs_of(Server(command=command, args=tuple(args)), SourceFiles(tmp_path))
    assert sorted(programs.digests) == known
    assert programs.problems == ()
    for path in known:
        assert is_protected(sample(path) if path != "./" else "any/new.js", programs.governing), path


@pytest.mark.parametrize("kind", ["sibling", "package", "standard library", "compiled"])
def test_nothing_can_come_between_a_script_and_what_it_imports(tmp_path: Path, kind: str) -> None:
    (tmp_path / "server.py").write_text("import asyncio\n")
    programs = programs_of(Server(command="python3", args=("server.py",)), SourceFiles(tmp_path))
    path = {
        "sibling": "idna.py",
        "package": "idna/__init__.py",
        "standard library": "selectors.py",
        "compiled": "x.so",
    }
    assert is_protected(path[kind], programs.governing)
    assert not is_protected("notes/a.md", programs.governing)


@pytest.mark.long
def test_a_folder_whose_code_is_too_much_to_read_is_a_finding(tmp_path: Path) -> None:
    from llmdo.workspace.program_files import MAX_FILES

    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\n'
        '[toolsets.t]\nmcp = { command = "node", args = ["."] }\n'
    )
    (tmp_path / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [t]\n---\nGo.\n")
    for number in range(MAX_FILES + 1):
        (tmp_path / f"{number}.js").touch()
    done = llmdo(tmp_path, "check", "--format", "concise")
    assert done.returncode == 1
    assert (
        "LDO105]: what the MCP server `t` executes cannot be known: `./` holds more than 5,000 files"
        in done.stdout
    )


@pytest.mark.parametrize("target", ["in the workspace", "outside"])
def test_a_program_behind_a_link_is_what_the_link_leads_to(tmp_path: Path, target: str) -> None:
    root = tmp_path / "w"
    (root / "lib").mkdir(parents=True)
    real = root / "lib/real.py" if target == "in the workspace" else tmp_path / "real.py"
    real.write_text("x = 1\n")
    (root / "server.py").symlink_to(real)
    programs = programs_of(Server(command="python3", args=("server.py",)), SourceFiles(root))
    assert list(programs.digests) == (["lib/real.py"] if target == "in the workspace" else [])
    assert is_protected("server.py", programs.governing)
    assert is_protected("lib/real.py", programs.governing) == (target == "in the workspace")


@pytest.mark.parametrize(
    "cwd", ["../outside", "link", "a/../../outside", "/etc", "missing", "\0", "a" * 5_000]
)
def test_nothing_outside_of_the_workspace_is_looked_into(tmp_path: Path, cwd: str) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.py").write_text("x")
    (root / "link").symlink_to(tmp_path / "outside")
    for words in (
        ["make"],
        ["python3", "-m", "secret"],
        ["node", "."],
        ["python3", "secret.py"],
        ["python3", cwd],
    ):
        server = Server(command=words[0], args=(*words[1:], cwd, f"--script={cwd}/secret.py"), cwd=cwd)
        programs = programs_of(server, SourceFiles(root))
        assert "secret" not in " ".join([*programs.digests, *programs.problems])


def test_links_and_cycles_in_the_folder_of_a_program_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "srv/sub").mkdir(parents=True)
    (tmp_path / "srv/main.js").write_text("")
    (tmp_path / "srv/sub/again").symlink_to(tmp_path / "srv")
    (tmp_path / "srv/passwd").symlink_to("/etc/passwd")
    server = Server(command="node", args=("srv/main.js",))
    before = programs_of(server, SourceFiles(tmp_path)).digests
    assert set(before) == {"srv/", "srv/main.js"}
    (tmp_path / "srv/passwd").unlink()
    (tmp_path / "srv/passwd").symlink_to("/etc/group")
    assert programs_of(server, SourceFiles(tmp_path)).digests["srv/"] != before["srv/"]


@pytest.mark.parametrize("words", [["node", "srv/main.js"], ["python3", "srv/main.py"]])
def test_what_a_link_beside_a_program_leads_to_is_part_of_it(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "srv").mkdir()
    (tmp_path / "data").mkdir()
    ending = words[1][-2:]
    (tmp_path / words[1]).write_text("import lib\n")
    (tmp_path / "data/blob").write_text("a")
    (tmp_path / f"srv/lib.{ending}").symlink_to(tmp_path / "data/blob")
    server = Server(command=words[0], args=(words[1],))
    before = programs_of(server, SourceFiles(tmp_path))
    assert is_protected("data/blob", before.governing)
    assert is_protected(f"srv/lib.{ending}", before.governing)
    (tmp_path / "data/blob").write_text("b")
    assert programs_of(server, SourceFiles(tmp_path)).digests != before.digests


@pytest.mark.parametrize("importer", ["workspace", "library"])
def test_what_is_installed_in_the_workspace_does_not_replace_what_was_reviewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, importer: str
) -> None:
    packages = tmp_path / ".venv/lib/site-packages"
    packages.mkdir(parents=True)
    (packages / "reviewed_helpers.py").write_text("WHO = 'installed'\n")
    (packages / "some_library.py").write_text("from reviewed_helpers import WHO\n")
    (tmp_path / "reviewed_helpers.py").write_text("WHO = 'reviewed'\n")
    module = {"workspace": "reviewed_helpers", "library": "some_library"}[importer]
    (tmp_path / "calc.py").write_text(f"from {module} import WHO\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.syspath_prepend(str(packages))
    code = {path: lock_digest(tmp_path / path) for path in ("calc.py", "reviewed_helpers.py")}
    before = {*sys.modules}
    try:
        with Root.open(tmp_path) as files, Modules(tmp_path, files, code) as modules:
            assert modules.load("calc.py:WHO") == {"workspace": "reviewed", "library": "installed"}[importer]
    finally:
        for name in {*sys.modules} - before:
            del sys.modules[name]


def lock_digest(path: Path) -> str:
    from llmdo.base import digest

    return digest.of_text(path.read_text())


def test_an_older_lock_shows_the_new_rule_once(whole: Path, llmdo_diff: Callable[[Path], str]) -> None:
    text = (whole / "llmdo.lock").read_text()
    (whole / "older.lock").write_text(text.replace("built-in-rules = 3", "built-in-rules = 2"))
    printed = llmdo_diff(whole)
    assert printed.count("built-in-rules") == 1


@pytest.fixture
def llmdo_diff() -> Callable[[Path], str]:
    """What `diff` prints of an older lock and the one there is."""
    return lambda root: llmdo(root, "diff", "--locks", "older.lock", "llmdo.lock").stdout


HOOKED = """\
import llmdo
from pydantic_ai import FunctionToolset


class Disk(FunctionToolset):
    def get_capabilities(self, name, tool_args, ctx, config):
        return {llmdo.Capability("fs.write" if name == "put" else "fs.delete", tool_args["path"])}


disk = Disk()


@disk.tool_plain(metadata={"capabilities": ["fs.write"]})
def put(path: str) -> str:
    return "done"


@disk.tool_plain(metadata={"capabilities": ["fs.delete"]})
def remove(path: str) -> str:
    return "done"
"""


@pytest.mark.parametrize("tool", ["put", "remove"])
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("notes/a.md", None),
        ("notes/a.py", "fs.write.code:notes/a.py"),
        ("notes/run", "fs.write.code:notes/run"),
        ("tools/disk.py", "fs.write.protected:tools/disk.py"),
        ("llmdo.toml", "fs.write.protected:llmdo.toml"),
        ("../elsewhere.md", "fs.write.code"),
        ("notes/**", None),
    ],
)
def test_what_a_toolset_in_python_says_it_changes_is_judged_by_the_same_names(
    tmp_path: Path, tool: str, path: str, asked: str | None
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/run").write_text("")
    (tmp_path / "notes/run").chmod(0o755)
    (tmp_path / "tools/disk.py").write_text(HOOKED)
    (tmp_path / "models.py").write_text(WRITER)
    (tmp_path / "main.worker").write_text("---\nname: main\nentry: true\ntoolsets: [disk]\n---\nGo.\n")
    (tmp_path / "llmdo.toml").write_text(
        'schema = 1\n[workspace]\nname = "w"\nworkers = ["*.worker"]\ntoolset-modules = ["tools/*.py"]\n'
        'model = "python:models.py:rules"\n[approvals.rules]\n"fs.write" = "allowed"\n"fs.delete" = "allowed"\n'
    )
    (tmp_path / "plan.json").write_text(json.dumps([(tool, {"path": path})]))
    environ = {**os.environ, "LLMDO_TRUST": "1"}
    assert llmdo(tmp_path, "lock", environ=environ).returncode == 0
    done = llmdo(tmp_path, "run", "main", "{}", environ=environ)
    assert json.loads(done.stdout) == ["success" if asked is None else "failed"], done.stderr
    assert asked is None or f"`{asked}`" in done.stderr
    reach = llmdo(tmp_path, "reach", "main").stdout
    assert "fs.write.code       needs_approval" in reach
    assert "fs.write.protected  needs_approval" in reach
