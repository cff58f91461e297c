"""The tools of a workflow of gh-aw, which its files name or its compiler adds, and the hosts that commands send to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table, text
from llmdo.base.values import dataclass, replace
from llmdo.features.gh_aw.strangers import fetched, is_by_program, is_filtered, is_unfiltered, opened
from llmdo.features.gh_aw.table import TABLE
from llmdo.foreign import servers
from llmdo.foreign.commands import commands
from llmdo.foreign.lines import Line
from llmdo.foreign.team import Grant, capability_of
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import UNLISTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.source import Source
    from llmdo.foreign.files import Files
    from llmdo.syntax.document import Document

FIREWALL = "firewall"
CONNECTS = "net.connect"
COPILOT = "copilot"
"""The engine of a workflow that names none."""
_FETCHING_THEMSELVES = (COPILOT, "claude")
"""The beginnings of the names of engines with a tool of their own for pages; gh-aw goes by how a name begins."""
_WITH_AGENTS = (*_FETCHING_THEMSELVES, "codex")
"""Those of engines that start agents whatever a workflow says."""
_READING = (*_WITH_AGENTS, "antigravity", "gemini")
"""Those of engines that list and read files whatever a workflow says; the last two get a list of tools without more."""

NOBODYS = frozenset({"127.0.0.1", "defaults", "local", "localhost"})
"""Allowed items that send to nobody: certificates, package mirrors of the system, the machine itself."""

_HOST = re.compile(
    r"(?:https?://)?(?:\*\.)?(?P<host>[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)(?::\d+)?/?"
)


def is_sandboxed(main: Document) -> bool:
    """Whether the agent runs behind gh-aw's firewall, which it does unless a workflow switches that off."""
    sandbox: object = main.data.get("sandbox")
    if sandbox is False or (isinstance(sandbox, dict) and sandbox.get("agent") is False):
        return False
    network: object = main.data.get("network")
    # The older way to say so.
    return not (isinstance(network, dict) and network.get("firewall") in (False, "disable"))


def sent_to(documents: Sequence[Document]) -> tuple[Capability, ...]:
    """The targets of commands: a host or a named set of hosts each; by its own header, the first, and its imports.

    Without a firewall that is everything, and also if an item is no host that can be known.
    """
    if not is_sandboxed(documents[0]):
        return (Capability(CONNECTS),)
    hosts = {host for document in documents for host in _allowed_hosts(document)}
    if None in hosts:
        return (Capability(CONNECTS),)
    return tuple(Capability(CONNECTS, host) for host in sorted(filter(None, hosts)) if host not in NOBODYS)


def _allowed_hosts(document: Document) -> Iterator[str | None]:
    """The hosts and sets of hosts that a header allows; None for all, or for an unknown one."""
    network: object = document.data.get("network")
    if not isinstance(network, dict):
        return
    allowed = network.get("allowed")
    blocked = set(_texts(network.get("blocked")))
    for item in _texts(allowed):
        if item not in blocked:
            host = _HOST.fullmatch(item)
            yield host["host"].lower() if host else None
    events: object = document.data.get("on", "workflow_call")
    is_called = "workflow_call" in (events if isinstance(events, dict | list) else [events])
    if network.get("allowed-input") is True and is_called:
        yield None  # whoever calls the workflow adds to it


def _texts(value: object) -> Iterable[str]:
    return map(str, value) if isinstance(value, list) else ()


DEFAULT = "default tools"
"""The name in paths of the tools that the compiler adds."""
ORIGIN = "gh-aw runs unattended"

SETTINGS = frozenset(
    {
        "activation-comments", "allowed-domains", "allowed-github-references", "app", "concurrency-group", "env",
        "environment", "failure-issue-repo", "footer", "github-app", "github-token", "group-reports", "id-token",
        "max-bot-mentions", "max-patch-files", "max-patch-size", "mentions", "messages", "missing-data",
        "missing-tool", "needs", "noop", "report-failure-as-issue", "report-incomplete", "runs-on", "staged", "steps",
        "threat-detection",
    }
)  # fmt: skip
"""Keys of `safe-outputs` for details, which let nothing out that a reader of the run could not see."""
JOBS = "jobs"
TO_AGENTS = frozenset({"assign-to-agent", "create-agent-session", "create-agent-task"})
"""Outputs that start another agent."""
TO_BRANCHES = frozenset({"create-pull-request", "push-to-pull-request-branch"})
"""Outputs for which the compiler adds the editing of files, and git."""

