"""The result of every format's reader: agents, their tools, and whom they may call; and several results as one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass, field, replace
from llmdo.extensions.spec import ForeignFormat
from llmdo.graph.clients import UNLIMITED
from llmdo.graph.start import events_by_starter
from llmdo.policy.authority import STRICTNESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location, Source
    from llmdo.graph.described import Server
    from llmdo.graph.start import Start
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

NAME_TOOLS = "name the tools that it needs"
"""The hint for an agent with every tool whose format has none of its own."""
MAX_NAME = 100  # characters: nobody types a longer one
QUESTION = "a question"
UNSPECIFIED = ForeignFormat((), "")
"""The answers of a format that gives none."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of a project that an import expresses otherwise, or not at all."""

    at: Location
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A Python file of a project, and the names in it that a workspace of ours can use."""

    source: Source
    toolsets: Mapping[str, str] = field(default_factory=dict)
    """Name to the Python expression that gives it, at the end of the file."""
    functions: frozenset[str] = frozenset()
    """The async functions, each of which may start a run."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """The name of an agent in this code, to the agent's identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """Our exact equivalent of another format's tool; an import needs no stand-in for such a tool."""

    commands: Mapping[str, object] = field(default_factory=dict)
    """The header's configuration of the built-in shell."""
    native: Mapping[str, object] = field(default_factory=dict)
    """A tool of the model's provider, with its options."""
    code: str | None = None
    """The path of the project's own Python file that has the toolset."""
    installed: str | None = None
    """package.module:NAME of a class of toolsets that is no file of the project."""
    config: Mapping[str, object] | None = None
    """The header's configuration of the class that makes the toolset; None without a class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A tool that an agent has, with its format's decision about calling it."""

    toolset: str
    """The name of the toolset in paths."""
    tool: str
    capabilities: tuple[Capability, ...]
    decision: Decision
    origin: str
    """The source of the decision, in words for the user."""
    at: Place
    """The place that gives the tool to the agent."""
    rule_at: Place | None = None
    """The rule that decides; None if the format itself does."""
    is_open: bool = False
    is_default: bool = False
    """Whether the format gives it to an agent whose file does not name it."""
    server: Server | None = None
    asks_unless_reading: bool = False
    """Whether a person is asked about each tool of the server of which the server does not say that it only reads."""
    counterpart: Counterpart | None = None
    runs_in: str = ""
    """The place of the runs that have it, for formats whose agents run in several; empty for all."""
    content: str = ""
    """A digest of the project's own scripts that it runs, at an event; empty without any."""
    refuses: bool | None = None
    """Whether it refuses calls, as a hook before them; None if that is not known."""
    narrower: str | None = None
    """A change by which it would bring or send less, as a hint; None if only removal of its line helps."""
    narrower_at: Place | None = None
    """The place for that change; None if it is that of what gives the tool."""
    is_nowhere_yet: bool = False
    """Whether that change has no place yet, as its file is not there or empty."""
    loss: str = ""
    """What is lost by that change; empty if it is what is lost without the tool."""
    also: str = ""
    """The rest of a sentence about who else loses it by that change, or by one of the rule that allows it."""
    is_free_anyway: bool = False
    """Whether it would be allowed without the rule at `rule_at` as well."""
    brought_by: tuple[Place, ...] = ()
    """The rules of settings by which a tool that is free anyway raises what it does not by itself."""
    unasked_by: tuple[str, ...] = ()
    """The rules of a list that allow it, as they are written; `loss` then says what follows without them."""
    unasked_in: tuple[str, ...] = ()
    """The other files with such rules, beside that of `rule_at`."""
    unasked_also: tuple[str, ...] = ()
    """What has to go of other lists as well, as an edit says it: `RULES out of LIST`."""
    held_options: tuple[str, ...] = ()
    """The options by which its commands would run others, if another rule asks about them, or denies them."""
    words: str = ""
    """Words by which its commands run any other, or reach any host; empty if the rule for them says as much."""
    left_by: tuple[tuple[str, tuple[Capability, ...]], ...] = ()
    """The rules that stay when those go that allow it, as they are written, each with what it allows."""
    may_lack: bool = False
    """Whether its client has the tool with some models alone, and no file says that it runs with one of these."""
    of_repository: bool = False
    """Whether it only writes to the repository that it works in."""
    condition: str = ""
    """The condition under which it goes unasked, as the end of a sentence; empty if there is none to name."""
    asked_by: str = ""
    """The change of the project's settings by which a person is asked about it, as a hint; empty if none would do."""
    refusal: str = ""
    """A line that takes away the tool and every part of it, whatever gives them; empty if the format has none."""
    is_looked_at: bool = False
    """Whether a second model decides about each call of it that no rule allows, which is then not refused."""
    refusal_at: Place | None = None
    """The place for that line; None if it is that of the agent, or of what gives the tool."""
    is_of_person: bool = False
    """Whether only the sessions of a person who loads the project as a plugin have it: no setting does."""
    removal: str = ""
    """A change after which nothing in the agent's own file gives it, as a hint; empty if one line alone does."""


