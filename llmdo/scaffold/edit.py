"""`add` and `remove`: edits of a workspace, refused if they would break a name.

Broken names are the new problems that the checks find after an edit: they are asked, not imitated.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.diagnostic import did_you_mean
from llmdo.base.source import Source
from llmdo.checks import names
from llmdo.checks.naming import named_capabilities
from llmdo.graph import builtin, toolkit
from llmdo.policy.authority import Capability
from llmdo.scaffold import files, splice
from llmdo.scaffold.manifest import Manifest, refusal, refuse_invalid
from llmdo.syntax import discovery, frontmatter, module
from llmdo.syntax.globs import Glob, is_pattern
from llmdo.workspace import project
from llmdo.workspace.references import located, python_file
from llmdo.workspace.root import MANIFEST, Folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic, LlmdoError
    from llmdo.base.source import Location
    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Worker
    from llmdo.workspace.project import Project

WORKER_SUFFIXES = (".worker", ".worker.md")

_WORKERS = ("workspace", "workers")
_RULES = ("approvals", "rules")
_SCHEMA = "schemas/llmdo-worker.json"
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ,.()_-]*[A-Za-z0-9.)_-])?")
_YAML_WORDS = frozenset({"true", "false", "null"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceEdit:
    """The effect of an edit on the files of a workspace."""

    written: tuple[str, ...] = ()
    """POSIX paths, in the order in which they were written."""
    removed: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """The messages for the user, a sentence each."""


def add_worker(
    root: Path,
    name: str,
    *,
    toolsets: Iterable[str] = (),
    description: str | None = None,
    entry: bool = False,
    path: str | None = None,
) -> WorkspaceEdit:
    """Writes a worker file, by default at `workers/NAME.worker`.

    If no glob of the manifest matches it, its path is added to them.

    Raises:
        LlmdoError: the name or the file exists, a toolset does not, or the header would not be valid.
    """
    manifest = Manifest.read(root)
    graph = project.read(root).graph
    path = path or f"workers/{name}.worker"
    used = tuple(dict.fromkeys(toolsets))
    refuse_taken(graph, name)
    known = {*graph.workers, *graph.toolsets, *builtin.NAMES}
    for toolset in used:
        _refuse_unknown(toolset, known, "neither a toolset nor a worker")
    has_schema = (root / _SCHEMA).is_file()
    text = _worker_text(path, name, used, description, entry=entry, has_schema=has_schema)
    refuse_invalid(frontmatter.parse(Source(path, text)).document, "worker")
    _refuse_place(root, path)
    note = (f"`{path}` is the worker `{name}`: write its prompt",)
    globs = manifest.table("workspace").get("workers")
    if any(_finds(root, glob, path) for glob in parts.texts(globs)):
        files.write(root, path, text.encode())
        return WorkspaceEdit(written=(path,), lines=note)
    listed = manifest.edited(
        lambda text: (
            splice.insert(text, _WORKERS, [path]) if globs is None else splice.append(text, _WORKERS, path)
        )
    )
    files.write(root, path, text.encode())
    listed.write()
    return WorkspaceEdit(written=(path, MANIFEST), lines=(*note, f"`workers` in `{MANIFEST}` lists it"))


def remove_worker(root: Path, name: str) -> WorkspaceEdit:
    """Deletes the file of a worker, and its path from the manifest if that lists it.

    Raises:
        LlmdoError: there is no such worker, or something still names it.
    """
    manifest = Manifest.read(root)
    current = project.read(root)
    graph = current.graph
    _refuse_unknown(name, graph.workers, "not a worker")
    holders = [file.document for file in current.workspace.workers if file.header["name"] == name]
    if len(holders) > 1:
        listed = ", ".join(f"`{document.source.path}`" for document in holders)
        raise refusal(f"more than one file is the worker `{name}`: {listed}", hint="delete one by hand")
    rest = {other: worker for other, worker in graph.workers.items() if other != name}
    _refuse_dangling(current, replace(graph, workers=rest), name)
    path = graph.workers[name].path
    if graph.workers[name].python or graph.workers[name].agent:
        raise refusal(f"the worker `{name}` has no file of its own", hint=f"take it out of `{path}` by hand")
    globs = parts.items(manifest.table("workspace").get("workers"))
    note = (f"`{path}` is deleted, and with it the worker `{name}`",)
    if path in globs:
        manifest.edited(lambda text: splice.withdraw(text, _WORKERS, globs.index(path))).write()
        files.remove(root, path)
        return WorkspaceEdit(written=(MANIFEST,), removed=(path,), lines=note)
    files.remove(root, path)
    return WorkspaceEdit(removed=(path,), lines=note)


def add_toolset(root: Path, name: str, *, python: str) -> WorkspaceEdit:
    """Names the Python toolset `python`, FILE.py:ATTRIBUTE or package.module:ATTRIBUTE.

    Raises:
        LlmdoError: the name exists, the file or attribute does not, or a worker uses its former name.
    """
    current = project.read(root)
    graph = current.graph
    refuse_taken(graph, name)
    _refuse_missing_attribute(root, python)
    meant = located(python, current.workspace.modules)
    rest = {
        other: toolset for other, toolset in graph.toolsets.items() if toolset.python not in (python, meant)
    }
    for other, toolset in graph.toolsets.items():
        if other not in rest:
            known = {**rest, name: replace(toolset, name=name)}
            workers = dict(_named_by_path(current, other, name))
            _refuse_dangling(current, replace(graph, toolsets=known, workers=workers), other)
    return _inserted(root, ("toolsets", name), {"python": python}, f"`{name}` is the toolset `{python}`")


def remove_toolset(root: Path, name: str) -> WorkspaceEdit:
    """Removes `[toolsets.NAME]` from the manifest; its Python file stays.

    Raises:
        LlmdoError: the manifest has no such toolset, or something still names it.
    """
    current = project.read(root)
    graph = current.graph
    elsewhere = graph.toolsets.get(name)
    if elsewhere and name not in Manifest.read(root).table("toolsets"):
        raise refusal(f"`{name}` is not in `[toolsets]`: {_place(elsewhere.at.location)} makes it a toolset")
    modules = current.workspace.modules
    if not any(name in modules[path].outline.toolsets for path in current.workspace.toolset_modules):
        rest = {other: toolset for other, toolset in graph.toolsets.items() if other != name}
        _refuse_dangling(current, replace(graph, toolsets=rest), name)
    return _deleted(root, ("toolsets", name), f"`{name}` is removed from `[toolsets]`")


def add_entry(root: Path, name: str, *, worker: str, input: str | None = None) -> WorkspaceEdit:  # noqa: A002
    """Adds an entry for `worker`, started by `llmdo run NAME`.

    Raises:
        LlmdoError: there is such an entry, or no such worker.
    """
    _refuse_unknown(worker, project.read(root).graph.workers, "not a worker")
    table = {"worker": worker} if input is None else {"worker": worker, "input": input}
    return _inserted(root, ("entries", name), table, f"`llmdo run {name}` starts `{worker}`")


def remove_entry(root: Path, name: str) -> WorkspaceEdit:
    """Removes `[entries.NAME]` from the manifest; its worker stays.

    Raises:
        LlmdoError: the manifest has no such entry, or an acceptance or a schedule still names it.
    """
    graph = project.read(root).graph
    entry = graph.entries.get(name)
    if entry and not entry.declared:
        raise refusal(f"`{name}` is not in `[entries]`: {_place(entry.at.location)} sets `entry: true`")
    places = [accepted.at.location for accepted in graph.acceptances if accepted.entry == name]
    places += [each.entry.at.location for each in graph.schedules.values() if each.entry.name == name]
    if places:
        raise _still_named(name, places)
    return _deleted(root, ("entries", name), f"`llmdo run {name}` starts nothing any more")


def add_path(root: Path, alias: str, target: str) -> WorkspaceEdit:
    """Adds `alias` for the file or, if both end in a slash, the folder `target`.

    Raises:
        LlmdoError: the alias exists, the target does not, or one is a file and the other a folder.
    """
    folders = Folders(root, project.read(root).graph.settings.root)
    folders.require()
    if missing := discovery.exists(folders.root, target):
        raise refusal(f"`{target}` {missing.reason}")
    if not alias.endswith("/") == target.endswith("/") == (folders.root / target).is_dir():
        raise refusal(
            f"`{alias}` and `{target}` are not both files or both folders", hint="a folder ends in `/`"
        )
    return _inserted(root, ("paths", alias), target, f"`{alias}` stands for `{target}`")


def remove_path(root: Path, alias: str) -> WorkspaceEdit:
    """Removes an alias from the path map.

    Raises:
        LlmdoError: there is no such alias.
    """
    return _deleted(root, ("paths", alias), f"`{alias}` stands for nothing but itself")


def add_rule(root: Path, capability: str, decision: str) -> WorkspaceEdit:
    """Adds a rule to the manifest for a capability, perhaps with a scope.

    Raises:
        LlmdoError: there is a rule for just that, no such capability, or no such decision.
    """
    known = toolkit.known_capabilities(project.read(root).graph)
    _refuse_unknown(Capability.parse(capability).name, known, "not a capability")
    return _inserted(root, (*_RULES, capability), decision, f"`{capability}` is `{decision}`")


def remove_rule(root: Path, capability: str) -> WorkspaceEdit:
    """Removes a rule from the manifest.

    Raises:
        LlmdoError: there is no rule for just that.
    """
    return _deleted(root, (*_RULES, capability), f"no rule names `{capability}` any more")


def _inserted(root: Path, route: tuple[str, ...], value: str | dict[str, str], note: str) -> WorkspaceEdit:
    manifest = Manifest.read(root)
    if route[-1] in manifest.table(*route[:-1]):
        place = _place(manifest.document.key(*route))
        raise refusal(f"`{route[-1]}` is in `[{'.'.join(route[:-1])}]` already: {place}")
    manifest.edited(lambda text: splice.insert(text, route, value)).write()
    return WorkspaceEdit(written=(MANIFEST,), lines=(note,))


def _deleted(root: Path, route: tuple[str, ...], note: str) -> WorkspaceEdit:
    manifest = Manifest.read(root)
    table = manifest.table(*route[:-1])
    _refuse_unknown(route[-1], table, f"not in `[{'.'.join(route[:-1])}]`")
    manifest.edited(lambda text: splice.delete(text, route)).write()
    return WorkspaceEdit(written=(MANIFEST,), lines=(note,))


def _worker_text(
    path: str, name: str, toolsets: tuple[str, ...], description: str | None, *, entry: bool, has_schema: bool
) -> str:
    header = [f"name: {_scalar(name)}"]
    if has_schema:
        header.insert(0, f"# yaml-language-server: $schema={'../' * path.count('/')}{_SCHEMA}")
    if description is not None:
        header.append(f"description: {_scalar(description)}")
    if entry:
        header.append("entry: true")
    if toolsets:
        header += ["toolsets:", *(f"  {_scalar(toolset)}: {{}}" for toolset in toolsets)]
    prompt = f"You are {name}.\n\nSay here what you are given, what to do with it, and what to answer."
    return "\n".join(["---", *header, "---", prompt, ""])


def _scalar(text: str) -> str:
    """`text` in YAML; a JSON string is one too."""
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _finds(root: Path, glob: str, path: str) -> bool:
    """Whether the glob will find a file at `path`."""
    if any(folder.startswith(".") for folder in path.split("/")) or discovery.git_ignored(root)[0](path):
        return False
    return Glob(glob).matches(path)


def _refuse_place(root: Path, path: str) -> None:
    """Refuses a path at which no worker file can be created."""
    if not path.endswith(WORKER_SUFFIXES):
        raise refusal(f"`{path}` does not end in `.worker` or `.worker.md`")
    if is_pattern(path):
        raise refusal(f"`{path}` holds a character that globs give a meaning to")
    kind = discovery.exists(root, path)
    if kind is None:
        raise refusal(f"`{path}` exists already")
    if kind.code == "LDO107":
        raise refusal(f"`{path}` {kind.reason}")
    if reason := files.obstacle(root, path):
        raise refusal(f"`{path}` {reason}")


def _refuse_missing_attribute(root: Path, python: str) -> None:
    """Refuses a reference to a missing file or name."""
    path = python_file(python)
    if path is None:
        return
    if missing := discovery.exists(root, path):
        raise refusal(f"`{path}` {missing.reason}")
    source, problems = discovery.read_source(root, path)
    outline = module.outline(source)
    if not (problems or outline.problems or outline.open):
        _refuse_unknown(python.rpartition(":")[2], outline.names, f"not in `{path}`")


def refuse_taken(graph: Graph, name: str) -> None:
    """Refuses a name that a worker or toolset has."""
    if name in builtin.NAMES:
        raise refusal(f"`{name}` is a built-in toolset", hint="choose another name")
    if holder := graph.workers.get(name) or graph.toolsets.get(name):
        kind = "worker" if name in graph.workers else "toolset"
        raise refusal(
            f"`{name}` is a {kind} already: {_place(holder.at.location)}",
            hint="choose another name: workers and toolsets share one namespace",
        )


def _refuse_unknown(name: str, known: Iterable[str], problem: str) -> None:
    """Refuses a name not among the `known` ones; `problem` completes the message."""
    known = tuple(known)
    if name not in known:
        raise refusal(f"`{name}` is {problem}", hint=did_you_mean(name, known))


def _named_by_path(current: Project, before: str, after: str) -> Iterator[tuple[str, Worker]]:
    """The workers after a toolset's renaming: uses of it by a path follow the new name."""
    paths = {(path.at.document.source.path, path.at.route) for path in current.workspace.class_paths}
    for name, worker in current.graph.workers.items():
        uses = [
            replace(use, name=after)
            if use.name == before and (use.at.document.source.path, use.at.route) in paths
            else use
            for use in worker.uses
        ]
        yield name, replace(worker, uses=tuple(uses))


