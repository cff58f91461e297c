"""`check`: the findings about a workspace, from its files alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo import checks
from llmdo.base.cache import Fingerprint
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass, field
from llmdo.services.root import root_folder
from llmdo.syntax import unchanged
from llmdo.workspace import project as projects
from llmdo.workspace import stale
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from llmdo.base.cache import Meanings
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Location
    from llmdo.workspace.project import Project
    from llmdo.workspace.source_files import Memory

_NOT_KEPT = frozenset({"LDO105", "LDO107", "LDO537"})
"""Findings about parts not read (too many files, links, no permission), and a secret, of which no copy is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The scope of a check."""

    project: str | None = None
    locked: bool = False
    """Whether the lock has to be there and current."""
    select: tuple[str, ...] = ()
    """Selectors: only findings about these workers, and about the entries that reach them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """The result of a check."""

    root: Path
    findings: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    """The files that were looked at."""
    fingerprint: Fingerprint
    read: Project = field(compare=False, repr=False)
    """The workspace as it was read."""
    asks_packages: bool = False
    """Whether the answer depends on installed packages, which the memory does not note."""
    problem: LlmdoError | None = None
    """The reason why the check is not whole.

    Nothing could be selected, and the only findings are about unreadable files; or an extension is not loaded.
    """

    @property
    def is_seen(self) -> bool:
        """Whether all subjects of the findings were looked at, so that a change of them is noticed."""
        places = (place for finding in self.findings for place in finding.places)
        return (
            not self.asks_packages
            and all(at.path in self.fingerprint.seen for at in places if at.span)
            and _NOT_KEPT.isdisjoint(finding.code for finding in self.findings)
        )


MOST_ALIASES = 50  # of a path map: each is looked for in every prompt


def meanings(outcome: CheckOutcome) -> Meanings:
    """The meanings of the worker files for this check: after an edit of a mere text for models, its answer still holds.

    A file with hidden content has none. No file has one if the lock is behind by more than texts for models, as a
    prompt may then tell who has another name, or if files could not be read.
    """
    read = outcome.read
    locked = read.locked.graph
    others = [finding for finding in outcome.findings if not stale.is_about_texts(finding)]
    drifted = any(finding.code == "LDO401" for finding in others)
    if drifted or read.gaps.any or len(read.graph.paths) > MOST_ALIASES:
        return {}, ()
    aliases = tuple(read.graph.paths)
    placed: dict[str, set[int]] = {}
    for finding in others:
        for at in finding.places:
            placed.setdefault(at.path, set()).update(_lines_of(at))
    known: dict[str, unchanged.Meaning] = {}
    for file in read.workspace.workers:
        source, worker = file.document.source, read.graph.workers[file.name]
        text, path = source.text, source.path
        head = unchanged.head_of(text, is_plain=source.is_plain) if file.has_own_file else None
        if head is None or worker.path != path or worker.description == "":
            continue
        if not text[len(head) :].strip():  # a finding, which the first word of a prompt ends
            continue
        before = locked.workers.get(file.name) if locked else None
        known[path] = (
            head,
            worker.prompt,
            before.prompt if before else "",
            worker.description,
            before.description if before else None,
            unchanged.mentioned(text[len(head) :], worker.description, aliases),
            tuple(sorted(placed.get(path, ()))),
        )
    return known, aliases


def _lines_of(at: Location) -> Iterable[int]:
    return range(at.span.line, at.span.end_line + 1) if at.span else ()


def check(request: CheckRequest, memory: Memory | None = None) -> CheckOutcome:
    """The findings about the workspace; files that a `memory` knows unchanged are not read again.

    Raises:
        LlmdoError: There is none, or it cannot be read.
    """
    root = root_folder(request.project)
    fingerprint = Fingerprint()
    read = projects.read(root, seen=fingerprint.seen, memory=memory)
    findings = checks.reported(read, checks.check(read, locked=request.locked))
    problem: LlmdoError | None = None
    if request.select:
        findings, problem = _selected(read, findings, request.select)
    if read.gaps.extensions:
        problem = LlmdoError(
            "the workspace was not checked as a whole: it names extensions that are not loaded"
        )
    return CheckOutcome(
        root=root,
        findings=findings,
        files=(*dict.fromkeys(document.source.path for document in read.workspace.documents), LOCK),
        fingerprint=fingerprint,
        read=read,
        asks_packages=read.workspace.asks_packages or "extensions" in read.workspace.table("workspace"),
        problem=problem,
    )


def _selected(
    read: Project, findings: Sequence[Diagnostic], select: Sequence[str]
) -> tuple[tuple[Diagnostic, ...], LlmdoError | None]:
    """The findings about the selection, and those about unreadable files.

    The latter are included even if a selector means nothing: it may name something in such a file.
    """
    from llmdo.reach import selectors
    from llmdo.services.reach import selected

    unread = tuple(finding for finding in findings if checks.is_about_unread(read, finding))
    try:
        selection = selected(read, select, read.gaps.files)
    except LlmdoError as error:
        return unread, error
    paths = {read.graph.workers[name].path for name in selection.workers}
    entries = selectors.entries_of(read.graph, selection)
    return tuple(
        finding
        for finding in findings
        if finding in unread or finding.at.path in paths or finding.subject in entries
    ), None
