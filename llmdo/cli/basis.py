"""What a run goes on with: the workspace as it is now, or the sources that the run began with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo import digest
from llmdo.cli.console import say
from llmdo.cli.run import graph_of
from llmdo.diagnostic import LlmdoError
from llmdo.inventory import governing_files
from llmdo.journal import JournalError
from llmdo.journal.binding import differences
from llmdo.journal.sources import prompts_as_text, sources_of, unpack
from llmdo.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from llmdo.graph import Graph
    from llmdo.journal import Journal
    from llmdo.journal.binding import Binding
    from llmdo.project import Project

Origin = Literal["workspace", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What runs."""

    graph: Graph
    prompts: Mapping[str, str]
    code: Path | None = None
    """The folder that Python is loaded from; None: the workspace."""
    accepted: tuple[str, ...] = ()
    """What differs from what the run began with, a sentence each, and may."""


def of_workspace(
    binding: Binding, project: Project, graph: Graph, accepted: Sequence[str], others: Sequence[str]
) -> Basis:
    """The workspace, whose graph is `graph`; `others` are ways to go on where it is not what it was.

    Raises:
        LlmdoError: Something differs that was not accepted; says what, all of it.
    """
    found = differences(binding, graph)
    names = set(accepted)
    if unknown := sorted(names - found.keys()):
        raise LlmdoError(
            f"`{unknown[0]}` is not among what changed since the run began",
            hint=f"what did: {', '.join(found) or 'nothing'}",
        )
    if refused := {name: said for name, said in found.items() if name not in names}:
        flags = " ".join(f"--allow-drift {name}" for name in refused)
        ways = ["go back to what it was", *(one.format(flags=flags) for one in others)]
        raise LlmdoError(
            f"what runs is not what ran when the run began: {'; '.join(refused.values())}",
            hint=", or ".join(ways),
        )
    return Basis(graph=graph, prompts=project.prompts, accepted=tuple(found.values()))


def of_run(journal: Journal, binding: Binding, project: Project, folder: Path) -> Basis:
    """What the run began with, its Python written to `folder`; says in what it differs from the workspace.

    Raises:
        JournalError: That is not there, or is not what its lock names.
    """
    sources = sources_of(journal, binding)
    if sources is None:
        raise JournalError(
            f"run `{journal.run}` brings no sources",
            hint="they are kept where a run starts, and `llmdo runs export` puts them into the file",
        )
    unpack(sources, folder)
    # What governs a run in this workspace is protected from it, whatever the run itself consists of.
    code = {path: digest.of_text(text) for path, text in sources.texts.items()}
    graph = replace(binding.graph, code=code, importable=governing_files(project.graph))
    differing = _differing(binding, project)
    say(
        "goes on with the sources of the run"
        + (f", which differ from the workspace in: {differing}" if differing else "")
    )
    if sources.texts:
        say(f"its code is in {folder}")
    return Basis(graph=graph, prompts=prompts_as_text(binding), code=folder)


def brings_sources(journal: Journal, binding: Binding) -> bool:
    """Whether the run could go on with sources of its own."""
    try:
        return sources_of(journal, binding) is not None
    except JournalError:
        return False


def _differing(binding: Binding, project: Project) -> str:
    try:
        return "; ".join(differences(binding, graph_of(project)).values())
    except LlmdoError as error:  # the workspace of today cannot be resolved, which does not matter here
        return error.message
