"""A flow in words: its way out, the places of its legs, and the one edit that breaks it, with what is lost by that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import Related, excerpt, place
from llmdo.foreign.building import named, named_events
from llmdo.foreign.flows import SERVER, WayOut
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNTRUSTED
from llmdo.reach.flows import leg_text
from llmdo.reach.risks import SHELL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Grant
    from llmdo.reach.rows import Hop, Row
    from llmdo.syntax.document import Place

LONGEST = 70  # characters of a new line that a hint spells out

_NUMBERED = re.compile(r" \(\d+\)$")
_REFUSED = "whatever it does not name is then refused"
_ASKED = "a person is then asked each time"
_INSTEAD = {
    ("claude", "Bash"): ("Bash(git log:*)", _REFUSED),
    ("claude", "WebFetch"): ("WebFetch(domain:example.com)", _REFUSED),
    ("codex", "shell"): ("network_access = false", "its commands then reach no host"),
    ("codex", "unsandboxed shell"): ('approval_policy = "on-request"', _ASKED),
    ("docker-agent", "shell"): ("shell:cmd=git log", _REFUSED),
    ("fast-agent", "shell"): ("shell: false", "it then runs no commands"),
    ("gemini", "run_shell_command"): ("run_shell_command(git log)", _REFUSED),
    ("github-actions", "Bash"): ("Bash(git log:*)", _REFUSED),
    ("github-actions", "WebFetch"): ("WebFetch(domain:example.com)", _REFUSED),
    ("github-actions", "run_shell_command"): ("run_shell_command(git log)", _REFUSED),
    ("opencode", "bash"): ('"bash": "ask"', _ASKED),
    ("opencode", "webfetch"): ('"webfetch": "ask"', _ASKED),
}
"""What a format lets one write in place of a tool, with what is lost by that."""
_HEADER = "tools"
"""The key of an agent's own list, which names whole tools."""


class _Leg(NamedTuple):
    """The way to the tool at the end of one leg of a flow."""

    what: str
    path: tuple[Hop, ...]
    tool: str
    is_ruled: bool = False
    """Whether a rule that allows the tool is its place, before what gives the tool."""
    capability: str = ""
    """The name of the capability that its end raises; empty for any."""


def way_text(flow: Flow) -> str:
    """The way out, as a sentence has it."""
    tool = f"`{excerpt(flow.row.tool if flow.row.tool not in ('*', '(start)') else flow.row.path[-1].name)}`"
    match flow.way:
        case WayOut.ANY_COMMAND:
            return "any command"
        case WayOut.OWN_CODE:
            return f"{tool}, which runs files that it can change"
        case WayOut.ANY_HOST:
            return "a request to any host"
        case WayOut.PUBLIC_HOST:
            return f"what it writes to `{flow.row.capability.scope or 'github.com'}`"
        case WayOut.OPEN_SERVER:
            return f"the server `{excerpt(flow.row.path[-1].name)}`"


def places(project: Foreign, flow: Flow) -> list[Related]:
    """The place that allows each leg."""
    return [
        Related(at.location, f"{leg.what}: `{leg_text(leg.path, leg.tool)}`")
        for leg in _legs(flow)
        if (at := _place(project, leg))
    ]


def hint(project: Foreign, flow: Flow) -> str | None:
    """The line to change, what to write there and what is lost by it."""
    return next(_edits(project, flow), None)


def where(project: Foreign, row: Row) -> str:
    """The place that lets an agent do what a row says: a line, or the default of its product."""
    leg = _Leg("", row.path, row.tool, is_ruled=True, capability=row.capability.name)
    given, at = _grant(project, leg), _place(project, leg)
    agent = named(project.team.agents).get(row.path[-2].name) if len(row.path) > 1 else None
    if agent and agent.inherits and agent.path:
        return place(agent.at.location)
    if agent and given and given.rule_at is None and (given.is_default or not agent.path):
        return f"the default of {agent.format or project.team.format}"
    return place(at.location) if at else ""


def _legs(flow: Flow) -> tuple[_Leg, _Leg, _Leg]:
    row = flow.row
    return (
        _Leg("a stranger's words", row.source, row.source_tool, capability=UNTRUSTED),
        _Leg("private data", row.private, row.private_tool),
        _Leg(
            way_text(flow).partition(",")[0],
            row.path,
            row.tool,
            is_ruled=True,
            capability=row.capability.name,
        ),
    )


def _edits(project: Foreign, flow: Flow) -> Iterator[str]:
    """The edits that break a flow, the best first: the one that leaves no other flow, then that of the way out."""
    source, private, way = _legs(flow)
    if flow.way == WayOut.OWN_CODE and (edit := _of_files(project, way)):
        yield edit
    given = _grant(project, source)
    is_plain = given is not None and not given.narrower and not given.is_default
    legs = [source, way] if flow.sources == 1 and flow.ends > 1 and is_plain else [way, source]
    if flow.way in (WayOut.PUBLIC_HOST, WayOut.OPEN_SERVER):  # to write there is mostly what it is for
        is_apart = private[1:3] != way[1:3] and "(" in private.tool
        legs = [private, source, way] if is_apart else [source, way]
    for leg in legs:
        if edit := _edit(project, leg):
            yield edit


