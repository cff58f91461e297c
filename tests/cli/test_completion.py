"""Completion: what the words may become, and scripts that real shells accept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.codes import CODES
from llmdo.cli import completion

MANIFEST = """
schema = 1
[workspace]
name = "sample"
workers = ["workers/*.worker"]
[models]
fast = "openai:gpt-5-mini"
[toolsets.calc]
python = "tools/calc.py:calc_tools"
[approvals.rules]
"fs.write:reports/**" = "allowed"
[paths]
"decks/" = "input/"
[entries.nightly]
worker = "writer"
"""

LOCK = """
[entry.nightly]
worker = "writer"

[worker.lonely]
path = "workers/lonely.worker"
entry = true
toolsets = [
    "filesystem",
]

[worker.writer]
path = "workers/writer.worker"

[toolset.calc]
entry = true
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "llmdo.toml").write_text(MANIFEST)
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers/writer.worker").write_text('---\n# a comment\nname: "writer"\n---\nentry: true\n')
    (tmp_path / "workers/starter.worker").write_text(
        "---\r\nname: starter\r\nentry: true\r\n---\r\nStart.\r\n"
    )
    return tmp_path


def complete(line: str, cwd: Path) -> list[str]:
    return completion.complete(line.split(" "), cwd)


@pytest.mark.few(11)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("re", ["reach", "remove", "resume"]),
        ("--v", ["--version"]),
        ("add ", ["entry", "mcp", "path", "rule", "toolset", "worker"]),
        ("add w", ["worker"]),
        ("check --f", ["--fix", "--format", "--from"]),
        ("lock --c", ["--check"]),
        ("add entry --w", ["--worker"]),
        ("run --format ", ["json", "text"]),
        ("check --format g", ["github", "gitlab"]),
        ("run --format=te", ["--format=text"]),
        ("run --approve-all n", ["nightly"]),
        ("run --entry ", []),
        ("add worker x --entry --p", ["--path", "--project"]),
        ("run --input text n", ["nightly"]),
        ("run --model ", ["fast"]),
        ("run nightly ", []),
        ("run ", ["nightly", "starter"]),
        ("remove worker ", ["starter", "writer"]),
        ("add entry daily --worker w", ["writer"]),
        ("add worker x --toolset ", ["calc", "filesystem", "shell", "starter", "writer"]),
        ("remove toolset ", ["calc"]),
        ("remove entry ", ["nightly"]),
        ("remove path ", ["decks/"]),
        ("remove rule fs", ["fs.write:reports/**"]),
        ("add rule fs.w", ["fs.write", "fs.write.code", "fs.write.protected"]),
        ("add rule fs.write b", ["blocked"]),
        ("schema ", ["eval", "lock", "manifest", "policy", "script", "team", "worker"]),
        ("completion ", ["bash", "fish", "zsh"]),
        ("init --template ", ["chat", "delegation", "mcp", "minimal", "service", "shell", "team", "tools"]),
        ("explain LDO301", ["LDO301"]),
        ("explain delegation-c", ["delegation-cycle"]),
        ("check --project ", []),
        ("nonsense ", []),
    ],
)
def test_each_word_is_completed_by_what_may_stand_there(workspace: Path, line: str, words: list[str]) -> None:
    assert complete(line, workspace) == words


def test_an_empty_line_offers_every_command(workspace: Path) -> None:
    assert complete("", workspace) == sorted({"help", *(name.split()[0] for name in completion.COMMANDS)})
    assert completion.complete([], workspace) == []


def test_explain_offers_every_code_and_every_name(workspace: Path) -> None:
    assert complete("explain ", workspace) == sorted([*CODES, *(name for name, _ in CODES.values())])


def test_workers_come_from_the_lock_where_there_is_one(workspace: Path) -> None:
    (workspace / "llmdo.lock").write_text(LOCK)
    assert complete("run ", workspace) == ["lonely", "nightly"]
    assert complete("remove worker ", workspace) == ["lonely", "writer"]


def test_the_workspace_is_found_from_a_folder_below_and_by_project(workspace: Path) -> None:
    assert complete("run n", workspace / "workers") == ["nightly"]
    assert complete("run --project workers n", workspace) == ["nightly"]
    assert complete(f"run --project={workspace} n", workspace.parent) == ["nightly"]


@pytest.mark.parametrize("manifest", [b"[broken", b"\xff\xfe", b"entries = 3", b"[workspace]\nworkers = 3"])
def test_a_broken_workspace_offers_nothing_and_says_nothing(
    tmp_path: Path, manifest: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "llmdo.toml").write_bytes(manifest)
    assert complete("run ", tmp_path) == []
    assert capfd.readouterr() == ("", "")


def test_completing_imports_nothing_heavy(workspace: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from llmdo.cli import completion\n"
        f"assert completion.complete(['run', ''], Path({str(workspace)!r}))\n"
        "print(sorted({'yaml', 'typer', 'pydantic', 'jsonschema', 'rich', 'pathspec', 'pydantic_ai'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def on_path(folder: Path, *, workspace: Path) -> dict[str, str]:
    """An environment whose `llmdo` answers as the real command does."""
    command = folder / "llmdo"
    command.write_text(
        f"#!{sys.executable}\n"
        "import sys\nfrom pathlib import Path\nfrom llmdo.cli.completion import complete\n"
        "assert sys.argv[1] == '__complete'\n"
        f"print(*complete(sys.argv[2:], Path({str(workspace)!r})), sep='\\n')\n"
    )
    command.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_accepted_by_its_shell(shell: completion.Shell, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / f"llmdo.{shell}"
    path.write_text(completion.script(shell))
    done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.few(2)
@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "replies"),
    [
        (["run", "n"], ["nightly"]),
        (["add", ""], ["entry", "mcp", "path", "rule", "toolset", "worker"]),
        (["run", "--format", "=", "te"], ["text"]),
        (["run", "--format", "="], ["json", "text"]),
        (["remove", "rule", "fs.write", ":", "rep"], ["reports/**"]),
        (["run", "nightly", "--input", "x"], []),
    ],
)
def test_bash_completes_a_line(workspace: Path, tmp_path: Path, words: list[str], replies: list[str]) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "reports").mkdir()
    line = "llmdo " + " ".join(words).replace(" = ", "=").replace(" =", "=").replace(" : ", ":")
    typed = " ".join(f"'{word}'" for word in words)
    program = (
        f"{completion.script('bash')}\n"
        f"COMP_WORDS=(llmdo {typed}) COMP_CWORD={len(words)}\n"
        f"COMP_LINE='{line}' COMP_POINT={len(line)}\n"
        "_llmdo llmdo\n"
        '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", program],
        env=on_path(folder, workspace=workspace),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == replies
    assert done.stderr == ""


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_a_line(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = f"{completion.script('fish')}\ncomplete -C 'llmdo run n'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", program],
        env=on_path(folder, workspace=workspace),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "nightly" in done.stdout.split()
