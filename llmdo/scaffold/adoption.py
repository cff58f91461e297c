"""`init --from`: a manifest that names the projects of other tools in a folder, with a ceiling for each entry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean, shown
from llmdo.base.source import Source
from llmdo.extensions.spec import AUTO
from llmdo.foreign import adopting
from llmdo.foreign.known import formats
from llmdo.graph.start import events_by_starter
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import has_paths
from llmdo.reach.suggest import smallest, suggest
from llmdo.scaffold import files
from llmdo.scaffold.template import workspace_name
from llmdo.workspace import project
from llmdo.workspace.root import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.graph.resolved import Entry
    from llmdo.workspace.project import Project

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_WRITABLE = re.compile(r"[^~*?\[\]\\:\x00-\x1f\x7f/][^*?\[\]\\:\x00-\x1f\x7f]*(?:/\*\*)?|\*\*")
"""A scope that a manifest can have."""


def adopt(directory: Path, names: Iterable[str]) -> str:
    """Makes `directory` a workspace that names these formats, or all that are there for `auto`; returns its new file.

    Each entry gets what it reaches now as its ceiling.

    Raises:
        LlmdoError: It is a workspace already, there is no such format, or nothing of it is there.
    """
    if reason := "exists already" if (directory / MANIFEST).exists() else files.obstacle(directory, MANIFEST):
        hint = 'name the formats in it: `from = ["claude"]` below [workspace]'
        raise LlmdoError(f"`{MANIFEST}` {reason}", hint=hint, exit_code=1)
    named = _named(directory, tuple(names))
    head = _head(workspace_name(directory), named)
    read = project.read(directory, Source(MANIFEST, head))
    files.write(directory, MANIFEST, (head + "".join(_entries(read))).encode())
    return MANIFEST


def _named(directory: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """The formats to name, each with a file in the folder."""
    known = formats()
    for name in names:
        if name not in (*known, AUTO):
            hint = did_you_mean(name, known) or f"the formats are {', '.join(known)}"
            raise LlmdoError(f"there is no format `{name}`", hint=hint, exit_code=1)
    every = AUTO in names
    read = adopting.read(directory, known if every else names)
    there = tuple(sorted({team.format for team in read.teams if team.agents or not every}))
    if absent := sorted({*names} - {AUTO, *there}):
        missing = f"nothing of {' and '.join(absent)} is in `{directory}`"
        raise LlmdoError(missing, hint="`llmdo scan` says what is there", exit_code=1)
    if not there:
        raise LlmdoError(f"nothing that llmdo reads is in `{directory}`", exit_code=1)
    return there


def _head(name: str, named: Iterable[str]) -> str:
    return f"""\
# The agents of another tool, checked and locked here, and run there.
# `llmdo reach` says what they reach, `llmdo lock` keeps that, `llmdo diff` what a change of them adds to it.
schema = 1

[workspace]
name = {files.toml(name)}
from = {files.toml(list(named))}

# Each entry is an agent, a command or a session by its name there. `may` is the most that it, and all that it
# starts, may reach: now all that it reaches. Take out what it should not: `llmdo check` then names the way to it.
# `llmdo hook` has the tool itself ask before each call; until it is installed, nothing of this is enforced there.
"""


def _entries(read: Project) -> Iterator[str]:
    """The table of each entry, with its ceiling and what starts it."""
    taken: set[str] = set()
    for entry in read.graph.entries.values():
        name = _free(entry.name, taken)
        taken.add(name)
        suggested = suggest(read.analysis, entry)
        # Those that need their full name are not in what contains them.
        may = {*smallest(map(_written, suggested.may)), *smallest(map(_written, suggested.cut))}
        lines = ["", *_comments(read, entry), f"[entries.{files.toml_key(name)}]"]
        if entry.worker and entry.worker.name != name:
            lines.append(f"worker = {files.toml(entry.worker.name)}")
        lines.append(f"may = {files.toml(sorted(map(str, may)))}")
        yield "\n".join(lines) + "\n"


def _comments(read: Project, entry: Entry) -> Iterator[str]:
    worker = read.graph.workers.get(entry.worker.name) if entry.worker else None
    if worker and worker.description:
        line = " ".join(worker.description.split())
        yield f"# {shown(line[:100])}{'...' if line[100:] else ''}"
    for by, events in events_by_starter(entry.started_by).items():
        yield f"# Started by {by}: {shown(', '.join(events))}."


def _written(capability: Capability) -> Capability:
    """The capability; without a scope that a manifest cannot have, so that it means more."""
    is_writable = has_paths(capability.name) and _WRITABLE.fullmatch(capability.scope or "**")
    return capability if is_writable else Capability(capability.name)


def _free(name: str, taken: Iterable[str]) -> str:
    """The name of an entry like that of an agent, which may hold anything."""
    plain = re.sub(r"^[^A-Za-z]+", "", re.sub(r"[^A-Za-z0-9_-]+", "-", name)).strip("-")[:60] or "agent"
    free, number = name if _NAME.fullmatch(name) else plain, 2
    while free in taken:
        free, number = f"{plain}-{number}", number + 1
    return free
