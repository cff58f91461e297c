"""llmdo: a compiler, lockfile and runner for teams of LLM agents.

Values flow one way, and each stage returns a value with its problems, even for broken input:

    Source -> Document -> Workspace -> Graph -> { findings | lock | reach | run }

What you own, who reads it, and what it becomes:

    llmdo.toml, *.worker    workspace/ reads, syntax/ parses, formats/ judges    -> Workspace
    Python toolset modules  syntax/module.py reads them for `check`;
                            toolsets/ imports them for `lock` and `run`          -> Toolset
    llmdo.lock              workspace/lock/ writes it from a Graph and reads it as one     -> Graph

The packages, each importing only from those above it:

    base/           frozen values, sources and places, findings and errors, digests, the cache
    extensions/     every way to extend llmdo, and the extensions that are there
    syntax/         text -> Document, with a place for every key and value; globs and the reading of files
    policy/         capabilities, rules, ceilings, `decide`: the one evaluator of check and run; shell rules
    graph/          the resolved graph as a value, each field with its keys in files; built-in toolsets, MCP servers
    formats/        what files may say; the JSON Schemas made of it, and the judging by them
    reach/          Graph -> what each entry can reach, by which path, behind which gate; selectors, suggestions
    foreign/        projects of other agent tools, as the same Graph; nothing of them is enforced
    workspace/      disk -> Workspace -> Graph, and llmdo.lock; the check path runs no code of the workspace
    diff/           two graphs -> what the later one lets entries do that the earlier one did not
    toolsets/       what tools do: files and their confinement, shell, Python, MCP
    checks/         one function a check; its docstring is what `explain` prints
    journal/        what a run did, on disk, with the audit of its decisions
    runtime/        Graph -> an answer: runs, calls, gate/, approvals/, models/, recording/, telemetry/
    scaffold/       `init`, `add`, `remove`, `import`: what writes into a workspace
    services/       one function a command; llmdo from Python, batches, serving, doctor
    render/         findings, reach, runs -> text, JSON and the formats of CI services; the live display
    cli/            the commands: parse, one library call, render, exit code
    features/       what can be taken out, a folder each: the page, batches, fleets, evals, formats of other tools

`__main__.py` dispatches `check` and `runs` before anything heavy is imported. A worker is what others call an agent.
"""

from __future__ import annotations

from llmdo.version import __version__

TYPE_CHECKING = False  # `typing` alone would cost a fifth of an answer from memory

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic, LlmdoError
    from llmdo.checks import check
    from llmdo.graph.limits import Limits
    from llmdo.policy.authority import Capability
    from llmdo.services.embedding import TeamEntry, build_entry, open_entry, run, run_async, run_stream
    from llmdo.services.invalid import InvalidTeamError
    from llmdo.services.past import approve, replay, resume, resume_async
    from llmdo.toolsets.probes import NoEffect, TookEffect
    from llmdo.toolsets.workers import PythonWorker as Worker
    from llmdo.workspace.project import Project, read

__all__ = [
    "Capability", "Diagnostic", "InvalidTeamError", "Limits", "LlmdoError", "NoEffect", "Project", "TeamEntry",
    "TookEffect", "Worker", "__version__", "approve", "build_entry", "check", "open_entry", "read", "replay", "resume",
    "resume_async", "run", "run_async", "run_stream",
]  # fmt: skip

_HOMES = {
    "Capability": "llmdo.policy.authority",
    "Diagnostic": "llmdo.base.diagnostic",
    "LlmdoError": "llmdo.base.diagnostic",
    "InvalidTeamError": "llmdo.services.invalid",
    "Limits": "llmdo.graph.limits",
    "NoEffect": "llmdo.toolsets.probes",
    "TookEffect": "llmdo.toolsets.probes",
    "Worker": "llmdo.toolsets.workers:PythonWorker",
    "approve": "llmdo.services.past",
    "TeamEntry": "llmdo.services.embedding",
    "build_entry": "llmdo.services.embedding",
    "open_entry": "llmdo.services.embedding",
    "Project": "llmdo.workspace.project",
    "check": "llmdo.checks",
    "read": "llmdo.workspace.project",
    "replay": "llmdo.services.past",
    "resume": "llmdo.services.past",
    "resume_async": "llmdo.services.past",
    "run": "llmdo.services.embedding",
    "run_async": "llmdo.services.embedding",
    "run_stream": "llmdo.services.embedding",
}


def __getattr__(name: str) -> object:
    """The public name, imported on first use: `import llmdo` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module `llmdo` has no attribute `{name}`")
    from importlib import import_module

    module, _, other = _HOMES[name].partition(":")
    return getattr(import_module(module), other or name)
