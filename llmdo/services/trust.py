"""`trust`: a person answers for the code that a workspace would execute, lists such answers, and takes them back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.request_fields import option
from llmdo.base.values import dataclass, field
from llmdo.graph.inventory import Inventory, InventoryItem
from llmdo.services.root import PROJECT, root_folder
from llmdo.workspace import project as projects
from llmdo.workspace.extensions import REFUSED
from llmdo.workspace.root import MANIFEST
from llmdo.workspace.trust import Consent, GivenTrust, TrustQuestion, UntrustedError, is_trusted
from llmdo.workspace.trust.consent import keep, question_of
from llmdo.workspace.trust.record import digest_of, record_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from llmdo.base.diagnostic import Diagnostic

__all__ = [
    "Consent", "GivenTrust", "InventoryItem", "TrustOutcome", "TrustQuestion", "TrustRequest", "UntrustedError",
    "answers", "forget", "give", "is_trusted", "trust_own",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRequest:
    """Which workspace, and how far it is trusted."""

    folder: bool = field(
        default=False, metadata=option("Trust the folder whatever becomes of it, until --forget.")
    )
    project: str | None = field(default=None, metadata=PROJECT)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustOutcome:
    """The result of trusting a workspace; `question` holds the code that it would execute."""

    question: TrustQuestion
    is_new: bool
    """Whether it was not trusted before."""
    refused: tuple[Diagnostic, ...] = ()
    """The extensions that are not loaded, without which nothing runs."""


def give(request: TrustRequest) -> TrustOutcome:
    """Answers for the workspace as it is, or for its folder.

    Raises:
        LlmdoError: There is none, or the answer cannot be kept.
    """
    root = root_folder(request.project)
    project = projects.read(root)
    graph = project.graph
    question = question_of(graph, root, request.environ)
    record = record_of(request.environ)
    content = digest_of(question.items)
    known = record.has_folder(root) if request.folder else content and record.has_content(content)
    if question.items or request.folder:
        keep(graph, root, question, "folder" if request.folder else "content", request.environ)
    refused = tuple(each for each in project.workspace.problems if each.code == REFUSED)
    return TrustOutcome(question=question, is_new=not known, refused=refused)


def answers(environ: Mapping[str, str]) -> tuple[GivenTrust, ...]:
    """Every answer that holds, the earliest first."""
    return tuple(record_of(environ).answers())


def forget(folder: Path | None, project: str | None, environ: Mapping[str, str]) -> int:
    """Takes back the answers for a folder, which need not exist any more, or for a workspace; returns their number.

    Raises:
        LlmdoError: There is no workspace, or an answer cannot be removed.
    """
    record = record_of(environ)
    if folder is not None:
        return record.forget(folder)
    root = root_folder(project)
    return record.forget(root, digest_of(Inventory.of(projects.read(root).graph).executed))


def trust_own(root: Path, written: Collection[str], environ: Mapping[str, str]) -> None:
    """Answers for a workspace whose executed files are all in `written`, files that llmdo has just made.

    Raises:
        LlmdoError: The answer cannot be kept.
    """
    graph = projects.read(root).graph
    items = Inventory.of(graph).executed
    files = {MANIFEST, *(item.name for item in items if item.kind in ("judge", "python", "program"))}
    if items and files <= {*written}:
        keep(graph, root, question_of(graph, root, environ), "content", environ)
