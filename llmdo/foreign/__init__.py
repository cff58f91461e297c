"""Projects of other agent tools, read as they are: the same questions as to our own, and nothing is enforced.

Each format is an extension: its reader makes a `Team` of the files of a tree, its table lists the abilities of its
tools, with sources: a foreign tool decides about tools, llmdo about capabilities. Shared by the formats:

- `tree`, `history`, `links`: the files of a project, on disk or at a git revision, also by links between its folders;
- `overlay`: files laid over these, as a plugin is before it is installed;
- `files`, `reading`: one reading of them, with its findings; Markdown, YAML and JSON as tolerantly as others read them;
- `servers`, `commands`: MCP servers, and patterns of shell commands;
- `permissions`: rules about tools and parts of them, of which the strictest or the last decides;
- `team`, `lines`: the result of a reader, and the lines of a table;
- `known`, `fitting`: the formats that are read, and the judging of those of extensions.

`building` makes a `Graph` of a team, `flows` finds the ways from a stranger's words to a sender of private data,
`advice` says the edit that breaks one, `generated` where an edit belongs if a program writes the file, `findings` are
the checks, `summary` is the opening of a scan, and `unsupported` names files of tools that llmdo does not read.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.nearest import MANIFEST, TEAM_FILES, is_manifest
from llmdo.base.values import dataclass, field, replace
from llmdo.extensions.spec import AUTO
from llmdo.foreign import unsupported
from llmdo.foreign.building import graph_of, named, named_events, of_choice
from llmdo.foreign.known import formats, team_of, team_or_problem
from llmdo.foreign.links import LinkedTree
from llmdo.foreign.team import UNSPECIFIED, claimed, together
from llmdo.foreign.tree import DiskTree, OthersTree, is_like, is_published, project_of
from llmdo.reach import Analysis

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from llmdo.extensions.spec import Extension, ForeignFormat
    from llmdo.foreign.known import Formats
    from llmdo.foreign.overlay import PluginFolder
    from llmdo.foreign.team import Agent, Grant, Team
    from llmdo.foreign.tree import Tree
    from llmdo.graph.resolved import Graph


OWN = tuple(f"**/{name}" for name in (MANIFEST, *TEAM_FILES))
"""Globs of manifests of llmdo: of workspaces, and of teams in one file."""


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """One reading of a foreign project."""

    root: Path
    """The folder to which paths are relative."""
    team: Team
    """The team of all formats together."""
    teams: tuple[Team, ...]
    """The team of each format that is present."""
    graph: Graph
    analysis: Analysis = field(compare=False)
    choice: Analysis = field(compare=False)
    """The same of all that models choose: of what their clients run by themselves, only the words that it brings."""
    own: tuple[str, ...] = ()
    """The files that may be manifests of llmdo, if every format was looked for; no worker of theirs is in `team`."""
    is_public: bool = False
    """Whether its licence shows that anybody may read it; asked only where agents work in a checkout."""
    revision: str | None = field(default=None, compare=False)
    """The git revision that was read; None for the files on disk."""

    def opened(self) -> LinkedTree:
        """The files of the project, opened anew."""
        return _tree(self.root, None, self.revision)

    @cached_property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by their names in the graph."""
        return named(self.team.agents)

    @cached_property
    def grants(self) -> Mapping[tuple[str, str, str], Sequence[Grant]]:
        """What gives a tool, by its agent or the worker for the events of that, its toolset and its name."""
        given: dict[tuple[str, str, str], list[Grant]] = {}
        of_events = {name: self.agents[agent].events for agent, name in named_events(self.agents).items()}
        for worker, grants in (
            *of_events.items(),
            *((name, agent.grants) for name, agent in self.agents.items()),
        ):
            for each in grants:
                given.setdefault((worker, each.toolset, each.tool), []).append(each)
        return given

    @cached_property
    def readers(self) -> Mapping[str, frozenset[str]]:
        """By an agent's file from which several formats take its tools, as by a link between folders, these formats."""
        files = {
            (agent.path, form)
            for agent in self.team.agents
            if agent.path and self.spec(form := self.form_of(agent)).few_tools
        }
        if len({form for _, form in files}) < 2:
            return {}
        tree, forms = self.opened(), dict[str, set[str]]()
        for path, form in files:
            forms.setdefault(tree.real(path), set()).add(form)
        return {path: frozenset(each) for path, _ in files if len(each := forms[tree.real(path)]) > 1}

    @cached_property
    def answers(self) -> dict[str, object]:
        """Answers about it that several checks ask for, each kept by what works it out."""
        return {}

    def form_of(self, agent: Agent | None) -> str:
        """The name of an agent's format."""
        return (agent.format if agent else "") or self.team.format

    def spec_of(self, agent: Agent | None) -> ForeignFormat:
        """The answers of an agent's format; of a file that others read as well, those that all of them know."""
        spec = self.spec(self.form_of(agent))
        forms = self.readers.get(agent.path) if agent and agent.path else None
        if not forms:
            return spec
        shared = self.spec(self.known_to_all(forms) or self.form_of(agent))
        # A part of a tool is no tool to the others.
        return replace(spec, few_tools=shared.few_tools, listed={})

    def known_to_all(self, forms: Collection[str]) -> str | None:
        """The format whose names of tools all of these know; None if they have none in common."""
        return next(
            (each for each in sorted(forms) if all(each in {form, *self.spec(form).knows} for form in forms)),
            None,
        )

    def spec(self, form: str) -> ForeignFormat:
        """The answers of a format."""
        return next((team.spec for team in self.teams if team.format == form), UNSPECIFIED)


