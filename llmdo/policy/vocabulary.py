"""The vocabulary of capabilities: a row for each, the worst first, with every fact that llmdo knows of it.

The most harmful without supervision come first: running any program, then changing, sending and reading.
"""

from __future__ import annotations

from llmdo.base.values import dataclass, replace

TYPE_CHECKING = False  # `typing` alone would cost a quarter of what `llmdo hook` may
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    Decision = Literal["allowed", "needs_approval", "blocked"]
    Leg = Literal["private data", "untrusted input", "a way out"]
    """The three that must not meet in one tree."""
    Harm = Literal["grave", "some", "none"]
    """The most that an unasked call can do: anything, by a program; something; or only read."""
    Danger = Literal["high", "medium", "low", "none"]
else:

    def __getattr__(name: str) -> object:
        """`Decision` as a type, for who holds values against it."""
        if name != "Decision":
            raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
        from typing import Literal

        return Literal["allowed", "needs_approval", "blocked"]


OWN = "x"
"""The family of the capabilities that authors of toolsets name themselves: `x.TOOLSET.NAME`."""

UNDECLARED = "capability.undeclared"
UNTRUSTED = "data.untrusted"
"""The label of text that a stranger may have written: its reader no longer chooses alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityFacts:
    """The facts of one capability; they hold for those below it that have no row of their own."""

    meaning: str
    decision: Decision | None = None
    """The decision of its built-in rule; None: the default of the workspace."""
    needs_full_name: bool = False
    """Whether it, with all below it, lies inside a ceiling only if the ceiling has the whole name."""
    is_outside_ceilings: bool = False
    """Whether no ceiling cuts it off: the callee has its own, and a marker does nothing."""
    is_for_a_terminal: bool = False
    """Whether a person at a terminal answers the question about it, never a flag."""
    is_effect: bool = True
    """Whether it changes or sends something; the rest only reads, or marks."""
    leg: Leg | None = None
    """The leg that it brings; a command can send, unless it only reads."""
    harm: Harm = "some"
    """The harm of a call that nobody was asked about."""
    has_paths: bool = False
    """Whether its scopes are paths of the workspace."""
    is_in_a_shell: bool = False
    """Whether any unconfined command can do it."""
    writes: Literal["here", "where its server is"] | None = None
    """The place in which it may leave files."""
    is_repeatable: bool = False
    """Whether a tool that raises it may run twice with no harm done."""
    verb: str | None = None
    """The verb for a tool and a path, in a sentence."""


_COMMAND = CapabilityFacts(
    meaning="runs a command that a shell rule vouches for",
    leg="a way out",
    harm="grave",
    is_in_a_shell=True,
    writes="here",
)
_WRITING = CapabilityFacts(
    meaning="creates or changes a file of the workspace",
    has_paths=True,
    is_in_a_shell=True,
    writes="here",
    verb="write",
)
_READING = CapabilityFacts(
    meaning="reads a file of the workspace",
    decision="allowed",
    leg="private data",
    harm="none",
    has_paths=True,
    is_in_a_shell=True,
    is_effect=False,
    is_repeatable=True,
    verb="read",
)

FACTS: Mapping[str, CapabilityFacts] = {
    "proc.exec.unlisted": replace(
        _COMMAND, meaning="runs a program that no shell rule lists", decision="blocked", needs_full_name=True
    ),
    "proc.exec.unvouched": replace(
        _COMMAND,
        meaning="runs a listed program with arguments that no shell rule vouches for",
        decision="needs_approval",
        needs_full_name=True,
    ),
    "proc.exec": _COMMAND,
    "fs.write.protected": replace(
        _WRITING,
        meaning="changes a file that governs the run, such as `llmdo.toml` or a worker file",
        decision="needs_approval",
        harm="grave",
        needs_full_name=True,
        is_for_a_terminal=True,
    ),
    "fs.write.code": replace(
        _WRITING,
        meaning="changes a file of an executable kind, such as `*.py`, `Makefile` or `CLAUDE.md`",
        decision="needs_approval",
        harm="grave",
        needs_full_name=True,
    ),
    "fs.delete": replace(_WRITING, meaning="deletes a file of the workspace", verb="delete"),
    "fs.write": _WRITING,
    "secret.read": CapabilityFacts(
        meaning="returns a secret", leg="private data", is_effect=False, is_repeatable=True
    ),
    "fs.read.protected": replace(
        _READING,
        meaning="reads a file that mostly holds secrets, such as `.env` or what is in `.git/`",
        decision="needs_approval",
        harm="some",
        needs_full_name=True,
        is_for_a_terminal=True,
    ),
    "net.connect": CapabilityFacts(
        meaning="sends data over the network", leg="a way out", is_in_a_shell=True
    ),
    "mcp.call": CapabilityFacts(
        meaning="calls a tool of an MCP server", leg="a way out", writes="where its server is"
    ),
    "mcp.start": CapabilityFacts(meaning="starts an MCP server", writes="where its server is"),
    OWN: CapabilityFacts(meaning="what its author says", has_paths=True),
    "env.read": CapabilityFacts(
        meaning="returns environment variables",
        leg="private data",
        is_in_a_shell=True,
        is_effect=False,
        is_repeatable=True,
    ),
    "proc.exec.read": CapabilityFacts(
        meaning="runs a command that a shell rule vouches for as only reading",
        harm="none",
        is_in_a_shell=True,
        is_effect=False,
        is_repeatable=True,
    ),
    "fs.read": _READING,
    "net.search": CapabilityFacts(
        meaning="searches the web", leg="a way out", is_in_a_shell=True, is_repeatable=True
    ),
    "mcp.read": CapabilityFacts(
        meaning="calls a tool of an MCP server that the manifest says only reads",
        harm="none",
        is_effect=False,
        is_repeatable=True,
    ),
    "fs.list": CapabilityFacts(
        meaning="lists files of the workspace",
        harm="none",
        decision="allowed",
        has_paths=True,
        is_in_a_shell=True,
        is_effect=False,
        is_repeatable=True,
        verb="list",
    ),
    UNTRUSTED: CapabilityFacts(
        meaning="may return text that an attacker wrote",
        harm="none",
        decision="allowed",
        is_outside_ceilings=True,
        leg="untrusted input",
        is_effect=False,
        is_repeatable=True,
    ),
    "agent.delegate": CapabilityFacts(
        meaning="calls another worker",
        decision="allowed",
        harm="none",
        is_outside_ceilings=True,
        is_effect=False,
    ),
    UNDECLARED: CapabilityFacts(
        meaning="does what was never declared", decision="blocked", harm="grave", writes="here"
    ),
}

VOCABULARY: Mapping[str, str] = {name: facts.meaning for name, facts in FACTS.items() if name != OWN}
"""Every capability apart from `x.TOOLSET.NAME`, with its meaning."""

ROOTS = frozenset(name.partition(".")[0] for name in FACTS)
"""The first labels of capabilities that are ours or a toolset's; any other is an extension's."""

WORST_FIRST = tuple(name for name in FACTS if name != UNDECLARED)
ONLY_BY_FULL_NAME = frozenset(name for name, facts in FACTS.items() if facts.needs_full_name)
OUTSIDE_CEILINGS = frozenset(name for name, facts in FACTS.items() if facts.is_outside_ceilings)
TERMINAL_ONLY = frozenset(name for name, facts in FACTS.items() if facts.is_for_a_terminal)
REPEATABLE = frozenset(name for name, facts in FACTS.items() if facts.is_repeatable)
WITHOUT_EFFECT = frozenset(name for name, facts in FACTS.items() if not facts.is_effect)


def members_of(family: str, known: Iterable[str]) -> tuple[str, ...]:
    """The capabilities of `known` in a family, sorted; none of what is no family."""
    if family in known:
        return ()
    return tuple(sorted([name for name in known if name.startswith(f"{family}.")]))


def families(names: Iterable[str]) -> tuple[str, ...]:
    """The fewest names that cover these: a family for its rows, if it has several and no row of its own."""
    wanted = {*names}
    rows = {
        family: {name for name in FACTS if name.startswith(f"{family}.")}
        for family in {name.partition(".")[0] for name in wanted}
    }
    whole = {family for family, below in rows.items() if len(below) > 1 and below <= wanted}
    tops = [name for name in wanted if not any(name.startswith(f"{above}.") for above in (*wanted, *whole))]
    return tuple(sorted({*tops, *whole}))


EFFECTS = families(name for name, facts in FACTS.items() if facts.is_effect and name != UNDECLARED)
"""The capabilities that change or send something; a family may have some that only read."""

ONLY_READS = frozenset(
    name for name in WITHOUT_EFFECT if any(name.startswith(f"{each}.") for each in EFFECTS)
)
"""The capabilities that a preset does not mean by their family."""

LEGS: Mapping[str, tuple[str, ...]] = {
    leg: families(name for name, facts in FACTS.items() if facts.leg == leg)
    for leg in ("private data", "untrusted input", "a way out")
}
"""The capabilities of each leg."""

IN_A_SHELL = families(name for name, facts in FACTS.items() if facts.is_in_a_shell)


def facts_of(name: str) -> CapabilityFacts | None:
    """The facts of a capability, or of the nearest one above it; None if there are none."""
    while name not in FACTS:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    return FACTS[name]


_UNASKED: Mapping[Harm, Danger] = {"grave": "high", "some": "medium", "none": "low"}


def danger(name: str, decision: Decision) -> Danger:
    """The danger of a capability under a decision, which colours stand for wherever reach is shown.

    `none`: it cannot happen; `low`: it only reads; `medium`: it does some harm, or a person is asked; `high`: nobody is
    asked, and it may run any program. A family, or a name without facts, is as grave as the worst one below it.
    """
    if decision != "allowed":
        return "none" if decision == "blocked" else "medium"
    facts = facts_of(name) or next((FACTS[each] for each in FACTS if each.startswith(f"{name}.")), FACTS[OWN])
    return _UNASKED[facts.harm]


def has_paths(name: str) -> bool:
    """Whether the scopes of a capability, or of all those of a family, are paths of the workspace."""
    if (facts := facts_of(name)) is not None:
        return facts.has_paths
    below = [facts for each, facts in FACTS.items() if each.startswith(f"{name}.")]
    return bool(below) and all(facts.has_paths for facts in below)
