"""A project of llm-do becomes a workspace that runs as it is, and nothing of it runs before `lock`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import llmdo
from llmdo import foreign
from llmdo.features.importing.workspace import MODULE, Imported, import_project, reached
from llmdo.policy.authority import Capability
from llmdo.runtime.approvals.approver import ApproveAll
from llmdo.workspace import project as projects
from tests.support import commands

COUNTING = """
from contextlib import suppress
from pathlib import Path

from llm_do.runtime import CallContext
from llm_do.toolsets.approval import set_toolset_approval_config
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

with suppress(OSError):  # `lock` imports it where nothing can be written
    Path(__file__).with_name("imported.txt").write_text("it ran")


def make_counting(ctx: RunContext[CallContext]) -> FunctionToolset:
    counting = FunctionToolset()

    @counting.tool
    def double(n: int) -> int:
        \"\"\"Twice a number.\"\"\"
        return 2 * n

    @counting.tool
    async def told(ctx: RunContext[CallContext], subject: str) -> str:
        \"\"\"What the writer says.\"\"\"
        return await ctx.deps.call_agent("writer", {"input": f"about {subject}"})

    return set_toolset_approval_config(counting, {"double": {"pre_approved": True}})


TOOLSETS = {"counting": make_counting}
"""
ORDERS = """
from llm_do.runtime import AgentArgs, PromptContent


class Order(AgentArgs):
    amount: int

    def prompt_messages(self) -> list[PromptContent]:
        return [f"an order of {self.amount}"]
"""
MAIN = "name: main\nmodel: openai:gpt-5-mini\ntoolsets: [counting, clerk, filesystem_project]"
CLERK = "name: clerk\ncompatible_models: ['openai:*']\ninput_model_ref: orders.py:Order\ntoolsets: [shell_readonly]"


NOT_ASKED = {"calls_require_approval": False}


def agent(folder: Path, name: str, header: str, suffix: str = "agent") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.{suffix}").write_text(f"---\n{header}\n---\nWork.\n", encoding="utf-8")


def manifest(folder: Path, *, runtime: Any = None, entry: Any = None, **more: Any) -> None:
    project = {
        "version": 1,
        "runtime": {"approval_mode": "prompt", "max_depth": 3, **(runtime or {})},
        "entry": entry or {"agent": "main", "args": {"input": "Count."}},
        "agent_files": sorted(path.name for path in folder.glob("*.agent")),
        "python_files": sorted(path.name for path in folder.glob("*.py")),
        **more,
    }
    (folder / "project.json").write_text(json.dumps(project), encoding="utf-8")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with tools of its own, a typed input, and an agent that only code calls."""
    folder = tmp_path / "shop"
    agent(folder, "main", MAIN)
    agent(folder, "clerk", CLERK)
    agent(folder, "writer", "name: writer\nmodel: openai:gpt-5-mini")
    (folder / "tools.py").write_text(COUNTING, encoding="utf-8")
    (folder / "orders.py").write_text(ORDERS, encoding="utf-8")
    manifest(folder)
    return folder


def imported(folder: Path) -> tuple[Imported, Path]:
    target = folder.with_name(f"{folder.name}-imported")
    done = import_project(foreign.read("llm-do", folder), target)
    assert (done.wider, done.narrower) == ((), ())
    return done, target


def remarks(done: Imported) -> list[str]:
    return [remark.text for remark in done.remarks]


def lock(target: Path) -> None:
    done = commands.llmdo(target, "lock")
    assert done.returncode == 0, done.stderr


