"""The suggestions that rest on recorded sessions of other tools, which an extension reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, cast

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.extensions.registry import features, module_with
from llmdo.reach.suggest import suggest_used

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.reach.suggest import SessionUse, UsedCeiling
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project


class SessionReader(Protocol):
    """The reader of sessions, as a module of an extension."""

    def used(self, project: Project, paths: Sequence[str], environ: Mapping[str, str]) -> SessionUse:
        """The rights that sessions in a project used: those at `paths`, or all that are known."""


def suggested(
    project: Project, name: str | None, paths: Sequence[str], tell: Tell
) -> tuple[UsedCeiling, ...]:
    """The smallest ceiling of each agent, or of the one of this name, that covers what its sessions used.

    Raises:
        LlmdoError: There is no such agent, or nothing can be read.
    """
    workers = {each.name: each for each in project.graph.workers.values() if each.format is not None}
    if name is not None and name not in workers:
        raise LlmdoError(f"there is no agent `{name}`", hint=near_or_all(name, workers, "agent"))
    stated = (each.sessions for each in features())
    reader = cast("SessionReader", module_with(stated, "what reads sessions of other tools"))
    use = reader.used(project, paths, os.environ)
    for note in use.notes:
        tell(note)
    if not use.agents:
        tell("no call of an agent of this project is recorded in these sessions, so nothing is suggested")
    return tuple(
        suggest_used(project.analysis, workers[agent], use.agents[agent], use.sessions)
        for agent in sorted(use.agents)
        if name in (None, agent)
    )
