"""llmdo from Python: what it runs, what it refuses, and that its page in docs/ is true."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import llmdo
from llmdo.__main__ import main
from llmdo.journal import Runs
from llmdo.journal.questions import waiting
from llmdo.runtime import ApproveAll, ApproveSome, AskLater, RejectAll
from tests.support import forking
from tests.support.building import Step, script

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["extra.py"]
model = "python:models.py:rules"

[entries.main]
worker = "greeter"
input = "Greet somebody."
limits = { requests = 5 }
"""

WORKER = "---\nname: {name}\n{more}---\nYou are {name}.\n"

CODE = """\
async def start(runtime, input):
    return "code: " + await runtime.call_agent("helper", input)
"""

TOOLS = """\
from pydantic_ai import RunContext
from pydantic_ai.toolsets import FunctionToolset

desk = FunctionToolset()

@desk.tool(metadata={"capabilities": []})
async def ask(ctx: RunContext, text: str) -> str:
    return "tool: " + await ctx.deps.call_agent("helper", text, ctx)
"""

RULES = """\
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

def answer(messages, info):
    results = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if results:
        return ModelResponse(parts=[TextPart(f"{results[0].outcome}: {results[0].content}")])
    if any(tool.name == "write_file" for tool in info.function_tools):
        return ModelResponse(parts=[ToolCallPart("write_file", {"path": "reports/a.md", "content": "x"})])
    return ModelResponse(parts=[TextPart(f"rules say: {messages[0].parts[0].content}")])

rules = FunctionModel(answer)
"""


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "team"
    (root / "reports").mkdir(parents=True)
    files = {
        "llmdo.toml": MANIFEST,
        "models.py": RULES,
        "greeter.worker": WORKER.format(name="greeter", more="compatible_models: ['*']\n"),
        "writer.worker": WORKER.format(
            name="writer", more="entry: true\ntoolsets: {filesystem: {write: [reports/**]}}\n"
        ),
        "helper.worker": WORKER.format(name="helper", more="model: python:models.py:rules\n"),
        "code.py": CODE,
        "tools.py": TOOLS,
        "extra.py": "",
    }
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return root


def echoing(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    del info
    results = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    return ModelResponse(parts=[TextPart(f"given: {results}")])


@pytest.mark.long
def test_a_run_is_that_of_the_command_line(team: Path) -> None:
    outcome = llmdo.run(team)
    assert (outcome.status, outcome.output) == ("completed", "rules say: Greet somebody.")
    assert llmdo.run("team", "main", "Greet Ada.").output == "rules say: Greet Ada."


def test_a_model_of_the_program_is_used(team: Path) -> None:
    mine = FunctionModel(echoing)
    assert llmdo.run(team, model=mine).output == "given: []"
    assert llmdo.run(team, model={"greeter": mine}).output == "given: []"
    with pytest.raises(llmdo.InvalidTeamError, match="`model` names `greter`, which is not a worker"):
        llmdo.run(team, model={"greter": mine})


def test_without_an_approver_nobody_is_asked(team: Path) -> None:
    refused = llmdo.run(team, "writer", "x")
    assert refused.output is not None
    assert "needs approval" in refused.output
    assert not (team / "reports/a.md").exists()
    assert llmdo.run(team, "writer", "x", approver=ApproveAll()).denied == ()
    assert (team / "reports/a.md").exists()


def test_the_persons_own_policy_holds(team: Path, tmp_path: Path) -> None:
    policy = tmp_path / "config/llmdo/policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('schema = 1\n[approvals.rules]\n"fs.write" = "blocked"\n', encoding="utf-8")
    assert llmdo.run(team, "writer", "x", approver=ApproveAll()).output == "rules say: x"
    assert not (team / "reports/a.md").exists()
    policy.write_text("schema = 1\n[approvals]\napprove-all = false\n", encoding="utf-8")
    for approver in (ApproveAll(), ApproveSome((), otherwise=ApproveSome((), otherwise=ApproveAll()))):
        with pytest.raises(llmdo.LlmdoError, match="`ApproveAll` is forbidden on this machine"):
            llmdo.run(team, "writer", "x", approver=approver)
    refused = llmdo.run(team, "writer", "x", approver=ApproveSome((), otherwise=RejectAll()))
    assert [denied.decision for denied in refused.denied] == ["needs_approval"]


def test_limits_may_only_lower(team: Path) -> None:
    script(team, rules=[[("list_files", {})], [("list_files", {})], "done"])
    main = (team / "greeter.worker").read_text().replace("---\nYou", "toolsets: [filesystem]\n---\nYou")
    (team / "greeter.worker").write_text(main, encoding="utf-8")
    assert llmdo.run(team, limits=llmdo.Limits(requests=100)).output == "done"
    assert llmdo.run(team, limits=llmdo.Limits(requests=2)).status == "failed"
    (team / "llmdo.toml").write_text(MANIFEST.replace("requests = 5", "requests = 1"), encoding="utf-8")
    assert llmdo.run(team, limits=llmdo.Limits(requests=100)).status == "failed"


@pytest.mark.few(2)
@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 0, -1])
def test_a_limit_is_a_number_above_0(team: Path, seconds: float) -> None:
    with pytest.raises(llmdo.LlmdoError, match="`limits` does not set `seconds` to a number above 0"):
        llmdo.run(team, limits=llmdo.Limits(seconds=seconds))