_LINES = {line.tool: line for line in TABLE}
_NO_EFFECT = "what others write is then not read"
_ALLOWS_ALL = "--allow-all-tools"
_EVERYTHING = frozenset({":*", "*"})
RUN, READS = "proc.exec", "proc.exec.read"


@dataclass(frozen=True, slots=True)
class _NamedTool:
    """The settings of a tool in a file."""

    value: object
    at: Place


def allows_all(lock: str) -> bool:
    """Whether a compiled workflow runs its agent with a flag that allows every tool, as older versions of gh-aw do."""
    return any(_ALLOWS_ALL in line and "threat-detection" not in line for line in lock.splitlines())


def grants_of(
    documents: Sequence[Document],
    prompt: str,
    at: Place,
    source_of: Callable[[str], Source | None],
    *,
    lock: str,
) -> Iterator[Grant]:
    """The grants of a workflow by its own header, the first, and those that it imports; `at` is its own place.

    `source_of` has the files of the project. Its `lock` may allow every tool of the engine, whatever `tools` says, once
    it has all of `bash`.
    """
    for event, place in opened(documents[0]):
        line = _LINES["on.EVENT, roles: all"]
        yield from _grants(line, f"on.{event}", event, place, "take `roles: all` out of `on`")
    for place in fetched(documents, prompt, source_of):
        key = ".".join(map(str, place.route))
        line = _LINES["steps that ask GitHub"]
        yield from _grants(line, key, key, place, f"have `{key}` fetch what members wrote alone")
    outputs = dict(_outputs(documents))
    tools = _tools(documents)
    program = _LINES["github, mode: gh-proxy"] if is_by_program(documents) else None
    yield from _github(tools, at, program, is_open=program is not None and is_unfiltered(lock))
    yield from _edit(tools, documents[0], outputs, at)
    for grant in _bash(tools, documents[0], outputs, at):
        yield _confined(grant, documents)
        yield from _fetched_anyway(grant, documents, program) if allows_all(lock) else ()
    yield from _others(tools, documents)
    for document in documents:
        for name, (server, place) in servers.servers_in(document, "mcp-servers").items():
            yield from _of_server(servers.grant(name, server, place, "allowed", "gh-aw"))
    for name, place in outputs.items():
        is_own = place.route[1:2] == (JOBS,)
        kind = "jobs.JOB" if is_own else "assign-to-agent" if name in TO_AGENTS else "OUTPUT"
        line = _LINES[f"safe-outputs.{kind}"]
        output = f"safe-outputs.{name}"
        is_here = not is_own and "target-repo" not in table(place._replace(of_key=False).data)
        yield from (replace(grant, of_repository=is_here) for grant in _grants(line, output, output, place))
    engine = _engine(documents)
    if engine.startswith(_READING):
        yield from _grants(_LINES["engine, read"], DEFAULT, "read", at)
    # Whom the workflow itself hands work to is named rather than the agents in its container.
    if engine.startswith(_WITH_AGENTS) and not outputs.keys() & TO_AGENTS:
        yield from _grants(_LINES["engine, task"], DEFAULT, "task", at)


def _others(tools: Mapping[str, _NamedTool], documents: Sequence[Document]) -> Iterator[Grant]:
    """The tools that files name beside GitHub's, the editing of files and the shell."""
    for name, tool in tools.items():
        is_nothing = tool.value is False or _is_replaced(name, tool.at.document)
        if is_nothing or name in ("github", "edit", "bash"):
            continue
        line = _LINES.get(name) or Line(name, (capability_of(name),), "allowed", "open", "")
        for grant in _grants(line, name, name, tool.at):
            yield _fetching(grant, documents) if name == "web-fetch" else grant


def _of_server(whole: Grant) -> Iterator[Grant]:
    """The tools of a server that `allowed` of its table names; all of it if that has `*` or none.

    What ends a tool is the end of its server: a list that loses its last one gives all of them.
    """
    listed = whole.at._replace(route=(*whole.at.route, "allowed")).data
    names = [*dict.fromkeys(filter(None, map(text, listed if isinstance(listed, list) else ())))]
    if not names or "*" in names:
        yield whole
        return
    for name in names:
        yield replace(whole, tool=name, narrower=f"take `{excerpt(whole.tool)}` out of `mcp-servers`")


