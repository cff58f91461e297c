"""Every command, as a person types it: results on stdout, the rest on stderr, the right exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llmdo.base.codes import CODES
from tests.cli.conftest import Llmdo
from tests.support import forking


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_without_a_workspace_every_command_says_how_to_start_one(llmdo: Llmdo, tmp_path: Path) -> None:
    for words in (["check"], ["lock"], ["run"], ["add", "rule", "fs.write", "blocked"]):
        done = llmdo(*words)
        assert done.code == 2
        assert done.err == (
            "error: no `llmdo.toml` in this folder or in any above it\n  hint: `llmdo init` starts a workspace here\n"
        )
        assert done.out == ""


def test_the_root_is_found_by_walking_up_or_named(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = workspace / "a/b"
    below.mkdir(parents=True)
    assert llmdo("check", cwd=below).code == 0
    assert llmdo("check", "--project", str(workspace)).code == 0
    monkeypatch.setenv("LLMDO_PROJECT", str(workspace))
    assert llmdo("check").code == 0
    assert llmdo("check", "--project", str(below)).code == 2


@pytest.mark.parametrize("content", [b"\x00\xff\xfe", b"[workspace", b"", b"\xff\xfeh\x00"])
def test_an_unreadable_manifest_is_a_finding(llmdo: Llmdo, workspace: Path, content: bytes) -> None:
    (workspace / "llmdo.toml").write_bytes(content)
    done = llmdo("check", cwd=workspace)
    assert done.code == 1
    assert "llmdo.toml" in done.out
    assert "error[LDO1" in done.out
    assert llmdo("run", cwd=workspace).code == 1
    assert llmdo("lock", cwd=workspace).code == 1
    assert not (workspace / "llmdo.lock").exists()


def test_check_speaks_json(llmdo: Llmdo, workspace: Path) -> None:
    edit(workspace / "main.worker", "filesystem", "filesytem")
    done = llmdo("check", "--format", "json", cwd=workspace)
    document = json.loads(done.out)
    assert document["schema"] == "llmdo.check/1"
    assert document["status"] == "findings"
    first = document["findings"][0]
    assert (first["code"], first["path"], first["line"], first["column"]) == (
        "LDO402",
        "llmdo.lock",
        None,
        None,
    )
    second = document["findings"][1]
    assert (second["code"], second["name"], second["severity"]) == ("LDO202", "unknown-toolset", "error")
    assert (second["path"], second["line"], second["column"]) == ("main.worker", 4, 3)
    assert (second["end_line"], second["end_column"]) == (4, 12)
    assert second["hint"] == "did you mean `filesystem`?"


def test_check_speaks_json_also_when_it_cannot_check(llmdo: Llmdo) -> None:
    done = llmdo("check", "--format=json")
    assert done.code == 2
    assert json.loads(done.out)["status"] == "error"


def test_in_ci_the_lock_has_to_be_current(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    assert llmdo("check", cwd=workspace).code == 1
    assert "LDO402" in llmdo("run", cwd=workspace).err
    assert llmdo("lock", cwd=workspace).code == 0
    assert llmdo("check", cwd=workspace).code == 0
    assert llmdo("run", cwd=workspace).code == 0
    edit(workspace / "main.worker", "Go.", "Go on.")
    done = llmdo("run", cwd=workspace)
    assert done.code == 1
    assert "out of date for worker `main`: its prompt changed" in done.err
    monkeypatch.setenv("CI", "false")
    assert "wrote llmdo.lock (worker main): reach is the same" in llmdo("run", cwd=workspace).err
    assert llmdo("check", "--locked", cwd=workspace).code == 0


def test_warnings_fail_only_where_asked_to(llmdo: Llmdo, workspace: Path) -> None:
    edit(workspace / "llmdo.toml", '"*.worker"', '"*.worker", "none/*.worker"')
    assert llmdo("check", cwd=workspace).code == 0
    assert llmdo("check", "--strict", cwd=workspace).code == 1


def test_lock_writes_once_and_leaves_an_equivalent_file_alone(llmdo: Llmdo, workspace: Path) -> None:
    assert llmdo("lock", "--check", cwd=workspace).code == 1
    assert llmdo("lock", cwd=workspace).err == "wrote llmdo.lock\n"
    path = workspace / "llmdo.lock"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = path.read_bytes()
    done = llmdo("lock", cwd=workspace)
    assert (done.code, done.err) == (0, "llmdo.lock is up to date\n")
    assert path.read_bytes() == before
    assert llmdo("lock", "--check", cwd=workspace).code == 0


def test_lock_says_what_changed(llmdo: Llmdo, workspace: Path) -> None:
    llmdo("lock", cwd=workspace)
    edit(workspace / "main.worker", "Go.", "Go on.")
    assert "worker `main`: its prompt changed" in llmdo("lock", "--check", cwd=workspace).out
    assert llmdo("lock", cwd=workspace).err == "worker main: its prompt changed\nwrote llmdo.lock\n"


@pytest.mark.long
def test_tools_that_a_library_changed_are_locked_anew_when_asked(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(
        workspace / "llmdo.toml",
        'workers = ["*.worker"]',
        'workers = ["*.worker"]\ntoolset-modules = ["tools.py"]',
    )
    library = workspace.parent / "library/wording.txt"
    library.parent.mkdir()
    library.write_text("Adds.", encoding="utf-8")
    monkeypatch.syspath_prepend(
        str(library.parent)
    )  # only what Python finds libraries in is there for a module
    (workspace / "tools.py").write_text(
        "from pathlib import Path\nfrom pydantic_ai.toolsets import FunctionToolset\n\n"
        "def add(one: int) -> int:\n    return one + 1\n\n"
        f"add.__doc__ = Path({str(library)!r}).read_text()\ncalc = FunctionToolset([add])\n",
        encoding="utf-8",
    )
    assert llmdo("lock", cwd=workspace).code == 0
    library.write_text("Subtracts.", encoding="utf-8")
    done = llmdo("lock", "--check", cwd=workspace)
    assert done.code == 1
    assert "toolset `calc`: tool `add` changed its description or parameters" in done.out
    assert "run `llmdo lock --refresh`" in done.out
    assert llmdo("lock", cwd=workspace).err == "llmdo.lock is up to date\n"
    done = llmdo("lock", "--refresh", cwd=workspace)
    assert (done.code, done.err) == (
        0,
        "toolset calc: tool `add` changed its description or parameters\nwrote llmdo.lock\n",
    )
    assert llmdo("lock", "--check", cwd=workspace).code == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ValueError('not today')", "ValueError: not today"),
        ("import sys; sys.exit(3)", "sys.exit"),
        ("import os; os._exit(0)", "tools.py"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ],
)
def test_a_module_that_cannot_be_imported_leaves_no_lock(
    llmdo: Llmdo, workspace: Path, code: str, words: str
) -> None:
    edit(
        workspace / "llmdo.toml",
        'workers = ["*.worker"]',
        'workers = ["*.worker"]\ntoolset-modules = ["tools.py"]',
    )
    (workspace / "tools.py").write_text(f"print('loud')\n{code}\n", encoding="utf-8")
    done = llmdo("lock", cwd=workspace)
    assert done.code in (1, 2)
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert not list(workspace.glob("*.lock*"))


def test_a_run_prints_its_output_and_nothing_else_on_stdout(llmdo: Llmdo, workspace: Path) -> None:
    done = llmdo("run", cwd=workspace)
    assert (done.code, done.out) == (0, "echo hello\n")
    assert "wrote llmdo.lock (new)" in done.err
    assert llmdo("run", "main", "--input", "other", cwd=workspace).out == "echo other\n"


def test_a_run_reads_its_input_from_stdin(
    llmdo: Llmdo, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("from a pipe"))
    assert llmdo("run", "--input", "-", cwd=workspace).out == "echo from a pipe\n"


def test_a_run_speaks_json(llmdo: Llmdo, workspace: Path) -> None:
    document = json.loads(llmdo("run", "--format", "json", cwd=workspace).out)
    assert document["schema"] == "llmdo.run/1"
    assert (document["status"], document["output"], document["usage"]["requests"]) == (
        "completed",
        "echo hello",
        1,
    )


def test_an_unknown_entry_is_named_with_those_that_exist(llmdo: Llmdo, workspace: Path) -> None:
    done = llmdo("run", "mian", cwd=workspace)
    assert done.code == 2
    assert "did you mean `main`?" in done.err


def test_a_question_that_nobody_can_answer_is_no_success(llmdo: Llmdo, workspace: Path) -> None:
    done = llmdo("run", "--input", "write_file:out/a.txt:hi", cwd=workspace)
    assert done.code == 1
    assert not (workspace / "out").exists()
    assert 'add `"fs.write:out/a.txt" = "allowed"`' in done.err
    assert "run with --approve fs.write:out/a.txt" in done.err


def test_approve_all_lifts_no_block_and_no_declaration(llmdo: Llmdo, workspace: Path) -> None:
    done = llmdo("run", "--approve-all", "--input", "write_file:out/a.txt:hi", cwd=workspace)
    assert done.code == 0
    assert (workspace / "out/a.txt").read_text(encoding="utf-8") == "hi"
    assert "is blocked" in llmdo("run", "--approve-all", "--input", "write_file:b.txt:hi", cwd=workspace).out
    assert not (workspace / "b.txt").exists()
    with (workspace / "llmdo.toml").open("a", encoding="utf-8") as file:
        file.write('\n[approvals.rules]\n"fs.write" = "blocked"\n')
    assert (
        "Unknown tool"
        in llmdo("run", "--approve-all", "--input", "write_file:out/b.txt:hi", cwd=workspace).out
    )
    assert not (workspace / "out/b.txt").exists()


def test_a_worker_cannot_rewrite_what_governs_the_run(llmdo: Llmdo, workspace: Path) -> None:
    edit(workspace / "main.worker", '["out/**"]', '["**"]')
    before = (workspace / "main.worker").read_bytes()
    for path in ("main.worker", "llmdo.toml", "models.py", ".git/config", "sub/x.worker"):
        done = llmdo("run", "--approve-all", "--input", f"write_file:{path}:hi", cwd=workspace)
        assert "needs approval, which was not given" in done.out, path
    assert (workspace / "main.worker").read_bytes() == before


def test_all_tools_are_listed_without_running_anything(llmdo: Llmdo, workspace: Path) -> None:
    done = llmdo("run", "--all-tools", cwd=workspace)
    assert done.code == 0
    assert "main > filesystem > read_file: fs.read:**, fs.read.protected:**\n" in done.out
    assert "echo" not in done.out


def test_files_alone_can_be_run(llmdo: Llmdo, tmp_path: Path, workspace: Path) -> None:
    for name in ("models.py", "main.worker"):
        (tmp_path / name).write_bytes((workspace / name).read_bytes())
    edit(tmp_path / "main.worker", "name: main", "name: only\nentry: true\nmodel: python:models.py:rules")
    (tmp_path / "tools.py").write_text(
        "from pydantic_ai.toolsets import FunctionToolset\n\ncalc = FunctionToolset()\n", encoding="utf-8"
    )
    done = llmdo("run", "main.worker", "tools.py", "What is 7!")
    assert (done.code, done.out) == (0, "echo What is 7!\n")
    assert llmdo("run", "main.worker", "--locked").code == 2
    assert "not_there.worker" in llmdo("run", "not_there.worker").err


def test_a_model_that_fails_half_way_ends_in_a_sentence(llmdo: Llmdo, workspace: Path) -> None:
    edit(
        workspace / "models.py",
        "    if returns",
        "    if returns:\n        raise RuntimeError('the line broke')\n    if returns",
    )
    done = llmdo("run", "--approve-all", "--input", "write_file:out/a.txt:hi", cwd=workspace)
    assert done.code == 1
    assert "the line broke" in done.err
    assert "Traceback" not in done.err
    assert [path.name for path in (workspace / "out").iterdir()] == ["a.txt"]


@pytest.mark.long
@pytest.mark.parametrize("model", ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"])
def test_a_missing_key_or_library_is_one_sentence(
    llmdo: Llmdo, workspace: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    done = llmdo("run", "--model", model, cwd=workspace)
    assert done.code == 2
    assert "_API_KEY" in done.err or "pip install" in done.err
    assert "Traceback" not in done.err


@pytest.mark.long
def test_ctrl_c_ends_a_run_with_130_and_no_traceback(workspace: Path) -> None:
    edit(
        workspace / "models.py",
        "def answer(messages, info):\n",
        "def answer(messages, info):\n    print('waiting', flush=True)\n    import time; time.sleep(30)\n",
    )
    edit(workspace / "models.py", "def answer", "async def answer")
    edit(workspace / "models.py", "import time; time.sleep(30)", "import asyncio; await asyncio.sleep(30)")
    process = forking.Popen(
        [sys.executable, "-m", "llmdo", "run"],
        cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err


def test_output_into_a_closed_pipe_is_no_traceback(workspace: Path) -> None:
    command = f"{sys.executable} -m llmdo explain LDO301 | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=workspace)
    assert done.stderr == ""


@pytest.mark.few(11)
@pytest.mark.parametrize("code", CODES)
def test_every_code_can_be_explained_by_number_and_name(llmdo: Llmdo, code: str) -> None:
    by_code = llmdo("explain", code)
    assert by_code.code == 0
    assert by_code.out.startswith(f"{code} {CODES[code][0]}")
    assert llmdo("explain", CODES[code][0]).out == by_code.out


def test_an_unknown_code_cannot_be_explained(llmdo: Llmdo) -> None:
    assert llmdo("explain", "LDO999").code == 2


@pytest.mark.parametrize("name", ["manifest", "worker", "lock", "policy", "eval", "script"])
def test_schemas_are_printed(llmdo: Llmdo, name: str) -> None:
    assert json.loads(llmdo("schema", name).out)["type"] == "object"


@pytest.mark.parametrize(
    "words",
    [
        ["--nonsense"],
        ["nonsense"],
        ["check", "--format", "xml"],
        ["run", "--max-depth", "-1"],
        ["add"],
        ["init", "--template", "x"],
    ],
)
def test_a_usage_error_is_2_and_leads_to_help(llmdo: Llmdo, words: list[str]) -> None:
    done = llmdo(*words)
    assert done.code == 2
    assert "--help" in done.err
    assert "Traceback" not in done.err


def test_no_words_print_the_help(llmdo: Llmdo) -> None:
    assert "Usage: llmdo" in llmdo().out


@pytest.mark.long
def test_two_locks_at_once_leave_one_whole_file(workspace: Path) -> None:
    command = [sys.executable, "-m", "llmdo", "lock"]
    running = [forking.Popen(command, cwd=workspace, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    assert forking.run([*command, "--check"], cwd=workspace, capture_output=True).returncode == 0
    assert [path.name for path in workspace.iterdir() if "lock" in path.name] == ["llmdo.lock"]


def test_a_full_disk_keeps_the_old_lock(workspace: Path) -> None:
    script = (
        "import resource, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "from llmdo.__main__ import main\nsys.argv = ['llmdo', 'lock']\nsys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-B", "-c", script], cwd=workspace, capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot write `llmdo.lock`" in done.stderr
    assert not list(workspace.glob("*lock*"))


def test_check_is_quiet_about_the_time_of_day(llmdo: Llmdo, workspace: Path) -> None:
    first = llmdo("check", cwd=workspace).out
    os.utime(workspace / "main.worker", (time.time() - 10_000, time.time() - 10_000))
    assert llmdo("check", cwd=workspace).out == first