def _edit(project: Foreign, leg: _Leg) -> str | None:
    given, at = _grant(project, leg), _place(project, leg)
    if given is None or at is None:
        return None
    agent = named(project.team.agents).get(leg.path[-2].name)
    name, key, lost = f"`{excerpt(given.tool)}`", _key(at), _lost(given)
    form = (agent and agent.format) or project.team.format
    is_shell = SHELL in {each.name for each in given.capabilities}
    tool = given.tool.partition("(")[0] if is_shell else given.tool
    instead = _INSTEAD.get((form, tool))
    if agent is None:
        change, lost = f"take {name} out of {key}", "it then does not run"
    elif given.narrower:
        change, lost = given.narrower, "whatever others write then has no effect"
    elif not agent.path and len(leg.path) > 2 and leg.path[1].use:
        change, at = f"keep `{leg.path[0].name}` from calling `{agent.name}`", leg.path[1].use.at
        lost = f"it then hands no work to `{agent.name}`"
    elif agent.path and (agent.inherits or given.is_default):
        change = agent.narrower
    elif left := _without(at, given.tool):
        change = f"write `{left}`, without {name}"
    elif instead and at.route[:1] != (_HEADER,):
        is_silent = form == "opencode" and given.rule_at is None
        where = "under `permission`" if is_silent else f"or the like in place of {name}"
        change, lost = f"write `{instead[0]}` {where}", instead[1]
    elif leg.is_ruled and given.rule_at:
        change = f"tighten {key or 'the rule'}, which allows {name}"
    elif not key:
        span = at.location.span
        is_named = span is not None and given.tool in at.document.source.marked(span)
        change = f"take {name} out" if is_named else f"deny {name}"
    else:
        change = (
            f"take {name} out of {key}" if _lists(at, given.tool) else f"change {key}, which gives {name}"
        )
    return f"{change} ({place(at.location)}); {lost}"


def _of_files(project: Foreign, leg: _Leg) -> str | None:
    """The edit by which an agent no longer changes the files that its commands run."""
    agent = named(project.team.agents)[leg.path[-2].name]
    writing = {
        grant.tool: grant.rule_at or grant.at
        for grant in agent.grants
        if grant.decision == "allowed" and Capability("fs.write") in grant.capabilities
    }
    if not writing:
        return None
    at = place(next(iter(writing.values())).location)
    is_claude = (agent.format or project.team.format) == "github-actions" and "Edit" in writing
    tools = ",".join(sorted(writing))
    change = f"write `--disallowedTools {tools}` in `claude_args`" if is_claude else f"deny `{tools}`"
    return f"{change} ({at}); it then changes no files"


def _lost(given: Grant) -> str:
    """What an agent can no longer do without a tool."""
    names = {each.name for each in given.capabilities}
    if SHELL in names:
        return "it then runs no commands"
    if any(name.startswith("x.github.") for name in names):
        return "it then does nothing on `github.com` by that"
    if given.server or SERVER in names:
        return f"it then has no tools of `{excerpt(given.toolset)}`"
    if any(Capability("net").covers_name(name) for name in names):
        return "it then fetches no pages" if UNTRUSTED in names else "it then sends nothing to other hosts"
    return f"it then has no `{excerpt(given.tool)}`"


def _without(at: Place, tool: str) -> str | None:
    """An agent's own list without a tool, as its file has it; None if it is no list of names, or too long."""
    keys = [step for step in at.route if isinstance(step, str)]
    if keys[:1] != [_HEADER] and keys[1:2] != [_HEADER]:
        return None
    data = at._replace(route=tuple(keys)).data
    is_text = isinstance(data, str)
    items = [item.strip() for item in data.split(",")] if isinstance(data, str) else data
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return None
    left = [
        str(item) for item in items if item != tool and not str(item).startswith((f"{tool}(", f"{tool}/"))
    ]
    if not left or len(left) == len(items):
        return None
    names = ", ".join(left)
    line = f"{keys[-1]}: {names if is_text else f'[{names}]'}"
    return line if len(line) <= LONGEST and "`" not in line else None


def _lists(at: Place, tool: str) -> bool:
    """Whether a tool is an item of the value at a place, or of a value around it."""
    return at.of_key or any(isinstance(step, int) for step in at.route) or tool in str(at.data)


def _key(at: Place) -> str:
    """The key of the table or list around a place; empty at the top of a file, and in a script."""
    route = [*at.route]
    items = [number for number, step in enumerate(route) if isinstance(step, int)]
    route = route[: items[-1]] if items else route[:-1] if at.of_key else route
    return f"`{'.'.join(map(str, route))}`" if route and at.document.data else ""


def _place(project: Foreign, leg: _Leg) -> Place | None:
    """The place that gives the tool at the end of a leg, or the rule that allows it."""
    if given := _grant(project, leg):
        caller = named(project.team.agents).get(leg.path[-2].name)
        if caller and not caller.path and len(leg.path) > 2 and leg.path[1].use:
            return leg.path[1].use.at  # built in: what calls it is what a file says
        rule = given.rule_at if leg.is_ruled else None
        if rule and rule.location.path.endswith("/SKILL.md") and given.at.location.path != rule.location.path:
            rule = None  # a skill spares questions; what an agent has says its own file
        return rule or given.at
    use = leg.path[-1].use if leg.path else None
    return use.at if use else None


def _grant(project: Foreign, leg: _Leg) -> Grant | None:
    """The grant of the tool at the end of a leg, or what is run at an event."""
    if len(leg.path) < 2:
        return None
    agents = named(project.team.agents)
    of_events = {worker: agents[name].events for name, worker in named_events(agents).items()}
    agent = agents.get(leg.path[-2].name)
    given = agent.grants if agent else of_events.get(leg.path[-2].name, ())
    toolset = _NUMBERED.sub("", leg.path[-1].name)
    grants = [each for each in given if (each.toolset, each.tool) == (toolset, leg.tool)]

    def strictness(grant: Grant) -> tuple[bool, bool]:
        raised = {each.name for each in grant.capabilities}
        return grant.decision != "allowed", bool(leg.capability) and leg.capability not in raised

    return min(grants, key=strictness, default=None)