def judge_tools(files: Files, document: Document) -> None:
    """Notes the names in `tools` that gh-aw does not know, or for which a server of the same file stands instead."""
    tools: object = document.data.get("tools")
    for name in tools if isinstance(tools, dict) else ():
        at = Place(document, ("tools", name), of_key=True)
        if _is_replaced(name, document):
            message = f"`mcp-servers` declares `{excerpt(name)}`, so this entry in `tools` does nothing"
            setting = f"mcp-servers.{excerpt(name)}.allowed"
            hint = f"take it out: `{setting}` limits the server to the tools that it names"
            files.note("LDO250", at, message, hint)
        elif name not in _LINES:
            files.unknown_tool(at, name, _LINES)


def _is_replaced(name: str, document: Document) -> bool:
    """Whether a name of `tools` that is no tool of gh-aw is that of a server, which its compiler lays over it."""
    return name not in _LINES and bool(table(document.data, "mcp-servers", name))


def _tools(documents: Iterable[Document]) -> Mapping[str, _NamedTool]:
    """The settings of each tool: those of its first mention, or `true` of a later one; lists are joined."""
    tools_by_name: dict[str, _NamedTool] = {}
    for document in documents:
        tools: object = document.data.get("tools")
        for name, value in tools.items() if isinstance(tools, dict) else ():
            earlier = tools_by_name.get(name)
            if earlier is None:
                tools_by_name[name] = _NamedTool(value, Place(document, ("tools", name), of_key=True))
            elif isinstance(earlier.value, list) and isinstance(value, list):
                tools_by_name[name] = _NamedTool([*earlier.value, *value], earlier.at)
            elif value is True:  # the widest that a part can say
                tools_by_name[name] = _NamedTool(value, Place(document, ("tools", name), of_key=True))
    return tools_by_name


def _outputs(documents: Iterable[Document]) -> Iterator[tuple[str, Place]]:
    """The safe outputs, jobs of the workflow's own among them."""
    for document in documents:
        outputs: object = document.data.get("safe-outputs")
        for name, value in outputs.items() if isinstance(outputs, dict) else ():
            if name == JOBS and isinstance(value, dict):
                for job in value:
                    yield str(job), Place(document, ("safe-outputs", JOBS, job), of_key=True)
            elif name not in SETTINGS and value is not False:
                yield str(name), Place(document, ("safe-outputs", name), of_key=True)


def written_by_jobs(documents: Iterable[Document]) -> Iterator[str]:
    """The permissions to change something on GitHub of a workflow's own jobs, which may act on what the agent says."""
    for document in documents:
        for route in ((JOBS,), ("safe-outputs", JOBS)):
            for name, job in table(document.data, *route).items():
                given = table(job).get("permissions")
                if given == "write-all":
                    yield f"{name}: write-all"
                for scope, level in table(given).items():
                    if level == "write":
                        yield f"{name}: {scope}: write"


def _github(
    tools: Mapping[str, _NamedTool], at: Place, program: Line | None, *, is_open: bool
) -> Iterator[Grant]:
    """GitHub's server, which every workflow has unless it refuses it; its token reads unless writing is set.

    `program` is what its program raises beside that if it stands in for the server, and `is_open` says that what
    strangers write is not left out by default.
    """
    tool = tools.get("github")
    if tool is not None and tool.value is False:
        return
    writes = isinstance(tool.value, dict) and tool.value.get("read-only") is False if tool else False
    is_set = tool is not None and "min-integrity" in table(tool.value)
    is_open = (is_open and not is_set) or (tool is not None and not is_filtered(tool.value))
    line = _LINES["github" + (", read-only: false" if writes else ", min-integrity: none" * is_open)]
    level = tool.at._replace(route=(*tool.at.route, "min-integrity")) if tool and is_set else None
    where = "in place of `min-integrity`" if level else "under `tools.github`"
    narrower = f"write `min-integrity: approved` {where}" if is_open and not writes else None
    for grant in _grants(line, "github" if tool else DEFAULT, "github", tool.at if tool else at, narrower):
        raised = {*grant.capabilities, *(program.raised if program else ())}
        capabilities = tuple(sorted(raised, key=str))
        yield replace(grant, capabilities=capabilities, narrower_at=level if narrower else None)


