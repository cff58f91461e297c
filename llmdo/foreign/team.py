"""What the readers of all formats make of files: agents, the tools each has, and whom it may call."""

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
    """Something about a project that an import says otherwise, or not at all."""

    at: Location
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A Python file of a project, and what of it a workspace of ours can use."""

    source: Source
    toolsets: Mapping[str, str] = field(default_factory=dict)
    """Name to the Python expression that gives it, at the end of the file."""
    functions: frozenset[str] = frozenset()
    """The async functions, each of which may start a run."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """What its code calls an agent, to that agent's identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """What of ours does just what a tool of another format does; an import needs no stand-in for it."""

    commands: Mapping[str, object] = field(default_factory=dict)
    """What the header says of the built-in shell."""
    native: Mapping[str, object] = field(default_factory=dict)
    """A tool of the model's provider, with its options."""
    code: str | None = None
    """The path of the project's own Python file that has the toolset."""
    installed: str | None = None
    """package.module:NAME of a class of toolsets that is no file of the project."""
    config: Mapping[str, object] | None = None
    """What the header says to the class that the toolset is made of; None where it is no class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A tool that an agent has, and what its format decides about calling it."""

    toolset: str
    """What paths call it."""
    tool: str
    capabilities: tuple[Capability, ...]
    decision: Decision
    origin: str
    """Who decides so, in words for the user."""
    at: Place
    """What gives the tool to the agent."""
    rule_at: Place | None = None
    """The rule that decides; None where the format itself does."""
    is_open: bool = False
    is_default: bool = False
    """Whether the format gives it to an agent whose file does not name it."""
    server: Server | None = None
    """The MCP server whose tool it is."""
    counterpart: Counterpart | None = None
    runs_in: str = ""
    """Where it is there, of a format whose agents run in several places; empty where it is in each."""
    narrower: str | None = None
    """How it would bring or send less, as a hint says it; None where only its line can go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCall:
    """Another agent that an agent may call."""

    name: str
    """Its identity; of nobody where it exists nowhere."""
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
    """All that its file says besides."""
    description: str | None = None
    model: str | None = None
    ours: Mapping[str, object] = field(default_factory=dict)
    """Lines of its header that mean the same in one of ours, by our keys."""
    expressed_otherwise: frozenset[str] = frozenset()
    """Keys of its header that an import says in another way."""
    tightened: Mapping[str, Decision] = field(default_factory=dict)
    """Capabilities of calls that are decided about more strictly for some of its tools than for others."""
    input: str | None = None
    """What it is told where a person starts it without a word."""
    function: str | None = None
    """FILE.py:NAME, where it is no agent but the function of a project that starts them."""
    grants: tuple[Grant, ...] = ()
    calls: tuple[AgentCall, ...] = ()
    everyone: Place | None = None
    """What lets it call every agent; None where nothing does."""
    inherits: bool = False
    """Whether it has every tool because its file names none."""
    narrower: str = "name the tools that it needs"
    """How it would have fewer, as a hint says it."""
    asks: str = "a question"
    """What comes before a call about which it is not decided for good."""
    started_by: str | None = None
    """Who outside the project can start it and by what, in words; None where nobody is known to."""
    format: str = ""
    """What it was read from, where it stands beside agents of other formats."""
    but: tuple[str, ...] = ()
    """The tools that its file takes away again."""
    sandbox: str | None = None
    """What confines its commands, in words of its format; None where nothing does, or nobody knows."""
    is_entry: bool = True
    """Whether a person starts it."""
    is_callable: bool = True
    """Whether an agent that may call every agent may call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """What was read of a project."""

    format: str
    agents: tuple[Agent, ...]
    """As they were found; of those with one name, all."""
    files: tuple[str, ...]
    """Every file that was read, sorted."""
    problems: tuple[Diagnostic, ...] = ()
    starts: Decision = "needs_approval"
    """About starting an MCP server."""
    remarks: tuple[Remark, ...] = ()
    """What its reader knows an import to leave out."""
    code: tuple[Code, ...] = ()
    """The Python files that an import copies."""
    max_depth: int = 64
    """How many calls deep agents can nest; where the format has no limit, deeper than anybody looks."""


def capability_of(name: str) -> str:
    """The capability of something of which nothing is known."""
    return f"x.{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:MAX_NAME].strip('-') or 'unknown'}.any"


_SCOPE = re.compile(r"(?:\./|/(?!/))?(?P<path>[\w@+-][\w@.+-]*(?:/[\w@+-][\w@.+-]*)*)(?P<all>/\*\*?)?")


def scope_of(pattern: str) -> str | None:
    """The scope of ours that a path pattern means; None where none does, and all has to count."""
    parts = _SCOPE.fullmatch(pattern)
    return f"{parts['path']}{'/**' if parts['all'] else ''}" if parts else None