def not_enforced(form: str) -> str:
    """The remark on everything about a project that llmdo does not run."""
    return f"read from {form}; not enforced by llmdo"


def read(
    form: str,
    path: Path,
    revision: str | None = None,
    *,
    may_be_empty: bool = False,
    extensions: Iterable[Extension] = (),
    plugin: PluginFolder | None = None,
) -> Foreign:
    """The project at `path`, a folder or one file, in the format `form`; at a git revision, if one is given.

    The project of one file is the folder in which the format looks for such files, else the folder of the file.
    `extensions` bring formats besides ours. A `plugin` is read as if it were installed in the folder.

    Raises:
        LlmdoError: there is no such format, folder or revision, or nothing of the format is in it.
    """
    known = formats(extensions)
    own: tuple[str, ...] = ()
    if form not in (*known, AUTO):
        raise LlmdoError(f"there is no format `{form}`", hint=did_you_mean(form, known) or _names(known))
    if path.is_file():
        root, team = _of_file(form, path, revision, known)
        teams = [team]
    elif path.is_dir():
        root = path.absolute()
        tree: Tree = _tree(root, None, revision)
        if plugin:
            tree = plugin.over(tree, [*known.values()] if form == AUTO else [known[form]])
        teams = claimed(_teams(tree, known)) if form == AUTO else [team_of(known[form], tree)]
        team = together(teams)
        own = tree.find(OWN)[0] if form == AUTO and revision is None else ()
        may_be_empty |= any(is_manifest(f"{root}/{name}") for name in own)
        if not team.agents and not team.problems and not may_be_empty:
            raise LlmdoError(f"{_nothing_of(form)} is in `{path}`", hint=_instead(form, tree, known))
        if form == AUTO:
            read = {path for each in teams for path in each.files}
            notes = (sighting.note for sighting in unsupported.seen(tree, known, read))
            team = replace(team, problems=(*team.problems, *notes))
    else:
        raise LlmdoError(f"there is no folder or file `{path}`")
    if not team.agents and not team.problems and not may_be_empty:
        raise LlmdoError(f"{_nothing_of(form)} is in `{path}`", hint=_names(known))
    return replace(foreign_of(root, team, tuple(teams), revision), own=own)


def named_alike(now: Foreign, then: Foreign) -> tuple[Foreign, Foreign]:
    """Both readings with the same names: if either has agents of several formats, all are called after theirs."""
    several = [any(agent.format for agent in each.team.agents) for each in (now, then)]
    if several[0] == several[1]:
        return now, then
    return (now, _apart(then)) if several[0] else (_apart(now), then)


def _apart(read: Foreign) -> Foreign:
    team = replace(together(read.teams, apart=True), problems=read.team.problems)
    return replace(foreign_of(read.root, team, read.teams), is_public=read.is_public, revision=read.revision)