def manifest_of(target: Path) -> dict[str, Any]:
    return tomllib.loads((target / "llmdo.toml").read_text(encoding="utf-8"))


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Calls each tool of its own once, and then says what came back; an agent without tools says what it was told."""
    arguments = {
        "double": {"n": 21},
        "told": {"subject": "llamas"},
        "clerk": {"amount": 7},
        "junior": {"input": "Count."},
    }
    back = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    calls = [
        ToolCallPart(tool.name, arguments[tool.name])
        for tool in info.function_tools
        if tool.name in arguments
    ]
    if calls and not back:
        return ModelResponse(parts=calls)
    answer = " + ".join(str(part.content) for part in back) or str(
        getattr(messages[0].parts[-1], "content", "")
    )
    return ModelResponse(parts=[TextPart(answer)])


def run(
    target: Path,
    entry: str,
    workers: tuple[str, ...] = ("clerk", "main", "writer"),
    text: str | None = None,
) -> str | None:
    models = dict.fromkeys(workers, FunctionModel(scripted))
    outcome = llmdo.run(target, entry, text, model=models, approver=ApproveAll())
    assert outcome.status == "completed", outcome.error
    return outcome.output


def test_it_runs_after_the_import_as_it_is_and_nothing_of_it_runs_before(shop: Path) -> None:
    clerk = shop / "clerk.agent"
    clerk.write_text(
        clerk.read_text(encoding="utf-8").replace("compatible_models: ['openai:*']\n", ""), encoding="utf-8"
    )
    _, target = imported(shop)
    assert not [*target.rglob("imported.txt"), *shop.rglob("imported.txt")]
    assert not (target / MODULE).exists()
    lock(target)
    assert run(target, "main") == "an order of 7 + 42 + about llamas"
    assert (target / "imported.txt").exists()
    here, there = reached(projects.read(target).analysis), reached(foreign.read("llm-do", shop).analysis)
    # llm-do does not tell these from other files.
    more = {"fs.read.protected": "allowed", "fs.write.code": "needs_approval"}
    assert here == {**there, "main": {**there["main"], **{Capability(name): more[name] for name in more}}}


def test_headers_and_the_manifest_say_what_the_original_says(shop: Path) -> None:
    _, target = imported(shop)
    workers = {path.stem: path.read_text(encoding="utf-8") for path in (target / "workers").iterdir()}
    assert 'model: "openai:gpt-5-mini"' in workers["main"]
    assert 'compatible_models: ["openai:*"]' in workers["clerk"]
    assert 'schema_in_ref: "orders.py:Order"' in workers["clerk"]
    assert 'shell: {"presets": ["read-only"]}' in workers["clerk"]
    written = manifest_of(target)
    assert written["entries"]["main"]["input"] == "Count."
    assert written["toolsets"]["shell"] == {"presets": ["read-only"]}
    assert written["toolsets"]["counting"]["python"] == "tools.py:llmdo_counting"
    assert (target / "tools.py").read_text(encoding="utf-8").startswith(COUNTING.rstrip())


def test_an_agent_that_only_code_calls_is_a_delegate_and_that_is_reported(shop: Path) -> None:
    done, target = imported(shop)
    assert "writer" in (target / "workers/main.worker").read_text(encoding="utf-8")
    assert "`writer`, which the code of `counting` calls, is offered to the model as well" in remarks(done)


def test_code_that_calls_agents_by_names_which_nobody_can_read_may_call_each_of_them(shop: Path) -> None:
    (shop / "tools.py").write_text(COUNTING.replace('"writer"', "subject"), encoding="utf-8")
    edges = foreign.read("llm-do", shop).graph.edges
    assert sorted(edges["main"]) == ["clerk", "main", "writer"]


@pytest.mark.parametrize(("depth", "longest"), [(1, 0), (3, 2), ("deep", 4), (True, 4)])
def test_the_first_agent_counts_for_the_depth_of_llm_do(shop: Path, depth: object, longest: int) -> None:
    manifest(shop, runtime={"max_depth": depth})
    assert foreign.read("llm-do", shop).graph.settings.max_depth == longest


@pytest.mark.parametrize(
    ("runtime", "decided"),
    [
        ({"agent_calls_require_approval": True}, {"agent.delegate": "needs_approval"}),
        ({"agent_approval_overrides": {"clerk": {"calls_require_approval": True}}}, {"agent.delegate": "needs_approval"}),
        ({"agent_attachments_require_approval": True}, {"fs.read": "needs_approval"}),
        (
            {"agent_calls_require_approval": True, "agent_approval_overrides": {"clerk": NOT_ASKED, "scribe": NOT_ASKED}},
            {},
        ),
        ({"agent_calls_require_approval": True, "approval_mode": "approve_all"}, {}),
    ],
    ids=["calls", "one-agent", "files", "none-of-them", "approve-all"],
)  # fmt: skip
def test_what_llm_do_asks_about_calls_is_asked_here(
    tmp_path: Path, runtime: dict[str, Any], decided: dict[str, str]
) -> None:
    folder = tmp_path / "shop"
    agent(folder, "main", "name: main\ntoolsets: [clerk, scribe]")
    agent(folder, "clerk", "name: clerk")
    agent(folder, "scribe", "name: scribe")
    manifest(folder, runtime=runtime)
    target = tmp_path / "imported"
    done = import_project(foreign.read("llm-do", folder), target)
    assert done.wider == ()
    rules = projects.read(target).graph.workers["main"].approvals
    assert {str(rule.capability): rule.decision for rule in rules} == decided


def test_of_projects_with_other_depths_the_deepest_is_reported(tmp_path: Path) -> None:
    for name, depth in (("flat", 2), ("deep", 9)):
        agent(tmp_path / "shop" / name, "main", "name: main")
        manifest(tmp_path / "shop" / name, runtime={"max_depth": depth})
    done, target = imported(tmp_path / "shop")
    assert manifest_of(target)["workspace"]["max-depth"] == 8
    assert [(remark.at.path, remark.text) for remark in done.remarks if "depth" in remark.text] == [
        ("flat/project.json", "a workspace has one depth: here agents may nest 8 deep, and not 1")
    ]


def test_a_project_of_worker_files_is_read_with_its_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    agent(folder, "main", "name: main\nentry: true\ntoolsets: [filesystem_project]", "worker")
    said_there = {"runtime": {"approval_mode": "reject_all"}, "entry": {"input": {"input": "Go on."}}}
    (folder / "project.json").write_text(
        json.dumps({"version": 1, "worker_files": ["main.worker"], **said_there})
    )
    _, target = imported(folder)
    assert manifest_of(target)["entries"]["main"] == {
        "worker": "main", "input": "Go on.", "may": ["fs.list", "fs.read", "fs.read.protected"],
    }  # fmt: skip


FUNCTION = """
from pathlib import Path


