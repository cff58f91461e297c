"""The facts that need a workspace's code to run, or its servers to answer; each in a child process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.graph import servers
from llmdo.graph.inventory import Inventory
from llmdo.graph.toolset import ToolsetFacts
from llmdo.reach import Analysis
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.problems import Problems
from llmdo.workspace import lock
from llmdo.workspace.resolve import resolve
from llmdo.workspace.root import Folders
from llmdo.workspace.trust import Consent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Facts, Toolset
    from llmdo.workspace.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The content of a new lock, and notes for a person on how it is known."""

    graph: Graph
    notes: tuple[str, ...] = ()


def derive(
    project: Project, *, anew: bool = False, installed: bool = False, consent: Consent | None = None
) -> Graph:
    """The graph of `project` with facts about all its Python toolsets.

    Facts about unchanged sources come from the lock, so that a lock after an edit of a prompt starts nothing; with
    `anew` it is not believed, with `installed` not about toolsets that have no source here. No MCP server is asked:
    facts about servers come from the lock.

    Raises:
        UntrustedError: `consent` refuses an import.
        LlmdoError: toolset modules cannot be imported; all of them are named.
    """
    in_python, _ = _of_python(project, consent or Consent(), anew=anew, installed=installed)
    return resolve(project.workspace, {**_of_servers(project), **in_python})


def derive_with_servers(
    project: Project,
    *,
    anew: bool = False,
    offline: bool = False,
    environ: Mapping[str, str] | None = None,
    consent: Consent | None = None,
) -> Derived:
    """The graph of `derive`, with the present answers of the MCP servers.

    All servers are asked each time, as nothing else knows their tools. With `offline` none is, and the lock's facts
    are kept.

    Raises:
        LlmdoError: As above, or servers cannot be asked; all of them are reported.
    """
    consent = consent or Consent()
    in_python, unsealed = _of_python(project, consent, anew=anew, installed=True)
    known = {**_of_servers(project), **in_python}
    notes = _unsealed(unsealed)
    toolsets = [
        toolset for toolset in project.graph.toolsets.values() if toolset.server and toolset.format is None
    ]
    if not toolsets:
        return Derived(graph=resolve(project.workspace, known), notes=notes)
    if offline:
        return Derived(
            graph=resolve(project.workspace, known), notes=(*notes, *_notes_offline(toolsets, known))
        )
    answers, problems = _facts_of_servers(
        project, toolsets, os.environ if environ is None else environ, consent
    )
    if problems:
        raise Problems(problems)
    graph = resolve(project.workspace, {**known, **answers})
    return Derived(graph=graph, notes=(*notes, *proposals(graph)))


def _unsealed(reason: str) -> tuple[str, ...]:
    if not reason:
        return ()
    return (f"the toolset modules were imported without isolation ({reason}): they could do what you can",)


def read_by_importing(project: Project, *, anew: bool = False, consent: Consent | None = None) -> Project:
    """`project` with the toolsets that only importing its modules shows.

    Raises:
        LlmdoError: A toolset module cannot be imported.
    """
    graph = derive(project, anew=anew, installed=True, consent=consent)
    return replace(project, graph=graph, analysis=Analysis(graph))


def _facts_of_servers(
    project: Project, toolsets: Sequence[Toolset], environ: Mapping[str, str], consent: Consent
) -> tuple[dict[str, ToolsetFacts], list[LlmdoError]]:
    consent.require(project.graph, project.workspace.root)
    from llmdo.toolsets.launch import Launcher  # two seconds, for workspaces that have servers
    from llmdo.toolsets.mcp import list_servers

    folders = Folders(project.workspace.root, project.graph.settings.root)
    governing = folders.governed(Inventory.of(project.graph).governing)
    with Root.of(folders) as files:
        launcher = Launcher(folders=folders, files=files, governing=governing, environ=environ)
        answers = list_servers(toolsets, launcher)
    facts_of = {
        servers.key_of(name): facts for name, facts in answers.items() if isinstance(facts, ToolsetFacts)
    }
    problems = [
        LlmdoError(
            error.message, hint=error.hint or "`llmdo lock --offline` keeps what is known", at=error.at
        )
        for error in answers.values()
        if isinstance(error, LlmdoError)
    ]
    return facts_of, problems