def test_findings_and_missing_entries_are_value_errors(team: Path) -> None:
    with pytest.raises(ValueError, match="there is no entry `mian`") as missing:
        llmdo.run(team, "mian")
    assert isinstance(missing.value, llmdo.LlmdoError)
    assert missing.value.hint == "did you mean `main`?"
    (team / "greeter.worker").write_text(
        "---\nname: greeter\ntoolsets: [filesytem]\n---\nGo.\n", encoding="utf-8"
    )
    with pytest.raises(
        llmdo.InvalidTeamError, match=r"greeter.worker: `greeter` uses `filesytem`"
    ) as unsound:
        llmdo.run(team)
    assert [finding.code for finding in unsound.value.findings] == ["LDO202"]


def test_locked_refuses_without_a_lock(team: Path) -> None:
    with pytest.raises(llmdo.InvalidTeamError, match=r"there is no `llmdo\.lock`"):
        llmdo.run(team, locked=True)


def test_run_in_a_loop_says_what_to_use(team: Path) -> None:
    async def inside() -> None:
        llmdo.run(team)

    with pytest.raises(llmdo.LlmdoError, match="cannot be called from a running event loop"):
        asyncio.run(inside())


def build(*files: str, **options: object) -> llmdo.services.embedding.BuiltEntry:
    workers = [file for file in files if file.endswith(".worker")]
    python = [file for file in files if file.endswith(".py")]
    return asyncio.run(llmdo.build_entry(workers, python, **options))  # type: ignore[arg-type]


def answer(built: llmdo.services.embedding.BuiltEntry, text: str) -> str | None:
    outcome = asyncio.run(built.entry.run(text))
    assert outcome.error is None
    return outcome.output


def test_an_entry_of_files_is_a_worker_a_function_or_a_tool(team: Path) -> None:
    worker = build("team/helper.worker", entry_name="helper")
    assert (worker.entry.kind, worker.workers, worker.tools) == ("worker", (), ())
    assert answer(worker, "hi") == "rules say: hi"
    function = build("team/helper.worker", "team/code.py", entry_name="start")
    assert (function.entry.kind, function.workers) == ("function", ("helper",))
    assert answer(function, "hi") == "code: rules say: hi"
    tool = build("team/helper.worker", "team/tools.py", entry_name="ask")
    assert (tool.entry.kind, tool.workers) == ("tool", ("helper",))
    assert [offer.tool for offer in tool.tools] == ["ask"]
    assert answer(tool, "hi") == "tool: rules say: hi"
    assert team.is_dir()


def test_the_model_of_a_built_entry_is_its_own_alone(team: Path) -> None:
    boss = "toolsets: [helper]\nmodel: python:models.py:rules\n"
    (team / "main.worker").write_text(WORKER.format(name="main", more=boss), encoding="utf-8")
    calls: list[Step] = [[("helper", {"input": "x"})], "{results}"]
    script(team, rules=["from the file"], caller=calls)
    built = build("team/main.worker", "team/helper.worker", model="python:models.py:caller")
    assert answer(built, "go") == "[success: from the file]"
    nameless = WORKER.format(name="helper", more="")
    (team / "helper.worker").write_text(nameless, encoding="utf-8")
    function = build("team/helper.worker", "team/code.py", entry_name="start", model=FunctionModel(echoing))
    assert answer(function, "go") == "code: given: []"


def test_each_worker_of_a_built_entry_can_have_a_model(team: Path) -> None:
    boss = "toolsets: [helper]\nmodel: python:models.py:rules\n"
    (team / "main.worker").write_text(WORKER.format(name="main", more=boss), encoding="utf-8")
    nameless = WORKER.format(name="helper", more="")
    (team / "helper.worker").write_text(nameless, encoding="utf-8")
    script(team, rules=[[("helper", {"input": "x"})], "{results}"])
    built = build("team/main.worker", "team/helper.worker", models={"helper": FunctionModel(echoing)})
    assert answer(built, "go") == "[success: given: []]"
    with pytest.raises(llmdo.InvalidTeamError, match="`helpr`, which is not a worker"):
        build("team/main.worker", "team/helper.worker", models={"helpr": "python:models.py:rules"})