def _edit(
    tools: Mapping[str, _NamedTool], main: Document, outputs: Mapping[str, Place], at: Place
) -> Iterator[Grant]:
    tool = tools.get("edit")
    if tool is not None:
        if tool.value is not False:
            yield from _grants(_LINES["edit"], "edit", "edit", tool.at)
    elif is_sandboxed(main) or outputs.keys() & TO_BRANCHES:
        yield from _grants(_LINES["edit"], DEFAULT, "edit", at)


def _bash(
    tools: Mapping[str, _NamedTool], main: Document, outputs: Mapping[str, Place], at: Place
) -> Iterator[Grant]:
    """The shell: in a sandbox all of it unless a file names commands, and git if branches are pushed."""
    tool = tools.get("bash")
    has_git = bool(outputs.keys() & TO_BRANCHES)
    if tool is None:
        if is_sandboxed(main):
            yield from _grants(_LINES["bash: *"], DEFAULT, "bash", at)
        elif has_git:
            yield from _grants(_LINES["bash: COMMAND"], DEFAULT, "bash", at)
        return
    if tool.value is True or (tool.value is None and has_git):
        line: Line | None = _LINES["bash: *"]
    elif tool.value is None:
        line = _LINES["bash"]
    elif isinstance(tool.value, list) and _EVERYTHING & set(map(str, tool.value)):
        line = _LINES["bash: *"]
    elif tool.value in (False, []):
        line = _LINES["bash: COMMAND"] if has_git else None
    else:
        listed = map(str, tool.value) if isinstance(tool.value, list) else ()
        is_open = any(commands(command, is_prefix=True) == UNLISTED for command in listed)
        line = _LINES["bash: *" if is_open else "bash: COMMAND"]
    if line:
        yield from _grants(line, "bash", "bash", tool.at)


def _confined(grant: Grant, documents: Sequence[Document]) -> Grant:
    """The shell with the hosts that it can send to; behind the firewall it is not open, but lists and reads files."""
    if not any(RUN in capability.names and capability.name != READS for capability in grant.capabilities):
        return grant
    capabilities = {*grant.capabilities, *sent_to(documents)}
    if is_sandboxed(documents[0]):
        capabilities |= set(_LINES["engine, read"].raised)
    return replace(
        grant,
        capabilities=tuple(sorted(capabilities, key=str)),
        is_open=grant.is_open and not is_sandboxed(documents[0]),
    )


def _fetching(grant: Grant, documents: Sequence[Document]) -> Grant:
    """The fetching of pages; what Copilot and Claude Code do themselves is behind the firewall, a server is not."""
    if not _engine(documents).startswith(_FETCHING_THEMSELVES) or not is_sandboxed(documents[0]):
        return grant
    left = {each for each in grant.capabilities if each.name != CONNECTS}
    return replace(grant, capabilities=tuple(sorted({*left, *sent_to(documents)}, key=str)))


def _fetched_anyway(shell: Grant, documents: Sequence[Document], program: Line | None) -> Iterator[Grant]:
    """The fetching of pages from the hosts of the firewall, which Copilot has in a run that allows every tool."""
    is_whole = UNLISTED in shell.capabilities and _engine(documents).startswith(COPILOT)
    if not is_whole or not is_sandboxed(documents[0]) or not sent_to(documents):
        return
    narrower = "write `bash: [cat, ls]` " + ("under `tools`" if shell.is_default else "in place of `bash`")
    for grant in _grants(_LINES["web-fetch"], "engine", "web_fetch", shell.at, narrower):
        # The compiler adds it to a list.
        runs = "these commands and `gh`" if program else "these commands"
        loss = f"it then runs {runs} alone, and has no other tool than those that are named"
        yield replace(_fetching(grant, documents), loss=loss)


def _engine(documents: Sequence[Document]) -> str:
    """The engine of a workflow, which its own header names or one that it imports."""
    engines = (document.data.get("engine") for document in documents)
    named = (table(each).get("id", COPILOT) if isinstance(each, dict) else each for each in engines if each)
    return str(next(named, COPILOT))


def _grants(line: Line, toolset: str, tool: str, at: Place, narrower: str | None = None) -> Iterator[Grant]:
    if line.capabilities:
        grant = line.grant(at, ORIGIN, toolset=toolset, tool=tool)
        yield replace(grant, is_default=toolset == DEFAULT, narrower=narrower, loss=_NO_EFFECT)