class Unread(NamedTuple):
    """What keeps a client from reading the list of tools in an agent's header."""

    at: Location | None
    """The place of what does; None if there is no list either."""
    why: str
    hint: str
    """The change after which the client reads one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """Another agent that an agent may call."""

    name: str
    """Its identity; possibly of an agent that does not exist."""
    at: Place
    decision: Decision = "allowed"
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent as its format has it."""

    name: str
    """Its identity in the whole project."""
    at: Place
    path: str = ""
    """The path of its file; empty if it has none."""
    prompt: str = ""
    header: Mapping[str, object] = field(default_factory=dict)
    """The rest of its file."""
    description: str | None = None
    model: str | None = None
    ours: Mapping[str, object] = field(default_factory=dict)
    """Lines of its header that mean the same in one of ours, by our keys."""
    expressed_otherwise: frozenset[str] = frozenset()
    """Keys of its header that an import expresses in another way."""
    tightened: Mapping[str, Decision] = field(default_factory=dict)
    """Capabilities of calls that are decided more strictly for some of its tools than for others."""
    input: str | None = None
    """Its input when a person starts it without a word."""
    function: str | None = None
    """FILE.py:NAME, if it is no agent but the function of a project that starts its agents."""
    grants: tuple[Grant, ...] = ()
    calls: tuple[AgentCall, ...] = ()
    events: tuple[Grant, ...] = ()
    """The commands that its client runs at an event, and the hosts that it connects to, whatever the model chooses."""
    everyone: Place | None = None
    """The place that lets it call every agent; None if it may not."""
    calls_by: tuple[str, ...] = ()
    """Tools by which it calls others here alone, beside those that call wherever they are."""
    picks_one: bool = False
    """Whether it gives each message as it is to one of those that it calls, whose answer is its own."""
    in_order: bool = False
    """Whether it calls all of those that it calls once, in this order, and hands the answer of one to the next."""
    inherits: bool = False
    """Whether it has every tool because its file names none."""
    narrower: str = NAME_TOOLS
    """A change by which it would have fewer, as a hint."""
    unread: Unread | None = None
    """What keeps its client from reading its list of tools; None if nothing is known to."""
    keeps: str = ""
    """What it keeps whatever its list of tools names, as the end of a sentence."""
    asks: str = QUESTION
    """The step before a call that is not decided for good."""
    starts: tuple[Start, ...] = ()
    """The events that start it without a command of a person."""
    as_app: bool = False
    """Whether it acts on GitHub as an app, whatever its file permits the token of its job."""
    without_push: str = ""
    """The change after which its token no longer pushes, with its place; empty if the job's permissions say that."""
    condition: str = ""
    """The condition under which it runs at all, as the end of a sentence; empty if there is none to name."""
    stops_with_it: str = ""
    """What else would fail where its token could not push, as the end of a sentence; empty if nothing is known to."""
    format: str = ""
    """Its format, in a project with agents of several formats."""
    but: tuple[str, ...] = ()
    """The tools that its file takes away again, or its client of an agent that is built in."""
    sandbox: str | None = None
    """The confinement of its commands, in words of its format; None if none is known."""
    permissions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By `allow`, `ask` or `deny`, the rules of its settings as written: a change may show in no row."""
    in_checkout: bool = False
    """Whether its files are the checkout of a workflow: as private as the repository is."""
    hides_secrets: bool = False
    """Whether its commands get neither the key of its model nor a token that changes anything."""
    is_entry: bool = True
    """Whether a person starts it."""
    is_callable: bool = True
    """Whether agents that may call every agent may call it."""
    closed_by: tuple[str, ...] = ()
    """The lines of its file by which neither a person starts it nor another agent calls it."""
    max_depth: int | None = None
    """The maximum depth of nested calls where a person starts it; None for that of its team."""
    server_start: Decision | None = None
    """The decision about starting its servers; None for that of its team."""
    hands_over: str = ""
    """The key by which a person may start others from it, whatever it calls itself, in words; empty without one."""
    nested_where: str = ""
    """The condition under which what it calls may call others in turn, as the end of a sentence; empty without one."""

    @property
    def started_by(self) -> str | None:
        """The strangers who can start it, and how, in words; None if none can."""
        for by, events in events_by_starter(start for start in self.starts if start.is_open).items():
            return f"{by} can start it by {' or '.join(f'`{event}`' for event in events)}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The agents and files read from a project."""

    format: str
    agents: tuple[Agent, ...]
    """In the order found; agents with the same name are all kept."""
    files: tuple[str, ...]
    """Every file that was read, sorted."""
    problems: tuple[Diagnostic, ...] = ()
    starts: Decision = "needs_approval"
    """The decision about starting an MCP server."""
    remarks: tuple[Remark, ...] = ()
    """Parts that an import leaves out, as its reader knows."""
    code: tuple[Code, ...] = ()
    """The Python files that an import copies."""
    max_depth: int = UNLIMITED
    """The maximum depth of nested calls; for a format without a limit, deeper than anybody looks."""
    without_tools: tuple[str, ...] = ()
    """The files that are no agents of their own as they name no tools: they have those of whoever runs them."""
    spec: ForeignFormat = UNSPECIFIED
    """The format's own answers; of a team of several formats, none."""