def test_models_of_one_name_are_told_apart(team: Path) -> None:
    def saying(text: str) -> FunctionModel:
        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if info.function_tools and len(messages) == 1:
                return ModelResponse(parts=[ToolCallPart("helper", {"input": "x"})])
            return ModelResponse(parts=[TextPart(f"{text} {messages[-1].parts[0].content}")])

        return FunctionModel(answer)

    boss = "toolsets: [helper]\nmodel: python:models.py:rules\n"
    (team / "main.worker").write_text(WORKER.format(name="main", more=boss), encoding="utf-8")
    (team / "helper.worker").write_text(WORKER.format(name="helper", more=""), encoding="utf-8")
    both = {"model": saying("caller"), "models": {"helper": saying("helper")}}
    built = build("team/main.worker", "team/helper.worker", **both)
    assert answer(built, "go") == "caller helper x"


def test_an_entry_that_is_open_is_what_the_files_said_then(team: Path) -> None:
    entry = llmdo.open_entry("team", "main")
    first = asyncio.run(entry.run("Greet Ada."))
    (team / "helper.worker").write_text("broken", encoding="utf-8")
    again = asyncio.run(entry.run("Greet Ada."))
    assert (first.status, again.status, again.output) == ("completed", "completed", first.output)


def test_a_missing_entry_lists_those_there_are(team: Path) -> None:
    with pytest.raises(llmdo.InvalidTeamError) as missing:
        llmdo.open_entry("team", "something else entirely")
    assert missing.value.hint is not None
    assert "`main`" in missing.value.hint