def foreign_of(root: Path, team: Team, teams: tuple[Team, ...], revision: str | None = None) -> Foreign:
    """The project of a team that was read."""
    graph = graph_of(team)
    analysis = Analysis(graph)
    chosen = of_choice(team)
    choice = analysis if chosen is team else Analysis(graph_of(chosen))
    return Foreign(
        root=root,
        team=team,
        teams=teams,
        graph=graph,
        analysis=analysis,
        choice=choice,
        is_public=any(agent.in_checkout for agent in team.agents)
        and is_published(_tree(root, None, revision)),
        revision=revision,
    )


def _of_file(form: str, path: Path, revision: str | None, known: Formats) -> tuple[Path, Team]:
    """The project of one file, and the team read from the file."""
    file = path.absolute()
    if form != AUTO:
        patterns = known[form].files
        if not is_like(file.name, patterns):
            raise LlmdoError(f"`{path}` is not a file of {form}", hint=f"these are: {', '.join(patterns)}")
        folder = project_of(file, patterns) or file.parent
        return folder, team_of(known[form], _tree(folder, file, revision))
    roots = {name: root for name, form in known.items() if (root := project_of(file, form.files))}
    # `agents/*.md` is a pattern of several; a hidden folder such as `.gemini` is that of one.
    hidden = next((f"{folder.name}/" for folder in file.parents if folder.name.startswith(".")), "/")
    own = {name for name in roots if any(pattern.startswith(hidden) for pattern in known[name].files)}
    roots = {name: root for name, root in roots.items() if name in own or not own}
    teams = {name: team_or_problem(known[name], _tree(root, file, revision)) for name, root in roots.items()}
    likely = _without_servers_alone([name for name, team in teams.items() if team.agents])
    is_sure = len(teams) == 1
    likely = likely or [
        name for name, team in teams.items() if team.problems and (is_sure or known[name].extension)
    ]
    if len(likely) != 1:
        root = project_of(file, unsupported.PATTERNS) or file.parent
        sightings = unsupported.seen(_tree(root, None, revision), known) if not likely else ()
        seen = [each for each in sightings if root / each.path == file]
        raise LlmdoError(
            f"`{path}` may be a file of {' or '.join(likely)}"
            if likely
            else f"the format of `{path}` is not clear",
            hint=unsupported.summary(seen) or "name the format: --from FORMAT",
        )
    return roots[likely[0]], teams[likely[0]]


def _without_servers_alone(forms: list[str]) -> list[str]:
    """The formats without `mcp`, unless it is the only one: a file with servers is another format's first."""
    return [form for form in forms if form != "mcp"] or forms


def _nothing_of(form: str) -> str:
    return "nothing that llmdo reads" if form == AUTO else f"nothing of {form}"


def _teams(tree: Tree, known: Formats) -> list[Team]:
    """The team of each format with files in the tree; other readers are not even imported."""
    # One walk for all of them.
    tree.find(
        [*unsupported.walked(known), *OWN, *(pattern for form in known.values() for pattern in form.files)]
    )
    workspaces = [path.rpartition("/")[0] for path in tree.find(OWN)[0] if path.endswith(MANIFEST)]
    others = OthersTree(tree, tuple(workspaces)) if workspaces else tree
    return [team_or_problem(form, others) for form in known.values() if any(others.find(form.files))]


def _instead(form: str, tree: Tree, known: Formats) -> str:
    """A hint about the contents of a folder without files of the format `form`."""
    others = [team.format for team in claimed(_teams(tree, known)) if team.agents and form != AUTO]
    if others:
        wanted = others[0] if len(others) == 1 else AUTO
        return f"there are files of {' and '.join(others)}: --from {wanted}"
    return unsupported.summary(unsupported.seen(tree, known)) or _names(known)


def _names(known: Formats) -> str:
    return f"the formats are {', '.join(known)}"


def _tree(root: Path, file: Path | None, revision: str | None) -> LinkedTree:
    only = file.relative_to(root).as_posix() if file else None
    if revision is None:
        disk = DiskTree(root, only)
        return LinkedTree(disk, disk.link_at)
    from llmdo.foreign.history import Commit  # asks git, which is slow to load

    commit = Commit.of(root, revision, only)
    return LinkedTree(commit, commit.link_at)
