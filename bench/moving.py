"""Counts how many example projects of llm-do move over: `python -m bench.moving CHECKOUT... [--direct]`.

Each project below `examples/` of a checkout of llm-do is imported, locked and run beside a copy of the files that it
works on, with a scripted model that calls every tool once, while somebody says yes to every question. Where the code of
a tool raises, for want of a key, a program or the network, the run is made again without that tool, which is told.
`--direct` runs `.worker` files as they are instead. What does not go is told with the first reason. Libraries that the
projects' own tools import have to be installed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.native_tools import SUPPORTED_NATIVE_TOOLS
from pydantic_ai.profiles import ModelProfile

from llmdo.base.diagnostic import LlmdoError
from llmdo.features.importing.workspace import MODULE
from llmdo.runtime.approvals.approver import ApproveAll
from llmdo.runtime.models.choice import ModelChoice
from llmdo.services import embedding

if TYPE_CHECKING:
    from collections.abc import Collection

ENDINGS = (".agent", ".worker")
_RAISED = re.compile(r"the tool `([^`]+)` of worker `[^`]+` raised (.*)")
SCRIPTED = "anthropic:claude-scripted"
"""What the scripted model is called, so that headers which name models accept it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How far one project came."""

    name: str
    steps: tuple[str, ...]
    """Of import, lock and run those that went."""
    reason: str = ""
    """Why the next one did not."""
    has_stand_ins: bool = False
    """Whether some tool still has to be written."""
    without: str = ""
    """The tools that were not called, and why."""


@dataclass(frozen=True, slots=True)
class Script:
    """Calls all tools at once, but for those that raise, and after that gives an answer."""

    without: Collection[str]

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = [tool for tool in info.function_tools if tool.name not in self.without]
        if tools and len(messages) == 1:
            calls = [ToolCallPart(tool.name, _example(tool.parameters_json_schema)) for tool in tools]
            return ModelResponse(parts=calls)
        return ModelResponse(parts=[TextPart("Done.")])


def _example(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:
    """The smallest value that a JSON Schema of a tool's arguments allows; for a path that of a file there is."""
    definitions = definitions or schema.get("$defs", {})
    if reference := schema.get("$ref"):
        return _example(definitions[reference.rpartition("/")[2]], definitions)
    if "default" in schema:
        return schema["default"]
    if options := schema.get("anyOf"):
        return _example(options[0], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        needed = schema.get("required", ())
        example = {name: _example(schema["properties"][name], definitions) for name in needed}
        file = next((str(path) for path in sorted(Path("input").glob("*.*"))), "input.txt")
        return {**example, "path": file} if "path" in example else example
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return {"integer": least, "number": least, "boolean": False, "array": []}.get(kind, "1")


def run_here(files: list[Path] | Path) -> None:
    """Runs the only entry of a workspace or of some files, and prints which tools it had to leave out."""
    without: dict[str, str] = {}
    while raised := _RAISED.search(error := _run(files, without)):
        if raised[1] in without:
            break
        without[raised[1]] = raised[2]
    if error:
        raise LlmdoError(error)
    print("; ".join(f"{tool}: {why}" for tool, why in without.items()))


def _run(files: list[Path] | Path, without: Collection[str]) -> str:
    """Why a run failed; empty where it did not."""
    model = FunctionModel(
        Script(without),
        model_name=SCRIPTED,
        profile=ModelProfile(supported_native_tools=frozenset(SUPPORTED_NATIVE_TOOLS)),
    )
    name = None if isinstance(files, Path) or len(files) > 1 else files[0].stem
    team = embedding.open_entry(files, name)
    choice = ModelChoice(by_worker=dict.fromkeys(team.graph.workers, SCRIPTED), instances={SCRIPTED: model})
    team = replace(team, models=choice)
    text = None if team.graph.entries[team.name].input is not None else "Go."
    ended = asyncio.run(team.run(text, approver=ApproveAll()))
    return "" if ended.status == "completed" else ended.error or ended.status


def _child(*words: str, folder: Path) -> tuple[bool, str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("LLMDO_")}
    environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    failures = [line for line in lines if "rror" in line]
    return done.returncode == 0, (failures or lines or [""])[0]


def moved(project: Path, target: Path) -> Moved:
    """How far one project comes by an import."""
    name, steps = project.name, []
    for step, words in (
        ("import", ("llmdo", "import", "llm-do", str(project), "--to", str(target))),
        ("lock", ("llmdo", "lock")),
        ("run", ("bench.moving", "--here", ".")),
    ):
        went, last_line = _child(*words, folder=target.parent if step == "import" else target)
        if not went:
            return Moved(name, tuple(steps), last_line)
        steps.append(step)
        if step == "import":
            _copy_data(project, target)
    return Moved(name, tuple(steps), "", (target / MODULE).exists(), last_line)


def _copy_data(project: Path, target: Path) -> None:
    """Puts what the agents work on beside the workspace, and nothing that the import has to bring itself."""
    for path in project.rglob("*"):
        copy = target / path.relative_to(project)
        if path.is_file() and path.suffix not in (*ENDINGS, ".py", ".json") and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def direct(project: Path) -> Moved:
    """Whether the `.worker` files of a project run as they are."""
    files = sorted(map(str, project.glob("*.worker")))
    went, last_line = _child("bench.moving", "--here", *files, folder=project)
    return Moved(project.name, ("run",), without=last_line) if went else Moved(project.name, (), last_line)


def main() -> None:
    """Prints a line for each project, and how many came how far."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, nargs="*")
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--here", type=Path, nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.here:
        try:
            run_here(chosen.here[0] if chosen.here[0].is_dir() else chosen.here)
        except LlmdoError as error:
            sys.exit(f"error: {error}")
        return
    projects = [
        folder
        for checkout in chosen.checkout
        for folder in sorted((checkout.absolute() / "examples").iterdir())
        if folder.is_dir() and any(path.suffix in ENDINGS for path in folder.iterdir())
    ]
    with tempfile.TemporaryDirectory() as folder:
        results = [
            direct(project) if chosen.direct else moved(project, Path(folder) / f"{number}-{project.name}")
            for number, project in enumerate(projects)
        ]
    for result in results:
        rest = (
            f"  then: {result.reason}"
            if result.reason
            else "  with stand-ins"
            if result.has_stand_ins
            else ""
        )
        rest += f"  without {result.without[:150]}" if result.without else ""
        print(f"{result.name:30} {' '.join(result.steps):16}{rest}")
    for step in ("import", "lock", "run"):
        print(f"{step}: {sum(step in result.steps for result in results)} of {len(results)}")
    print(
        f"run without stand-ins: {sum('run' in result.steps and not result.has_stand_ins for result in results)}"
    )


if __name__ == "__main__":
    main()