async def begin(input_data, runtime):
    Path(__file__).with_name("log.txt").write_text(input_data.prompt_messages()[0])
    return await runtime.call_agent("writer", {"input": input_data.input.upper()})
"""


def test_a_function_that_starts_the_run_starts_it_here(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    agent(folder, "writer", "name: writer")
    agent(folder, "clerk", "name: clerk")
    (folder / "begin.py").write_text(FUNCTION, encoding="utf-8")
    manifest(folder, entry={"function": "begin.py:begin", "args": {"input": "quietly"}})
    done, target = imported(folder)
    entry = manifest_of(target)["entries"]["begin-py-begin"]
    assert (entry["function"], entry["calls"]) == ("begin.py:llmdo_begin", ["writer"])
    assert (
        "what `begin.py:begin` does itself stands before no gate: only the agents that it calls do"
        in remarks(done)
    )
    assert not any("may hand over" in remark for remark in remarks(done))
    assert not (target / "log.txt").exists()
    lock(target)
    assert run(target, "begin-py-begin", ("clerk", "writer")) == "QUIETLY"
    assert (target / "log.txt").read_text() == "quietly"


def test_files_that_a_function_hands_over_have_to_be_said_by_a_person(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    agent(folder, "writer", "name: writer")
    handing = FUNCTION.replace("input_data.input.upper()", '"", "attachments": ["a.txt"]')
    (folder / "begin.py").write_text(handing, encoding="utf-8")
    manifest(folder, entry={"function": "begin.py:begin"})
    done, target = imported(folder)
    assert manifest_of(target)["entries"]["begin-py-begin"]["may"] == []
    assert (
        "which files `begin.py:begin` may hand over has to be declared in [paths] and its entry's `may`"
        in remarks(done)
    )


def test_what_is_not_carried_over_is_reported(shop: Path) -> None:
    agent(shop, "main", f"{MAIN}\nattachments: {{}}\nmodle: x")
    (shop / "unused.py").write_text("x = 1\n", encoding="utf-8")
    manifest(
        shop,
        runtime={"approval_mode": "approve_all", "auth_mode": "oauth_auto"},
        entry={"agent": "main", "args": {"input": "Count.", "attachments": ["a.txt"]}},
        generated_agents_dir="generated",
        agent_files=["main.agent", "clerk.agent"],
    )
    done, _ = imported(shop)
    assert {
        "`attachments` of `main` is not carried over",
        "`modle` of `main` is not carried over",
        "mode `approve_all` never asks for approval, and neither do these rules: read and tighten them",
        "`auth_mode` is not carried over",
        "`generated_agents_dir` is not carried over",
        "the attachments of the default input are not carried over",
        "`unused.py` shows neither a toolset nor what starts a run, so it is not copied",
        "`writer.agent` is in no `agent_files`, so llm-do leaves it out; here it is a worker",
        "`counting` is copied with `tools.py`, unexecuted: `llmdo lock` says whether it loads",
    } <= set(remarks(done))


@pytest.mark.parametrize(
    "path",
    [
        "../tools.py", "/etc/tools.py", ".hidden/tools.py", "broken.py", "llm_do/runtime/__init__.py",
        "from_llm_do.py", "tools/imported.py", "workers/tools.py", "llmdo.lock", "llmdo.toml",
    ],
)  # fmt: skip
def test_code_that_cannot_lie_in_the_workspace_is_stood_in_for(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "shop"
    agent(folder, "main", "name: main\ntoolsets: [counting]")
    place = tmp_path / "etc.py" if path.startswith("/") else folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("TOOLSETS = {" if path == "broken.py" else COUNTING, encoding="utf-8")
    manifest(folder, python_files=[path])
    target = tmp_path / "imported"
    done = import_project(foreign.read("llm-do", folder), target)
    assert "`counting` has still to be written: `counting` stands in for it" in remarks(done)
    assert (target / MODULE).is_file()
    assert "it ran" not in "".join(source.read_text(encoding="utf-8") for source in target.rglob("*.py"))


@pytest.mark.parametrize(
    ("tool", "written"),
    [
        ("{tool_type: web_search}", 'native_tools: ["web_search"]'),
        ("{tool_type: web_search, max_uses: 3}", 'native_tools: {"web_search": {"max_uses": 3}}'),
        (
            "{tool_type: web_search, blocked_domains: [a.org], max_uses: null}",
            'native_tools: {"web_search": {"blocked_domains": ["a.org"]}}',
        ),
        ("{tool_type: web_search, max_uses: many}", None),
        ("{tool_type: web_search, allowed_domain: [a.org]}", None),
        ("{tool_type: code_execution}", 'native_tools: ["code_execution"]'),
        ("{tool_type: image_generation}", None),
    ],
)
def test_a_tool_of_the_provider_keeps_its_options_or_is_stood_in_for(
    tmp_path: Path, tool: str, written: str | None
) -> None:
    folder = tmp_path / "shop"
    agent(folder, "main", f"name: main\nserver_side_tools: [{tool}]")
    done, target = imported(folder)
    text = (target / "workers/main.worker").read_text(encoding="utf-8")
    assert (written or "name: main\n") in text
    assert written or "native_tools" not in text
    assert bool(written) is not any(
        "not carried over" in remark or "stands in" in remark for remark in remarks(done)
    )


@pytest.mark.parametrize("model", ["python:evil.py:model", "replay:evil.sqlite", "home:grown", "fast"])
def test_only_a_model_of_a_provider_is_carried_over(tmp_path: Path, model: str) -> None:
    folder = tmp_path / "shop"
    agent(folder, "main", f"name: main\nmodel: {model}")
    done, target = imported(folder)
    assert model not in (target / "workers/main.worker").read_text(encoding="utf-8")
    assert "`model` of `main` is not carried over" in remarks(done)


def test_a_provider_that_is_gone_is_written_with_the_name_that_it_has_now(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    agent(folder, "main", 'name: main\nmodel: google-gla:gemini-3\ncompatible_models: ["google-gla:*"]')
    _, target = imported(folder)
    text = (target / "workers/main.worker").read_text(encoding="utf-8")
    assert "google-gla" not in text
    assert 'model: "google:gemini-3"' in text
    assert 'compatible_models: ["google:*"]' in text


CLASSES = """
from pydantic_ai.toolsets import FunctionToolset


