"""`llmdo lock` of workspaces with MCP servers: what is asked, kept, compared and told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.diagnostic import LlmdoError
from llmdo.services import locking
from llmdo.toolsets import mcp
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.launch import Launcher
from llmdo.workspace import lock, project
from llmdo.workspace.root import Folders
from tests.support import forking
from tests.support.mcp_workspaces import workspace
from tests.support.waiting import until


def locked(root: Path, **options: bool) -> tuple[str, ...]:
    """Writes the lock and returns the notes about it."""
    derived = locking.derive_with_servers(project.read(root), **options)
    lock.write(root, derived.graph)
    return derived.notes


def llmdo(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forking.run([sys.executable, "-m", "llmdo", *words], cwd=root, capture_output=True, text=True)


def test_the_lock_says_what_the_server_says(tmp_path: Path) -> None:
    root = workspace(tmp_path, "instructions=Be nice.", table='include = ["e*"]\nexclude = ["env*"]')
    notes = locked(root)
    assert len(notes) == 1
    assert notes[0].endswith('in [toolsets.raw]: capabilities = { "echo" = ["mcp.read"] }')
    read = project.read(root)
    assert read.is_current
    toolset = read.graph.toolsets["raw"]
    assert list(toolset.tools) == ["echo"]
    definition = toolset.tools["echo"].definition
    assert definition is not None
    assert (definition.title, definition.description) == ("Echo", "Returns the text.")
    assert '"default": null' in definition.input
    assert definition.hints == ("openWorldHint: false", "readOnlyHint: true")
    assert toolset.identity is not None
    assert (toolset.identity.name, toolset.identity.version) == ("raw", "1.0")
    assert toolset.identity.instructions is not None


@pytest.mark.long
def test_one_character_more_in_a_description_is_shown_where_it_is(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    locked(root)
    before = project.read(root).locked.graph
    server = (root / "server.py").read_text()
    (root / "server.py").write_text(server.replace("Returns the text.", "Returns the text!", 1))
    done = llmdo(root, "lock", "--check")
    assert done.returncode == 1
    changed = "tool `echo`: its description changed: -`Returns the text.` +`Returns the text!`"
    assert changed in done.stdout
    assert not project.read(root).is_current, "its program is not what was locked"
    assert "out of date for toolset `raw`: its program changed" in llmdo(root, "check").stdout
    locked(root)
    assert before != project.read(root).locked.graph


def test_offline_keeps_what_is_known_and_says_so(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    assert "was never asked" in locked(root, offline=True)[0]
    assert list(project.read(root).graph.toolsets["raw"].tools) == ["*"]
    locked(root)
    assert locked(root, offline=True) == (
        "the MCP server `raw` was not asked: what it says is as it was locked",
    )
    assert "echo" in project.read(root).graph.toolsets["raw"].tools
    (root / "server.py").unlink()
    assert "was never asked" in locked(root, offline=True)[0], "with another program it is another server"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("start=die", "is dead: it ended with status 1; it printed: no token"),
        pytest.param("start=noise", "that are not messages", marks=pytest.mark.long),
        pytest.param(
            "start=nonsense", "is dead: it sent an answer that is not of the protocol", marks=pytest.mark.long
        ),
        ("add=a b", "has a tool `a b`, which models cannot call by that name"),
        ("description=" + "x" * 300_000, "says more than 262,144 characters about `echo`"),
    ],
)
def test_a_server_that_cannot_be_asked_is_reported_with_the_reason(
    tmp_path: Path, says: str, problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    root = workspace(tmp_path)
    server = (root / "server.py").read_text()
    (root / "server.py").write_text(server.replace("sys.argv[1:])", f"[{says!r}])"))
    with pytest.raises(LlmdoError) as error:
        locked(root)
    assert problem in str(error.value)
    assert error.value.at is not None
    assert not (root / "llmdo.lock").exists()
    assert capfd.readouterr() == ("", ""), "nothing of it reaches the terminal by another way"


@pytest.mark.long
@pytest.mark.parametrize("start", ["hang", "silent"])
def test_a_server_that_never_greets_is_given_up(tmp_path: Path, start: str) -> None:
    root = workspace(tmp_path, f"start={start}")
    folders = Folders(root)
    with Root.of(folders) as files:
        launcher = Launcher(
            folders=folders, files=files, governing=frozenset(), environ=os.environ, start_s=1.0
        )
        answers = mcp.list_servers([project.read(root).graph.toolsets["raw"]], launcher)
    assert "did not answer in time" in str(answers["raw"])


def test_a_server_sees_nothing_of_our_environment_but_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "secret")
    root = workspace(tmp_path)
    server = (root / "server.py").read_text()
    spy = "TOOLS['echo']['description'] = ' '.join(sorted(os.environ))\nmain()"
    (root / "server.py").write_text(server.replace("\n\nmain()", f"\n\n{spy}"))
    locked(root)
    definition = project.read(root).graph.toolsets["raw"].tools["echo"].definition
    assert definition is not None
    assert set((definition.description or "").split()) <= {
        "HOME",
        "LANG",
        "LC_CTYPE",
        "PATH",
        "PWD",
        "TERM",
        "TMPDIR",
        "TZ",
    }


@pytest.mark.long
def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    root = workspace(tmp_path, "${NOT_SET_ANYWHERE}")
    with pytest.raises(LlmdoError, match="needs the environment variable `NOT_SET_ANYWHERE`"):
        locked(root)
    root = workspace(tmp_path, "name=${NOT_SET_ANYWHERE:-otherwise}")
    locked(root)
    assert "otherwise" in (root / "llmdo.lock").read_text()
    assert "${NOT_SET_ANYWHERE:-otherwise}" in (root / "llmdo.lock").read_text()


def test_a_lock_leaves_no_process_behind(tmp_path: Path) -> None:
    root = workspace(tmp_path, f"name={tmp_path.name}")
    locked(root)
    until(lambda: processes_with(tmp_path.name) == [], lambda: processes_with(tmp_path.name))


def processes_with(word: str) -> list[str]:
    """The command lines that hold `word`, but for those of tests."""
    matching = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if word in line and "pytest" not in line and str(os.getpid()) != entry.parent.name:
            matching.append(line)
    return matching


@pytest.mark.long
def test_a_workspace_without_servers_does_not_load_the_client(tmp_path: Path) -> None:
    (tmp_path / "llmdo.toml").write_text('schema = 1\n[workspace]\nname = "w"\n')
    script = (
        "import sys\nfrom llmdo.__main__ import main\nsys.argv = ['llmdo', 'lock']\ncode = main()\n"
        "assert not {'fastmcp', 'mcp'} & set(sys.modules)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
