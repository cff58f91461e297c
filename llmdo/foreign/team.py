"""The result of every format's reader: agents, their tools, and the agents that they may call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location, Source
    from llmdo.graph.described import Server
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.syntax.document import Place

MAX_NAME = 100  # characters: nobody types a longer one


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
    counterpart: Counterpart | None = None
    runs_in: str = ""
    """The place of the runs that have it, for formats whose agents run in several; empty for all."""
    narrower: str | None = None
    """A change by which it would bring or send less, as a hint; None if only removal of its line helps."""


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
    path: str
    prompt: str
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
    everyone: Place | None = None
    """The place that lets it call every agent; None if it may not."""
    inherits: bool = False
    """Whether it has every tool because its file names none."""
    narrower: str = "name the tools that it needs"
    """A change by which it would have fewer, as a hint."""
    asks: str = "a question"
    """The step before a call that is not decided for good."""
    started_by: str | None = None
    """The outsiders who can start it, and how; None if nobody is known to."""
    format: str = ""
    """Its format, in a project with agents of several formats."""
    but: tuple[str, ...] = ()
    """The tools that its file takes away again."""
    sandbox: str | None = None
    """The confinement of its commands, in words of its format; None if none is known."""
    is_entry: bool = True
    """Whether a person starts it."""
    is_callable: bool = True
    """Whether agents that may call every agent may call it."""


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
    max_depth: int = 64
    """The maximum depth of nested calls; for a format without a limit, deeper than anybody looks."""


def capability_of(name: str) -> str:
    """The capability of something unknown."""
    return f"x.{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:MAX_NAME].strip('-') or 'unknown'}.any"


_SCOPE = re.compile(r"(?:\./|/(?!/))?(?P<path>[\w@+-][\w@.+-]*(?:/[\w@+-][\w@.+-]*)*)(?P<all>/\*\*?)?")


def scope_of(pattern: str) -> str | None:
    """Our scope for a path pattern; None if there is none, and all has to count."""
    parts = _SCOPE.fullmatch(pattern)
    return f"{parts['path']}{'/**' if parts['all'] else ''}" if parts else None
