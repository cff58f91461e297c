"""Every way to extend llmdo.

An `Extension` is a value with a field for each. Modules are named, not imported: `package.module`, or
`package.module:NAME` for one thing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping


AUTO = "auto"
"""Every format that is present, all together; no format is called so."""


NO_COMMANDS = "it then runs no commands"
OTHERS_REFUSED = "whatever it does not name is then refused"
"""What is lost by an edit, as a hint says it."""


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format of projects of another agent tool."""

    files: tuple[str, ...]
    """Globs of the files by which it is known."""
    package: str
    """The package with `reader` and `table`.

    `reader.read(tree)` returns a `llmdo.foreign.team.Team`; `table.TABLE` lists the abilities of the format's tools.
    """
    product: str = ""
    """The tool that it belongs to, as people call it; left out, that is the name of the format."""
    called: str = "agent"
    """The word of its people for what counts as an agent here."""
    in_folders: bool = False
    """Whether all of its files are called alike, so that their folders have the names of the agents."""
    below: tuple[str, ...] = ()
    """Globs of files that only count where the tool starts in their folder: in folders below they are named."""
    in_settings: tuple[str, ...] = ()
    """Globs of files that it reads in folders below, but not in a person's `.config`: they are named there."""
    never_in_json: str = ""
    """A word by which a file of JSON in a folder below is something else of the same name."""
    has_plugins: bool = False
    """Whether `installation.installed` of a part of llmdo lays a plugin over the files of a project."""
    is_shared: bool = False
    """Whether clients of several makers read its files, which are theirs where these are present."""
    by_manifest: bool = False
    """Whether it takes files of `agents` for its own only next to a manifest of its own."""
    own_folder: str = ""
    """The folder in which only its client looks, where it takes any folder of `agents` for its own as well."""
    plugin: str = ""
    """The file by which such a folder is certainly its own."""
    has_unwritten_session: bool = False
    """Whether the session that a person talks to is in no file, and so need not be among the agents."""
    has_fixed_agents: bool = False
    """Whether no file says the tools of agents that its client brings along."""
    hooks_of: str = ""
    """The format whose sessions run its agents, so that their hooks are asked before calls of these."""
    named_in_hooks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a glob over its tools, the names that matchers of its hooks have for them, if they are others."""
    few_tools: str = ""
    """A line that gives an agent the tools that only read."""
    few_in_json: str = ""
    """The same line for agents in files of JSON, if it is another."""
    few_in_block: str = ""
    """The same for a header that its client repairs, which takes each value with a colon in its line for a text."""
    knows: Mapping[str, str] = field(default_factory=dict)
    """Other formats whose names of tools it knows as well as its own, each with where alone, as a clause of a hint."""
    without_list: str = ""
    """The reason why each agent has every tool, if none can have a list."""
    finds_headers: bool = False
    """Whether a header of an agent's file counts wherever it stands in it."""
    listed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By a tool, what gives less of it in its place, and what is lost by that, as the end of a sentence."""
    unasked: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """By the beginning of a key of its settings that lets tools go unasked, what to write there."""
    switches_tools: bool = False
    """Whether `tools` of an agent is a table that switches them on and off, and `permission` decides about them."""
    has_sandbox: bool = False
    """Whether settings of a sandbox, or of whom its commands have to ask, say what these reach."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """By the ending that its reader gives the name of an agent that it has twice, where alone it is that one."""
    runs_others: bool = False
    """Whether its agents are those of other tools, which it runs with flags and settings of theirs."""
    disables_servers: bool = False
    """Whether `disabled` of a server takes its tools away."""
    excludes: str = ""
    """The list of its settings that takes tools away."""
    calls_key: str = ""
    """The key of the agents that an agent calls, which does nothing without the tool that calls them."""
    callers: frozenset[str] = frozenset()
    """The types of agents that its client does not start without another agent to call."""


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """A check of an extension, with a code of its own."""

    name: str
    """The code in words, such as `missing-signature`."""
    severity: Literal["error", "warning", "note"]
    function: str
    """`package.module:NAME`, a function from a project to findings of its code.

    `llmdo explain` prints its docstring.
    """


@dataclass(frozen=True, slots=True)
class CapabilityFamily:
    """A capability in addition to those of the vocabulary."""

    meaning: str
    """To follow "a call that raises it": `sends a message to the bridge`."""
    decision: Literal["allowed", "needs_approval", "blocked"] = "needs_approval"
    """The decision if no rule of a manifest names it."""
    reads: bool = False
    """Whether it only reads, so that no preset of flow rules takes it for an effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The additions of one extension to llmdo.

    The first fields are for everybody; those from `commands` on are for parts of llmdo itself.
    """

    name: str
    checks: Mapping[str, OwnCheck] = field(default_factory=dict)
    """Checks, by their codes, such as `ACME001`; none begins with `LDO`."""
    formats: Mapping[str, ForeignFormat] = field(default_factory=dict)
    """Formats of foreign projects, by their names."""
    evaluators: Mapping[str, str] = field(default_factory=dict)
    """Evaluators that evals may name, to `package.module:NAME`: a function that judges a trial as functions of a
    workspace do."""
    capabilities: Mapping[str, CapabilityFamily] = field(default_factory=dict)
    """Capabilities, by their names, such as `acme.send`; none begins as one of the vocabulary does."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Commands, to the module with `PLACE`, its place in the help, and `add_to(app)`."""
    stores: Mapping[str, str] = field(default_factory=dict)
    """Schemes of addresses of journals, such as `postgresql`, to the module, a `llmdo.journal.opening.Store`."""
    queue: str | None = None
    """The module that passes items of batches to workers elsewhere: a `llmdo.services.queue.BatchQueue`."""
    survey: str | None = None
    """The module that scans the projects of a list: `llmdo.cli.scanning.SurveyCommand`."""
    sessions: str | None = None
    """The module that reads recorded sessions of other tools: a `llmdo.services.sessions.SessionReader`."""
    views: tuple[str, ...] = ()
    """Modules with `ENDPOINTS` of the page, and `STREAMS` if there are any."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """Extras of pip that it needs, each with the module that it brings: lines of `llmdo doctor`."""
    needs: tuple[str, ...] = ()
    """Extensions without which it is not offered."""
    pages: tuple[str, ...] = ()
    """Its pages of `docs/`."""
