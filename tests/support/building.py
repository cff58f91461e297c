"""Small graphs and scripted models. A model's script is a list of steps, one for each of its responses.

A step is a text, or a list of (tool, arguments) calls. In a text, `{results}` stands for what the last calls
returned, `{tools}` for the tools that the model was offered, `{prompt}` for the parts of the user's prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llmdo.base.source import Source
from llmdo.base.values import replace
from llmdo.graph.keys import Reference
from llmdo.graph.limits import Limits
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Attachments, Use, Worker
from llmdo.policy.authority import Capability, Rule
from llmdo.policy.vocabulary import Decision
from llmdo.runtime import RunOptions, RunOutcome
from llmdo.syntax.document import Document, Place
from tests.support.listed import listed
from tests.support.running import run_sync

HERE = Place(Document(Source("llmdo.toml", ""), {}, dict), ())

Step = str | list[tuple[str, dict[str, Any]]]

MODELS = """
import json
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

SCRIPTS = json.loads(Path(__file__).with_name("scripts.json").read_text())

def shown(item):
    return item if isinstance(item, str) else f"<{item.media_type} {item.identifier} {len(item.data)}>"

def model(steps):
    def answer(messages, info):
        step = steps[sum(isinstance(message, ModelResponse) for message in messages)]
        if not isinstance(step, str):
            calls = [ToolCallPart(tool, args, tool_call_id=f"c{at}") for at, (tool, args) in enumerate(step)]
            return ModelResponse(parts=calls)
        results = [
            f"[{part.outcome}: {part.content}]" for part in messages[-1].parts if isinstance(part, ToolReturnPart)
        ]
        prompts = [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)]
        prompt = [prompts[0]] if isinstance(prompts[0], str) else prompts[0]
        text = step.replace("{results}", " ".join(results))
        text = text.replace("{tools}", ",".join(sorted(tool.name for tool in info.function_tools)))
        text = text.replace("{prompt}", " | ".join(map(shown, prompt)))
        return ModelResponse(parts=[TextPart(text)])
    return FunctionModel(answer)

for name, steps in SCRIPTS.items():
    globals()[name] = model(steps)
"""


def script(root: Path, **scripts: Sequence[Step]) -> None:
    """Makes `python:models.py:NAME` of `root` a model that follows the script of that name."""
    (root / "models.py").write_text(MODELS, encoding="utf-8")
    (root / "scripts.json").write_text(json.dumps(scripts), encoding="utf-8")


def worker(name: str, *uses: str | Use, **more: Any) -> Worker:
    """A worker whose model is the script of its name, unless `model` says otherwise."""
    lines = (item if isinstance(item, Use) else use(item) for item in uses)
    return Worker(
        name=name,
        at=HERE,
        path=f"workers/{name}.worker",
        config="",
        prompt="",
        uses=tuple(sorted(lines, key=lambda line: line.name)),
        model=reference(more.pop("model", f"python:models.py:{name}")),
        may=capabilities(more.pop("may", None)),
        approvals=rules(more.pop("approvals", {}), f"worker `{name}`"),
        attachments=Attachments(**more.pop("attachments", {})),
        **more,
    )


def use(name: str, **config: object) -> Use:
    return Use(name=name, config=config, at=HERE)


def reference(name: str | None) -> Reference | None:
    return Reference(name, HERE) if name else None


def capabilities(texts: Sequence[str] | None) -> tuple[Capability, ...] | None:
    return None if texts is None else tuple(Capability.parse(text) for text in texts)


def rules(table: Mapping[str, Decision], origin: str = "llmdo.toml") -> tuple[Rule, ...]:
    return tuple(Rule(Capability.parse(text), decision, origin) for text, decision in table.items())


def toolset(name: str, python: str, *, is_class: bool = False, **tools: Sequence[str] | Tool) -> Toolset:
    """A Python toolset; each tool by its capabilities, or whole."""
    declared = {
        tool: declaration
        if isinstance(declaration, Tool)
        else Tool(name=tool, capabilities=capabilities(declaration) or ())
        for tool, declaration in tools.items()
    }
    return Toolset(name=name, kind="python", at=HERE, python=python, is_class=is_class, tools=declared)


def graph(
    *members: Worker | Toolset,
    default: Decision = "needs_approval",
    max_depth: int = 5,
    approvals: Mapping[str, Decision] | None = None,
    **entry: Any,
) -> Graph:
    """A graph whose entry `go` starts the first worker, or as `entry` says."""
    workers = {member.name: member for member in members if isinstance(member, Worker)}
    first = next(iter(workers))
    table = {"worker": first, "input": "go", **entry}
    starting = Entry(
        name="go",
        at=HERE,
        worker=reference(None if "function" in table else table["worker"]),
        function=reference(table.get("function")),
        calls=tuple(Reference(called, HERE) for called in table.get("calls", ())),
        input=table["input"],
        model=reference(table.get("model")),
        may=capabilities(table.get("may")),
        approvals=rules(table.get("tighten", {}), "entry `go`"),
        limits=Limits(**table.get("limits", {})),
    )
    return Graph(
        settings=Settings(
            name="test",
            built_in=3,
            default=default,
            max_depth=max_depth,
            model=reference(table.get("workspace_model")),
        ),
        rules=rules(approvals or {}),
        models=table.get("aliases", {}),
        paths=table.get("paths", {}),
        entries={"go": starting},
        workers=dict(sorted(workers.items())),
        toolsets={member.name: member for member in members if isinstance(member, Toolset)},
    )


def prompts(team_graph: Graph) -> dict[str, str]:
    return {name: f"You are {name}." for name in team_graph.workers}


def with_code(team_graph: Graph, root: Path) -> Graph:
    """`made` with all Python below `root` as code that may be imported."""
    return replace(team_graph, code=listed(root))


def go(team_graph: Graph, root: Path, **options: Any) -> RunOutcome:
    """The outcome of the entry `go`."""
    team_graph = with_code(team_graph, root)
    return run_sync(
        team_graph, root=root, prompts=prompts(team_graph), entry="go", options=RunOptions(**options)
    )
