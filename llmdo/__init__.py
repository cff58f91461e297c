"""llmdo: a compiler, lockfile and runner for teams of LLM agents.

Values flow one way, and each stage returns a value with its problems, even for broken input:

    Source -> Document -> Workspace -> Graph -> { findings | lock | reach | run }

What you own, who reads it, and what it becomes:

    llmdo.toml, *.worker    workspace.py reads, syntax/ parses, schema/ judges   -> Workspace
    Python toolset modules  syntax/module.py reads them for `check`;
                            toolsets/ imports them for `lock` and `run`          -> Toolset
    llmdo.lock              lock/ writes it from a Graph and reads it as one     -> Graph

The modules, each importing only from those below it:

    __main__.py     entry point; `check` and `runs` are dispatched before anything heavy is imported
    cli/            the commands: parse, one library call, render, exit code
    importing/      `import`: a foreign project as a workspace of ours, and how the two differ
    past.py         runs of the past from Python and from the command line: resume, replay, approve
    basis.py        what a run of the past goes on with: the workspace of today, or the sources it began with
    embedding.py    llmdo from Python: entries of a workspace or of a few files, run as the command line does
    mending.py      `check --fix`: the safe edits that findings offer
    serving.py      entries as the tools of an MCP server
    locking.py      the facts that only importing the workspace's code can tell, from a child process
    render/         findings -> text, JSON and the formats of CI services; the live display of a run
    doctor.py       what a run finds on this machine, and what it lacks
    runtime/        Graph -> an answer: runs, calls of workers, agents, signatures, the budget; in packages of their own
                    gate/ (what is decided about a call), approvals/ (who answers), models/ (how a request leaves),
                    recording/ (the journal's and the audit's part in a run), telemetry/ (events, log, trace)
    journal/        what a run did, on disk: to go on after a crash, to repeat it, to look into it
    audit.py        every decision of a run, chained so that edits and gaps show
    scaffold/       `init`, `add`, `remove`
    completion.py   what shell completion answers
    toolsets/       filesystem and its confinement; how Python toolsets are found and made
    checks/         one function a check; its docstring is what `explain` prints
    foreign/        projects of other agent tools, as the same Graph; nothing of them is enforced
    diff/           two graphs -> what the later one lets entries do that the earlier one did not
    revision.py     the lock of a git revision, from its objects alone
    selectors.py    which workers `+planner` or `cap:proc.exec` means
    suggest.py      the smallest ceiling and rules under which an entry can do what it does
    paths.py        every call path to a capability
    reach/          Graph -> what each entry can reach, by which path, behind which gate
    bounds.py       what could be reached at most, cheaply: where it is little, nobody looks for paths
    shapes.py       the calls that workers can make, as few as stand for all there can be
    inventory.py    every tool that a worker has, with what it declares: for reach and for the gate
    personal.py     a person's own `policy.toml`, which tightens every run on their machine
    project.py      a workspace with its graph and its lock, in one reading
    lock/           Graph <-> llmdo.lock; drift; the history of the format
    resolve.py      Workspace -> Graph
    modules.py      what the Python files of a workspace import of each other, and their digests
    builtin.py      the built-in toolsets as far as authority is concerned
    servers.py      MCP servers as far as files and authority are concerned
    facts.py        what is known of toolsets from importing them, or from asking their servers
    workspace.py    disk -> Workspace; the only reader of the check path
    gaps.py         what files that cannot be read leave unknown
    references.py   what files refer to by text: files of Python, modules of packages, models
    worker_file.py  a worker as its file says it: a worker file, a Python module, an adopted agent
    discovery.py    globs, and files read without leaving the workspace
    graph.py        the resolved graph as a value
    topology.py     knots and cycles of a directed graph
    models.py       model references as text
    schema/         Document x format -> value + problems; generates schemas/
    formats.py      what a manifest, a worker header and a lock may say
    toolset_format.py what a manifest and a lock may say about a toolset of the workspace's own
    worker_format.py  of these, what any worker may be given
    shell/          the built-in `shell` without its execution: words, shell rules, what a command raises
    secret_files.py names of files that mostly hold secrets: a read of one is `fs.read.protected`
    authority.py    capabilities, rules, ceilings: `decide`, the one evaluator of check and run
    fields.py       the kinds of text that the formats are made of
    syntax/         text -> Document, with a place for every key and value
    resources.py    the schemas and templates that ship with the package
    backtrace.py    where the workspace's own code was when it failed
    diagnostic.py   findings, codes, and the error for when we cannot go on
    credentials.py  what looks like a secret: names of variables, forms of tokens
    digest.py       digests of text and of data
    source.py       a file as read, and places in it
    cache.py        whether anything changed since the last check, in the person's own cache folder
    values.py       dataclasses, made for a quick start
    version.py      the version
"""

from __future__ import annotations

from llmdo.version import __version__

TYPE_CHECKING = False  # `typing` alone would cost a fifth of an answer from memory

if TYPE_CHECKING:
    from llmdo.base.diagnostic import Diagnostic, LlmdoError
    from llmdo.checks import check
    from llmdo.graph.resolved import Limits
    from llmdo.policy.authority import Capability
    from llmdo.services.embedding import InvalidTeamError, build_entry, run, run_async
    from llmdo.services.past import approve, replay, resume, resume_async
    from llmdo.toolsets.workers import Worker
    from llmdo.workspace.project import Project, read

__all__ = [
    "Capability", "Diagnostic", "InvalidTeamError", "Limits", "LlmdoError", "Project", "Worker", "__version__",
    "approve", "build_entry", "check", "read", "replay", "resume", "resume_async", "run", "run_async",
]  # fmt: skip

_HOMES = {
    "Capability": "llmdo.policy.authority",
    "Diagnostic": "llmdo.base.diagnostic",
    "LlmdoError": "llmdo.base.diagnostic",
    "InvalidTeamError": "llmdo.services.embedding",
    "Limits": "llmdo.graph.resolved",
    "Worker": "llmdo.toolsets.workers",
    "approve": "llmdo.services.past",
    "build_entry": "llmdo.services.embedding",
    "Project": "llmdo.workspace.project",
    "check": "llmdo.checks",
    "read": "llmdo.workspace.project",
    "replay": "llmdo.services.past",
    "resume": "llmdo.services.past",
    "resume_async": "llmdo.services.past",
    "run": "llmdo.services.embedding",
    "run_async": "llmdo.services.embedding",
}


def __getattr__(name: str) -> object:
    """The public name, imported on first use: `import llmdo` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module `llmdo` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