class Calculator(FunctionToolset):
    def __init__(self, {taking}) -> None:
        super().__init__()

        @self.tool_plain
        def double(n: int) -> str:
            return f"{{2 * n:.{{{precision}}}f}}"
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("taking", "precision"),
    [("precision: int = 0", "precision"), ("config: dict", "config.get('precision', 0)")],
)
@pytest.mark.parametrize("form", ["tools.calc.Calculator", "tools.calc:Calculator"])
def test_a_class_that_a_header_names_by_its_path_takes_its_configuration(
    tmp_path: Path, taking: str, precision: str, form: str
) -> None:
    folder = tmp_path / "shop"
    for name, digits, more in (("main", 2, "\nentry: true"), ("junior", 1, "\n  filesystem_project: {}")):
        config = f"{{precision: {digits}, _approval_config: {{double: {{pre_approved: true}}}}}}"
        called = "\n  junior: {}" if name == "main" else ""
        agent(folder, name, f"name: {name}\ntoolsets:\n  {form}: {config}{called}{more}", "worker")
    (folder / "tools").mkdir()
    (folder / "tools/calc.py").write_text(
        CLASSES.format(taking=taking, precision=precision), encoding="utf-8"
    )
    done, target = imported(folder)
    assert not (target / MODULE).exists()
    assert f"`_approval_config` of `{form}` is not carried over: rules decide which calls ask" in remarks(
        done
    )
    assert manifest_of(target)["toolsets"]["Calculator"]["python"] == "tools/calc.py:llmdo_Calculator"
    assert 'Calculator: {"precision": 1}' in (target / "workers/junior.worker").read_text(encoding="utf-8")
    lock(target)
    assert run(target, "main", ("junior", "main"), "Count.") == "42.00 + 42.0"


def test_a_class_that_is_installed_is_declared_and_one_that_is_built_in_is_ours(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    named = "\n".join(
        f"  {path}: {config}"
        for path, config in {
            "pydantic_ai.toolsets.FunctionToolset": "{max_retries: 2}",
            "llm_do.toolsets.filesystem.FileSystemToolset": "{base_path: .}",
        }.items()
    )
    agent(folder, "main", f"name: main\nentry: true\ntoolsets:\n{named}", "worker")
    done, target = imported(folder)
    assert (
        manifest_of(target)["toolsets"]["FunctionToolset"]["python"] == "pydantic_ai.toolsets:FunctionToolset"
    )
    header = (target / "workers/main.worker").read_text(encoding="utf-8")
    assert 'FunctionToolset: {"max_retries": 2}' in header
    assert "filesystem: " in header
    assert "the configuration of `filesystem_cwd` is not carried over" in remarks(done)
    assert any("install it, and `llmdo lock` says whether it loads" in text for text in remarks(done))
    lock(target)
    assert run(target, "main", ("main",), "Count.") == "Count."