def _refuse_dangling(current: Project, after: Graph, name: str) -> None:
    """Refuses an edit if names in the graph `after` it have new problems."""
    unread = [
        problem
        for problem in current.workspace.problems
        if problem.severity == "error" and problem.at.path.endswith(WORKER_SUFFIXES)
    ]
    if unread:
        raise refusal(
            f"`{unread[0].at.path}` has errors, so what it names is not known",
            hint="fix it first: `llmdo check` shows what is wrong",
        )
    edited = replace(current, graph=after)
    problems = _name_problems(edited) - _name_problems(current)
    if problems:
        ordered = sorted(problems, key=lambda problem: problem.order)
        raise _still_named(name, [*_named_tools(edited, name), *(problem.at for problem in ordered)])


def _name_problems(current: Project) -> set[Diagnostic]:
    checks = (names.unknown_toolset, names.unknown_worker, names.unknown_capability)
    return {problem for check in checks for problem in check(current)}


def _named_tools(edited: Project, name: str) -> Iterator[Location]:
    """The places of capabilities of a toolset that is gone: `check` leaves them to the uses of it."""
    if name not in {*edited.graph.toolsets, *edited.graph.workers}:
        for capability, place in named_capabilities(edited):
            if capability.name.startswith(f"x.{name}."):
                yield place.location


def _still_named(name: str, places: Iterable[Location]) -> LlmdoError:
    listed = ", ".join(dict.fromkeys(_place(place) for place in places))
    return refusal(f"`{name}` is still named at {listed}", hint="take it out there first")


def _place(at: Location) -> str:
    return f"{at.path}:{at.span.line}:{at.span.column}" if at.span else at.path
