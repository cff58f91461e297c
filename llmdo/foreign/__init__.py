"""Projects of other agent tools, read as they are: the same questions as to our own, and nothing is enforced.

Each format has one module with `read(tree)`, which makes a `Team` of files; `building` makes a `Graph` of that. A
foreign tool decides about tools and we about capabilities, so what a tool can do stands in `tables`, with sources.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass, field
from llmdo.foreign.building import graph_of
from llmdo.foreign.merging import together
from llmdo.foreign.tree import DiskTree
from llmdo.reach import Analysis

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.foreign.team import Team
    from llmdo.foreign.tree import Tree
    from llmdo.graph.resolved import Graph

FORMATS = {
    "claude": "claude",
    "docker-agent": "docker_agent",
    "gh-aw": "gh_aw",
    "llm-do": "llm_do",
    "mcp": "mcp",
    "opencode": "opencode",
}
"""Each format's name and its module."""

AUTO = "auto"
"""Whatever is there, of all formats together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One reading of a foreign project."""

    team: Team
    graph: Graph
    analysis: Analysis = field(compare=False)
    """The graph prepared for questions about reach."""


def not_enforced(form: str) -> str:
    """What has to be said of everything about a project that llmdo does not run."""
    return f"read from {form}; not enforced by llmdo"


def root_of(folder: Path) -> Path:
    """The folder that the paths of a project are relative to: of one file, that where it is."""
    return (folder.parent if folder.is_file() else folder).absolute()


def read(form: str, folder: Path, revision: str | None = None, *, may_be_empty: bool = False) -> Foreign:
    """The project in `folder`, a folder or one file, as the format `form` has it; at a git revision, if one is given.

    Raises:
        LlmdoError: there is no such format, folder or revision, or nothing of the format is in it.
    """
    if form not in (*FORMATS, AUTO):
        raise LlmdoError(f"there is no format `{form}`", hint=did_you_mean(form, FORMATS) or _formats())
    tree = _tree(folder, revision)
    team = together([_team(known, tree) for known in FORMATS]) if form == AUTO else _team(form, tree)
    if not team.agents and not team.problems and not may_be_empty:
        raise LlmdoError(f"nothing of {form} is in `{folder}`", hint=_formats())
    graph = graph_of(team)
    return Foreign(team=team, graph=graph, analysis=Analysis(graph))


def _team(form: str, tree: Tree) -> Team:
    team: Team = import_module(f"llmdo.foreign.{FORMATS[form]}").read(tree)
    return team


def _formats() -> str:
    return f"the formats are {', '.join(FORMATS)}"


def _tree(folder: Path, revision: str | None) -> Tree:
    only = folder.name if folder.is_file() else None
    if only is None and not folder.is_dir():
        raise LlmdoError(f"there is no folder `{folder}`")
    root = root_of(folder)
    if revision is None:
        return DiskTree(root, only)
    from llmdo.foreign.history import Commit  # asks git, which is slow to load

    return Commit.of(root, revision, only)
