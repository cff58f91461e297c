"""Workers written in Python and adopted agents: what check reads is what the lock holds and what runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.reach import Analysis
from llmdo.runtime import ApproveAll, RejectAll, RunOptions, RunOutcome
from llmdo.runtime.telemetry.events import Event, ToolCalled
from llmdo.services import locking
from llmdo.workspace import lock, project
from tests.support import commands
from tests.support.building import Step, script, with_code
from tests.support.locks import locked as current
from tests.support.running import run_sync

MANIFEST = """\
schema = 1

[workspace]
name = "w"
workers = ["*.worker"]
toolset-modules = ["team.py"]
"""

TEAM = """\
from pathlib import Path

import llmdo
from pydantic_ai.toolsets import FunctionToolset

calc = FunctionToolset()

@calc.tool_plain(metadata={"capabilities": []})
def add(a: int, b: int) -> int:
    return a + b

MODEL = "python:models.py:critic"

critic = llmdo.Worker(
    name="critic",
    instructions=Path(__file__).with_name("critic.md").read_text(),
    description="Judges.",
    model=MODEL,
)

main = llmdo.Worker(
    name="main",
    entry=True,
    instructions="You are main.",
    model="python:models.py:main",
    toolsets=["calc", critic],
    may=["fs.read"],
)
"""


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, llmdo__toml=MANIFEST, team__py=TEAM, critic__md="You are the critic.")
    script(tmp_path, main=["x"], critic=["x"])
    return tmp_path


def go(root: Path, entry: str = "main", text: str = "go", **options: object) -> RunOutcome:
    read = project.read(current(root))
    run_options = RunOptions(input=text, **options)  # type: ignore[arg-type]
    return run_sync(locking.derive(read), root=root, prompts=read.prompts, entry=entry, options=run_options)


def messages(root: Path) -> list[tuple[str, str, int]]:
    findings = checks.check(project.read(root))
    return [
        (finding.code, finding.message, finding.at.span.line if finding.at.span else 0)
        for finding in findings
        if finding.severity == "error"
    ]


def test_check_reads_workers_in_python_and_runs_nothing(root: Path) -> None:
    write(root, team__py=f"{TEAM}\nraise SystemExit('this was run')\n")
    graph = project.read(root).graph
    assert set(graph.workers) == {"critic", "main"}
    assert [use.name for use in graph.workers["main"].uses] == ["calc", "critic"]
    assert graph.workers["main"].python == "team.py:main"
    assert graph.workers["critic"].description == "Judges."
    assert graph.entries["main"].worker is not None
    assert messages(root) == []


def test_a_team_in_python_runs(root: Path) -> None:
    calls: list[Step] = [[("add", {"a": 1, "b": 2}), ("critic", {"input": "this"})], "{results}"]
    script(root, main=calls, critic=["fine: {prompt}"])
    outcome = go(root)
    assert (outcome.output, outcome.error) == ("[success: 3] [success: fine: this]", None)


def test_the_instructions_of_a_worker_may_be_made_by_code(root: Path) -> None:
    models = (
        "from pydantic_ai.messages import ModelResponse, TextPart\n"
        "from pydantic_ai.models.function import FunctionModel\n"
        "main = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(str(messages[0].instructions))]))\n"
        "critic = main\n"
    )
    write(root, models__py=models)
    assert go(root).output == "You are main."
    write(root, team__py=TEAM.replace("    model=MODEL,\n", "    model=MODEL,\n    entry=True,\n"))
    assert go(root, "critic").output == "You are the critic."


def test_the_lock_holds_them_and_follows_them(root: Path) -> None:
    lock.write(root, locking.derive(project.read(root)))
    read = project.read(root)
    assert read.is_current
    assert 'python = "team.py:critic"\n' in (root / "llmdo.lock").read_text(encoding="utf-8")
    write(root, team__py=TEAM.replace("You are main.", "You are the boss."))
    stale = project.read(root)
    assert stale.locked.graph is not None
    changed = {drift.name: drift.changes for drift in lock.drift(stale.locked.graph, stale.graph)}
    assert changed["main"] == ("its prompt changed",)


@pytest.mark.parametrize(
    ("before", "after", "code", "message", "line"),
    [
        ('toolsets=["calc", critic]', 'toolsets=["clac"]', "LDO202", "`main` uses `clac`", 26),
        ('may=["fs.read"]', 'may=["fs.raed"]', "LDO207", "`fs.raed` is not a capability", 27),
        ('may=["fs.read"]', 'mya=["fs.read"]', "LDO102", "unknown key `mya`", 27),
        ('may=["fs.read"]', 'may=list_of()', "LDO103", "`may` of a worker in Python is not written out", 27),
        ('may=["fs.read"]', '**more', "LDO103", "are not written out", 27),
        ('entry=True', 'entry="yes"', "LDO103", "`entry`", 23),
        ('name="main"', 'name="critic"', "LDO201", "the name of another worker", 22),
        ('    instructions="You are main.",\n', "", "LDO104", "missing key `instructions`", 21),
        ('name="main",\n', "", "LDO104", "missing key `name`", 0),
        ('model="python:models.py:main"', 'model="gpt"', "LDO204", "`gpt` is neither", 25),
        ('calc = FunctionToolset()', 'main = FunctionToolset()', "LDO103", "bound more than once", 21),
    ],
)  # fmt: skip
def test_a_mistake_is_found_at_its_place(
    before: str, after: str, code: str, message: str, line: int, root: Path
) -> None:
    assert before in TEAM
    write(root, team__py=TEAM.replace(before, after))
    mistakes = messages(root)
    assert any(
        mistake[0] == code and message in mistake[1] and line in (0, mistake[2]) for mistake in mistakes
    ), mistakes


def test_a_worker_file_of_the_same_name_collides(root: Path) -> None:
    write(root, other__worker="---\nname: critic\n---\nGo.\n")
    assert [mistake[0] for mistake in messages(root)] == ["LDO201"]


def test_a_worker_that_only_running_would_show_is_refused_by_lock(root: Path) -> None:
    loop = "\nfor n in range(2):\n    globals()[f'w{n}'] = llmdo.Worker(name=f'w{n}', instructions='x')\n"
    write(root, team__py=TEAM + loop)
    with pytest.raises(LlmdoError) as raised:
        locking.derive(project.read(root))
    assert "`team.py:w0` is a worker that the text of `team.py` does not show" in raised.value.message
    assert "w1" in raised.value.message


def test_another_class_of_the_name_is_no_worker(root: Path) -> None:
    write(root, team__py="from celery import Worker\n\nmain = Worker(name='x')\n")
    assert project.read(root).graph.workers == {}


AGENTS = """\
from pydantic_ai import Agent, RunContext
from pydantic_ai.toolsets import FunctionToolset
from models import own, critic_model
import llmdo

