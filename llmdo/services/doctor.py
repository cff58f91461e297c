"""The state of this machine for `llmdo run`: installed parts, settings in force, and needs of a workspace.

It tells names, never the value of a variable. Nothing of the workspace is run.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.base.nearest import nearest_workspace
from llmdo.base.prerequisites import BUBBLEWRAP, GIT
from llmdo.base.values import dataclass
from llmdo.checks.acceptance import ACCEPTABLE
from llmdo.extensions.registry import features
from llmdo.graph.code_calls import uses_with_calls
from llmdo.graph.models import KEYS, model_file, python_reference, recording_file
from llmdo.graph.toolkit import reachable
from llmdo.journal.opening import address_of, runs_of
from llmdo.runtime.models.choice import ModelChoice, ModelSource, choose
from llmdo.services.root import root_folder
from llmdo.syntax.commits import git_in
from llmdo.toolsets.bubblewrap import isolate
from llmdo.toolsets.launch import ROOT
from llmdo.toolsets.programs import Programs
from llmdo.version import __version__
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.root import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph.described import Server
    from llmdo.graph.resolved import Graph
    from llmdo.workspace.project import Project

_MODULES: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google.genai",
    "groq": "groq",
    "mistral": "mistralai",
    "mcp": "fastmcp",
    "otel": "opentelemetry.sdk",
}
"""The extras of the core, each with its module."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
GIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that was looked at."""

    section: str
    name: str
    state: str
    problem: str | None = None
    """A missing part that a run here needs, with a remedy."""
    hint: str | None = None
    """How to get an optional part that is missing."""


def examine(root: Path | None, environ: Mapping[str, str]) -> Iterator[Item]:
    """The items of this machine, and of the workspace at `root` if there is one."""
    yield Item(section="llmdo", name="llmdo", state=__version__)
    yield Item(section="llmdo", name="pydantic-ai", state=metadata.version("pydantic-ai-slim"))
    yield Item(section="llmdo", name="python", state=f"{platform.python_version()} on {platform.system()}")
    extras = {**_MODULES, **{name: module for each in features() for name, module in each.extras.items()}}
    yield from (_extra(name, module, environ) for name, module in extras.items())
    read = projects.read(root) if root else None
    yield _git(root or Path.cwd(), environ)
    yield _isolation(read, root or Path.cwd(), environ)
    yield from _person(environ)
    if root and read:
        yield from _workspace(root, read, environ)
        yield from _models(root, read.graph, environ)
        yield from _servers(root, read.graph, environ)


def examine_here(project: str | None) -> list[Item]:
    """The items of this machine and the workspace of a command, if there is one."""
    cwd = Path.cwd()
    is_named = project is not None or os.environ.get("LLMDO_PROJECT")
    if is_named or nearest_workspace(str(cwd)):
        return list(examine(root_folder(project), os.environ))
    return list(examine(None, os.environ))


def _extra(name: str, module: str, environ: Mapping[str, str]) -> Item:
    variables = KEYS.get(name, ())
    if not _is_installed(module):
        hint = installing(name)
        return Item(section="extras", name=name, state="not installed", hint=hint)
    set_variables = [variable for variable in variables if environ.get(variable)]
    state = f"{set_variables[0]} is set" if set_variables else f"{' and '.join(variables)} not set"
    return Item(section="extras", name=name, state=f"installed, {state}" if variables else "installed")


def _is_installed(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def _git(folder: Path, environ: Mapping[str, str]) -> Item:
    program = git_in(environ.get("PATH", os.defpath), folder)
    if program is None:
        return Item(section="machine", name="git", state="not there", hint=GIT.use)
    try:
        version = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Item(section="machine", name="git", state=f"does not work: {error}")
    return Item(section="machine", name="git", state=version.strip().removeprefix("git version "))


def _person(environ: Mapping[str, str]) -> Iterator[Item]:
    path = personal.path_of(environ)
    yield Item(section="you", name="folder", state=str(path.parent))
    try:
        policy = personal.read(environ)
    except LlmdoError as error:
        yield Item(section="you", name="policy.toml", state="broken", problem=_sentence(error))
        return
    if not policy.is_there:
        yield Item(section="you", name="policy.toml", state="none")
        return
    rules = "; ".join(map(str, policy.rules)) or "no rules"
    flag = "" if policy.approve_all else "; --approve-all is forbidden"
    yield Item(section="you", name="policy.toml", state=f"in force: {rules}{flag}")


def _isolation(read: Project | None, folder: Path, environ: Mapping[str, str]) -> Item:
    """The means of isolating commands, and whether the workspace can do without."""
    wanted = read.graph.shell.isolation if read else "auto"
    uses_shell = read is not None and any(
        use.name == "shell"
        for worker in read.graph.workers.values()
        for use in uses_with_calls(read.graph, worker.uses)
    )
    folders = Folders(folder, read.graph.settings.root if read else None)
    folder = folders.root if folders.is_there else folder
    programs = Programs.of(environ.get("PATH", os.defpath), *folders.all)
    is_needed = uses_shell and wanted == "require"
    try:
        isolation, _ = isolate("require" if is_needed else "auto", folder, programs, (), environ)
    except LlmdoError as error:
        return Item(section="machine", name="isolation", state="none", problem=_sentence(error))
    if isolation.name == "none":
        hint = f"{isolation.reason}; {BUBBLEWRAP.use}"
        return Item(section="machine", name="isolation", state="none", hint=hint)
    return Item(
        section="machine", name="isolation", state=str(isolation).removeprefix("isolation of commands: ")
    )


def _workspace(root: Path, read: Project, environ: Mapping[str, str]) -> Iterator[Item]:
    yield Item(section="workspace", name="folder", state=str(root))
    errors = [finding for finding in checks.check(read, locked=False) if finding.severity == "error"]
    hindering = [error for error in errors if error.code not in ACCEPTABLE]
    number = "1 error prevents" if len(hindering) == 1 else f"{len(hindering)} errors prevent"
    problem = f"{number} running; `llmdo check` shows them" if hindering else None
    state = f"workers: {len(read.graph.workers)}, entries: {len(read.graph.entries)}"
    yield Item(section="workspace", name="files", state=state, problem=problem)
    hint = None if read.is_current else "`llmdo lock` writes it"
    yield Item(section="workspace", name="lock", state=_lock(read), hint=hint)
    yield from _root(Folders(root, read.graph.settings.root))
    yield from _store(root, environ)


def _store(root: Path, environ: Mapping[str, str]) -> Iterator[Item]:
    """The place of the journals, and whether they can be kept there."""
    try:
        if address_of(root, environ):
            runs = runs_of(root, environ)
            yield Item(section="workspace", name="runs", state=f"{len(runs.names())} kept in {runs.title}")
            return
    except LlmdoError as error:
        yield Item(section="workspace", name="runs", state="cannot be kept", problem=_sentence(error))
        return
    runs = runs_of(root, {})
    # Another user's `.llmdo` may not even be looked into, which `Path.is_dir` raises an error about.
    above = next((each for each in (runs.folder, runs.folder.parent) if os.path.isdir(each)), root)  # noqa: PTH112
    writable = os.access(above, os.W_OK | os.X_OK)
    yield Item(
        section="workspace",
        name="runs",
        state=f"{len(runs.names())} kept" if writable else "cannot be written",
        problem=None
        if writable
        else f"`{above}` cannot be written; `--no-journal` runs without journal and audit",
    )


def _root(folders: Folders) -> Iterator[Item]:
    """The folder that tools work on, if it is not the workspace."""
    if folders.stated is None:
        return
    try:
        folders.require()
    except LlmdoError as error:
        yield Item(section="workspace", name="root", state="cannot be used", problem=_sentence(error))
    else:
        yield Item(section="workspace", name="root", state=str(folders.root))


def _lock(read: Project) -> str:
    if read.is_current:
        return "up to date"
    if read.locked.graph:
        return "out of date"
    return "missing" if read.locked.state == "missing" else "unusable"


def _models(root: Path, graph: Graph, environ: Mapping[str, str]) -> Iterator[Item]:
    """The models of the entries. Those of the workspace's own code are not made: nothing of it is run."""
    choice = ModelChoice(environment=environ.get("LLMDO_MODEL") or None)
    source = ModelSource(aliases=graph.models, load=lambda name: name, root=root)
    needed = {
        model
        for entry in graph.entries.values()
        for name in reachable(graph, entry)
        if (reference := choose(graph, entry, graph.workers[name], choice))
        for model in source.chain(reference)
    }
    for model in sorted(needed):
        if python_reference(model):
            yield Item(section="models", name=model, state="of the workspace's own code")
            continue
        if model_file(model):
            kind = "a recording" if recording_file(model) else "a script"
            yield Item(section="models", name=model, state=f"{kind}: nobody is asked, and no key is needed")
            continue
        try:
            source.make(model)
        except LlmdoError as error:
            yield Item(section="models", name=model, state="cannot be used", problem=_sentence(error))
        else:
            yield Item(section="models", name=model, state="can be asked")


def _servers(root: Path, graph: Graph, environ: Mapping[str, str]) -> Iterator[Item]:
    """The MCP servers of the workspace. None is started."""
    folders = Folders(root, graph.settings.root)
    programs = Programs.of(environ.get("PATH", os.defpath), *folders.all)
    environ = {**environ, ROOT: str(folders.root)}
    for name, toolset in graph.toolsets.items():
        if toolset.server is None or toolset.format:
            continue
        lacks = [
            f"`{variable}` is not set" for variable in _variables(toolset.server) if not environ.get(variable)
        ]
        command = toolset.server.command
        if command and "/" not in command:
            try:
                programs.find(command)
            except LlmdoError as error:
                lacks.insert(0, error.message)
        state = command or "over the network"
        yield Item(section="servers", name=name, state=state, problem="; ".join(lacks) or None)


def _variables(server: Server) -> list[str]:
    """The environment variables of a server and its address."""
    names = {name for name in server.env if "=" not in name}
    texts = (*server.env, *server.args, *server.headers, server.url or "", server.auth or "")
    return sorted(names.union(*(_VARIABLE.findall(text) for text in texts)))


def _sentence(error: LlmdoError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
