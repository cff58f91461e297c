"""Projects of other tools adopted in place: read with a workspace that names their formats, as parts of its graph.

What their tools' settings decide stays the base of their agents' calls; rules, ceilings and flows of the workspace
tighten it. llmdo runs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.credentials import secrets_in, secrets_in_words
from llmdo.base.values import dataclass, replace
from llmdo.foreign.building import graph_of, named, named_events, with_few_hosts
from llmdo.foreign.commands import listed_in
from llmdo.foreign.decisions import client_rules
from llmdo.foreign.known import formats, team_or_problem
from llmdo.foreign.links import LinkedTree
from llmdo.foreign.team import claimed, together
from llmdo.foreign.tree import DiskTree, is_published
from llmdo.graph.clients import settings_of
from llmdo.graph.start import STARTERS, Start
from llmdo.policy.authority import STRICTNESS
from llmdo.policy.shell.rules import EXEC, UNLISTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.extensions.spec import Extension
    from llmdo.foreign.overlay import PluginFolder
    from llmdo.foreign.team import Agent, Team
    from llmdo.foreign.tree import Tree
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Worker
    from llmdo.policy.authority import Rule


HIDDEN = "…"
"""In place of a secret in a text that the lock holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The projects of other tools in the folder of a workspace, in the formats that it names."""

    team: Team
    """The agents of all formats; of several, each is called `FORMAT/NAME`."""
    teams: tuple[Team, ...]
    """Those of each format."""
    files: Mapping[str, str]
    """Each file that was read, to the digest of its text."""
    known: frozenset[str]
    """The formats that there are."""
    absent: Mapping[str, tuple[str, ...]]
    """The named formats without a file here, to the globs of their files."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by their names in the graph."""
        return named(self.team.agents)

    def name_of(self, form: str, name: str) -> str | None:
        """The name in the graph of the agent that the tool of the format `form` calls `name`; None if there is none."""
        for known, agent in self.agents.items():
            own = agent.name.removeprefix(f"{agent.format}/") if agent.format else agent.name
            if (agent.format or self.team.format) == form and own == name:
                return known
        return None


def read(
    root: Path,
    names: Iterable[str],
    seen: Seen | None = None,
    extensions: Iterable[Extension] = (),
    plugin: PluginFolder | None = None,
    texts: Mapping[str, str] | None = None,
) -> Adoption:
    """The projects in `root` of the formats with these names, as far as there are such; `seen` collects the files.

    A `plugin` is read as if it were installed; `texts` are those of files that an editor has not written yet.
    """
    known = formats(extensions)
    wanted = [known[name] for name in sorted(set(names)) if name in known]
    disk = DiskTree(root, seen=seen)
    tree: Tree = LinkedTree(disk, disk.link_at)
    if plugin:
        tree = plugin.over(tree, wanted)
    if texts:
        from llmdo.foreign.overlay import with_texts  # what only an editor has use for

        tree = with_texts(tree, texts)
    tree.find([pattern for form in wanted for pattern in form.files])  # one walk for all of them
    teams = [team_or_problem(form, tree) for form in wanted]
    absent = {
        form.name: form.files
        for form, team in zip(wanted, teams, strict=True)
        if not (team.files or team.problems)
    }
    if any(agent.in_checkout for team in teams for agent in team.agents):
        is_published(tree)  # which findings ask about, so a licence that changes is a change
    there = claimed([team for team in teams if team.format not in absent])
    team = together(there)
    contents = {path: tree.read(path) for path in team.files}
    return Adoption(
        team=team,
        teams=tuple(there),
        files={path: digest.of_text(content[0].text) for path, content in contents.items() if content},
        known=frozenset(known),
        absent=absent,
    )


def _with_listed(agents: Sequence[Agent]) -> tuple[Agent, ...]:
    """The agents, each with the commands that settings of its client list, if it may ask for any command.

    A ceiling may cut off any other command, and leave those.
    """
    listing = {agent.format for agent in agents if listed_in(agent.permissions)}

    def with_listed(agent: Agent) -> Agent:
        has = {each: grant for grant in reversed(agent.grants) for each in grant.capabilities}
        if agent.format not in listing or EXEC in has or UNLISTED not in has:
            return agent
        decision = "allowed" if listed_in(agent.permissions) else has[UNLISTED].decision
        listed = replace(has[UNLISTED], capabilities=(EXEC,), decision=decision)
        return replace(agent, grants=(*agent.grants, listed))

    return tuple(map(with_listed, agents))


def adopted_graph(adoption: Adoption, taken: Collection[str], started: Collection[str]) -> Graph:
    """The graph of the agents, each with its tool's settings as the base of its calls.

    No toolset has one of the `taken` names; the agents that are `started` are entries as well.
    """
    team = replace(adoption.team, agents=_with_listed(adoption.team.agents))
    graph = graph_of(team, taken, started, is_governed=True)
    agents = {name: with_few_hosts(agent) for name, agent in named(team.agents).items()}
    events = {name: agents[agent] for agent, name in named_events(agents).items()}

    def adopted(name: str, worker: Worker) -> Worker:
        agent = agents.get(name) or events.get(name)
        form = (agent.format if agent else "") or team.format
        grants = agents[name].grants if name in agents else events[name].events if name in events else ()
        return replace(
            worker,
            format=form,
            client_rules=client_rules(grants, team.starts, settings_of(form)),
            approvals=strictest_of(worker.approvals, f"worker `{name}`"),
            permissions={
                word: tuple(map(_without_secrets, rules)) for word, rules in worker.permissions.items()
            },
        )

    return replace(
        graph,
        workers={name: adopted(name, worker) for name, worker in graph.workers.items()},
        toolsets={name: _toolset(toolset, team.format) for name, toolset in graph.toolsets.items()},
        entries={
            name: _entry(entry, agents[name].format or team.format) for name, entry in graph.entries.items()
        },
        adopted=dict(sorted(adoption.files.items())),
    )


def strictest_of(rules: Iterable[Rule], origin: str) -> tuple[Rule, ...]:
    """The strictest of the rules about each capability, sorted."""
    strictest: dict[str, Rule] = {}
    for rule in sorted(rules, key=lambda rule: (str(rule.capability), -STRICTNESS[rule.decision])):
        strictest.setdefault(str(rule.capability), replace(rule, origin=origin))
    return tuple(strictest.values())


def _toolset(toolset: Toolset, form: str) -> Toolset:
    """The toolset as a lock may have it: without secrets that somebody wrote into the start of a server.

    A tool that raises nothing decides nothing, and is left out.
    """
    tools = {name: tool for name, tool in toolset.tools.items() if tool.capabilities}
    toolset = replace(toolset, format=form, tools=tools)
    server = toolset.server
    if server is None:
        return toolset
    words = list(server.args)
    for number, _ in secrets_in_words(server.args):
        words[number] = HIDDEN
    args = tuple(map(_without_secrets, words))
    server = replace(server, args=args, url=_without_secrets(server.url) if server.url else None)
    return replace(toolset, server=server)


def _without_secrets(text: str) -> str:
    for secret in reversed(secrets_in(text)):
        text = f"{text[: secret.start]}{HIDDEN}{text[secret.end :]}"
    return text


def _entry(entry: Entry, form: str) -> Entry:
    """The entry as no manifest names it; each event that starts it has the most people who may cause it."""
    starts: dict[str, Start] = {}
    for start in sorted(entry.started_by, key=lambda start: (start.event, -STARTERS.index(start.by))):
        starts.setdefault(start.event, start)
    return replace(entry, declared=False, format=form, started_by=tuple(starts.values()))