notes = FunctionToolset(id="notes")

@notes.tool_plain(metadata={"capabilities": ["fs.write"]})
def note(text: str) -> str:
    return f"noted {text}"

critic = llmdo.Worker(name="critic", instructions="Judge.", model="python:models.py:critic_model")
agent = Agent(own, instructions="You are adopted.", toolsets=[notes, critic.as_toolset()])

@agent.tool_plain
def look(where: str) -> str:
    return f"seen {where}"

@agent.tool
def who(ctx: RunContext) -> str:
    return type(ctx.deps).__name__
"""

ADOPTING = (
    MANIFEST.replace("team.py", "agents.py")
    + """\

[workers.researcher]
python = "agents.py:agent"
description = "Looks things up."
entry = true
toolsets = ["filesystem", "critic"]
capabilities = { look = ["fs.read:notes/**"], who = [] }

[approvals.rules]
"fs.write" = "blocked"
"""
)


def adopting(root: Path, *steps: Step) -> None:
    write(root, llmdo__toml=ADOPTING, agents__py=AGENTS)
    script(root, own=steps, critic_model=["fine: {prompt}"])


def test_an_adopted_agent_keeps_its_model_and_its_tools_go_behind_the_gate(tmp_path: Path) -> None:
    calls: Step = [
        ("look", {"where": "here"}),
        ("note", {"text": "x"}),
        ("who", {}),
        ("critic", {"input": "y"}),
    ]
    adopting(tmp_path, calls, "{tools}: {results}")
    events: list[Event] = []
    outcome = go(tmp_path, "researcher", on_event=events.append, approver=RejectAll())
    assert outcome.error is None
    assert outcome.output is not None
    assert outcome.output.startswith("critic,list_files,look,read_file,who: ")
    assert "[success: seen here]" in outcome.output
    assert "[success: AgentRuntime]" in outcome.output
    assert "noted" not in outcome.output
    called = {(event.toolset, event.tool) for event in events if isinstance(event, ToolCalled)}
    assert ("researcher.tools", "look") in called
    assert ("critic", "critic") in called
    assert "[success: fine: y]" in outcome.output
    used = {name: usage.requests for name, usage in outcome.usage_by_worker.items()}
    assert used == {"researcher": 2, "critic": 1}
    assert outcome.usage.requests == 3


def test_reach_and_lock_know_the_tools_of_an_adopted_agent(tmp_path: Path) -> None:
    adopting(tmp_path, "x")
    graph = locking.derive(project.read(tmp_path))
    lock.write(tmp_path, graph)
    again = project.read(tmp_path)
    assert again.is_current
    tools = again.graph.toolsets["researcher.tools"].tools
    assert {name: [*map(str, tool.capabilities)] for name, tool in tools.items()} == {
        "look": ["fs.read:notes/**"],
        "note": ["fs.write"],
        "who": [],
    }
    rows = {str(row.capability): row.decision for row in Analysis(graph).of(graph.entries["researcher"])}
    assert rows["fs.write"] == "blocked"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("Agent(own, deps_type=int)", "it needs dependencies of type `int`"),
        ("Agent(own, output_type=shout)", "an output function would be a tool that no gate sees"),
        ("Agent(own, capabilities=[NativeTool(WebSearchTool())])", "its capability `NativeTool` can act where no gate"),
        ("Agent(own, model_settings={'openai_native_tools': []})", "its model settings hold tools"),
        (
            "Agent(own, model_settings={'extra_body': {'mcp_servers': [], 'plugins': [], 'web_search_options': {}}})",
            "its model settings hold tools in `extra_body.mcp_servers`; its model settings hold tools in `extra_body.plug",
        ),
        (
            "Agent(own, model_settings={'bedrock_additional_model_requests_fields': {'tools': []}})",
            "its model settings hold tools in `bedrock_additional_model_requests_fields.tools`",
        ),
        ("Agent(own, model_settings={'extra_body': 'tools'})", "its model settings hold tools in `extra_body`"),
        (
            "Agent(own, capabilities=[ToolSearch(strategy=lambda ctx, queries, tools: [])])",
            "its capability `ToolSearch` has a function of its own",
        ),
        ("Agent(own, model_settings=lambda ctx: {})", "its model settings are made by a function"),
        ("Agent(own, toolsets=[MCPToolset('http://127.0.0.1:9')])", "it has an MCP server as a toolset"),
    ],
)  # fmt: skip
def test_what_cannot_be_put_behind_the_gate_is_refused_at_lock_and_at_run(
    expression: str, problem: str, tmp_path: Path
) -> None:
    adopting(tmp_path, "x")
    imports = "from pydantic_ai.capabilities import NativeTool, ToolSearch\nfrom pydantic_ai.native_tools import WebSearchTool\n"
    imports += "def shout(text: str) -> str:\n    return text\n"
    if "MCP" in expression:
        pytest.importorskip("fastmcp")
        imports += "from pydantic_ai.mcp import MCPToolset\n"
    good = locking.derive(project.read(current(tmp_path)))
    (tmp_path / "llmdo.lock").unlink()
    write(tmp_path, agents__py=f"{AGENTS}\n{imports}agent = {expression}\n")
    with pytest.raises(LlmdoError) as locked:
        locking.derive(project.read(tmp_path))
    assert problem in locked.value.message
    options = RunOptions(input="go", approver=ApproveAll())
    with pytest.raises(LlmdoError) as ran:
        run_sync(with_code(good, tmp_path), root=tmp_path, prompts={}, entry="researcher", options=options)
    assert problem in ran.value.message


def test_an_agent_with_settings_and_a_search_of_the_library_is_adopted(tmp_path: Path) -> None:
    adopting(tmp_path, "x")
    usual = "model_settings={'extra_body': {'top_k': 3, 'provider': {}}}, capabilities=[ToolSearch(strategy='keywords')]"
    agents = AGENTS.replace("Agent(own,", f"Agent(own, {usual},")
    write(tmp_path, agents__py=f"from pydantic_ai.capabilities import ToolSearch\n{agents}")
    assert "researcher.tools" in locking.derive(project.read(tmp_path)).toolsets


def test_an_agent_that_names_a_provider_is_locked_without_its_key(tmp_path: Path) -> None:
    adopting(tmp_path, "x")
    write(tmp_path, agents__py=AGENTS.replace("Agent(own,", "Agent('openai:gpt-5-mini',"))
    assert "researcher.tools" in locking.derive(project.read(tmp_path)).toolsets


def test_a_worker_that_an_agent_has_as_a_toolset_has_to_be_named(tmp_path: Path) -> None:
    adopting(tmp_path, "x")
    write(tmp_path, llmdo__toml=ADOPTING.replace('["filesystem", "critic"]', '["filesystem"]'))
    with pytest.raises(
        LlmdoError, match="has the worker `critic` as a toolset, and its table does not say so"
    ):
        go(tmp_path, "researcher")


def test_two_workspaces_of_one_process_do_not_share_modules(tmp_path: Path) -> None:
    outputs = []
    for number in (1, 2, 1):
        root = tmp_path / str(number)
        root.mkdir(exist_ok=True)
        write(root, helper__py=f"MODEL = {number}\n")
        adopting(root, f"I am {number}")
        write(root, agents__py=f"import helper\n{AGENTS}\nassert helper.MODEL == {number}\n")
        outputs.append(go(root, "researcher").output)
    assert outputs == ["I am 1", "I am 2", "I am 1"]


@pytest.mark.long
def test_a_run_with_an_adopted_agent_keeps_a_journal_that_replays(tmp_path: Path) -> None:
    def llmdo(*words: str) -> tuple[int, str]:
        done = commands.llmdo(tmp_path, *words)
        return done.returncode, done.stdout

    calls: Step = [("look", {"where": "here"}), ("critic", {"input": "y"})]
    adopting(tmp_path, calls, "{results}")
    result = (0, "[success: seen here] [success: fine: y]\n")
    assert llmdo("run", "researcher", "go") == result
    write(tmp_path, agents__py=AGENTS.replace("seen", "never"))
    assert llmdo("replay", "last") == result
    write(tmp_path, agents__py=AGENTS.replace("You are adopted.", "You are another."))
    assert llmdo("replay", "last")[0] == 1
