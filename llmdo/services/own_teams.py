"""Teams of llmdo in the folder of a scan: each is read by its own loader, and decided about by its own rules."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import manifest_in
from llmdo.base.values import dataclass
from llmdo.policy.authority import gravity
from llmdo.reach.risks import path_text
from llmdo.services.root import seen_from
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.policy.authority import Capability
    from llmdo.policy.vocabulary import Decision
    from llmdo.workspace.project import Project

MOST = 1000  # teams of one folder: each is read as a workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstReach:
    """The worst capability of a team's entries."""

    entry: str
    capability: Capability
    decision: Decision
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTeam:
    """A team in one file, as a scan tells of it."""

    name: str
    path: str
    agents: int
    worst: WorstReach | None
    """Of what needs no question, else of what needs one."""
    findings: tuple[Diagnostic, ...]
    """Those of `check`, their paths as seen from the scanned folder."""


def teams_in(folder: Path, paths: Iterable[str]) -> Iterator[OwnTeam]:
    """The teams among the files at `paths` below `folder`, each the manifest of its own folder.

    Raises:
        LlmdoError: There are too many: none is left out in silence.
    """
    files = map(PurePosixPath, paths)
    teams = [file for file in files if manifest_in(str(folder / file.parent)) == file.name]
    if len(teams) > MOST:
        message = f"there are {len(teams):,} teams of llmdo in `{folder}`, and a scan reads {MOST:,}"
        raise LlmdoError(message, hint="scan the folders in it one by one")
    for file in teams:
        yield _team(projects.read(folder / file.parent), str(file))


def _team(read: Project, path: str) -> OwnTeam:
    prefix = path.removesuffix(PurePosixPath(path).name)
    return OwnTeam(
        name=read.graph.settings.name,
        path=path,
        agents=len(read.graph.workers),
        worst=_worst(read),
        findings=tuple(seen_from(each, prefix) for each in checks.reported(read, checks.check(read))),
    )


def _worst(read: Project) -> WorstReach | None:
    rows = [
        (row.decision != "allowed", gravity(row.capability), name, row)
        for name, entry in read.graph.entries.items()
        for row in read.analysis.of(entry)
        if row.decision != "blocked"
    ]
    if not rows:
        return None
    _, _, name, row = min(rows, key=lambda each: each[:3])
    return WorstReach(entry=name, capability=row.capability, decision=row.decision, way=path_text(row.path))