@pytest.mark.parametrize(
    ("files", "entry", "message"),
    [
        ([], "main", "no files were given"),
        (["team/gone.worker"], "main", "there is no file `gone.worker`"),
        (["team/llmdo.toml"], "main", "is neither a worker file nor a Python file"),
        (["team/helper.worker"], "main", "there is no entry `main`"),
        (["team/helper.worker", "team/helpr.worker"], "helper", "has the name of another worker"),
        (["team/start.worker", "team/code.py"], "start", "the entry `start` could be worker `start` and function"),
        (["team/lost.worker"], "lost", "`lost` uses `nowhere`, which is neither a toolset nor a worker"),
        (["team/helper.worker", "team/broken.py"], "helper", "this is not valid Python"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_a_value_error(
    files: list[str], entry: str, message: str, team: Path
) -> None:
    (team / "helpr.worker").write_text(WORKER.format(name="helper", more=""), encoding="utf-8")
    (team / "start.worker").write_text(WORKER.format(name="start", more=""), encoding="utf-8")
    (team / "lost.worker").write_text(
        WORKER.format(name="lost", more="toolsets: [nowhere]\n"), encoding="utf-8"
    )
    (team / "broken.py").write_text("def (", encoding="utf-8")
    workers = [file for file in files if not file.endswith(".py")]
    python = [file for file in files if file.endswith(".py")]
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        asyncio.run(llmdo.build_entry(workers, python, entry_name=entry))
    assert isinstance(raised.value, llmdo.LlmdoError)


MISSPELT = {
    "polcy": "did you mean `policy`?",
    "limit": "did you mean `limits`?",
    "on_events": "did you mean `on_event`?",
    "message_histories": "did you mean `message_history`?",
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_argument_starts_nothing(name: str, team: Path) -> None:
    asked: list[object] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(info)
        return ModelResponse(parts=[TextPart(str(messages))])

    problem = f"` has no argument `{name}`: {MISSPELT[name]}"
    with pytest.raises(TypeError, match=re.escape(f"`run{problem}")):
        llmdo.run(team, model=FunctionModel(model), **{name: None})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=re.escape(f"`run_async{problem}")):
        asyncio.run(llmdo.run_async(team, model=FunctionModel(model), **{name: None}))  # type: ignore[arg-type]
    entry = build("team/helper.worker", entry_name="helper", model=FunctionModel(model)).entry
    with pytest.raises(TypeError, match=re.escape(f"`run{problem}")):
        asyncio.run(entry.run("hi", **{name: None}))  # type: ignore[arg-type]
    assert asked == []


def test_limits_that_are_none_are_refused(team: Path) -> None:
    with pytest.raises(TypeError, match=r"`limits` is a `llmdo\.Limits`"):
        llmdo.run(team, limits={"requests": 1})  # type: ignore[arg-type]


USES = """\
import llmdo
from llmdo.services.embedding import RunPolicy

async def use(policy: RunPolicy) -> None:
    llmdo.run("team", "main", "x", policy=policy, limits=llmdo.Limits(requests=1), journal=True)
    entry = llmdo.build_entry(["a.worker"], model="m")
    built = await entry
    await built.entry.run("x", max_depth=1)
    llmdo.run("team", polcy=policy)  # wrong
    llmdo.run("team", limit=llmdo.Limits())  # wrong
    llmdo.run("team", limits={"requests": 1})  # wrong
    await llmdo.run_async("team", message_history="hello", continue_from=3)  # wrong
    await built.entry.run("x", locked="yes")  # wrong
    await built.entry.run("x", on_evnt=print)  # wrong
    await llmdo.build_entry(["a.worker"], name="main")  # wrong
    llmdo.resume("team", "last", again="main/pay#1", limits=llmdo.Limits(requests=1))
    (await llmdo.resume_async("team", give_up=["main/pay#1"])).output
    llmdo.approve("team", yes=[llmdo.replay("team", "run.sqlite").run])[0].path
    llmdo.resume("team", agian="main/pay#1")  # wrong
    llmdo.resume("team", sources="elsewhere")  # wrong
    llmdo.replay("team", approver=None)  # wrong
    llmdo.approve("team", hours="8")  # wrong
"""


@pytest.mark.long
def test_a_type_checker_finds_each_wrong_argument(tmp_path: Path) -> None:
    """With the modules that say what the arguments are, and without the rest: it would take a minute."""
    (tmp_path / "uses.py").write_text(USES, encoding="utf-8")
    package = Path(llmdo.__file__).parent
    names = ("services/embedding", "services/past", "services/basis", "graph/limits", "base/values")
    modules = [str(package / f"{name}.py") for name in ("__init__", *names)]
    options = ["--follow-imports=skip", f"--cache-dir={tmp_path / 'cache'}", "--disable-error-code=misc"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "uses.py", *modules],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(package.parent)},
        capture_output=True,
        text=True,
    )
    reported = [int(line.split(":")[1]) for line in done.stdout.splitlines() if line.startswith("uses.py:")]
    wrong = [number for number, line in enumerate(USES.splitlines(), 1) if line.endswith("# wrong")]
    assert sorted({*reported}) == wrong, done.stdout


def test_importing_llmdo_loads_nothing_heavy() -> None:
    code = "import llmdo, sys; print([name for name in ('pydantic', 'asyncio', 'dataclasses') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in llmdo.__all__:
        assert getattr(llmdo, name) is not None


PAGE = (Path(__file__).parents[2] / "docs/api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_runs(number: int, team: Path, tmp_path: Path) -> None:
    block = BLOCKS[number]
    if block.startswith("# team/"):
        (tmp_path / block.partition("\n")[0].removeprefix("# ")).write_text(block, encoding="utf-8")
        outcome = llmdo.run(team, "editor", "Edit this.")
        assert (outcome.output, outcome.error) == ("rules say: Edit this.", None)
        return
    done = forking.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_the_table_of_the_page_adopts_an_agent(team: Path) -> None:
    (toml,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (team / "llmdo.toml").write_text(f"{MANIFEST}\n{toml}", encoding="utf-8")
    (team / "agents.py").write_text(
        "from pydantic_ai import Agent\nfrom models import rules\nagent = Agent(rules)\n\n"
        "@agent.tool_plain\ndef look(where: str) -> str:\n    return where\n",
        encoding="utf-8",
    )
    assert llmdo.run(team, "researcher", "Look.").output == "rules say: Look."


def test_a_run_keeps_a_journal_where_it_is_asked_for(
    team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert llmdo.run(team).status == "completed"
    assert Runs(team).names() == []
    outcome = llmdo.run(team, "writer", "x", approver=AskLater(), journal=True)
    assert outcome.status == "waiting"
    assert Runs(team).names() == [outcome.run]
    with Runs(team).read(outcome.run) as journal:
        assert [question.record["tool"] for question in waiting(journal).values()] == ["write_file"]
        assert "AskLater, from Python" in "".join(journal.lines())
    # The command line goes on with it.
    monkeypatch.chdir(team)
    for words in (["approve", "last", "--yes", "writer/write_file#1"], ["resume", "last"]):
        monkeypatch.setattr(sys, "argv", ["llmdo", *words])
        assert main() == 0, capsys.readouterr().err
    assert (team / "reports/a.md").read_text() == "x"


def test_a_run_that_cannot_keep_its_journal_does_not_begin(team: Path) -> None:
    alone = team.parent / "alone.worker"
    alone.write_text(WORKER.format(name="alone", more="entry: true\n"), encoding="utf-8")
    with pytest.raises(llmdo.LlmdoError, match="a run of files alone keeps no journal"):
        llmdo.run([alone], "alone", "x", model=FunctionModel(echoing), journal=True)
    (team / ".llmdo").write_text("", encoding="utf-8")
    with pytest.raises(llmdo.LlmdoError, match=r"\.llmdo"):
        llmdo.run(team, "writer", "x", approver=ApproveAll(), journal=True)
    assert not (team / "reports/a.md").exists()