def _notes_offline(toolsets: Sequence[Toolset], known: Facts) -> Iterator[str]:
    for toolset in toolsets:
        facts = known.get(servers.key_of(toolset.name))
        if facts is None:
            yield f"the MCP server `{toolset.name}` was never asked: until `llmdo lock` asks it, none of its tools runs"
        else:
            yield f"the MCP server `{toolset.name}` was not asked: what it says is as it was locked"


def proposals(graph: Graph) -> Iterator[str]:
    """For each server whose tools are not in the manifest, the lines that its hints suggest.

    They are its own claims: a person who believes them copies the line.
    """
    for toolset in graph.toolsets.values():
        lines = [
            f"{json.dumps(tool.name)} = {json.dumps(proposed)}"
            for tool in toolset.tools.values()
            if tool.definition and (proposed := servers.proposed(toolset, tool))
        ]
        if lines:
            yield (
                f"the MCP server `{toolset.name}` claims to only read with {_some(len(lines))}; who believes it writes "
                f"in [toolsets.{toolset.name}]: capabilities = {{ {', '.join(lines)} }}"
            )


def _some(tools: int) -> str:
    return f"{tools} tool{'s' if tools > 1 else ''}"


def _of_servers(project: Project) -> Facts:
    known = lock.facts(project.locked.graph, project.graph)
    return {key: facts for key, facts in known.items() if facts.identity}


def _of_python(project: Project, consent: Consent, *, anew: bool, installed: bool) -> tuple[Facts, str]:
    """The known facts, and why the code was not isolated meanwhile; empty if it was."""
    before = None if anew else project.locked.graph
    imported_anew = {
        tools.python for tools in project.graph.toolsets.values() if installed and tools.source is None
    }
    known = {key: facts for key, facts in _known(project, before).items() if key not in imported_anew}
    references = {
        toolset.name: toolset.python
        for toolset in project.graph.toolsets.values()
        if toolset.python and toolset.python not in known
    }
    modules = _changed_modules(project, before)
    if not references and not modules:
        return known, ""
    consent.require(project.graph, project.workspace.root)
    from llmdo.toolsets.isolation import inspect_toolsets  # a tenth of a run's start

    inspected = inspect_toolsets(
        project.workspace.root,
        modules,
        references,
        code=project.graph.code,
        deps=_deps_of(project.graph),
        families=project.graph.families,
    )
    return {**known, **inspected.facts}, inspected.unsealed


def to_be_imported(project: Project) -> list[str]:
    """The modules whose tools only an import can tell, and that the lock does not know."""
    before = project.locked.graph
    known = _known(project, before)
    toolsets = [each.python for each in project.graph.toolsets.values() if each.python]
    return [*_changed_modules(project, before), *(each for each in toolsets if each not in known)]


def _changed_modules(project: Project, before: Graph | None) -> list[str]:
    """The listed toolset modules that differ from those in the lock."""
    unchanged = before.modules if before else {}
    return [path for path, source in project.graph.modules.items() if unchanged.get(path) != source]


def _known(project: Project, before: Graph | None) -> Facts:
    """The facts in the lock `before` about Python toolsets that are the same."""
    deps, earlier = _deps_of(project.graph), _deps_of(before) if before else {}
    return {
        key: facts
        for key, facts in lock.facts(before, project.graph).items()
        if not facts.identity and deps.get(key) == earlier.get(key)
    }


def _deps_of(graph: Graph) -> dict[str, str]:
    """The agents with deps, and the name of the deps' maker."""
    return {
        worker.agent: worker.deps.name for worker in graph.workers.values() if worker.agent and worker.deps
    }
