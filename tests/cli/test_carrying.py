"""A run that is carried to another machine, with the code that it needs, and goes on there."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from llmdo.base.digest import of_text
from llmdo.graph.inventory import Inventory
from llmdo.journal import Runs
from llmdo.journal.binding import binding_of
from llmdo.services import basis as bases
from llmdo.workspace import project
from tests.support import forking
from tests.support.forging import forging

from .conftest import Llmdo

MODELS = """\
import os
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    with open(os.environ["REQUESTS"], "a") as log:
        log.write("x")
    returns = [p.content for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if returns:
        return ModelResponse(parts=[TextPart(" | ".join(map(str, returns)))])
    return ModelResponse(parts=[ToolCallPart("note", {"text": messages[0].parts[-1].content})])


rules = FunctionModel(answer)
"""
TOOLS = """\
import os
from pydantic_ai.toolsets import FunctionToolset
from helpers.words import said

tools = FunctionToolset(id="tools")


@tools.tool_plain(metadata={"capabilities": ["x.tools.note"]})
def note(text: str) -> str:
    with open(os.environ["EFFECTS"], "a") as log:
        log.write(text + "\\n")
    return said(text)
"""


@pytest.fixture
def asking(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose `main` notes its input, which nothing allows, with a tool that imports a package."""
    manifest = (workspace / "llmdo.toml").read_text()
    (workspace / "llmdo.toml").write_text(f'{manifest}\n[toolsets.tools]\npython = "tools.py:tools"\n')
    (workspace / "models.py").write_text(MODELS)
    (workspace / "tools.py").write_text(TOOLS)
    (workspace / "helpers").mkdir()
    (workspace / "helpers" / "__init__.py").write_text("")
    (workspace / "helpers" / "words.py").write_text("def said(text): return f'noted {text}'\n")
    (workspace / "unused.py").write_text("KEY = 'sk-proj-abcdefghijklmnopqrstuvwx'\n")
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo.\n")
    for name in ("REQUESTS", "EFFECTS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return workspace


def lines(tmp_path: Path) -> tuple[int, list[str]]:
    """The number of model requests, and the effects."""
    read = [
        (tmp_path / name).read_text() if (tmp_path / name).exists() else ""
        for name in ("REQUESTS", "EFFECTS")
    ]
    return len(read[0]), read[1].splitlines()


def stopped(llmdo: Llmdo, asking: Path, file: Path) -> str:
    """Exports a run that waits for an answer; its id."""
    assert llmdo("run", "main", "hello", "--approvals", "later", cwd=asking).code == 3
    assert llmdo("runs", "export", "last", str(file), cwd=asking).code == 0
    return Runs(asking).find("last")


def moved_on(asking: Path, tmp_path: Path) -> Path:
    """A clone of the workspace, elsewhere, in which a prompt and what a tool imports have changed since."""
    clone = tmp_path / "elsewhere" / "clone"
    shutil.copytree(asking, clone, ignore=shutil.ignore_patterns(".llmdo"))
    (clone / "main.worker").write_text("---\nname: main\ntoolsets: [tools]\n---\nGo on.\n")
    (clone / "helpers" / "words.py").write_text("def said(text): return f'wrote {text}'\n")
    return clone


def process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return forking.run([sys.executable, "-m", "llmdo", *words], cwd=cwd, capture_output=True, text=True)


@pytest.mark.long
def test_a_run_goes_on_with_its_own_sources_where_the_branch_has_moved_on(
    llmdo: Llmdo, asking: Path, tmp_path: Path
) -> None:
    file = tmp_path / "run.sqlite"
    run = stopped(llmdo, asking, file)
    assert lines(tmp_path) == (1, [])
    clone = moved_on(asking, tmp_path)
    before = {path: path.read_bytes() for path in clone.rglob("*.*") if path.is_file()}
    taken = process("runs", "import", str(file), cwd=clone)
    assert taken.stdout == f"{run}\n"
    assert "differs from the workspace: worker `main`: its prompt changed" in taken.stderr
    assert "4 source files in " in taken.stderr
    assert process("approve", "last", "--yes", "main/note#1", cwd=clone).returncode == 0
    refused = process("resume", "last", cwd=clone)
    assert refused.returncode == 2
    assert "toolset `tools`: its source changed" in refused.stderr
    assert "`--sources run` runs the code that it began with" in refused.stderr
    assert lines(tmp_path) == (1, [])
    done = process("resume", "last", "--sources", "run", cwd=clone)
    assert (done.returncode, done.stdout) == (0, "noted hello\n"), done.stderr
    assert "goes on with the sources of the run, which differ from the workspace in: " in done.stderr
    assert "worker `main`: its prompt changed" in done.stderr
    assert lines(tmp_path) == (2, ["hello"])
    assert {path: path.read_bytes() for path in before} == before
    again = process("runs", "export", "last", str(tmp_path / "again.sqlite"), cwd=clone)
    assert again.returncode == 0
    replayed = process("replay", str(tmp_path / "again.sqlite"), "--sources", "run", cwd=tmp_path)
    assert (replayed.returncode, replayed.stdout) == (0, "noted hello\n"), replayed.stderr
    assert lines(tmp_path) == (2, ["hello"])


@pytest.mark.long
def test_a_code_entry_is_repeated_without_its_workspace(llmdo: Llmdo, asking: Path, tmp_path: Path) -> None:
    manifest = asking / "llmdo.toml"
    manifest.write_text(
        manifest.read_text()
        + '[approvals.rules]\n"x.tools" = "allowed"\n[entries.twice]\nfunction = "entries.py:twice"\ncalls = ["main"]\n'
    )
    (asking / "entries.py").write_text(
        "from helpers.words import said\n\n\nasync def twice(runtime, text):\n"
        "    return said(await runtime.call_agent('main', text, None))\n"
    )
    done = llmdo("run", "twice", "hello", cwd=asking)
    assert done.out == "noted noted hello\n", done.err
    file = tmp_path / "run.sqlite"
    assert llmdo("runs", "export", "last", str(file), cwd=asking).code == 0
    refused = llmdo("replay", str(file), cwd=tmp_path)
    assert (refused.code, "`--sources run`" in refused.err, "--allow-drift" in refused.err) == (
        2,
        True,
        False,
    )
    assert llmdo("replay", str(file), "--sources", "run", cwd=tmp_path).out == done.out
    clone = moved_on(asking, tmp_path)
    assert llmdo("test", str(file), cwd=clone).code == 1
    held = llmdo("test", str(file), "--sources", "run", cwd=clone)
    assert (held.code, held.out) == (0, "run.sqlite: as it was\n"), held.err
    assert lines(tmp_path) == (2, ["hello"])


def test_what_a_bundle_brings_is_for_its_owner_alone_and_goes_with_the_run(
    llmdo: Llmdo, asking: Path, tmp_path: Path
) -> None:
    file = tmp_path / "run.sqlite"
    run = stopped(llmdo, asking, file)
    clone = moved_on(asking, tmp_path)
    assert llmdo("runs", "import", str(file), cwd=clone).code == 0
    folder = Runs(clone).sources(run)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py")) == [
        "helpers/__init__.py",
        "helpers/words.py",
        "models.py",
        "tools.py",
    ]
    assert llmdo("runs", "prune", run, cwd=clone).code == 0
    assert list(folder.parent.iterdir()) == []


@pytest.mark.long
def test_a_persons_policy_tightens_what_a_bundle_may_do(
    llmdo: Llmdo, asking: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.sqlite"
    stopped(llmdo, asking, file)
    clone = moved_on(asking, tmp_path)
    llmdo("runs", "import", str(file), cwd=clone)
    llmdo("approve", "last", "--yes", "main/note#1", cwd=clone)
    policy = tmp_path / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\n[approvals.rules]\n"x.tools" = "blocked"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert llmdo("resume", "last", "--sources", "run", cwd=clone).code != 0
    assert lines(tmp_path) == (1, [])


def test_code_that_was_changed_in_the_folder_is_not_run(llmdo: Llmdo, asking: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.sqlite"
    run = stopped(llmdo, asking, file)
    clone = moved_on(asking, tmp_path)
    llmdo("runs", "import", str(file), cwd=clone)
    (Runs(clone).sources(run) / "helpers" / "words.py").write_text("raise SystemExit('changed')\n")
    llmdo("approve", "last", "--yes", "main/note#1", cwd=clone)
    assert llmdo("resume", "last", "--sources", "run", cwd=clone).out == "noted hello\n"


@pytest.mark.long
def test_sources_that_are_no_longer_there_are_not_exported(
    llmdo: Llmdo, asking: Path, tmp_path: Path
) -> None:
    llmdo("run", "main", "hello", "--approvals", "later", cwd=asking)
    (asking / "helpers" / "words.py").write_text("def said(text): return text\n")
    shutil.rmtree(Runs(asking).folder / "sources")
    refused = llmdo("runs", "export", "last", str(tmp_path / "run.sqlite"), cwd=asking)
    assert refused.code == 2
    assert "the sources are not those that the run began with: `tools.py`" in refused.err
    assert not (tmp_path / "run.sqlite").exists()
    alone = llmdo("runs", "export", "last", str(tmp_path / "run.sqlite"), "--no-sources", cwd=asking)
    assert alone.code == 0
    clone = moved_on(asking, tmp_path)
    taken = llmdo("runs", "import", str(tmp_path / "run.sqlite"), cwd=clone)
    assert "it brings no sources" in taken.err
    without = llmdo("resume", "last", "--sources", "run", cwd=clone)
    assert (without.code, "brings no sources" in without.err) == (2, True)


@pytest.mark.parametrize("secret", ["sk-proj-abcdefghijklmnopqrstuvwx", "canary-of-the-environment"])
def test_no_secret_leaves_in_a_source_file(
    llmdo: Llmdo, asking: Path, tmp_path: Path, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "canary-of-the-environment")
    (asking / "helpers" / "words.py").write_text(f"KEY = '{secret}'\ndef said(text): return text\n")
    llmdo("run", "main", "hello", "--approvals", "later", cwd=asking)
    refused = llmdo("runs", "export", "last", str(tmp_path / "run.sqlite"), cwd=asking)
    assert refused.code == 2
    assert "what looks like a secret is in `helpers/words.py`" in refused.err
    assert secret not in refused.err
    assert llmdo("runs", "export", "last", str(tmp_path / "r.sqlite"), "--no-sources", cwd=asking).code == 0
    assert secret.encode() not in (tmp_path / "r.sqlite").read_bytes()


@pytest.mark.long
def test_what_is_not_as_it_was_on_the_other_machine_is_reported(
    llmdo: Llmdo, asking: Path, tmp_path: Path
) -> None:
    file = tmp_path / "run.sqlite"
    (asking / "helpers" / "words.py").write_text(
        "try:\n    import a_package_that_nobody_has\nexcept ImportError: pass\ndef said(text): return text\n"
    )
    stopped(llmdo, asking, file)
    change(
        file,
        "UPDATE entry SET body = replace(body, '\"python\":\"', '\"python\":\"2.7.') WHERE kind = 'session'",
    )
    stderr = llmdo("runs", "import", str(file), cwd=moved_on(asking, tmp_path)).err
    assert "imports `a_package_that_nobody_has`, which is not installed here" in stderr
    assert "warning: it ran with python 2.7." in stderr


def change(file: Path, statement: str, *values: object) -> None:
    with forging(file) as connection:
        connection.execute(statement, values)


def files_of(file: Path) -> dict[str, str]:
    connection = sqlite3.connect(file)
    body = connection.execute("SELECT body FROM entry WHERE kind = 'sources'").fetchone()[0]
    connection.close()
    by_path: dict[str, str] = json.loads(body)["files"]
    return by_path


def with_files(file: Path, files: object) -> None:
    change(file, "UPDATE entry SET body = ? WHERE kind = 'sources'", json.dumps({"files": files}).encode())


def with_path(path: str) -> Callable[[Path], None]:
    """One more file, at `path`."""
    return lambda file: with_files(file, {**files_of(file), path: of_text("")})


def with_text(text: str) -> Callable[[Path], None]:
    """Another text of a file, under its own digest."""

    def apply(file: Path) -> None:
        change(file, "INSERT INTO content (digest, bytes) VALUES (?, ?)", of_text(text), text.encode())
        with_files(file, {**files_of(file), "helpers/words.py": of_text(text)})

    return apply


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("{}", "it lacks `entry`"),
        ("[", "is damaged"),
        (
            '{"entry":"x","input":"","models":{},"paths":{},"max_depth":null,"prompts":{},"lock":"version = 9"}',
            "this llmdo reads up to",
        ),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_a_sentence(
    llmdo: Llmdo, asking: Path, tmp_path: Path, exported: Path, body: str, problem: str
) -> None:
    if not exported.exists():
        stopped(llmdo, asking, exported)
    file = Path(shutil.copy(exported, tmp_path / "odd.sqlite"))
    change(file, "UPDATE entry SET body = ? WHERE kind = 'run'", body)
    for words in (["replay", str(file)], ["replay", str(file), "--sources", "run"]):
        refused = llmdo(*words, cwd=asking)
        assert (refused.code, problem in refused.err) == (2, True), refused.err
    held = llmdo("test", str(file), cwd=asking)
    assert (held.code, problem in held.out) == (1, True)


@pytest.mark.long
def test_what_governs_the_workspace_is_protected_from_a_run_that_came_from_elsewhere(
    llmdo: Llmdo, asking: Path, tmp_path: Path
) -> None:
    file = tmp_path / "run.sqlite"
    run = stopped(llmdo, asking, file)
    clone = moved_on(asking, tmp_path)
    (clone / "main.worker").rename(clone / "renamed.worker")
    llmdo("runs", "import", str(file), cwd=clone)
    with Runs(clone).read(run) as journal:
        basis = bases.of_run(
            journal, binding_of(journal), project.read(clone), Runs(clone).sources(run), print
        )
    assert {"renamed.worker", "main.worker", "tools.py", "helpers/words.py"} <= Inventory.of(
        basis.graph
    ).governing


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "upwards": (with_path("../evil.py"), "'../evil.py', which is not the path"),
    "absolute": (with_path("/tmp/evil.py"), "'/tmp/evil.py', which is not the path"),
    "inside": (with_path("a/../evil.py"), "which is not the path"),
    "twice": (with_path("./tools.py"), "which is not the path"),
    "case": (with_path("Tools.py"), "equal but for case"),
    "backslash": (with_path("..\\evil.py"), "which is not the path"),
    "control": (with_path("e\x1bvil.py"), "which is not the path"),
    "no module": (with_path("__pycache__/tools.cpython-312.pyc"), "which is not the path"),
    "surrogate": (with_path("\ud800.py"), "which is not the path"),
    "beside": (with_path("sitecustomize.py"), "`sitecustomize.py`, which is not part of what its run loads"),
    "changed": (with_text("raise SystemExit\n"), "not those that the run began with: `tools.py`"),
    "large": (with_text("#" * 1024 * 1024 + "\n"), "too large: `helpers/words.py`"),
    "binary": (with_text("\0"), "is binary"),
    "missing": (lambda file: with_files(file, {}), "not those that the run began with: `models.py`, `tools.py`"),
    "many": (lambda file: with_files(file, {f"f{n}.py": "" for n in range(2_001)}), "more than 2,000 sources"),
    "list": (lambda file: with_files(file, ["tools.py"]), "cannot be read"),
    "damaged content": (
        lambda file: change(file, "UPDATE content SET bytes = CAST('x' || bytes AS BLOB)"),
        "is damaged",
    ),
    "text for content": (lambda file: change(file, "UPDATE content SET bytes = 'x'"), "is damaged"),
    "prompt": (
        lambda file: change(file, "UPDATE entry SET body = replace(body, 'Go.', 'Steal.') WHERE kind = 'run'"),
        "the prompt of `main` in the journal is not the one that its lock names",
    ),
    "deep": (
        lambda file: change(file, "UPDATE entry SET body = ? WHERE kind = 'sources'", b"[" * 1_000_000),
        "is damaged",
    ),
    "no object": (lambda file: change(file, "UPDATE entry SET body = '[]'"), "is damaged"),
    "empty": (lambda file: change(file, "UPDATE entry SET body = '{}' WHERE kind <> 'session'"), "is not what llmdo"),
    "id": (
        lambda file: change(file, "UPDATE entry SET body = '{\"run\":\"../x\"}' WHERE kind = 'session'"),
        "is not the id of a run",
    ),
    "huge": (
        lambda file: change(file, "UPDATE entry SET body = zeroblob(70000000) WHERE kind = 'sources'"),
        "too big",
    ),
    "trigger": (
        lambda file: change(file, "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END"),
        "is not a journal",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported run, to be copied."""
    return tmp_path_factory.mktemp("exported") / "run.sqlite"


@pytest.mark.few(7)
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_bundle_is_refused_and_leaves_nothing(
    llmdo: Llmdo, asking: Path, tmp_path: Path, exported: Path, case: str
) -> None:
    if not exported.exists():
        stopped(llmdo, asking, exported)
    file = Path(shutil.copy(exported, tmp_path / "hostile.sqlite"))
    edit, problem = HOSTILE[case]
    edit(file)
    clone = moved_on(asking, tmp_path)
    refused = llmdo("runs", "import", str(file), cwd=clone)
    assert refused.code == 2
    assert problem in refused.err
    folder = Runs(clone).folder
    assert not folder.exists() or not list(folder.iterdir())
    assert not (tmp_path / "elsewhere" / "evil.py").exists()