def capability_of(name: str) -> str:
    """The capability of something unknown."""
    return f"x.{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:MAX_NAME].strip('-') or 'unknown'}.any"


def claimed(teams: Sequence[Team]) -> list[Team]:
    """Each team without agents that are certainly another format's; an empty team of servers or skills is dropped."""
    left = [_without(team, _others_agents(team, teams)) for team in teams]
    return [team for team in left if not team.spec.is_shared or team.agents or team.problems]


def together(teams: Sequence[Team], *, apart: bool = False) -> Team:
    """The teams as one; problems of those without agents are kept.

    A single team with agents stays as it is, unless its agents are to be told `apart` from those of other formats.
    """
    with_agents = (
        [team for team in teams if team.agents]
        or [team for team in teams if team.files or team.problems]
        or teams
    )
    problems = tuple(dict.fromkeys(problem for team in teams for problem in _misplaced(team, teams)))
    without_tools = tuple(path for team in teams for path in team.without_tools)
    if len(with_agents) == 1 and not apart:
        return replace(with_agents[0], problems=problems, without_tools=without_tools)
    return Team(
        format=" and ".join(team.format for team in with_agents) or "auto",
        agents=tuple(_called_after(team, agent) for team in with_agents for agent in team.agents),
        files=tuple(sorted({path for team in with_agents for path in team.files})),
        problems=problems,
        without_tools=without_tools,
        remarks=tuple(remark for team in with_agents for remark in team.remarks),
        code=tuple(_for_agents_of(team.format, code) for team in with_agents for code in team.code),
        # The mildest of what they say: what can happen, can.
        starts=min(
            (team.starts for team in with_agents), key=STRICTNESS.__getitem__, default="needs_approval"
        ),
        max_depth=max((team.max_depth for team in with_agents), default=1),
    )


def _others_agents(team: Team, teams: Sequence[Team]) -> set[str]:
    """The files that are certainly agents of another format."""
    others = [other for other in teams if other.format != team.format and other.agents]
    if team.spec.is_shared:
        makers = [other for other in others if not other.spec.is_shared]
        return {path for other in makers for path in {*other.files} - _unused(team, other)}
    own, plugin = team.spec.own_folder, team.spec.plugin
    if own and not any(path.endswith(plugin) for path in team.files):
        # `agents` may be anybody's folder: beside their own manifests it is that of these.
        theirs = (_taken(other) for other in others if other.spec.by_manifest)
        return {path for paths in theirs for path in paths if not path.startswith(own)}
    return set()


def _unused(team: Team, other: Team) -> set[str]:
    """The files with a server that no agent of the other team has; its client starts it in a session without a file."""
    if not other.spec.has_unwritten_session:
        return set()
    used = [grant.server for agent in other.agents for grant in agent.grants if grant.server]
    return {
        agent.path
        for agent in team.agents
        if any(grant.server and grant.server not in used for grant in agent.grants)
    }


def _taken(team: Team) -> set[str]:
    """The files of a team's agents; of a format with a manifest also those of copies, which are no more agents.

    A session is in no file, and so takes none.
    """
    refused = {problem.at.path for problem in team.problems}
    copies = {*team.files} - refused if team.spec.by_manifest else set()
    return copies | {agent.path for agent in team.agents if agent.path}


def _without(team: Team, paths: set[str]) -> Team:
    if not paths:
        return team
    agents = tuple(agent for agent in team.agents if agent.path not in paths)
    if team.format == "mcp":
        return replace(team, agents=agents)
    own = team.spec.own_folder
    if not (own and any(path.startswith(own) for path in team.files)) and not any(
        agent.path for agent in agents
    ):
        agents = ()  # what is left is built in, for those that are not there
    problems = tuple(problem for problem in team.problems if problem.at.path not in paths)
    return replace(team, agents=agents, problems=problems)


def _misplaced(team: Team, teams: Sequence[Team]) -> tuple[Diagnostic, ...]:
    """The problems of a team, except that a file is no agent, if it is one of another format."""
    agents = {path for other in teams if other is not team for path in _taken(other)}
    return tuple(
        problem for problem in team.problems if problem.code != "LDO152" or problem.at.path not in agents
    )


def _for_agents_of(form: str, code: Code) -> Code:
    return replace(code, agents={name: f"{form}/{agent}" for name, agent in code.agents.items()})


def _called_after(team: Team, agent: Agent) -> Agent:
    """The agent with its format in its names, and with what holds for its whole team."""
    form, depth = team.format, agent.max_depth
    calls = tuple(replace(call, name=f"{form}/{call.name}") for call in agent.calls)
    return replace(
        agent,
        name=f"{form}/{agent.name}",
        calls=calls,
        format=form,
        max_depth=team.max_depth if depth is None else depth,
        server_start=agent.server_start or team.starts,
    )
