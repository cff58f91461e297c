"""`test`: exported runs against the workspace as it is now, without a key and without effects."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal import SUFFIX, read_journal
from llmdo.journal.binding import binding_of
from llmdo.journal.rejudging import flips
from llmdo.services import basis as bases
from llmdo.services.resume import once_more
from llmdo.services.root import root_folder
from llmdo.services.soundness import require_sound, resolved
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.evals import RECORDINGS
from llmdo.workspace.trust import Consent, UntrustedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.graph.resolved import Graph
    from llmdo.journal.binding import Binding
    from llmdo.journal.rejudging import Flip
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.services.root import Tell
    from llmdo.workspace.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingsRequest:
    """Which recordings are held against the workspace, and what is compared."""

    files: tuple[str, ...] = ()
    """None: those of the workspace's folder for them."""
    project: str | None = None
    decisions: bool = False
    """Whether the recorded calls are judged by the rules of today, instead of repeated."""
    sources: bases.Origin = "workspace"
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """What one recording showed."""

    file: str
    run: str | None = None
    """None, as is `entry`, where it cannot be read."""
    entry: str | None = None
    problem: str | None = None
    """Why it could not be repeated."""
    divergences: tuple[str, ...] = ()
    """Where the workspace does something else than was recorded, a sentence each: the first is the last."""
    flips: tuple[Flip, ...] = ()

    @property
    def status(self) -> str:
        """In a word."""
        if self.problem:
            return "error"
        return "failed" if self.divergences or self.flips else "passed"


def repeat(request: RecordingsRequest, tell: Tell, consent: Consent | None = None) -> tuple[Repeated, ...]:
    """What each recording shows.

    Raises:
        UntrustedError: Something would be executed that `consent` does not let through.
        InvalidTeamError: `check` finds errors that stand in the way.
        LlmdoError: There is no recording.
    """
    root = root_folder(request.project)
    files = [Path(file) for file in request.files] or sorted((root / RECORDINGS).glob(f"*{SUFFIX}"))
    if request.decisions and request.sources == "run":
        raise LlmdoError(
            "`--decisions` judges by the rules of the workspace, and `--sources run` leaves those out"
        )
    if not files:
        raise LlmdoError(
            f"there is no recording in `{RECORDINGS}/`",
            hint=f"`llmdo runs export RUN {RECORDINGS}/NAME{SUFFIX}`",
        )
    project = projects.read(root)
    require_sound(project, tell)
    policy = personal.path_of(request.environ)
    if policy.exists():
        tell(f"`{policy}` is left out: what a recording shows is the same for everybody")
    consent = consent or Consent(request.environ)
    graph = resolved(project, tell, consent)
    if not request.decisions and request.sources == "workspace":
        consent.require(graph, root)
    return tuple(_repeated(file, graph, project, request, tell, consent) for file in files)


def _repeated(
    file: Path, graph: Graph, project: Project, request: RecordingsRequest, tell: Tell, consent: Consent
) -> Repeated:
    from llmdo.runtime.telemetry.redaction import Redaction  # which takes a second

    try:
        with read_journal(file, whole=True) as journal, TemporaryDirectory(prefix="llmdo-") as folder:
            redaction = Redaction.of(request.environ)
            journal.know(redaction.known)
            binding = binding_of(journal)
            flipped = flips(journal, graph, binding.entry) if request.decisions else ()
            diverged: Iterator[str] = iter(())
            if not request.decisions:
                basis = bases.Basis(graph=graph, prompts=project.prompts)
                if request.sources == "run":
                    basis = bases.of_run(journal, binding, project, Path(folder), tell)
                    consent.require(basis.graph, project.workspace.root, basis.code)
                diverged = _diverged(journal, binding, basis, project.workspace.root, redaction, consent)
            return Repeated(
                file=file.name,
                run=journal.run,
                entry=binding.entry,
                divergences=tuple(diverged),
                flips=tuple(flipped),
            )
    except UntrustedError:
        raise
    except LlmdoError as error:
        return Repeated(file=file.name, problem=error.message)


def _diverged(
    journal: JournalStore,
    binding: Binding,
    basis: bases.Basis,
    root: Path,
    redaction: Redaction,
    consent: Consent,
) -> Iterator[str]:
    """Where what runs does something else than it did when it was recorded."""
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.replay_mode import EndedError, ReplayMode

    recorder = Recorder(journal, redaction, ReplayMode(live=False, shows_tools=True))
    plan = once_more(binding, basis, root, recorder).saying(consent=consent)
    try:
        outcome = asyncio.run(plan.outcome())
    except LlmdoError as error:
        yield f"it cannot begin: {error.message}"
        return
    last, reason = journal.last("end"), recorder.brake.reason
    if reason is not None and not isinstance(reason, EndedError):
        yield reason.message
    elif last is not None and (outcome.status, outcome.output) != (
        last.outcome,
        journal.whole(last)["output"],
    ):
        yield f"it ends differently: {outcome.status}, it was {last.outcome}"
