"""The opening of a report on a foreign project: findings grouped by cause, and the worst in two sentences.

A cause is a sentence, shared by findings that say the same of different agents or of different files.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, place
from llmdo.base.values import dataclass, field, in_json
from llmdo.foreign import findings as checks
from llmdo.foreign.building import named
from llmdo.foreign.commands import through
from llmdo.foreign.lines import PUSHES
from llmdo.policy.authority import STRICTNESS, Capability, gravity
from llmdo.reach.risks import SHELL, path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Agent, Grant, Team
    from llmdo.policy.vocabulary import Decision

EACH = "(each)"
"""Each of several agents, in a sentence about all of them."""
LONGEST = 2  # sentences of a headline

UNREAD = frozenset({"LDO105", "LDO107", "LDO152", "LDO153", "LDO154"})
"""The codes of findings about parts that were not read."""

REACHED = frozenset({"LDO550", "LDO551", "LDO552", "LDO555", "LDO556"})
"""The codes of findings about the reach of an agent."""

DELEGATED = frozenset({"LDO550", "LDO552", "LDO555"})
"""The codes of findings that share a cause although another agent is called on the way."""

_BY_CLIENTS = "LDO557"
"""Nobody has to talk an agent into it, so it comes before all that agents can do."""
FLOWS = frozenset({"LDO552", "LDO555"})
"""The codes of findings about a flow, each with a place for each of its legs."""

_WORST = ("LDO552", "LDO551", "LDO556", "LDO554", "LDO550", "LDO553")
_OTHERS = ("LDO555", "LDO151", "LDO250", "LDO251", "LDO350", "LDO150", "LDO351")
_NUMBERED = re.compile(r"(?<=[^ ]) \(\d+\)(?=`| => )")
"""The number that tells toolsets of one name apart; people take them for the same."""
_LEGS = re.compile(r"`([^`]*) => ([^`]*)`")
"""Both legs of a flow."""
_SPELLED_OUT = re.compile(r": `[^`]* => [^`]*`")
"""Both legs of a flow at the end of its sentence, which the lines below it give with their places."""
_WAY = re.compile(r" through `[^`]*`|`\(each\) > [^`]+ > [^`]+`")
"""The agents on an agent's way to the danger: they may differ within a cause."""
_VARYING = re.compile(r"`[^`]*`|\d+")
"""Names and numbers, which differ between findings of one cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Findings that say the same."""

    findings: tuple[Diagnostic, ...]
    """At least one, in order of place."""
    ways: tuple[str, ...] = ()
    """The ways on which the agent, or each, comes to the danger."""
    is_open: bool = False
    """Whether a stranger can start one of the agents."""

    @property
    def first(self) -> Diagnostic:
        """The finding that represents all of them."""
        return self.findings[0]

    @property
    def number(self) -> int:
        """The number of findings."""
        return len(self.findings)

    @property
    def gate(self) -> str | None:
        """Whether somebody is asked first, in words; None if nothing is reached."""
        if self.first.code not in REACHED:
            return None
        return "after a question" if self.first.gated else "without a question"

    @property
    def sentence(self) -> str:
        """The problem, of the only finding or of all of them."""
        if self.number == 1:
            return self._said(self.first.message)
        sentence = _of_each(self.first, self._said(self.first.message))
        if f"`{EACH}" not in sentence:
            return f"{sentence}; and {self.number - 1:,} more like it"
        if self.first.code in DELEGATED and any(
            _of_each(each, self._said(each.message)) != sentence for each in self.findings
        ):
            through = " through another agent, such as `"
            others = sentence.replace(" through `", through)
            sentence = f"{sentence}, or by way of another agent" if others == sentence else others
        noun = "files" if self.first.subject is None else "agents"
        return f"{self.number:,} {noun}: {re.sub(f'^`{re.escape(EACH)}`', 'each', sentence)}"

    def _said(self, message: str) -> str:
        return _SPELLED_OUT.sub("", message) if self.ways and self.first.code in FLOWS else message

    @property
    def is_asked(self) -> bool:
        """Whether it is a fact by design: somebody is asked each time."""
        return self.first.code in REACHED and self.first.gated

    @property
    def hint(self) -> str | None:
        """The hint, if it holds for all of them; of flows and free commands, whose lines differ, that of the first."""
        hints = {each.hint for each in self.findings}
        if len(hints) > 1 and self.first.hint and self.first.code in (*FLOWS, "LDO554"):
            return f"{self.first.hint}, and likewise in the others"
        return self.first.hint if len(hints) == 1 else None

    @property
    def rank(self) -> tuple[int, bool, int, tuple[str, int, int, str, str]]:
        """A sort key, worst first: unasked before asked, then startable by strangers, then the greater number."""
        code = self.first.code
        if code == _BY_CLIENTS:
            group = 0
        elif code in _WORST:
            # Whoever has every tool has those to leak with: what holds for more agents comes first.
            group = len(_WORST) * self.first.gated + (_WORST.index(code) or 1)
        else:
            group = 2 * len(_WORST) + (_OTHERS.index(code) if code in _OTHERS else -1)
        return group, not self.is_open, -self.number, self.first.order


