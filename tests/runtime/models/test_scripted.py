"""`script:FILE.yaml`: a model whose answers people wrote, by turn, by the input and by what came back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.base.source import Source
from llmdo.journal import Runs
from llmdo.workspace import project, script
from tests.support import forking
from tests.support.commands import llmdo
from tests.support.waiting import until

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]
model = "script:answers/all.yaml"

[approvals.rules]
"fs.read" = "allowed"
"fs.write" = "needs_approval"

[entries.main]
worker = "main"
"""

WORKERS = {
    "main.worker": "---\nname: main\ntoolsets:\n  filesystem: { read: ['**'], write: ['out/**'] }\n"
    "  reader: {}\n  waiting: {}\n---\nGo.\n",
    "reader.worker": "---\nname: reader\nrecursive: true\ntoolsets:\n  filesystem: { read: ['**'] }\n  reader: {}\n---\nRead.\n",
    "tools.py": "import time\nfrom pathlib import Path\nfrom pydantic_ai import FunctionToolset\n"
    "waiting = FunctionToolset()\n\n\n@waiting.tool_plain\ndef wait() -> str:\n"
    "    Path('begun').write_text('x')\n    while not Path('go').exists():\n        time.sleep(0.01)\n"
    "    return 'waited'\n",
}

SCRIPT = """\
main:
  - when: Both
    call:
      - reader: { input: Read a.txt }
      - reader: { input: Read b.txt }
  - when: write
    call: { write_file: { path: out/x.txt, content: "of {input}" } }
  - after: Needs APPROVAL
    answer: nobody allowed it
  - answer: "main: {result}"
reader:
  - when: a.txt
    call: { read_file: { path: a.txt } }
  - when: b.txt
    call: { read_file: { path: b.txt } }
  - when: deep
    call: { reader: { input: Read b.txt } }
  - answer: "it says {result}"
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, text in {
        "llmdo.toml": MANIFEST,
        **WORKERS,
        "answers/all.yaml": SCRIPT,
        "a.txt": "apples",
        "b.txt": "pears",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def scripted(root: Path, text: str) -> None:
    (root / "answers/all.yaml").write_text(text, encoding="utf-8")


def test_the_files_of_a_script_are_sound_and_no_code(workspace: Path) -> None:
    assert llmdo(workspace, "lock").returncode == 0
    checked = llmdo(workspace, "check")
    assert (checked.returncode, checked.stdout) == (0, "no findings\n")
    listed = json.loads(llmdo(workspace, "doctor", "--format", "json").stdout)["items"]
    assert [each["state"] for each in listed if each["section"] == "models"] == [
        "a script: nobody is asked, and no key is needed"
    ]


def test_parallel_and_nested_delegates_take_the_steps_of_their_own_inputs(workspace: Path) -> None:
    done = llmdo(workspace, "run", "main", "do both")
    assert done.stdout == "main: it says apples\nit says pears\n", done.stderr
    scripted(workspace, SCRIPT.replace("Read b.txt }", "Go deep }", 1))
    nested = llmdo(workspace, "run", "main", "do both")
    assert nested.stdout == "main: it says apples\nit says it says pears\n", nested.stderr
    assert llmdo(workspace, "replay", "last").stdout == nested.stdout


def test_a_step_is_taken_once_and_what_came_back_decides(workspace: Path) -> None:
    written = llmdo(workspace, "run", "main", "Write it", "--approve-all")
    assert written.stdout.startswith("main: "), written.stderr
    assert (workspace / "out/x.txt").read_text() == "of Write it"
    refused = llmdo(workspace, "run", "main", "write", "--reject-all")
    assert refused.stdout == "nobody allowed it\n", refused.stderr


def test_a_run_that_waits_for_an_answer_goes_on_where_it_was(workspace: Path) -> None:
    stopped = llmdo(workspace, "run", "main", "write", "--approvals", "later")
    assert stopped.returncode == 3, stopped.stderr
    assert llmdo(workspace, "approve", "last", "--yes", "main/write_file#1").returncode == 0
    done = llmdo(workspace, "resume", "last")
    assert done.stdout.startswith("main: "), done.stderr


def test_a_run_that_was_killed_goes_on_where_it_was(workspace: Path) -> None:
    scripted(
        workspace,
        "main:\n  - call: { read_file: { path: a.txt } }\n  - call: wait\n  - answer: '{result}, then done'\n",
    )
    running = forking.Popen(
        [sys.executable, "-m", "llmdo", "run", "main", "go", "--approve-all"],
        cwd=workspace,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: (workspace / "begun").exists())
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    (workspace / "go").touch()
    done = llmdo(workspace, "resume", "last", "--again", "*", "--approve-all")
    assert done.stdout == "waited, then done\n", done.stderr
    [entry] = [
        line for line in llmdo(workspace, "runs", "show", "last").stdout.splitlines() if "read_file" in line
    ]
    assert "read_file" in entry


def test_a_script_without_another_step_says_where_to_write_it(workspace: Path) -> None:
    scripted(workspace, "main:\n  - call: { read_file: { path: a.txt } }\nreader:\n  - answer: x\n")
    done = llmdo(workspace, "run", "main", "go")
    assert done.returncode == 1
    assert "main: the script `answers/all.yaml` has no step of `main` left for request 2" in done.stderr
    assert "add one below answers/all.yaml:2, such as `- answer: done`" in done.stderr
    (workspace / "mian.yaml").write_text("mian:\n  - answer: x\n")
    unknown = llmdo(
        workspace, "run", "main", "go", "--model", "script:mian.yaml", "--model", "main=script:mian.yaml"
    )
    assert "did you mean `mian`?" in unknown.stderr


def test_a_script_that_has_a_fault_begins_no_run(workspace: Path) -> None:
    (workspace / "other.yaml").write_text("main:\n  - answr: x\n")
    done = llmdo(workspace, "run", "main", "go", "--model", "main=script:other.yaml")
    assert done.returncode == 2
    assert "the script `other.yaml` cannot be used: unknown key `answr`" in done.stderr
    assert "did you mean `answer`?" in done.stderr
    missing = llmdo(workspace, "run", "main", "go", "--model", "main=script:none.yaml")
    assert (missing.returncode, "`none.yaml` does not exist" in missing.stderr) == (2, True), missing.stderr
    odd = llmdo(workspace, "run", "main", "go", "--model", "main=script:models")
    assert "`script:models` is not of the form script:FILE.yaml" in odd.stderr


def test_a_script_governs_a_run_and_no_worker_writes_it_unasked(workspace: Path) -> None:
    manifest = (workspace / "llmdo.toml").read_text()
    (workspace / "llmdo.toml").write_text(
        manifest.replace('"fs.write" = "needs_approval"', '"fs.write" = "allowed"')
    )
    header = (workspace / "main.worker").read_text()
    (workspace / "main.worker").write_text(header.replace("out/**", "**"))
    writes = "main:\n  - call: { write_file: { path: PATH, content: 'main: []' } }\n  - answer: '{result}'\n"
    for path, flags in (("answers/all.yaml", ()), ("given.yaml", ("--model", "main=script:given.yaml"))):
        (workspace / path).write_text(writes.replace("PATH", path))
        done = llmdo(workspace, "run", "main", "go", "--reject-all", *flags)
        assert "fs.write.protected" in done.stdout, (done.stdout, done.stderr)
        assert (workspace / path).read_text() != "main: []"
    assert (
        llmdo(workspace, "run", "main", "go", "--reject-all", "--model", "script:given.yaml").returncode == 0
    )


def test_a_change_of_a_script_is_a_change_of_the_lock(workspace: Path) -> None:
    llmdo(workspace, "lock")
    assert project.read(workspace).is_current
    scripted(workspace, SCRIPT + "  # later\n")
    assert not project.read(workspace).is_current
    assert "script:answers/all.yaml" in llmdo(workspace, "check").stdout


TYPED = {
    "schemas.py": "from pydantic import BaseModel\n\n\nclass Order(BaseModel):\n    item: str\n\n\n"
    "class Bill(BaseModel):\n    total: int\n    of: str\n",
    "main.worker": "---\nname: main\nschema_in_ref: schemas.py:Order\nschema_out_ref: schemas.py:Bill\n---\nGo.\n",
}


def test_a_typed_answer_is_data_and_a_refused_one_takes_the_next_step(workspace: Path) -> None:
    for name, text in TYPED.items():
        (workspace / name).write_text(text)
    scripted(
        workspace,
        "main:\n  - answer: { total: many, of: x }\n"
        "  - when: tea\n    answer: { total: 3, of: 'an order of {input}' }\n",
    )
    done = llmdo(workspace, "run", "main", '{"item": "tea"}')
    assert json.loads(done.stdout) == {"total": 3, "of": 'an order of {"item":"tea"}'}, done.stderr
    assert llmdo(workspace, "replay", "last").stdout == done.stdout


def test_whoever_listens_hears_the_answer_before_the_run_ends(workspace: Path) -> None:
    scripted(
        workspace, "main:\n  - answer: first\n    call: { read_file: { path: a.txt } }\n  - answer: second\n"
    )
    code = (
        "import asyncio, llmdo\n"
        "async def main():\n"
        "    async for event in llmdo.run_stream('.', 'main', 'go'):\n"
        "        if event.kind == 'text_delta': print(event.text)\n"
        "asyncio.run(main())"
    )
    heard = forking.run([sys.executable, "-c", code], cwd=workspace, capture_output=True, text=True)
    assert heard.stdout.split() == ["first", "second"], heard.stderr


def test_an_exported_run_brings_its_script(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    llmdo(workspace, "lock")
    assert llmdo(workspace, "run", "main", "write", "--approvals", "later").returncode == 3
    exported = llmdo(workspace, "runs", "export", "last", "run.sqlite")
    assert exported.returncode == 0, exported.stderr
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "llmdo.toml").write_text('schema = 1\n\n[workspace]\nname = "e"\n')
    (elsewhere / "run.sqlite").write_bytes((workspace / "run.sqlite").read_bytes())
    assert llmdo(elsewhere, "runs", "import", "run.sqlite").returncode == 0
    assert llmdo(elsewhere, "approve", "last", "--yes", "main/write_file#1").returncode == 0
    done = llmdo(elsewhere, "resume", "last", "--sources", "run")
    assert done.stdout.startswith("main: "), done.stderr
    assert len(Runs(elsewhere).names()) == 1


def test_braces_around_a_blank_stand_for_the_blank_itself() -> None:
    blanks = {"input": "I", "result": "R"}
    texts = {
        "{input} {result}": "I R",
        "{{input}}": "{input}",
        "{{{result}}}": "{{result}}",
        "{x} {}": "{x} {}",
    }
    assert {text: script.filled(text, blanks) for text in texts} == texts
    assert script.filled({"{input}": ["{input}", 1, None]}, blanks) == {"{input}": ["I", 1, None]}


def test_a_step_with_a_condition_is_passed_over_for_good() -> None:
    read = script.parse(
        Source(
            "s.yaml",
            "a:\n  - { when: x, answer: 1 }\n  - { after: '7', answer: 2 }\n  - { input: y, answer: 3 }\n"
            "  - answer: 4\n",
        )
    )
    assert not read.problems

    def answers(given: str, *results: str) -> object:
        step = read.step("a", given, results)
        return step and step.answer

    assert [answers("X!"), answers("X!", "17"), answers("X!", "17", ""), answers("X!", "17", "", "")] == [
        1,
        2,
        4,
        None,
    ]
    assert [answers("y"), answers("y", ""), answers("y y"), answers("y", "7")] == [3, 4, 4, 4]
    assert read.step("b", "", ()) is None
