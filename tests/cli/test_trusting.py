"""Trust: nothing that a workspace brings is executed before a person has answered for it, whichever command leads there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from llmdo import resume
from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.tables import COMMANDS
from llmdo.journal import SUFFIX
from tests.features.editor.client import Editor, editor, run
from tests.support import forking
from tests.support.commands import llmdo
from tests.support.ptys import Person, Reaction, wait_for

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "llmdo"
PROMPT = "trust? [no]"
CODE = """\
from pathlib import Path

from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

Path({canary!r}).touch()
rules = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("done")]))
calc = FunctionToolset(id="calc")


@calc.tool_plain
def note(text: str) -> str:
    return text
"""
MANIFEST = """\
schema = 1
[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["tools.py"]
[approvals.rules]
"x.calc" = "allowed"
"""
WORKER = "---\nname: main\nentry: true\nmodel: python:tools.py:rules\ntoolsets: [calc]\n---\nGo.\n"


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """What is there once the workspace's code ran."""
    return tmp_path / "canary"


@pytest.fixture
def team(tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with code, for a person who has answered for nothing."""
    monkeypatch.delenv("LLMDO_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "w"
    root.mkdir()
    (root / "llmdo.toml").write_text(MANIFEST)
    (root / "main.worker").write_text(WORKER)
    (root / "tools.py").write_text(CODE.format(canary=str(canary)))
    return root


def require_trust(root: Path) -> None:
    """Has the person's policy say so."""
    policy = root.parent / "config" / "llmdo" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\ntrust = "required"\n')


def at_terminal(
    root: Path, *words: str, answers: tuple[Reaction, ...], columns: int = 80
) -> tuple[int, Person]:
    """A command at a real terminal, whose person gives these answers."""
    with Person(*answers, columns=columns, prompt=PROMPT) as person:
        environ = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        code = wait_for(person.start([sys.executable, "-m", "llmdo", *words], root, environ))
    return code, person


def test_a_person_is_asked_before_anything_is_imported_and_a_no_runs_nothing(
    team: Path, canary: Path
) -> None:
    seen: list[bool] = []

    def no(person: Person) -> None:
        seen.append(canary.exists())
        person.type("no\n")

    code, person = at_terminal(team, "run", "main", "x", answers=(no,))
    assert (code, seen, canary.exists()) == (2, [False], False)
    assert "  Python tools.py, 14 lines" in person.prompts[0]
    refused = "".join(person.lines())
    assert "nobody has answered for 1 Python file of this workspace: nothing of it was run" in refused


def test_a_yes_to_the_content_holds_until_it_changes_and_then_the_change_is_shown(
    team: Path, canary: Path
) -> None:
    code, person = at_terminal(team, "run", "main", "x", answers=("content\n",))
    assert (code, len(person.prompts), canary.exists()) == (0, 1, True)
    code, person = at_terminal(team, "run", "main", "x", answers=())
    assert (code, person.prompts) == (0, [])
    with (team / "tools.py").open("a") as file:
        file.write("import antigravity_of_mine\n")
    code, person = at_terminal(team, "run", "main", "x", answers=("no\n",))
    assert code == 2
    shown = person.prompts[0]
    assert "  Python tools.py, 15 lines (changed)" in shown
    assert "  | +import antigravity_of_mine" in shown
    assert not any("touch()" in line for line in shown)


@pytest.mark.long
def test_a_yes_to_the_content_holds_for_a_copy_and_one_to_the_folder_for_whatever_becomes_of_it(
    team: Path, tmp_path: Path
) -> None:
    assert at_terminal(team, "lock", answers=("content\n",))[0] == 0
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in ("llmdo.toml", "main.worker", "tools.py"):
        (copy / file).write_bytes((team / file).read_bytes())
    assert at_terminal(copy, "lock", answers=())[0] == 0
    (copy / "tools.py").write_text((copy / "tools.py").read_text() + "# more\n")
    assert at_terminal(copy, "lock", answers=("folder\n",))[0] == 0
    (copy / "tools.py").write_text((copy / "tools.py").read_text() + "# more still\n")
    assert at_terminal(copy, "lock", answers=())[0] == 0
    assert llmdo(team, "trust", "--forget", str(copy)).stderr == "1 forgotten\n"
    assert at_terminal(copy, "lock", "--refresh", answers=("no\n",))[0] == 2


@pytest.mark.parametrize(
    "typed",
    [
        "y\n",
        *(
            pytest.param(typed, marks=pytest.mark.long)
            for typed in ("yes\n", "Content\n", "\n", "\x04", "content folder\n")
        ),
    ],
)
def test_nothing_but_a_whole_word_is_a_yes(team: Path, canary: Path, typed: str) -> None:
    code, _ = at_terminal(team, "run", "main", "x", answers=(typed, "no\n"))
    assert (code, canary.exists()) == (2, False)


@pytest.mark.long
def test_what_was_typed_before_the_question_answers_nothing(team: Path, canary: Path) -> None:
    with Person("no\n", prompt=PROMPT) as person:
        person.type("content\ncontent\n")
        environ = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        code = wait_for(person.start([sys.executable, "-m", "llmdo", "run", "main", "x"], team, environ))
    assert (code, canary.exists()) == (2, False)


@pytest.mark.long
def test_all_of_a_long_file_is_there_to_be_shown(team: Path) -> None:
    with (team / "tools.py").open("a") as file:
        file.writelines(f"line_{number} = 1\n" for number in range(40))
    _, person = at_terminal(team, "run", "main", "x", answers=("show\n", "no\n"), columns=60)
    first, second = person.prompts
    assert "  | ... 50 more lines; `show` shows them" in first
    assert "  | line_20 = 1" not in first
    assert [f"  | line_{number} = 1" in second for number in range(40)] == [True] * 40


@pytest.mark.long
def test_nothing_that_is_shown_steers_the_terminal_or_hides(team: Path) -> None:
    code = (team / "tools.py").read_text()
    (team / "tools.py").write_text(
        f"# \x1b[2J\x1b[8m \u202e gnp.exe\n# \u200b\n# trust? [no] content\n{code}"
    )
    _, person = at_terminal(team, "run", "main", "x", answers=("no\n",))
    shown = "\n".join(person.prompts[0])
    assert "\\u{1b}[2J\\u{1b}[8m" in shown
    assert "\\u{202e}" in shown
    assert "\\u{200b}" in shown
    assert "\n  | # trust? [no] content" in shown


def test_without_a_terminal_it_goes_on_and_says_so_in_a_line(team: Path, canary: Path) -> None:
    done = llmdo(team, "lock")
    assert done.returncode == 0
    assert canary.exists()
    line = "runs 1 Python file that nobody has answered for yet: `llmdo trust` shows them\n"
    assert done.stderr.startswith(line)
    assert done.stderr.count("nobody has answered") == 1


@pytest.mark.needs_bwrap
def test_what_was_answered_for_says_nothing_more(team: Path, canary: Path) -> None:
    done = llmdo(team, "trust")
    assert "  Python tools.py, 14 lines" in done.stdout
    assert not canary.exists()
    assert llmdo(team, "lock").stderr == "wrote llmdo.lock\n"
    listed = llmdo(team, "trust", "--list").stdout.split()
    assert listed[1:3] == ["content", str(team)]
    assert llmdo(team, "trust").stderr == "was trusted already: this content, until it changes\n"
    assert llmdo(team, "trust", "--forget").stderr == "1 forgotten\n"
    assert llmdo(team, "trust", "--list").stdout == "no answers are recorded\n"
    assert "nobody has answered for" in llmdo(team, "lock", "--refresh").stderr


@pytest.mark.few(2)
@pytest.mark.parametrize("way", ["--trust", "LLMDO_TRUST", "llmdo trust", "llmdo trust --folder"])
def test_where_trust_is_required_it_is_given_in_three_ways(
    team: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_trust(team)
    refused = llmdo(team, "lock")
    assert refused.returncode == 2
    assert "policy.toml` requires that: nothing of it was run" in refused.stderr
    words = ["lock"]
    if way == "--trust":
        words.append(way)
    elif way == "LLMDO_TRUST":
        monkeypatch.setenv(way, "1")
    else:
        llmdo(team, *way.split()[1:])
    assert llmdo(team, *words).returncode == 0


def test_the_environment_may_require_an_answer_as_the_policy_does(
    team: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_TRUST", "required")
    refused = llmdo(team, "lock")
    assert (refused.returncode, canary.exists()) == (2, False)
    assert "nobody has answered for 1 Python file of this workspace: nothing of it was run" in refused.stderr
    llmdo(team, "trust")
    assert llmdo(team, "lock").returncode == 0


def test_a_variable_that_says_neither_yes_nor_no_is_an_error(
    team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDO_TRUST", "nope")
    done = llmdo(team, "lock")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`LLMDO_TRUST=nope` is neither yes nor no" in done.stderr


def test_a_file_of_variables_answers_for_nothing(team: Path, canary: Path) -> None:
    require_trust(team)
    for line in ("LLMDO_TRUST=1", "XDG_STATE_HOME=/tmp/x", "XDG_CONFIG_HOME=/tmp/x", "HOME=/tmp/x"):
        (team / "vars").write_text(f"{line}\n")
        done = llmdo(team, "run", "main", "x", "--env-file", "vars")
        assert done.returncode == 2
        assert f"`{line.partition('=')[0]}` may only be set by the person" in done.stderr
    assert not canary.exists()


def _mcp(root: Path) -> None:
    canary = root.parent / "canary"
    server = root / "server.py"
    server.write_text(f"open({str(canary)!r}, 'w').close()\n")
    (root / "llmdo.toml").write_text(
        f'{MANIFEST}[toolsets.notes]\nisolation = "off"\nmcp = {{ command = "{sys.executable}", args = ["server.py"] }}\n'
    )


def _run(root: Path) -> str:
    """The id of a run of the workspace, which ran before anybody had to answer."""
    assert llmdo(root, "run", "main", "x", "--trust").returncode == 0
    listed = json.loads(llmdo(root, "runs", "--format", "json").stdout)
    return str(listed["runs"][0]["run"])


EXECUTING: dict[str, Callable[[Path], list[str]]] = {
    "lock": lambda _: ["lock"],
    "run": lambda _: ["run", "main", "x"],
    "runs test": lambda _: ["runs", "test"],
    "serve mcp": lambda _: ["serve", "mcp"],
    "batch start": lambda _: ["batch", "main", "--inputs", "in.jsonl"],
}
"""What executes something of a workspace, from a workspace that nothing ran in."""

LEFT = CODE.replace(
    'rules = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("done")]))',
    """\
def answer(messages, info):
    if Path("dying").exists():
        os._exit(9)
    if Path("failing").exists():
        raise RuntimeError("not yet")
    return ModelResponse(parts=[TextPart("done")])


rules = FunctionModel(answer)""",
).replace("from pathlib", "import os\nfrom pathlib", 1)
"""Code whose model fails, or ends the process, as long as a file says so."""
EVAL = "schema: 1\nentry: main\ncases:\n  - name: first\n    input: x\n    evaluators: { contains: done }\n"


def alone(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command as a process that Python was started for: what it imports, it imports itself."""
    return subprocess.run(
        [sys.executable, "-m", "llmdo", *words],
        cwd=root,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def _left(root: Path, how: str, *words: str) -> None:
    (root / how).touch()
    done = alone(root, *words)
    assert done.returncode == {"dying": 9, "failing": 1}[how], done.stderr
    (root / how).unlink()


def _left_run(root: Path) -> list[str]:
    _left(root, "dying", "run", "main", "x")
    return ["resume", "last"]


def _left_batch(root: Path) -> list[str]:
    (root / "in.jsonl").write_text('{"input": "x"}\n')
    _left(root, "dying", "batch", "main", "--inputs", "in.jsonl")
    return ["batch", "resume", "last"]


def _failed_batch(root: Path) -> list[str]:
    (root / "in.jsonl").write_text('{"input": "x"}\n')
    _left(root, "failing", "batch", "main", "--inputs", "in.jsonl")
    return ["batch", "retry", "last"]


def _left_eval(root: Path) -> list[str]:
    (root / "evals").mkdir()
    (root / "evals/main.yaml").write_text(EVAL)
    _left(root, "dying", "eval", "main")
    return ["eval", "resume", "last"]


GOING_ON: dict[str, Callable[[Path], list[str]]] = {
    "resume": _left_run,
    "batch resume": _left_batch,
    "batch retry": _failed_batch,
    "eval resume": _left_eval,
}
"""What goes on with something that was begun while somebody answered for it, and was left."""

READING = {
    "scan": ["scan"],
    "check": ["check"],
    "diff": ["diff", "--locks", "llmdo.lock", "llmdo.lock"],
    "explain": ["explain", "LDO101"],
    "suggest": ["suggest", "main"],
    "reach": ["reach"],
    "page": ["page", "--export", "page.html"],
    "trust": ["trust", "--list"],
    "inbox": ["inbox"],
    "approve": ["approve", "last"],
    "runs audit": ["runs", "audit", "last"],
    "import": ["import", "mcp", ".", "--out", "imported"],
    "schema": ["schema", "manifest"],
    "doctor": ["doctor"],
    "completion": ["completion", "bash"],
    "batch list": ["batch", "list"],
    "batch show": ["batch", "show", "last"],
    "batch cancel": ["batch", "cancel", "last"],
    "runs list": ["runs", "list"],
    "runs show": ["runs", "show", "last"],
    "runs stats": ["runs", "stats"],
    "runs prune": ["runs", "prune", "--dry-run"],
    "batch prune": ["batch", "prune", "--dry-run"],
    "runs cancel": ["runs", "cancel", "last"],
    "runs export": ["runs", "export", "last", "out.run"],
    "runs import": ["runs", "import", "out.run"],
    "batch rebind": ["batch", "rebind", "last"],
    "eval list": ["eval", "list"],
    "eval new": ["eval", "new", "cases", "--from-runs", "main"],
    "eval show": ["eval", "show", "last"],
    "fleet store migrate": ["fleet", "store", "migrate"],
    "hook answer": ["hook", "answer", "claude"],
    "hook install": ["hook", "install", "claude", "--yes"],
    "hook doctor": ["hook", "doctor", "claude"],
    "hook sessions": ["hook", "sessions"],
    "fleet status": ["fleet", "status"],
    "fleet store restored": ["fleet", "store", "restored"],
}
"""What executes nothing of a workspace: whatever comes of it, no question and no line about trust does."""

WRITING = {"init", "new", *(name for name in COMMANDS if name.startswith(("add ", "remove ")))}
REPEATING = {"runs replay", "eval start"}
"""What has tests of its own below."""
ON_A_FLEET = {"fleet worker"}  # `tests/features/fleet/test_worker.py`
SERVING = {"lsp", "serve commands"}
"""What executes nothing of a workspace, whatever the other side asks for."""


def test_every_command_is_known_to_execute_or_not_to() -> None:
    assert {*EXECUTING, *READING, *WRITING, *GOING_ON, *REPEATING, *ON_A_FLEET, *SERVING, "chat"} == {
        *COMMANDS
    }


@pytest.mark.few(3)
@pytest.mark.parametrize("name", EXECUTING)
def test_no_command_executes_what_nobody_answered_for(team: Path, canary: Path, name: str) -> None:
    assert llmdo(team, "lock", "--trust").returncode == 0
    (team / "in.jsonl").write_text('{"input": "x"}\n')
    if name == "runs test":
        run = _run(team)
        (team / "recordings").mkdir()
        assert llmdo(team, "runs", "export", run, f"recordings/first{SUFFIX}").returncode == 0
    if name == "lock":
        (team / "tools.py").write_text((team / "tools.py").read_text() + "# changed\n")
    canary.unlink(missing_ok=True)
    require_trust(team)
    done = llmdo(team, *EXECUTING[name](team))
    assert (done.returncode, canary.exists()) == (2, False), done.stderr
    assert "nobody has answered for 1 Python file of this workspace" in done.stderr


@pytest.mark.long
def test_a_function_that_judges_an_eval_is_code_as_well(team: Path, canary: Path) -> None:
    (team / "tools.py").write_text((team / "tools.py").read_text().replace("touch()", "exists()"))
    require_trust(team)
    llmdo(team, "trust")
    assert llmdo(team, "lock").returncode == 0
    (team / "judge.py").write_text(f"open({str(canary)!r}, 'w').close()\ndef right(ctx): return True\n")
    (team / "evals").mkdir()
    (team / "evals/main.yaml").write_text(
        "schema: 1\nentry: main\ncases:\n  - name: first\n    input: x\n    evaluators: { function: judge.py:right }\n"
    )
    assert llmdo(team, "lock").returncode == 0, "it imports no judge"
    done = llmdo(team, "eval", "main")
    assert (done.returncode, canary.exists()) == (2, False), done.stderr
    assert "nobody has answered for 1 Python file and 1 Python file that judges" in done.stderr
    assert "  Python that judges judge.py, 2 lines" in llmdo(team, "trust").stdout
    assert llmdo(team, "eval", "main").returncode == 0
    assert canary.exists()


@pytest.mark.long
def test_nothing_but_these_imports_or_starts_what_a_workspace_brings() -> None:
    """Each of these stands behind `Consent.require`: who needs another one gives it the same door."""
    doors = {
        r"\binspect_toolsets\(": {"services/locking.py", "toolsets/isolation.py"},
        r"\blist_servers\(": {"services/locking.py", "toolsets/mcp.py"},
        r"\bLauncher\(": {"services/locking.py", "runtime/preparation.py"},
        r"\bModules\(": {
            *("runtime/run.py", "toolsets/inspection.py", "features/evaluation/evaluators.py"),
            "services/offers.py",  # for what is served, once that was answered for
        },
        r"\boffers_of\(": {"services/offers.py", "features/mcp_server/serving.py"},
    }
    files = {file.relative_to(PACKAGE).as_posix(): file.read_text() for file in PACKAGE.rglob("*.py")}
    for pattern, allowed in doors.items():
        assert {name for name, text in files.items() if re.search(pattern, text)} <= allowed, pattern


@pytest.mark.long
def test_a_chat_asks_before_its_first_turn(team: Path, canary: Path) -> None:
    code, person = at_terminal(team, "chat", "main", answers=("no\n",))
    assert (code, len(person.prompts), canary.exists()) == (2, 1, False)


@pytest.mark.few(11)
@pytest.mark.parametrize("name", READING)
def test_what_reads_executes_nothing_and_never_asks(team: Path, canary: Path, name: str) -> None:
    _mcp(team)
    require_trust(team)
    done = llmdo(team, *READING[name])
    assert not canary.exists()
    assert "answered for" not in done.stderr or name == "trust"


@pytest.mark.long
def test_the_editor_executes_nothing_whatever_is_asked_of_it(team: Path, canary: Path) -> None:
    """Every file is opened, changed, saved and closed; every place of it is asked about; every action is taken."""
    _mcp(team)
    require_trust(team)
    (team / "broken.worker").write_text(
        "---\nname: broken\ntoolsets: [calx, notes]\nmodel: fats\nmay: []\n---\n"
    )
    manifest = (team / "llmdo.toml").read_text()
    (team / "llmdo.toml").write_text(f'{manifest}[entries.go]\nworker = "main"\nmay = ["fs.read"]\n')
    paths = ["llmdo.toml", "main.worker", "broken.worker", "tools.py"]

    async def work() -> None:
        async with editor(team) as shown:
            for path in paths:
                shown.open(path)
            await shown.until(lambda: bool(shown.codes("broken.worker")))
            titles: set[str] = set()
            for path in paths:
                document = types.TextDocumentIdentifier(shown.uri(path))
                await shown.client.text_document_code_lens_async(types.CodeLensParams(document))
                for number, line in enumerate((team / path).read_text().splitlines()):
                    await asked(shown, path, number, len(line) // 2)
                    place = types.Range(types.Position(number, 0), types.Position(number, len(line)))
                    here = [
                        each
                        for each in shown.client.diagnostics.get(document.uri, ())
                        if each.range.start.line == number
                    ]
                    titles |= {each.title for each in await actions(shown, document, place, here)}
            assert len(titles) >= 3, titles
            for path in paths:
                text = (team / path).read_text()
                shown.type(path, text.replace("calc", "calk"))
                shown.save(path)
                await asked(shown, path, 1, 2)
                shown.type(path, text)
                (team / path).write_text(text)
                shown.save(path)
                shown.close(path)
            await shown.until(lambda: bool(shown.codes("broken.worker")))

    async def asked(shown: Editor, path: str, line: int, column: int) -> None:
        client, at = shown.client, shown.at(path, line, column)
        await client.text_document_hover_async(types.HoverParams(**at))
        await client.text_document_completion_async(types.CompletionParams(**at))
        await client.text_document_definition_async(types.DefinitionParams(**at))
        context = types.ReferenceContext(True)
        await client.text_document_references_async(types.ReferenceParams(context=context, **at))
        with suppress(JsonRpcException):  # what is no name of a worker cannot be renamed
            await client.text_document_rename_async(types.RenameParams(new_name="helper", **at))

    async def actions(
        shown: Editor,
        document: types.TextDocumentIdentifier,
        place: types.Range,
        here: list[types.Diagnostic],
    ) -> list[types.CodeAction]:
        parameters = types.CodeActionParams(document, place, types.CodeActionContext(here))
        offered = await shown.client.text_document_code_action_async(parameters) or []
        assert not [each for each in offered if each.command], "an action edits, and runs no command"
        return [each for each in offered if each.edit or each.data]

    run(work())
    assert not canary.exists()
    (team / "broken.worker").unlink()
    llmdo(team, "lock", "--trust")
    assert canary.exists(), "what would have shown that something was executed does"


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", GOING_ON)
def test_nothing_goes_on_that_nobody_answered_for(
    team: Path, canary: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (team / "tools.py").write_text(LEFT.format(canary=str(canary)))
    monkeypatch.setenv("LLMDO_TRUST", "1")
    assert llmdo(team, "lock").returncode == 0
    words = GOING_ON[name](team)
    monkeypatch.delenv("LLMDO_TRUST")
    canary.unlink()
    require_trust(team)
    refused = alone(team, *words)
    assert (refused.returncode, canary.exists()) == (2, False), refused.stderr
    assert "nobody has answered for 1 Python file of this workspace" in refused.stderr
    monkeypatch.setenv("LLMDO_TRUST", "1")  # and only that was in the way
    done = alone(team, *words)
    assert (done.returncode, canary.exists()) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("sources", ["workspace", "run"])
def test_a_run_that_goes_on_or_is_repeated_executes_nothing_that_nobody_answered_for(
    team: Path, canary: Path, sources: str
) -> None:
    assert llmdo(team, "lock", "--trust").returncode == 0
    (team / "main.worker").write_text(
        WORKER.replace("entry: true", "entry: true").replace("[calc]", "[calc]")
    )
    run = _run(team)
    canary.unlink()
    require_trust(team)
    done = llmdo(team, "runs", "replay", run, "--rerun-tools", "--sources", sources)
    assert (done.returncode, canary.exists()) == (2, False), done.stderr
    assert "nobody has answered for 1 Python file" in done.stderr


def test_a_server_is_not_started_before_somebody_answered_for_it(team: Path, canary: Path) -> None:
    pytest.importorskip("fastmcp")
    _mcp(team)
    require_trust(team)
    (team / "tools.py").write_text((team / "tools.py").read_text().replace("touch()", "exists()"))
    refused = llmdo(team, "lock")
    assert (refused.returncode, canary.exists()) == (2, False)
    assert "1 Python file, 1 MCP server and 1 program of an MCP server" in refused.stderr
    shown = llmdo(team, "trust").stdout
    assert f'| runs ["{sys.executable}", "server.py"]' in shown
    assert "  program server.py, 1 line" in shown
    llmdo(team, "lock")
    assert canary.exists()  # which is no server, so that the lock fails
    canary.unlink()
    (team / "server.py").write_text((team / "server.py").read_text() + "# changed\n")
    assert llmdo(team, "lock").returncode == 2
    assert not canary.exists()


def test_shell_rules_are_asked_about_and_a_decision_about_commands_is_part_of_them(team: Path) -> None:
    require_trust(team)
    rules = '[[toolsets.shell.rules]]\nrun = ["git", "status"]\n'
    (team / "llmdo.toml").write_text(MANIFEST + rules)
    shown = llmdo(team, "trust").stdout
    assert "  | git status [] none named -> proc.exec" in shown
    assert llmdo(team, "lock").returncode == 0
    (team / "llmdo.toml").write_text(MANIFEST + '"proc.exec" = "allowed"\n' + rules)
    assert "shell rules of this workspace" in llmdo(team, "run", "main", "x").stderr


def test_a_model_that_only_a_flag_names_is_code_as_well(team: Path, canary: Path) -> None:
    (team / "other.py").write_text(CODE.format(canary=str(canary)))
    (team / "tools.py").write_text((team / "tools.py").read_text().replace("touch()", "exists()"))
    require_trust(team)
    llmdo(team, "trust")
    assert llmdo(team, "run", "main", "x").returncode == 0
    done = llmdo(team, "run", "main", "x", "--model", "main=python:other.py:rules")
    assert (done.returncode, canary.exists()) == (2, False)
    assert "nobody has answered for 2 Python files" in done.stderr


def test_a_model_that_only_a_journal_names_needs_an_answer_whoever_goes_on_without_one(
    team: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = "ModelResponse(parts=[ToolCallPart('note', {'text': 'x'})] if len(messages) == 1 else [TextPart('done')])"
    other = CODE.format(canary=str(canary)).replace("TextPart\n", "TextPart, ToolCallPart\n")
    (team / "other.py").write_text(other.replace('ModelResponse(parts=[TextPart("done")])', calls))
    (team / "tools.py").write_text((team / "tools.py").read_text().replace("touch()", "exists()"))
    (team / "llmdo.toml").write_text(MANIFEST.replace('"allowed"', '"needs_approval"'))
    words = ["run", "main", "x", "--model", "main=python:other.py:rules", "--approvals", "later"]
    waiting = llmdo(team, *words)
    assert (waiting.returncode, canary.exists()) == (3, True), waiting.stderr
    canary.unlink()
    run = json.loads(llmdo(team, "runs", "--format", "json").stdout)["runs"][0]["run"]
    assert llmdo(team, "approve", run, "--yes", "main/note#1").returncode == 0
    refused = llmdo(team, "resume", run)
    assert (refused.returncode, canary.exists()) == (2, False), refused.stderr
    assert "nobody has answered for 2 Python files" in refused.stderr
    with pytest.raises(LlmdoError, match="nobody has answered for 2 Python files"):
        resume(team, run)
    assert not canary.exists(), "a program has nobody to ask either"
    monkeypatch.setenv("LLMDO_TRUST", "1")
    done = llmdo(team, "resume", run)
    assert (done.returncode, done.stdout, canary.exists()) == (0, "done\n", True), done.stderr


def test_an_entry_that_python_runs_is_refused_where_trust_is_required(team: Path, canary: Path) -> None:
    assert llmdo(team, "lock", "--trust").returncode == 0  # so that the run itself is what would import it
    script = "import llmdo\nprint(llmdo.run('.', 'main', 'x').output)"
    words = [sys.executable, "-c", script]
    free = forking.run(words, cwd=team, capture_output=True, text=True)
    assert (free.stdout, free.stderr) == ("done\n", "")
    canary.unlink()
    require_trust(team)
    refused = forking.run(words, cwd=team, capture_output=True, text=True)
    assert "nobody has answered for 1 Python file" in refused.stderr
    assert not canary.exists()


@pytest.mark.long
def test_the_readme_shows_the_question_to_which_its_first_minute_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LLMDO_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(
        ROOT / "examples/confused_deputy", tmp_path / "w", ignore=shutil.ignore_patterns(".llmdo")
    )
    _, person = at_terminal(tmp_path / "w", "run", "triage", answers=("no\n",), columns=80)
    text = (ROOT / "README.md").read_text().split("would run this as you:\n")[1].split("```")[0]
    rows, shown = text.splitlines(), person.prompts[0]
    assert [row.rstrip() for row in rows] == [row for row in shown[shown.index(rows[0]) :] if row]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("run", "main", "x", "--attach", "gone.txt"), "gone.txt"),
        (("run", "main", "x", "--model", "openai:gpt-5"), "`OPENAI_API_KEY`"),
        (("run", "other", "x"), "there is no entry `other`"),
        (("run", "main.worker", "tool.py", "x"), "there is no file `tool.py`"),
        (("run", "main.worker", "tool.py"), "did you mean `tools.py`"),
    ],
)
def test_what_can_be_known_without_asking_comes_before_the_question_for_trust(
    team: Path, canary: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], fault: str
) -> None:
    require_trust(team)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LLMDO_TRUST"):
        monkeypatch.delenv(name, raising=False)
    (team / "main.worker").write_text(WORKER.replace("model: python:tools.py:rules\n", ""), encoding="utf-8")
    done = llmdo(team, *words)
    assert done.returncode == 2
    assert fault in done.stderr
    assert "nobody has answered for" not in done.stderr
    assert not canary.exists()