def _pairs(decisions: Iterable[tuple[Capability, Decision]]) -> list[Mapping[str, object]]:
    return [{"capability": capability, "decision": decision} for capability, decision in decisions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The tools that a format's product gives to agents whose files do not name them."""

    format: str
    agents: int
    brought: tuple[str, ...]
    """The agents that the product itself brings along."""
    decisions: tuple[tuple[Capability, Decision], ...] = field(metadata=in_json("capabilities", by=_pairs))
    """The capabilities, the worst first, each with its mildest decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSummary:
    """The overview at the top of a report."""

    headline: tuple[str, ...]
    """The main result, in one or two sentences."""
    agents: int
    """The number of agents in files; without any, of those that a product brings along to start."""
    causes: tuple[Cause, ...] = field(metadata=in_json("findings"))
    """The worst first."""
    asked: tuple[Cause, ...]
    """Findings about what a person is asked first: true by design, and shown in the table alone."""
    unread: tuple[Cause, ...]
    """Files not read, or only in part."""
    defaults: tuple[Defaults, ...]


def summary_of(project: Foreign, findings: Sequence[Diagnostic]) -> ProjectSummary:
    """The summary of a project that has these findings."""
    causes = sorted(_causes(project, findings), key=lambda cause: cause.rank)
    every = project.team.agents
    leaking = {each.subject for each in findings if each.code == "LDO552"}
    # What a tool brings along counts where it is spoken of, or there is nothing else: a session under settings alone
    # is not nothing.
    agents = [agent for name, agent in named(every).items() if agent.path or name in leaking]
    agents = agents or [agent for agent in every if agent.is_entry]
    return ProjectSummary(
        headline=_headline(project, agents, findings),
        agents=len(agents),
        causes=tuple(cause for cause in causes if cause.first.code not in UNREAD and not cause.is_asked),
        asked=tuple(cause for cause in causes if cause.is_asked),
        unread=tuple(cause for cause in causes if cause.first.code in UNREAD),
        defaults=tuple(each for team in project.teams if (each := _defaults(team))),
    )


def _causes(project: Foreign, findings: Iterable[Diagnostic]) -> Iterator[Cause]:
    by_cause: dict[tuple[str, bool, str], list[Diagnostic]] = {}
    for each in findings:
        sentence = _of_each(each, each.message)
        if each.subject is None:
            sentence = _VARYING.sub("", sentence)
        elif each.code == "LDO551":
            sentence += each.hint or ""  # one cause, one edit: each format has a line of its own
        elif each.code == "LDO555":
            sentence = _SPELLED_OUT.sub("", sentence)
        elif each.code in DELEGATED:
            sentence = _WAY.sub("", _LEGS.sub(_without_others, sentence))
        by_cause.setdefault((each.code, each.gated, sentence), []).append(each)
    names = _open(project)
    for alike in by_cause.values():
        is_open = any(each.subject in names for each in alike)
        yield Cause(findings=tuple(alike), ways=tuple(_ways_of_all(project, alike)), is_open=is_open)


def _without_others(legs: re.Match[str]) -> str:
    """Both legs of a flow, or nothing if another agent is called on one of them."""
    return "" if any(leg.count(" > ") > 1 for leg in legs.groups()) else legs[0].replace(" > ", " ")


def _open(project: Foreign) -> frozenset[str]:
    """The names of the agents that a stranger can start."""
    return frozenset(name for name, agent in project.agents.items() if agent.started_by is not None)


def _ways_of_all(project: Foreign, findings: Sequence[Diagnostic]) -> Iterator[str]:
    """The ways of findings of one cause: those of the first, and whether others have other ways."""
    first, *others = findings
    if first.code == "LDO551" and (entry := project.graph.entries.get(first.subject or "")):
        rows = [row for row in project.choice.of(entry) if row.decision != "blocked"]
        if worst := min(rows, key=lambda row: gravity(row.capability), default=None):
            yield f"the worst of `{first.subject}`: `{worst.capability}` by `{path_text(worst.path)}`"
    for leg in first.related if first.code in FLOWS else ():
        way = _of_each(first, leg.message) if others else leg.message
        yield f"{way} ({'such as ' * bool(others)}{place(leg.at)})"


def _of_each(finding: Diagnostic, text: str) -> str:
    """A text of a finding, rewritten to hold for each agent, or for each file."""
    name = finding.at.path if finding.subject is None else finding.subject
    text = text.replace(f"`{name}`", f"`{EACH}`")
    text = text.replace(f"`{name} > ", f"`{EACH} > ").replace(f" => {name} > ", f" => {EACH} > ")
    return _NUMBERED.sub("", text)


def _headline(project: Foreign, agents: Sequence[Agent], findings: Sequence[Diagnostic]) -> tuple[str, ...]:
    """The main results, of which the first says how many agents are copies of others."""
    first, *others = tuple(_statements(project, agents, findings))[:LONGEST]
    number = _copies(agents)
    verb = "is a copy of another" if number == 1 else "are copies of others"
    return (f"{first}; {number:,} of the {len(agents):,} {verb}" if number else first, *others)


def _copies(agents: Iterable[Agent]) -> int:
    """The number of agents whose files say just what that of another one before says, in the same format."""
    paths: dict[object, str] = {}
    number = 0
    for agent in agents:
        content = agent.at.document.source.text
        if agent.path and content.strip():
            number += paths.setdefault((agent.format, agent.at.route, content), agent.path) != agent.path
    return number


def _statements(project: Foreign, agents: Sequence[Agent], findings: Sequence[Diagnostic]) -> Iterator[str]:
    """The main results, the worst first; at least one sentence."""
    every, names = len(agents), _open(project)
    numbers = Counter((each.code, each.gated) for each in findings)
    if not every:
        unread = len({each.at.path for each in findings if each.code in UNREAD})
        yield "no agent could be read" + f"; {_counted(unread, 'file')} may hold some" * bool(unread)
        return
    pushing = sum(agent.started_by is not None and _pushes(agent) for agent in agents)
    sending = sum(each.code == "LDO552" and each.subject in names for each in findings)
    is_calm = not (pushing or sending)
    if pushing:
        yield f"{_of(pushing, every, 'can')} be started by a stranger and push to the repository"
    elif sending:
        yield f"{_of(sending, every, 'can')} be started by a stranger and send private data without a question"
        if sending == numbers["LDO552", False]:
            numbers["LDO552", False] = 0  # they were just spoken of
    if number := numbers[_BY_CLIENTS, False]:
        is_calm = False
        verb = "makes" if number == 1 else "make"
        what = "run what it downloads, or send all to a stranger's host"
        yield f"{_counted(number, 'place')} in these files {verb} a client {what}"
    for gated in (False, True):
        for statement in (
            *_of_reach(numbers, every, gated=gated),
            *_of_settings(project, numbers, agents, gated=gated),
        ):
            is_calm = False
            yield statement
    if is_calm:
        yield _mildest(agents)


def _of_reach(numbers: Mapping[tuple[str, bool], int], every: int, *, gated: bool) -> list[str]:
    """The numbers of agents with every tool, and of others with a way out, the greater number first."""
    inheriting, leaking = numbers["LDO551", gated], numbers["LDO552", gated]
    after = ", the worst after a question" if gated else ""
    statements = [
        (inheriting, "name", f"no tools and so {'has' if inheriting == 1 else 'have'} every tool{after}"),
        (leaking, "can", "be steered by text from outside to send private data without a question"),
    ]
    present = sorted((each for each in statements if each[0]), key=lambda each: -each[0])
    return [
        f"{_of(number, every, verb, is_more=place > 0)} {statement}"
        for place, (number, verb, statement) in enumerate(present)
    ]


def _of_settings(
    project: Foreign, numbers: Mapping[tuple[str, bool], int], agents: Sequence[Agent], *, gated: bool
) -> Iterator[str]:
    """The number of places that switch questions off, and of agents with a shell without one."""
    if silent := numbers["LDO554", gated]:
        yield f"{_counted(silent, 'place')} in these files {'switches' if silent == 1 else 'switch'} questions off"
    free = [agent for agent in agents if not (agent.inherits and agent.path) and _shell_of(agent)]
    unconfined = [agent for agent in free if agent.sandbox is None] or free
    if free and not gated:
        first = unconfined[0]
        where = f", behind the {first.sandbox}," if first.sandbox else ""
        such_as = ", such as" if len(unconfined) > 1 else ":"
        by = _given_by(project, first)
        yield (
            f"{_of(len(unconfined), len(agents), 'may')} run any command{where} without a question{such_as} {by}"
        )


def _mildest(agents: Sequence[Agent]) -> str:
    """The sentence about a project in which nothing worse is known."""
    unasked = {
        each
        for agent in agents
        for grant in agent.grants
        if grant.decision == "allowed"
        for each in grant.capabilities
    }
    asked = any(grant.decision == "needs_approval" for agent in agents for grant in agent.grants)
    if not (unasked or asked):
        whose = "its" if len(agents) == 1 else "their"
        return f"{_of(len(agents), len(agents), 'can')} do nothing by tools of {whose} own"
    if not unasked:
        return "whatever these agents do by tools of their own, a person is asked first"
    return f"the worst that an agent here does without a question is `{min(unasked, key=gravity).name}`"


def _pushes(agent: Agent) -> bool:
    """Whether it changes a repository on GitHub without a question."""
    return any(
        capability.name == PUSHES
        for grant in agent.grants
        if grant.decision == "allowed"
        for capability in grant.capabilities
    )


def _shell_of(agent: Agent) -> Grant | None:
    """The grant by which it runs any command without a question, if there is one."""
    shells = (grant for grant in agent.grants if SHELL in {each.name for each in grant.capabilities})
    return next((grant for grant in shells if grant.decision == "allowed"), None)


def _given_by(project: Foreign, agent: Agent) -> str:
    """The place that lets an agent run any command: a line, or the default of its product."""
    shell = _shell_of(agent)
    if shell is None or (shell.rule_at is None and (shell.is_default or not agent.path)):
        return f"`{agent.name}` by the default of {agent.format or project.team.format}"
    at = place((shell.rule_at or shell.at).location)
    way = through(shell.tool) or (shell.words and f", through `{shell.words}`")
    return f"`{agent.name}` by `{excerpt(shell.tool)}`{way} ({at})"


def _of(number: int, every: int, verb: str, *, is_more: bool = False) -> str:
    """A number of agents, out of `every` one, with the verb; `is_more` if others were counted just before."""
    doing = "names" if number == 1 and verb == "name" else verb
    if is_more:
        return f"{number:,} more {doing}"
    if every == 1:
        return f"the only agent {doing}"
    all_of = "both" if every == 2 else f"all {every:,}"
    return f"{all_of} agents {doing}" if number == every else f"{number:,} of {every:,} agents {doing}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _defaults(team: Team) -> Defaults | None:
    """The tools that its product adds to the agents of a team; None without any."""
    granted = [grants for agent in team.agents if agent.path and (grants := _given(agent))]
    brought = tuple(agent.name for agent in team.agents if not agent.path)
    if not granted and not brought:
        return None
    mildest: dict[tuple[str, str | None], Decision] = {}
    for grant in (grant for grants in granted for grant in grants):
        for each in grant.capabilities:
            known = mildest.setdefault((each.name, each.scope), grant.decision)
            if STRICTNESS[grant.decision] < STRICTNESS[known]:
                mildest[each.name, each.scope] = grant.decision
    decisions = [(Capability(*key), decision) for key, decision in mildest.items()]
    return Defaults(
        format=team.format,
        agents=len(granted),
        brought=brought,
        decisions=tuple(sorted(decisions, key=lambda pair: gravity(pair[0]))),
    )


def _given(agent: Agent) -> list[Grant]:
    """The grants of an agent that its file does not name."""
    return [grant for grant in agent.grants if agent.inherits or grant.is_default]


def check(project: Foreign) -> ProjectSummary:
    """The summary of a project."""
    return summary_of(project, checks.check(project))
